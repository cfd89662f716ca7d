//! Charts as files.

use sha2::{Digest, Sha256};

use super::*;

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn fonts_have_their_checksums() {
    let sums = include_str!("../../vendor/inter/SHA256SUMS");
    let files: [(&str, &[u8]); 3] = [
        ("Inter-Regular.ttf", include_bytes!("../../vendor/inter/Inter-Regular.ttf")),
        ("Inter-SemiBold.ttf", include_bytes!("../../vendor/inter/Inter-SemiBold.ttf")),
        ("LICENSE.txt", include_bytes!("../../vendor/inter/LICENSE.txt")),
    ];
    let sum =
        |bytes: &[u8]| Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let found: String = files.iter().map(|(name, bytes)| format!("{}  {name}\n", sum(bytes))).collect();
    assert_eq!(sums, found, "vendor/inter/build makes them");
}

#[test]
fn charts_are_listed_with_why_others_are_missing() {
    let output = text(&["plot", &fixture("kineto/decode.json")]);
    assert!(output.starts_with("ledger ") && output.contains("Bus bandwidth by message size"), "{output}");
    assert!(output.contains("no data: no group of steps has 3 steps or more"), "{output}");
}

#[test]
fn the_data_are_those_of_the_analysis() {
    let trace = fixture("kineto/decode.json");
    let charts = json(&["plot", &trace]);
    assert_eq!(charts["schema"]["name"], "rooflens.charts");
    let ledger = charts["charts"].as_array().unwrap().iter().find(|chart| chart["name"] == "ledger").unwrap();
    let shown: i64 =
        ledger["phases"].as_array().unwrap().iter().map(|phase| phase["wall_ns"].as_i64().unwrap()).sum();
    let found = json(&["analyze", &trace]);
    assert_eq!(shown, found["ledger"]["wall_ns"].as_i64().unwrap());
    let only = json(&["plot", &trace, "--chart", "ledger"]);
    assert_eq!(only["charts"].as_array().unwrap(), std::slice::from_ref(ledger));
    assert_eq!(only["missing"].as_array().unwrap().len(), 0);
}

#[test]
fn a_run_gives_the_charts_of_its_trace() {
    let folder = Folder::new();
    let (trace, saved) = (fixture("kineto/two_ranks"), folder.text("run"));
    text(&["analyze", &trace, "-o", &saved]);
    let of = |input: &str| json(&["plot", input]);
    let (from_trace, from_run) = (of(&trace), of(&saved));
    assert_eq!(from_trace["charts"], from_run["charts"]);
    assert_eq!(from_trace["missing"], from_run["missing"]);
}

#[test]
fn sizes_and_themes() {
    let folder = Folder::new();
    let trace = fixture("kineto/decode.json");
    let drawn = |more: &[&str]| {
        let file = folder.text("chart.svg");
        let mut words = vec!["plot", &trace, "--chart", "ledger", "-o", &file];
        words.extend(more);
        run(&words).fine();
        read(&file)
    };
    let page = drawn(&[]);
    assert!(page.contains("width=\"800\"") && page.contains("prefers-color-scheme:dark"));
    let slide = drawn(&["--size", "slide", "--theme", "dark"]);
    assert!(slide.contains("width=\"1920\" height=\"1080\"") && !slide.contains("prefers-color-scheme"));
    assert!(slide.contains(".rf .page{fill:#171b21}"));
    let column = drawn(&["--size", "column", "--theme", "light"]);
    assert!(column.contains("viewBox=\"0 0 420 ") && column.contains("width=\"3.500in\""));
    assert!(!column.contains("#171b21"));
}

#[test]
fn each_ending_is_what_it_says() {
    let folder = Folder::new();
    let trace = fixture("kineto/decode.json");
    for chart in ["ledger", "roofline", "layers", "memory", "collectives"] {
        for ending in ["svg", "png", "html", "vl.json", "json"] {
            let file = folder.text(&format!("{chart}.{ending}"));
            text(&["plot", &trace, "--chart", chart, "-o", &file]);
            let bytes = std::fs::read(&file).unwrap();
            match ending {
                "svg" => assert!(bytes.starts_with(b"<svg ") && bytes.ends_with(b"</svg>\n")),
                "png" => assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n")),
                "html" => {
                    let text = read(&file);
                    assert!(
                        text.starts_with("<!doctype html>")
                            && text.contains(&format!("data-chart=\"{chart}\""))
                    );
                }
                "vl.json" => {
                    let spec: Json = serde_json::from_slice(&bytes).unwrap();
                    assert!(spec["$schema"].as_str().unwrap().contains("vega-lite"));
                }
                _ => {
                    let data: Json = serde_json::from_slice(&bytes).unwrap();
                    assert_eq!(data["charts"][0]["name"], chart);
                }
            }
        }
    }
}

#[test]
fn what_cannot_be_written_is_said_before_and_nothing_is_harmed() {
    let folder = Folder::new();
    let trace = folder.text("trace.json");
    std::fs::copy(fixture("kineto/decode.json"), &trace).unwrap();
    let refused = |words: &[&str]| {
        let output = rooflens(words).output().unwrap();
        assert!(!output.status.success(), "{words:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let told = refused(&["plot", &trace, "--chart", "ledger", "-o", &folder.text("a.pdf")]);
    assert!(told.contains("hint: -o FILE.svg, FILE.png"), "{told}");
    let told =
        refused(&["plot", &trace, "--chart", "ledger", "-o", &folder.text("a.html"), "--size", "slide"]);
    assert!(told.contains("--size and --theme are for .svg"), "{told}");
    let told = refused(&["plot", &trace, "--chart", "latency", "-o", &folder.text("a.svg")]);
    assert!(told.contains("no latency chart: the input is not a load test"), "{told}");
    assert!(told.contains("hint: charts with data: ledger"), "{told}");
    refused(&["plot", &trace, "--chart", "ledger", "-o", &trace]);
    assert_eq!(std::fs::read(&trace).unwrap(), std::fs::read(fixture("kineto/decode.json")).unwrap());
    assert!(!Path::new(&folder.text("a.svg")).exists());
}
