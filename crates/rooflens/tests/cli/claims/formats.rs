//! One trace, one set of answers: as it is, as a run directory, and as the export for the Perfetto UI.

use super::*;
use crate::corpus_files::at_least;

/// Values that are about the file and not about what was recorded in it.
const OF_THE_FILE: &[(&str, &str)] = &[
    ("/trace/sources", "an export has a name of its own"),
    ("/trace/events", "an export has no flows between launches and kernels, and names its tracks otherwise"),
];

/// The answers without what is about the file.
fn answers(mut document: Json) -> Json {
    for (path, _) in OF_THE_FILE {
        *document.pointer_mut(path).unwrap() = Json::Null;
    }
    // Notes name the file in which they were met.
    for note in document["notes"].as_array_mut().unwrap() {
        note["source"] = Json::Null;
    }
    document
}

fn difference(path: &str, one: &Json, other: &Json) -> Option<String> {
    match (one, other) {
        _ if one == other => None,
        (Json::Object(a), Json::Object(b)) if a.keys().eq(b.keys()) => {
            a.iter().find_map(|(key, value)| difference(&format!("{path}/{key}"), value, &b[key]))
        }
        (Json::Array(a), Json::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().find_map(|(i, (a, b))| difference(&format!("{path}/{i}"), a, b))
        }
        _ => {
            let short = |value: &Json| value.to_string().chars().take(400).collect::<String>();
            Some(format!("{path}: {} became {}", short(one), short(other)))
        }
    }
}

/// What differs between the answers of a trace, of its run directory and of its export.
fn differences(trace: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (run_directory, export) = (path("run"), path("export.json"));
    let of_trace = json(&["analyze", trace, "-o", &run_directory]);
    let of_run = json(&["analyze", &run_directory]);
    let mut found = Vec::new();
    if let Some(difference) = difference("", &of_trace, &of_run) {
        found.push(format!("{trace} as a run: {difference}"));
    }
    text(&["export", trace, "-o", &export]);
    let of_export = json(&["analyze", &export]);
    if let Some(difference) = difference("", &answers(of_trace), &answers(of_export)) {
        found.push(format!("{trace} as an export: {difference}"));
    }
    found
}

#[test]
fn a_fixture_its_run_and_its_export_give_the_same_answers() {
    assert_eq!(differences(&fixture("kineto/decode.json")), [""; 0]);
}

#[test]
#[ignore = "needs the corpus"]
fn a_trace_its_run_and_its_export_give_the_same_answers() {
    let paths = kineto_traces();
    assert!(paths.len() >= at_least(12, 30), "{} traces", paths.len());
    // Two programs at a time: each reads on all cores, and derives on one.
    let next = std::sync::atomic::AtomicUsize::new(0);
    let work = || {
        let next = || paths.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        std::iter::from_fn(next).flat_map(|path| differences(path)).collect::<Vec<_>>()
    };
    let found = std::thread::scope(|scope| {
        let workers = [scope.spawn(work), scope.spawn(work)];
        workers.map(|worker| worker.join().unwrap()).concat()
    });
    assert!(found.is_empty(), "{}", found.join("\n"));
}
