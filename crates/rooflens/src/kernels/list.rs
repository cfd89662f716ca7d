//! The list of kernels that `kernels top -o` writes and `kernels profile --from` reads.

use std::path::Path;
use std::sync::Arc;

use rooflens_analyze::choose::Candidate;
use rooflens_analyze::profiled::name_pattern;
use rooflens_analyze::top::TopKernel;
use rooflens_collect::profilers::ncu::kernel_id;
use rooflens_compose::value::{Int, Key, Map, Node, Value};
use rooflens_compose::yaml;

use crate::error::CliError;

/// Typical launches that the list has of each kernel.
const TYPICAL: usize = 64;

/// A kernel of the list.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// Full name.
    pub name: String,
    /// How often it ran.
    pub launches: u64,
    /// Median duration; nothing where the list does not tell.
    pub median_ns: Option<f64>,
    /// Numbers of typical launches, from 0.
    pub typical: Vec<u64>,
}

impl From<&TopKernel> for Listed {
    fn from(kernel: &TopKernel) -> Self {
        Listed {
            name: kernel.name.clone(),
            launches: kernel.count,
            median_ns: Some(kernel.median_ns),
            typical: kernel.typical.clone(),
        }
    }
}

impl Listed {
    /// The kernel as launches are chosen of it.
    pub fn candidate(&self) -> Candidate {
        Candidate { launches: self.launches, typical: self.typical.clone() }
    }
}

/// Kernels and launch numbers, from 0, as `ncu --kernel-id` takes them.
pub fn filter(kernels: &[Listed], numbers: &[u64]) -> String {
    let mut patterns: Vec<String> = Vec::new();
    for pattern in kernels.iter().map(|kernel| name_pattern(&kernel.name)) {
        if !patterns.contains(&pattern) {
            patterns.push(pattern);
        }
    }
    let numbers: Vec<u64> = numbers.iter().map(|number| number + 1).collect();
    kernel_id(&patterns, &numbers)
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

/// Reads a list. Only names are needed: a list may be written by hand.
pub fn read(path: &Path) -> Result<Vec<Listed>, CliError> {
    let wrong = |why: &str| CliError::NotAList { path: path.to_owned(), why: why.to_owned() };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(&error.to_string()))?;
    let root = yaml::load(&text, Arc::from(path.display().to_string()))
        .map_err(|error| wrong(&error.to_string()))?;
    let Value::Map(root) = &root.value else { return Err(wrong("it is no mapping")) };
    let Some(Value::List(kernels)) = get(root, "kernels") else {
        return Err(wrong("it has no list 'kernels'"));
    };
    let listed: Option<Vec<Listed>> = kernels.iter().map(kernel).collect();
    match listed {
        None => Err(wrong("a kernel of it has no name")),
        Some(listed) if listed.is_empty() => Err(wrong("it has no kernel")),
        Some(listed) => Ok(listed),
    }
}

fn get<'m>(map: &'m Map, key: &str) -> Option<&'m Value> {
    map.get(&Key::from(key)).map(|node| &node.value)
}

fn kernel(node: &Node) -> Option<Listed> {
    let Value::Map(map) = &node.value else { return None };
    let Some(Value::Str(name)) = get(map, "name").filter(|name| **name != Value::Str(String::new())) else {
        return None;
    };
    let mut typical: Vec<u64> = match get(map, "typical") {
        Some(Value::List(numbers)) => numbers.iter().filter_map(|node| whole(&node.value)).collect(),
        _ => Vec::new(),
    };
    if typical.is_empty() {
        typical.extend(get(map, "skip").and_then(whole));
    }
    let launches = get(map, "launches").and_then(whole);
    Some(Listed {
        name: name.clone(),
        // A list by hand need not count: the chosen launches are then taken to be there.
        launches: launches.unwrap_or(u64::MAX),
        median_ns: get(map, "median_ns").and_then(number),
        typical,
    })
}

fn whole(value: &Value) -> Option<u64> {
    match value {
        Value::Int(Int::Small(number)) => u64::try_from(*number).ok(),
        _ => None,
    }
}

fn number(value: &Value) -> Option<f64> {
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
        assert_eq!(read(&path).unwrap(), [Listed::from(&kernel)]);
        std::fs::write(&path, "kernels:\n- name: k\n").unwrap();
        let by_hand = read(&path).unwrap();
        assert_eq!((by_hand[0].median_ns, by_hand[0].typical.len()), (None, 0));
        for wrong in ["", "kernels: []", "kernels: [{x: 1}]", "- a", "kernels: 3", "a: ["] {
            std::fs::write(&path, wrong).unwrap();
            assert!(matches!(read(&path), Err(CliError::NotAList { .. })), "{wrong}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn numbers_count_from_one_and_a_name_stands_once() {
        let listed = |name: &str| Listed { name: name.into(), launches: 5, median_ns: None, typical: vec![] };
        assert_eq!(filter(&[listed("k"), listed("k")], &[0, 3]).matches('k').count(), 1);
        assert!(filter(&[listed("k")], &[0, 3]).ends_with(")$:1|4"));
    }
}
