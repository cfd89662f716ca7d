//! Charts as data, and what a page makes of them.

use std::collections::BTreeMap;

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{Ledger, PhaseLedger};
use rooflens_analyze::sampled::{CounterSubject, Sampled, SampledRun, StepParts, sampled};
use rooflens_report::bench::LevelRow;
use rooflens_report::charts::{self, ChartData, ChartInputs, ChartKind};
use rooflens_report::{Extras, html, html_with};
use rooflens_schema::Opt;
use rooflens_schema::tables::{CounterRow, CounterSource, CounterStep, Counters};

use crate::sample;

const S: i64 = 1_000_000_000;

/// A device whose clocks are throttled in samples 4 and 5 of 11.
fn counters() -> Sampled {
    let mut counters = Counters::default();
    for second in 0..=10_i64 {
        let mut row = CounterRow::new(second * S, 0, CounterSource::Device, Some(0));
        row.step = CounterStep::Measure;
        row.power_mw = Opt::some(200_000 + second * 1_000);
        row.throttle_reasons = Opt::some(i64::from((4..=5).contains(&second)));
        counters.push(row);
    }
    sampled(&SampledRun {
        counters: &counters,
        interval_ns: S,
        base_unix_ns: 0,
        subjects: vec![CounterSubject {
            source: CounterSource::Device,
            device: Some(0),
            name: sample::HARM.to_owned(),
            reasons: BTreeMap::new(),
        }],
        steps: vec![StepParts { step: CounterStep::Measure, parts: vec![] }],
        throttle: |bits| if bits == 0 { vec![] } else { vec!["sw_power_cap".to_owned()] },
        missing: BTreeMap::new(),
    })
}

fn levels() -> Vec<LevelRow> {
    let level = |users: u32| LevelRow {
        offered: format!("{users} users"),
        output_tokens_per_s: Some(100.0 * f64::from(users)),
        ttft_ns: Some((5e6, 9e6)),
        ..LevelRow::default()
    };
    vec![level(4), level(1), level(2)]
}

/// A decode step of two layers.
const PHASE: &str = r#"{
    "phase": "decode", "steps": 4, "activities": 8, "wall_ns": 900, "share": 1.0,
    "lines": [{"line": "kernels", "ns": 900, "share": 1.0}], "step": null, "line_steps": [], "shapes": [],
    "classes": [], "layers": [], "floors": [], "unspent_floor_ns": 0.0, "waits": null,
    "layer_classes": [
        {"layer": 0, "class": "gemm", "ns": 500, "floor_ns": 200, "flops": 1e12, "bytes": 1e9},
        {"layer": 0, "class": "norm", "ns": 20, "floor_ns": 5, "flops": 1e12, "bytes": 1e9},
        {"layer": 1, "class": "gemm", "ns": 380, "floor_ns": 200, "flops": 1e12, "bytes": 1e9}
    ]
}"#;

fn with_layers() -> Findings {
    let mut findings = sample::decode();
    if let Some(ledger) = findings.get_mut::<Ledger>() {
        ledger.phases = serde_json::from_str::<PhaseLedger>(PHASE).into_iter().collect();
        assert_eq!(ledger.phases.len(), 1, "the phase can be read");
    }
    findings
}

fn every() -> Vec<ChartData> {
    let (findings, sampled, levels) = (with_layers(), counters(), levels());
    let inputs = ChartInputs { findings: &findings, sampled: Some(&sampled), levels: &levels };
    let (found, missing) = charts::all(&inputs);
    assert_eq!(missing, [], "the sample has data for every chart");
    found
}

#[test]
fn every_chart_survives_json() {
    for chart in every() {
        let text = serde_json::to_string(&chart).unwrap();
        let back: ChartData = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(back, chart);
        assert!(!text.contains("NaN") && !text.contains('\u{202e}'), "{text}");
    }
}

#[test]
fn every_chart_is_a_figure() {
    for chart in every() {
        let svg = chart.svg();
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{}", chart.name);
        assert!(!svg.contains("No values to draw") && !svg.contains("<script"), "{}", chart.name);
    }
}

#[test]
fn throttled_samples_are_one_stretch() {
    let sampled = counters();
    let inputs = ChartInputs { findings: &Findings::default(), sampled: Some(&sampled), levels: &[] };
    let chart = charts::of(charts::find("counters").unwrap(), &inputs).unwrap();
    let ChartKind::Counters(plot) = chart.kind else { panic!("counters") };
    let stretches = plot.subjects[0].throttled.as_ref().unwrap();
    assert_eq!(stretches.len(), 1);
    assert_eq!((stretches[0].from_ns, stretches[0].to_ns), (4 * S, 6 * S));
    // Milliwatts became watts.
    assert_eq!(plot.subjects[0].levels[0].points[10], (10 * S, 210.0));
}

#[test]
fn levels_lie_by_throughput_and_lost_time_is_above_the_bound() {
    let charts = every();
    let kind = |name: &str| &charts.iter().find(|chart| chart.name == name).unwrap().kind;
    let ChartKind::Latency(plot) = kind("latency") else { panic!("latency") };
    let rates: Vec<f64> = plot.levels.iter().map(|level| level.output_tokens_per_s).collect();
    assert_eq!(rates, [100.0, 200.0, 400.0]);
    let ChartKind::Layers(plot) = kind("layers") else { panic!("layers") };
    assert_eq!(plot.phases[0].classes, ["gemm", "norm"], "most time first");
    assert_eq!(plot.phases[0].cells.iter().map(|cell| cell.lost_ns()).collect::<Vec<i64>>(), [300, 15, 180]);
}

#[test]
fn a_page_carries_the_library_only_where_it_draws() {
    let page = html(&with_layers(), "x");
    assert_eq!(page.matches("id=\"charts-library\"").count(), 1);
    for name in ["ledger", "steps", "layers", "memory", "collectives", "roofline"] {
        assert_eq!(
            page.matches(&format!("<figure class=\"living\" data-chart=\"{name}\">")).count(),
            1,
            "{name}"
        );
    }
    assert!(!html(&Findings::default(), "x").contains("charts-library"));
}

#[test]
fn names_cannot_end_the_data() {
    let sampled = counters();
    let extras = Extras { sampled: Some(&sampled), ..Extras::default() };
    let page = html_with(&sample::hostile(), "x", extras);
    let start = page.find("id=\"charts-data\">").unwrap() + "id=\"charts-data\">".len();
    let data = &page[start..start + page[start..].find("</script>").unwrap()];
    let read: Vec<ChartData> = serde_json::from_str(data).unwrap();
    assert!(!data.contains('<') && !read.is_empty());
}
