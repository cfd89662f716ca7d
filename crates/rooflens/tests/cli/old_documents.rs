//! Documents of schema 1.0 that an older version wrote are read into today's types, with every value that they have.

use std::collections::BTreeSet;

use serde_json::Value;

use super::*;

/// Documents that are younger than schema 1.0's first, that changed since, or that describe the machine.
const OTHERS: [&str; 30] = [
    "assets-link",
    "assets-plan",
    "assets-readme",
    "assets-status",
    "assets-variant",
    "assets-verify",
    "bench",
    "bench-import",
    "blocks",
    "charts",
    "config-migrated",
    "doctor",
    "externals-add",
    "externals-sync",
    "externals-update",
    "model",
    "queries",
    "query",
    "runs-deleted",
    "samples",
    "samples-line",
    "self-test",
    "store-added",
    "store-changed",
    "store-removed",
    "store-runs",
    "store-vacuumed",
    "store-verified",
    "tags",
    "timeline",
];

/// The schema that a document follows: a finding is in a folder of its own, other documents name it, and the names
/// of files say it where they do not.
fn schema_of(path: &Path, text: &str) -> String {
    if path.parent().unwrap().ends_with("findings") {
        return "finding".to_owned();
    }
    let file = path.file_name().unwrap().to_str().unwrap();
    tag(text).unwrap_or_else(|| file.split('.').next().unwrap().to_owned())
}

/// Whether it was taken out on purpose: times of `phases` are told by `host`, `device_span` and `device_busy`.
fn is_gone(place: &str, key: &str) -> bool {
    let times = ["total_ns", "mean_ns", "min_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns", "device_busy_ns"];
    let row = place.rsplit_once('/').map(|(list, _)| list);
    row.is_some_and(|list| list.ends_with("/phases")) && times.contains(&key)
}

/// Where the new document lacks a value of the old one.
fn lost(old: &Value, new: &Value, place: &str) -> Option<String> {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => old.iter().find_map(|(key, value)| match new.get(key) {
            Some(other) => lost(value, other, &format!("{place}/{key}")),
            None if is_gone(place, key) => None,
            None => Some(format!("{place}/{key} is gone")),
        }),
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            old.iter().zip(new).enumerate().find_map(|(at, (a, b))| lost(a, b, &format!("{place}/{at}")))
        }
        // A median that is a whole number may have been written as one.
        (Value::Number(old), Value::Number(new)) if old.as_f64() == new.as_f64() => None,
        _ => (old != new).then(|| format!("{place}: {old}, then {new}")),
    }
}

/// What is wrong with the document as it is read today.
fn mistake(schema: &str, old: &str) -> Option<String> {
    let found = document::all().find(|document| document.name == schema);
    let read = found.unwrap_or_else(|| panic!("no schema {schema}")).rewrite(old);
    match read {
        Ok(new) => lost(&serde_json::from_str(old).unwrap(), &serde_json::from_str(&new).unwrap(), ""),
        Err(error) => Some(error.to_string()),
    }
}

#[test]
fn documents_of_schema_1_0_are_read() {
    let folder = PathBuf::from(fixture("documents/v1.0"));
    let (mut read, mut mistakes) = (BTreeSet::new(), Vec::new());
    for name in files(&folder).iter().filter(|name| name.ends_with(".json")) {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        let schema = schema_of(&folder.join(name), &text);
        mistakes.extend(mistake(&schema, &text).map(|mistake| format!("{name}, {schema}: {mistake}")));
        read.insert(schema);
    }
    let samples = std::fs::read_to_string(folder.join("printed/samples.jsonl")).unwrap();
    for (at, line) in samples.lines().enumerate() {
        mistakes.extend(mistake(if at == 0 { "samples" } else { "samples-line" }, line));
    }
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
    let unread: BTreeSet<&str> =
        document::all().map(|schema| schema.name).filter(|name| !read.contains(*name)).collect();
    assert_eq!(unread, OTHERS.into());
}
