//! Reports made here, whole and damaged.

use prost::Message;
use rooflens_schema::Notes;

use super::message::{self, BlockHeader, FileHeader, StringTable};
use super::*;

fn framed(message: &impl Message) -> Vec<u8> {
    let bytes = message.encode_to_vec();
    [(bytes.len() as u32).to_le_bytes().as_slice(), &bytes].concat()
}

fn metric(name: u32, value: message::ValueMessage) -> message::MetricMessage {
    message::MetricMessage { name: Some(name), value: Some(value) }
}

/// Two launches; the names of their metrics stand in two blocks.
fn made() -> Vec<u8> {
    let number = |value: f64| message::ValueMessage { double: Some(value), ..Default::default() };
    let whole = |value: u64| message::ValueMessage { large: Some(value), ..Default::default() };
    let item = message::RuleItem {
        message: Some(message::RuleMessage { text: Some("too few blocks".into()), kind: Some(4) }),
        speedup: Some(message::SpeedupMessage { kind: Some(2), percent: Some(12.5) }),
    };
    let launch = message::Result {
        demangled_name: Some("void gemm<int>(int)".into()),
        function_name: Some("gemm".into()),
        grid: Some(message::SizeMessage { x: Some(64), y: Some(1), z: Some(1) }),
        metrics: vec![
            metric(0, number(1.5)),
            metric(1, whole(7)),
            metric(0, number(2.5)),
            metric(99, whole(1)),
        ],
        rules: vec![message::RuleResult {
            id: Some("LaunchConfiguration".into()),
            body: Some(message::RuleBody { items: vec![item] }),
            ..Default::default()
        }],
        ..Default::default()
    };
    let block = |name: &str| BlockHeader {
        results: Some(1),
        sources: Some(1),
        strings: Some(StringTable { strings: vec![name.into()] }),
        ..Default::default()
    };
    let source = vec![3, 0, 0, 0, 1, 2, 3];
    [
        MAGIC.to_vec(),
        framed(&FileHeader { version: Some(7) }),
        framed(&block("gpu__time_duration.sum")),
        source.clone(),
        framed(&launch),
        framed(&block("launch__registers_per_thread")),
        source,
        framed(&launch),
    ]
    .concat()
}

#[test]
fn launches_metrics_rules() {
    let notes = Notes::default();
    let launches = read(&made(), "made", &notes).unwrap();
    assert_eq!(launches.len(), 2);
    let launch = &launches[1];
    assert_eq!((launch.name.as_str(), launch.grid), ("void gemm<int>(int)", Some([64, 1, 1])));
    assert_eq!(launch.number("gpu__time_duration.sum"), Some(2.5), "the last value counts");
    assert_eq!(launch.number("launch__registers_per_thread"), Some(7.0), "named in a later block");
    let rule = &launch.rules[0];
    assert_eq!(rule.messages, [(RuleGrade::Optimization, "too few blocks".to_owned())]);
    assert_eq!(rule.speedup, Some(Speedup { is_global: true, percent: 12.5 }));
    assert!(notes.rows()[0].message.starts_with("2 metrics have no name"));
}

#[test]
fn every_cut_gives_what_stands_before_it() {
    let whole = made();
    let mut counts = Vec::new();
    for cut in 0..whole.len() {
        let notes = Notes::default();
        match read(&whole[..cut], "cut", &notes) {
            Ok(launches) => {
                assert!(!notes.rows().is_empty(), "cut at {cut} is told");
                counts.push(launches.len());
            }
            Err(error) => assert!(error.to_string().contains("no record"), "{error}"),
        }
    }
    assert!(counts.contains(&1) && counts.is_sorted());
}
