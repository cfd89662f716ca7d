//! The list of kernels that `kernels top -o` writes and `kernels profile --from` reads, also one of
//! llm-perf-opt: `kernels: [{name, regex, description}]`.

use std::path::Path;
use std::sync::Arc;

use rooflens_analyze::kernels::choose::Candidate;
use rooflens_analyze::kernels::name_pattern;
use rooflens_analyze::top::TopKernel;
use rooflens_collect::kernel_regex::KernelRegex;
use rooflens_collect::profilers::ncu::kernel_id;
use rooflens_compose::value::{Int, Key, Map, Node, Value, python_str};
use rooflens_compose::yaml;

use crate::error::Error;

const TYPICAL: usize = 64;

const KEYS: &[&str] = &[
    "name",
    "regex",
    "description",
    "short_name",
    "launches",
    "share",
    "total_ns",
    "median_ns",
    "skip",
    "typical",
];

/// A kernel of the list, or all that an expression matches.
#[derive(Debug, Clone)]
pub(crate) struct Listed {
    /// Full name; of an entry with an expression what it is called, and may be empty.
    pub(crate) name: String,
    /// Matches the names of its launches; the whole name where there is none.
    pub(crate) regex: Option<KernelRegex>,
    pub(crate) launches: u64,
    /// Median duration; nothing where the list does not tell.
    pub(crate) median_ns: Option<f64>,
    /// Numbers of typical launches, from 0.
    pub(crate) typical: Vec<u64>,
}

impl From<&TopKernel> for Listed {
    fn from(kernel: &TopKernel) -> Self {
        Listed {
            name: kernel.name.clone(),
            regex: None,
            launches: kernel.count,
            median_ns: Some(kernel.median_ns),
            typical: kernel.typical.clone(),
        }
    }
}

impl Listed {
    /// All kernels that an expression matches; nothing is known of their launches.
    pub fn matching(regex: KernelRegex) -> Self {
        Listed {
            name: String::new(),
            regex: Some(regex),
            launches: u64::MAX,
            median_ns: None,
            typical: Vec::new(),
        }
    }

    pub(crate) fn candidate(&self) -> Candidate {
        Candidate { launches: self.launches, typical: self.typical.clone() }
    }
}

/// Kernels and launch numbers, from 0, as `ncu --kernel-id` takes them.
pub fn filter(kernels: &[Listed], numbers: &[u64]) -> String {
    let mut patterns: Vec<String> = Vec::new();
    let named = kernels.iter().filter(|kernel| kernel.regex.is_none());
    for pattern in named.map(|kernel| name_pattern(&kernel.name)) {
        if !patterns.contains(&pattern) {
            patterns.push(pattern);
        }
    }
    let numbers: Vec<u64> = numbers.iter().map(|number| number + 1).collect();
    let regexes: Vec<&KernelRegex> = kernels.iter().filter_map(|kernel| kernel.regex.as_ref()).collect();
    kernel_id(&patterns, &regexes, &numbers)
}

/// The kernels as YAML. Its strings are JSON's, which are YAML too, whatever a name holds.
pub fn write(kernels: &[TopKernel], phase: Option<&str>) -> String {
    let mut out = "# Kernels by device time, most first. skip: launches of this name before the one whose duration is\n\
                   # nearest the median; typical: numbers of launches, from 0, within 5 % of it. Numbers count the\n\
                   # launches of the phase, where there is one. rooflens kernels profile --from reads this.\n"
        .to_owned();
    out += &format!("phase: {}\n", phase.unwrap_or("null"));
    if kernels.is_empty() {
        return out + "kernels: []\n";
    }
    out += "kernels:\n";
    for kernel in kernels {
        let text = |text: &str| serde_json::Value::from(text).to_string();
        out += &format!("- name: {}\n  short_name: {}\n", text(&kernel.name), text(&kernel.short_name));
        out += &format!("  launches: {}\n  share: {:.6}\n", kernel.count, kernel.share);
        out += &format!("  total_ns: {}\n  median_ns: {}\n", kernel.total_ns, kernel.median_ns);
        let skip = kernel.typical_skip.map_or("null".to_owned(), |skip| skip.to_string());
        let typical: Vec<String> = kernel.typical.iter().take(TYPICAL).map(u64::to_string).collect();
        out += &format!("  skip: {skip}\n  typical: [{}]\n", typical.join(", "));
    }
    out
}

/// Reads a list. A name or an expression is enough: a list may be written by hand.
pub fn read(path: &Path) -> Result<Vec<Listed>, Error> {
    let wrong = |why: &str| not_a_list(path, why);
    let text = std::fs::read_to_string(path).map_err(|error| wrong(&error.to_string()))?;
    let root = yaml::load(&text, Arc::from(path.display().to_string()))
        .map_err(|error| wrong(&error.to_string()))?;
    let Value::Map(root) = &root.value else { return Err(wrong("it is not a mapping")) };
    let Some(Value::List(kernels)) = get(root, "kernels") else {
        return Err(wrong("it has no list 'kernels'"));
    };
    if kernels.is_empty() {
        return Err(wrong("it has no kernel"));
    }
    let entries = kernels.iter().enumerate();
    entries.map(|(at, node)| kernel(node, at + 1, path)).collect()
}

fn not_a_list(path: &Path, why: &str) -> Error {
    Error::data(format!("{} is not a list of kernels: {why}", path.display()))
        .words("rooflens kernels top RUN -o top.yaml writes one")
}

fn get<'m>(map: &'m Map, key: &str) -> Option<&'m Value> {
    map.get(&Key::from(key)).map(|node| &node.value)
}

/// A text, or nothing where there is none or it is empty.
fn text(map: &Map, key: &str, wrong: impl Fn(String) -> Error) -> Result<Option<String>, Error> {
    match get(map, key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Str(text)) => Ok(Some(text.clone()).filter(|text| !text.is_empty())),
        Some(_) => Err(wrong(format!("its {key} is not a string"))),
    }
}

/// The entry with this number, from 1.
fn kernel(node: &Node, number: usize, path: &Path) -> Result<Listed, Error> {
    let wrong = |why: String| not_a_list(path, &format!("kernel {number}: {why}"));
    let Value::Map(map) = &node.value else { return Err(wrong("it is not a mapping".to_owned())) };
    for key in map.keys().map(|key| python_str(&key.to_value())) {
        if !KEYS.contains(&key.as_str()) {
            return Err(wrong(format!("unknown key '{key}'; expected one of {}", KEYS.join(", "))));
        }
    }
    let name = text(map, "name", wrong)?.unwrap_or_default();
    let regex = text(map, "regex", wrong)?.map(|regex| {
        let place = format!("{}, kernel {number}", path.display());
        KernelRegex::new(&regex).map_err(|error| super::bad_regex(&place, &regex, &error))
    });
    let regex = regex.transpose()?;
    if name.is_empty() && regex.is_none() {
        return Err(wrong("it has neither a name nor a regex".to_owned()));
    }
    let mut typical: Vec<u64> = match get(map, "typical") {
        Some(Value::List(numbers)) => numbers.iter().filter_map(|node| whole(&node.value)).collect(),
        _ => Vec::new(),
    };
    if typical.is_empty() {
        typical.extend(get(map, "skip").and_then(whole));
    }
    let launches = get(map, "launches").and_then(whole);
    Ok(Listed {
        name,
        regex,
        // A list by hand need not count: the chosen launches are then taken to be there.
        launches: launches.unwrap_or(u64::MAX),
        median_ns: get(map, "median_ns").and_then(number_of),
        typical,
    })
}

/// The entries of a list that one of some expressions matches, by name.
pub(crate) fn only(kernels: Vec<Listed>, wished: &[KernelRegex], path: &Path) -> Result<Vec<Listed>, Error> {
    let wrong = |why: &str| not_a_list(path, why);
    if wished.is_empty() {
        return Ok(kernels);
    }
    if kernels.iter().any(|kernel| kernel.name.is_empty()) {
        return Err(wrong("one of its kernels has no name, so --kernel cannot select it"));
    }
    let kept = super::selected(kernels, wished, |kernel| &kernel.name)?;
    if kept.is_empty() { Err(wrong("none of its kernels match --kernel")) } else { Ok(kept) }
}

fn whole(value: &Value) -> Option<u64> {
    match value {
        Value::Int(Int::Small(number)) => u64::try_from(*number).ok(),
        _ => None,
    }
}

fn number_of(value: &Value) -> Option<f64> {
    match value {
        Value::Int(Int::Small(number)) => Some(*number as f64),
        Value::Float(number) if number.is_finite() && *number >= 0.0 => Some(*number),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let folder = std::env::temp_dir().join(format!("rooflens-list-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("top.yaml");
        let kernel = rooflens_analyze::top::described("void k<(int)4>(\"q\", 'x': #)".to_owned(), |kernel| {
            (kernel.count, kernel.median_ns, kernel.typical) = (9, 12.5, vec![4, 2]);
        });
        std::fs::write(&path, write(std::slice::from_ref(&kernel), Some("decode"))).unwrap();
        let again = read(&path).unwrap();
        let same = |listed: &Listed| {
            (listed.name.clone(), listed.launches, listed.median_ns, listed.typical.clone())
        };
        assert_eq!(again.iter().map(same).collect::<Vec<_>>(), [same(&Listed::from(&kernel))]);
        std::fs::write(&path, "kernels:\n- name: k\n").unwrap();
        let by_hand = read(&path).unwrap();
        assert_eq!((by_hand[0].median_ns, by_hand[0].typical.len()), (None, 0));
        for wrong in ["", "kernels: []", "kernels: [{x: 1}]", "- a", "kernels: 3", "a: ["] {
            std::fs::write(&path, wrong).unwrap();
            assert!(read(&path).is_err(), "{wrong}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn numbers_count_from_one_and_a_name_stands_once() {
        let listed = |name: &str| Listed {
            name: name.into(),
            regex: None,
            launches: 5,
            median_ns: None,
            typical: vec![],
        };
        assert_eq!(filter(&[listed("k"), listed("k")], &[0, 3]).matches('k').count(), 1);
        assert!(filter(&[listed("k")], &[0, 3]).ends_with(")$:1|4"));
    }
}
