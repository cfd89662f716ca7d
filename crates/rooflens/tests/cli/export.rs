//! A trace for the Perfetto UI.

use super::*;

fn events(text: &str) -> Vec<Json> {
    let document: Json = serde_json::from_str(text).unwrap();
    document["traceEvents"].as_array().unwrap().clone()
}

#[test]
fn an_export_has_the_ledger_of_every_device() {
    let folder = Folder::new();
    let input = fixture("kineto/two_ranks");
    let (plain, packed) = (folder.text("seen.json"), folder.text("seen.json.gz"));
    text(&["export", &input, "-o", &plain]);
    text(&["export", &input, "-o", &packed]);
    let text = std::fs::read_to_string(&plain).unwrap();
    let mut unpacked = String::new();
    let file = std::fs::File::open(&packed).unwrap();
    flate2::read::GzDecoder::new(file).read_to_string(&mut unpacked).unwrap();
    assert_eq!(text, unpacked);
    // The ledger's slices are its wall time.
    let ledger = json(&["analyze", &input])["ledger"].clone();
    let events = events(&text);
    let named = |name: &str, key: &str| {
        let found = events.iter().filter(|event| event["name"] == key && event["args"]["name"] == name);
        found.map(|event| (event["pid"].clone(), event["tid"].clone())).collect::<Vec<_>>()
    };
    let tracks = named("ledger", "thread_name");
    assert_eq!(tracks.len() as u64, ledger["timelines"].as_u64().unwrap());
    let slices = events
        .iter()
        .filter(|event| event["ph"] == "X" && tracks.contains(&(event["pid"].clone(), event["tid"].clone())));
    let shown: i64 = slices.map(|event| (event["dur"].as_f64().unwrap() * 1000.0).round() as i64).sum();
    assert_eq!(shown, ledger["wall_ns"].as_i64().unwrap());
    // Rows of several ranks cannot be told apart: such an export is refused, not read as one rank.
    let output = rooflens(&["analyze", &packed]).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(5), "{told}");
    assert!(told.contains("an export of 2 ranks") && told.contains("\nhint: rooflens analyze"), "{told}");
}

#[test]
fn a_trace_is_not_written_over() {
    let folder = Folder::new();
    let trace = folder.text("trace.json");
    std::fs::copy(fixture("kineto/decode.json"), &trace).unwrap();
    let before = std::fs::read(&trace).unwrap();
    let output = rooflens(&["export", &trace, "-o", &trace]).output().unwrap();
    assert!(!output.status.success());
    assert_eq!(std::fs::read(&trace).unwrap(), before);
    // What cannot be read leaves nothing behind.
    let broken = folder.text("broken.json");
    std::fs::write(&broken, "no trace").unwrap();
    let output = rooflens(&["export", &broken, "-o", &folder.text("seen.json")]).output().unwrap();
    assert!(!output.status.success());
    assert!(!folder.path("seen.json").exists() && !folder.path("seen.json.part").exists());
}
