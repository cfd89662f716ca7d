//! Real traces.
//!
//! The traces are not part of the repository: `ROOFLENS_CORPUS` names the folder that has them under
//! `kineto/`.

use super::super::{ActivityHint, KernelClass, describe};
use serde::Deserialize;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How much of a trace's device time may be of no known class.
const MAX_OTHER_INFERENCE: f64 = 0.02;
const MAX_OTHER: f64 = 0.05;

#[derive(Debug, Deserialize)]
struct Event {
    name: String,
    #[serde(default)]
    dur: f64,
}

fn corpus() -> PathBuf {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    std::env::var_os("ROOFLENS_CORPUS").map_or(default, PathBuf::from).join("kineto")
}

fn traces(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            traces(&path, found);
        } else if path.to_string_lossy().ends_with(".json.gz") {
            found.push(path);
        }
    }
}

fn device_us_by_class(trace: &Path) -> HashMap<KernelClass, f64> {
    let output = Command::new("gzip").arg("-dc").arg(trace).output().unwrap();
    assert!(output.status.success(), "{}", trace.display());
    let text = String::from_utf8_lossy(&output.stdout);
    let mut classes: HashMap<String, KernelClass> = HashMap::new();
    let mut times = HashMap::new();
    const CATEGORY: &str = "\"cat\": \"";
    for (at, _) in text.match_indices(CATEGORY) {
        let category = text[at + CATEGORY.len()..].split('"').next();
        let hint = match category {
            Some("kernel" | "Kernel") => ActivityHint::Kernel,
            Some("gpu_memcpy" | "Memcpy") => ActivityHint::Memcpy,
            Some("gpu_memset" | "Memset") => ActivityHint::Memset,
            _ => continue,
        };
        let Some(start) = text[..at].rfind('{') else { continue };
        let event = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Event>().next();
        let Some(Ok(event)) = event else { continue };
        let class = *classes.entry(event.name).or_insert_with_key(|name| describe(name, hint).class);
        *times.entry(class).or_insert(0.0) += event.dur;
    }
    times
}

#[test]
#[ignore = "needs the corpus"]
fn nearly_all_device_time_has_a_class() {
    let folder = corpus();
    let mut paths = Vec::new();
    traces(&folder, &mut paths);
    paths.sort();
    assert!(!paths.is_empty(), "no traces in {}: ROOFLENS_CORPUS names the corpus", folder.display());
    let mut too_much = Vec::new();
    for path in paths {
        let name = path.strip_prefix(&folder).unwrap_or(&path).to_string_lossy().into_owned();
        let times = device_us_by_class(&path);
        let total: f64 = times.values().sum();
        let other = times.get(&KernelClass::Other).copied().unwrap_or(0.0) / total;
        let limit = if name.starts_with("tracelens") { MAX_OTHER_INFERENCE } else { MAX_OTHER };
        if total > 0.0 {
            println!("{:6.2} %  {name}", other * 100.0);
        }
        if other > limit {
            too_much.push(name.clone());
        }
        // 73 multimem all-reduces (2,119.5 µs) and one NCCL all-gather (22 µs), none of which overlap.
        if name.ends_with("b200/eager_trace.json.gz") {
            let communication = times[&KernelClass::Communication];
            assert!((communication - 2141.5).abs() < 0.1, "{name}: {communication} µs of communication");
        }
    }
    assert!(too_much.is_empty(), "too much time of no known class in {too_much:?}");
}
