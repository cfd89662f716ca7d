//! Boxes that an answer names, at their pixels of the upright picture: parsed, placed, flagged.
//!
//! Which numbers stand for which pixels is the model's convention. It is taken from the marks around them,
//! or from the model's class, never from the size of the numbers.

mod header;
mod marks;
mod place;

use rooflens_report::predictions::{MarkedBox, Overlay};
use rooflens_schema::format::things;
use serde_json::{Value as Json, json};

pub(crate) use self::header::Stored;
use self::marks::{AnswerBox, Notation};
use self::place::{Flag, Placed, Seen};

#[derive(Debug, Clone, Default)]
pub(crate) struct GroundedImage {
    pub(crate) stored: Option<Stored>,
    /// What the workload wrote of it: `picture` of a line of predictions.jsonl.
    pub(crate) record: Json,
}

#[derive(Debug, Default)]
pub(crate) struct Grounding {
    pub(crate) overlay: Option<Overlay>,
    pub(crate) remarks: Vec<String>,
    pub(crate) lines: Vec<Json>,
}

fn seen(notation: Notation, architecture: &str, subject: &GroundedImage) -> Result<Seen, &'static str> {
    let model = architecture.split("For").next().unwrap_or_default();
    let number = |key: &str| subject.record[key].as_f64().filter(|number| *number > 0.0);
    match (notation, model) {
        // DeepSeek-OCR and DeepSeek-VL2 count both sides from 0 to 999, whatever goes into the encoder.
        (Notation::Det, _) => Ok(Seen::Parts(999.0)),
        // Qwen2-VL by its paper; Qwen3-VL by its README: relative, from 0 to 1000.
        (Notation::BoxTokens, "Qwen2VL") | (Notation::Json, "Qwen3VL" | "Qwen3VLMoe") => {
            Ok(Seen::Parts(1000.0))
        }
        // Pixels of the picture as its processor resized it.
        (Notation::Json, "Qwen2_5_VL") => match (number("input_width"), number("input_height")) {
            (Some(width), Some(height)) => Ok(Seen::Pixels { width, height }),
            _ => Err("its boxes are in pixels of the resized image, whose size the run does not record"),
        },
        _ => Err("the coordinate units of this model are not documented"),
    }
}

pub(crate) fn boxes(answer: &str, architecture: &str, subject: &GroundedImage) -> Grounding {
    let Some((notation, found)) = marks::find(answer) else { return Grounding::default() };
    let scale = seen(notation, architecture, subject);
    let frame = place::frame(subject.stored, &subject.record);
    let mut remarks = Vec::new();
    let placed: Vec<Placed> = match (&scale, &frame) {
        (Ok(scale), Some(frame)) => found.iter().map(|it| place::place(it, scale, frame)).collect(),
        (Err(why), _) => {
            remarks.push(format!("{} not drawn: {why}", counted(found.len())));
            vec![Placed::nowhere(Flag::UnknownScale); found.len()]
        }
        (_, None) => {
            let why = "the size of the image cannot be read";
            remarks.push(format!("{} not drawn: {why}", counted(found.len())));
            vec![Placed::nowhere(Flag::UnknownPicture); found.len()]
        }
    };
    remarks.extend(told(&placed));
    let drawn = |(found, placed): (&AnswerBox, &Placed)| {
        let mended = (!placed.flags.is_empty()).then(|| words(&placed.flags));
        Some(MarkedBox { label: found.label.clone(), at: placed.at?, mended })
    };
    let drawn: Vec<MarkedBox> = found.iter().zip(&placed).filter_map(drawn).collect();
    let overlay = frame.as_ref().filter(|_| !drawn.is_empty()).map(|frame| {
        let (width, height) = frame.upright();
        Overlay { width, height, boxes: drawn }
    });
    let lines = found.iter().zip(&placed).enumerate();
    let lines = lines.map(|(number, (found, placed))| {
        let (width, height) = frame.as_ref().map(place::Frame::upright).unzip();
        let [x1, y1, x2, y2] = placed.at.map_or([None; 4], |at| at.map(Some));
        let flags: Vec<&str> = placed.flags.iter().map(|flag| flag.as_str()).collect();
        json!({
            "box": number, "label": found.label, "x1": x1, "y1": y1, "x2": x2, "y2": y2, "flags": flags,
            "notation": notation.as_str(), "answered": found.raw,
            "picture_width": width, "picture_height": height,
        })
    });
    Grounding { overlay, remarks, lines: lines.collect() }
}

fn counted(boxes: usize) -> String {
    things(boxes as i64, "box", "boxes")
}

fn words(flags: &[Flag]) -> String {
    flags.iter().map(|flag| flag.words()).collect::<Vec<_>>().join(", ")
}

/// A line for each flag that some box has, but for those that all have.
fn told(placed: &[Placed]) -> Vec<String> {
    let flags = [Flag::Clipped, Flag::Inverted, Flag::Outside, Flag::Empty, Flag::Malformed, Flag::CutOff];
    let told = flags.iter().filter_map(|flag| {
        let count = placed.iter().filter(|placed| placed.flags.contains(flag)).count();
        (count > 0).then(|| format!("{}: {}", counted(count), flag.words()))
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEEPSEEK: &str = "DeepseekOCRForCausalLM";

    fn picture(width: u32, height: u32, orientation: u8) -> GroundedImage {
        let stored = Some(Stored { width, height, orientation });
        GroundedImage { stored, record: json!({"exif_transposed": true}) }
    }

    fn drawn(answer: &str, architecture: &str, subject: &GroundedImage) -> Vec<[f64; 4]> {
        let found = boxes(answer, architecture, subject);
        found.overlay.map(|it| it.boxes.iter().map(|it| it.at.map(f64::round)).collect()).unwrap_or_default()
    }

    #[test]
    fn parity_123_boxes_of_deepseek_ocr_are_parts_of_999() {
        let answer = "<|ref|>title<|/ref|><|det|>[[0, 333, 999, 666]]<|/det|>\n# T\n<|ref|>text<|/ref|><|det|>[[111,0,222,999],[0,0,111,111]]<|/det|>";
        let found = boxes(answer, DEEPSEEK, &picture(900, 300, 1));
        let overlay = found.overlay.unwrap();
        let told: Vec<_> =
            overlay.boxes.iter().map(|it| (it.label.as_str(), it.at.map(f64::round))).collect();
        let expected = [
            ("title", [0.0, 100.0, 900.0, 200.0]),
            ("text", [100.0, 0.0, 200.0, 300.0]),
            ("text", [0.0, 0.0, 100.0, 33.0]),
        ];
        assert_eq!(told, expected);
        assert_eq!((overlay.width, overlay.height, found.remarks.len()), (900.0, 300.0, 0));
        assert_eq!(found.lines[1]["flags"], json!([]));
        assert_eq!(found.lines[1]["answered"], json!("111,0,222,999"));
    }

    #[test]
    fn each_qwen_counts_its_own_way() {
        let fence = "```json\n[{\"bbox_2d\": [100, 50, 300, 150], \"label\": \"cat\"}]\n```";
        let mut subject = picture(2000, 1000, 1);
        assert_eq!(drawn(fence, "Qwen3VLForConditionalGeneration", &subject), [[200.0, 50.0, 600.0, 150.0]]);
        // Half the size goes into the encoder.
        let unknown = boxes(fence, "Qwen2_5_VLForConditionalGeneration", &subject);
        assert!(unknown.overlay.is_none() && unknown.remarks[0].contains("the run does not record"));
        assert_eq!(unknown.lines[0]["flags"], json!(["unknown_scale"]));
        subject.record = json!({"width": 2000, "height": 1000, "exif_transposed": true, "input_width": 1000, "input_height": 500});
        let placed = drawn(fence, "Qwen2_5_VLForConditionalGeneration", &subject);
        assert_eq!(placed, [[200.0, 100.0, 600.0, 300.0]]);
        let unknown = boxes(fence, "SomethingForCausalLM", &subject);
        assert!(
            unknown.overlay.is_none() && unknown.remarks[0].starts_with("1 box not drawn"),
            "{unknown:?}"
        );
        let tokens = "<|object_ref_start|>a dog<|object_ref_end|><|box_start|>(100,50),(300,150)<|box_end|>";
        let found = boxes(tokens, "Qwen2VLForConditionalGeneration", &subject).overlay.unwrap();
        assert_eq!(
            (found.boxes[0].label.as_str(), found.boxes[0].at),
            ("a dog", [200.0, 50.0, 600.0, 150.0])
        );
    }

    #[test]
    fn what_cannot_be_right_is_mended_or_left_out_and_said() {
        let det = |boxes: &str| format!("<|ref|>x<|/ref|><|det|>[{boxes}]<|/det|>");
        let all = "[-50,0,1200,999],[500,0,100,999],[2000,0,3000,9],[10,10,10,50],[NaN,1,2,3],[1,2,3],[1e999,0,0,0]";
        let found = boxes(&det(all), DEEPSEEK, &picture(999, 999, 1));
        let flags: Vec<&Json> = found.lines.iter().map(|line| &line["flags"]).collect();
        let expected = [
            json!(["clipped"]),
            json!(["inverted"]),
            json!(["outside"]),
            json!(["empty"]),
            json!(["malformed"]),
            json!(["malformed"]),
            json!(["malformed"]),
        ];
        assert!(flags.into_iter().eq(&expected), "{:?}", found.lines);
        let boxes_drawn: Vec<_> = found.overlay.unwrap().boxes.iter().map(|it| it.at).collect();
        assert_eq!(boxes_drawn, [[0.0, 0.0, 999.0, 999.0], [100.0, 0.0, 500.0, 999.0]]);
        assert_eq!(found.remarks.len(), 5, "{:?}", found.remarks);
        // An answer that ends in the middle keeps the boxes that are whole.
        let cut = boxes("<|ref|>x<|/ref|><|det|>[[0,0,9,9],[5,5,", DEEPSEEK, &picture(999, 999, 1));
        assert_eq!(cut.overlay.unwrap().boxes.len(), 1);
        assert_eq!(cut.lines[1]["flags"], json!(["cut_off"]));
        // Marks in any order, and none at all.
        for odd in ["<|det|><|/det|>", "<|/det|><|det|>", "plain", "", "<|box_end|>(1,2)"] {
            assert!(boxes(odd, DEEPSEEK, &picture(9, 9, 1)).overlay.is_none(), "{odd}");
        }
    }

    #[test]
    fn a_box_follows_the_picture_as_it_is_turned_upright() {
        // The left upper quarter of a stored picture of 400 by 200, where the model saw it as stored.
        let answer = "<|ref|>x<|/ref|><|det|>[[0,0,499.5,499.5]]<|/det|>";
        let upright = [
            (1, [0.0, 0.0, 200.0, 100.0]),
            (2, [200.0, 0.0, 400.0, 100.0]),
            (3, [200.0, 100.0, 400.0, 200.0]),
            (4, [0.0, 100.0, 200.0, 200.0]),
            (5, [0.0, 0.0, 100.0, 200.0]),
            (6, [100.0, 0.0, 200.0, 200.0]),
            (7, [100.0, 200.0, 200.0, 400.0]),
            (8, [0.0, 200.0, 100.0, 400.0]),
        ];
        for (orientation, expected) in upright {
            let mut subject = picture(400, 200, orientation);
            subject.record = Json::Null;
            assert_eq!(drawn(answer, DEEPSEEK, &subject), [expected], "{orientation}");
            // Where it was turned upright before, the answer is about that.
            let size = if orientation < 5 { (200.0, 100.0) } else { (100.0, 200.0) };
            let seen = drawn(answer, DEEPSEEK, &picture(400, 200, orientation));
            assert_eq!(seen, [[0.0, 0.0, size.0, size.1]], "{orientation}");
        }
    }
}
