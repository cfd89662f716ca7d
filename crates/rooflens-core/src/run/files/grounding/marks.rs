//! Boxes as answers write them. What is not a box of four numbers is kept and says so.

use serde_json::Value as Json;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notation {
    /// `<|ref|>label<|/ref|><|det|>[[x1, y1, x2, y2]]<|/det|>`.
    Det,
    /// `<|object_ref_start|>label<|object_ref_end|><|box_start|>(x1,y1),(x2,y2)<|box_end|>`.
    BoxTokens,
    /// `{"bbox_2d": [x1, y1, x2, y2], "label": "label"}`.
    Json,
}

impl Notation {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Notation::Det => "det",
            Notation::BoxTokens => "box_tokens",
            Notation::Json => "bbox_2d",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Broken {
    Malformed,
    CutOff,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AnswerBox {
    /// What the answer says is in it; may be empty.
    pub(crate) label: String,
    pub(crate) numbers: Result<[f64; 4], Broken>,
    pub(crate) raw: String,
}

const RAW: usize = 200;

impl AnswerBox {
    fn new(label: &str, raw: &str, numbers: Result<[f64; 4], Broken>) -> Self {
        let kept = |text: &str| text.chars().take(RAW).collect();
        AnswerBox { label: label.trim().chars().take(2_000).collect(), numbers, raw: kept(raw.trim()) }
    }
}

/// The boxes of an answer in the first notation that it has any of.
pub(crate) fn find(answer: &str) -> Option<(Notation, Vec<AnswerBox>)> {
    let det = || marked(answer, ("<|ref|>", "<|/ref|>"), ("<|det|>", "<|/det|>"), groups);
    let tokens = || {
        let labels = ("<|object_ref_start|>", "<|object_ref_end|>");
        marked(answer, labels, ("<|box_start|>", "<|box_end|>"), corners)
    };
    let some = |notation, found: Vec<AnswerBox>| (!found.is_empty()).then_some((notation, found));
    some(Notation::Det, det())
        .or_else(|| some(Notation::BoxTokens, tokens()))
        .or_else(|| some(Notation::Json, objects(answer)))
}

type Marks = (&'static str, &'static str);

/// All that stands between the marks of boxes, each with the label before it.
fn marked(
    answer: &str,
    label: Marks,
    boxes: Marks,
    read: fn(&str, &str, bool, &mut Vec<AnswerBox>),
) -> Vec<AnswerBox> {
    let mut found = Vec::new();
    let mut rest = answer;
    while let Some((before, after)) = rest.split_once(boxes.0) {
        let name = before.rsplit_once(label.0).map_or("", |(_, name)| name);
        let name = name.split(label.1).next().unwrap_or_default();
        let (inside, next, is_whole) = match after.split_once(boxes.1) {
            Some((inside, next)) => (inside, next, true),
            None => (after, "", false),
        };
        read(name, inside, is_whole, &mut found);
        rest = next;
    }
    found
}

/// `[[x1, y1, x2, y2], …]`: every innermost pair of brackets is a box.
fn groups(label: &str, inside: &str, is_whole: bool, found: &mut Vec<AnswerBox>) {
    let mut start = None;
    for (at, c) in inside.char_indices() {
        match (c, start) {
            ('[', _) => start = Some(at + 1),
            (']', Some(from)) => {
                let raw = inside.get(from..at).unwrap_or_default();
                if !raw.trim().is_empty() {
                    found.push(AnswerBox::new(label, raw, four(raw.split(','))));
                }
                start = None;
            }
            _ => {}
        }
    }
    let left = start.and_then(|from| inside.get(from..)).unwrap_or_default();
    if !is_whole && !left.trim().is_empty() {
        found.push(AnswerBox::new(label, left, Err(Broken::CutOff)));
    }
}

/// `(x1,y1),(x2,y2)`.
fn corners(label: &str, inside: &str, is_whole: bool, found: &mut Vec<AnswerBox>) {
    let numbers: String = inside.chars().filter(|c| !matches!(c, '(' | ')')).collect();
    let numbers = if is_whole { four(numbers.split(',')) } else { Err(Broken::CutOff) };
    found.push(AnswerBox::new(label, inside, numbers));
}

fn four<'a>(words: impl Iterator<Item = &'a str>) -> Result<[f64; 4], Broken> {
    let numbers: Option<Vec<f64>> =
        words.map(|word| word.trim().parse().ok().filter(|number: &f64| number.is_finite())).collect();
    numbers.and_then(|numbers| numbers.try_into().ok()).ok_or(Broken::Malformed)
}

/// Every object with a `bbox_2d`, wherever it stands: answers wrap them in fences, lists and prose.
fn objects(answer: &str) -> Vec<AnswerBox> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(brace) = answer.get(at..).and_then(|rest| rest.find('{')).map(|offset| at + offset) {
        at = brace + 1;
        let text = answer.get(brace..).unwrap_or_default();
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Json>();
        match values.next() {
            Some(Ok(value)) if value.get("bbox_2d").is_some() => {
                at = brace + values.byte_offset();
                let (label, corners) = (value["label"].as_str().unwrap_or_default(), &value["bbox_2d"]);
                let numbers = corners.as_array().map(|list| list.iter().map(Json::to_string));
                let numbers = numbers.map(|words| words.collect::<Vec<_>>()).unwrap_or_default();
                found.push(AnswerBox::new(
                    label,
                    &corners.to_string(),
                    four(numbers.iter().map(String::as_str)),
                ));
            }
            Some(Err(error)) if text.trim_start_matches(['{', ' ', '\n']).starts_with("\"bbox_2d\"") => {
                let broken = if error.is_eof() { Broken::CutOff } else { Broken::Malformed };
                let raw: String = text.chars().take(RAW).take_while(|c| *c != '}').collect();
                found.push(AnswerBox::new("", &raw, Err(broken)));
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_found_in_any_wrapping() {
        let answer = "Sure { here: ```json\n{\"objects\": [{\"label\": \"a {b}\", \"bbox_2d\": [1, 2, 3.5, 4]}, {\"bbox_2d\": \"x\"}, {\"bbox_2d\": [1, 2, NaN, 3]}, {\"bbox_2d\": [1, 2";
        let (notation, found) = find(answer).unwrap();
        assert_eq!(notation, Notation::Json);
        let told: Vec<_> = found.iter().map(|it| (it.label.as_str(), it.numbers)).collect();
        let expected = [
            ("a {b}", Ok([1.0, 2.0, 3.5, 4.0])),
            ("", Err(Broken::Malformed)),
            ("", Err(Broken::Malformed)),
            ("", Err(Broken::CutOff)),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn no_text_is_slow_or_too_deep() {
        for text in ["{", "{\"a\":", "[{\"bbox_2d\":[[", "<|det|>[", "<|det|>[[1,1,1,1]]<|/det|>"] {
            find(&text.repeat(4_000));
        }
    }
}
