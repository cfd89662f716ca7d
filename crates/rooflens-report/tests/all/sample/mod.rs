//! Hand-made findings: a launch-bound decode on two devices, a trace without devices, a large job,
//! and names that mean harm.

mod host;
mod tables;

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::*;
use rooflens_analyze::finding::NotComputed;
use rooflens_analyze::ledger::Line;
use rooflens_schema::{Note, Severity, Stage};

pub use tables::{device, kernel};

/// A finding as its JSON reads: what is left out is null.
fn made<T: serde::de::DeserializeOwned>(json: serde_json::Value) -> T {
    serde_json::from_value(json).unwrap_or_else(|error| panic!("{error}"))
}

/// Everything there can be.
pub fn decode() -> Findings {
    let mut findings = Findings::default();
    findings.insert("trace", Box::new(tables::trace()));
    findings.insert("devices", Box::new(Devices(vec![device(0, 0, 0.36), device(1, 1, 0.33)])));
    findings.insert("ledger", Box::new(ledger()));
    findings.insert("kernels", Box::new(tables::kernels()));
    findings.insert("classes", Box::new(tables::classes()));
    findings.insert("operators", Box::new(host::operators()));
    findings.insert("phases", Box::new(tables::phases()));
    findings.insert("launches", Box::new(host::launches()));
    findings.insert("gaps", Box::new(tables::gaps()));
    findings.insert("modules", Box::new(host::modules()));
    findings.insert("frames", Box::new(host::frames()));
    findings.insert("shape_rates", Box::new(tables::shape_rates()));
    findings.insert("memory", Box::new(host::memory()));
    findings.insert("communication", Box::new(host::communication()));
    findings.insert("health", Box::new(host::health()));
    findings.insert("verdict", Box::new(verdict()));
    findings.notes = vec![
        note(Severity::DataLoss, "truncated", "rank1.json.gz", 1, "the file ends in the middle of an event"),
        note(Severity::Warning, "negative_duration", "rank0.json.gz", 3, "3 events end before they start"),
        note(Severity::Info, "unknown_category", "rank0.json.gz", 17, "category `foo` is not read"),
    ];
    findings
}

fn ledger() -> Ledger {
    let times = [
        (Line::Kernels, 1_400_000_000),
        (Line::Unneeded, 260_000_000),
        (Line::Communication, 149_600_000),
        (Line::Copies, 19_300_000),
        (Line::LaunchBound, 2_127_000_000),
        (Line::CpuBound, 311_000_000),
        (Line::Sync, 402_000_000),
        (Line::Dispatch, 62_000_000),
    ];
    let wall_ns = times.iter().map(|(_, ns)| ns).sum::<i64>();
    let line = |(line, ns): (Line, i64)| LedgerLine { line, ns, share: ns as f64 / wall_ns as f64 };
    let mut ledger = Ledger::default();
    (ledger.timeline, ledger.timelines, ledger.wall_ns) = ("device".into(), 2, wall_ns);
    ledger.lines = times.map(line).to_vec();
    ledger
}

fn verdict() -> Verdict {
    Verdict {
        sentence: "The devices are idle 61.3% of the time, most of it (44.1%) because the host launches \
                   kernels more slowly than the devices run them: decode is launch-bound."
            .to_owned(),
        shares: vec![("launch_bound".to_owned(), 0.441), ("compute".to_owned(), 0.345)],
        next: vec![
            "Capture the decode step in a CUDA graph: 91.2% of its 512 kernels are shorter than 10 µs."
                .to_owned(),
            "Replace `Tensor.item()` in the sampler: it waits for the device in each step.".to_owned(),
            "Overlap the all-reduce with the next layer's norm: it is exposed for 3.1% of the time."
                .to_owned(),
        ],
        claims: vec![],
    }
}

pub fn note(severity: Severity, code: &str, source: &str, count: i64, message: &str) -> Note {
    Note {
        stage: Stage::Ingest,
        severity,
        code: code.to_owned(),
        source: source.to_owned(),
        count,
        message: message.to_owned(),
    }
}

/// No device in sight.
pub fn cpu_only() -> Findings {
    let mut findings = Findings::default();
    let trace = Trace {
        devices: 0,
        devices_listed: 0,
        ranks: 1,
        sources: vec!["cpu.json".to_owned()],
        ..tables::trace()
    };
    findings.insert("trace", Box::new(Trace { hardware: vec![], world_size: None, ..trace }));
    findings.insert("operators", Box::new(host::operators()));
    findings.insert("phases", Box::new(tables::host_phases()));
    findings.insert("frames", Box::new(host::frames()));
    findings.insert("memory", Box::new(host::memory()));
    findings.insert(
        "verdict",
        Box::new(Verdict {
            sentence: "The trace has no device activity; aten::addmm takes 41.0% of the operators' time."
                .to_owned(),
            ..Verdict::default()
        }),
    );
    findings.not_computed = ["devices", "kernels", "classes", "gaps"]
        .map(|name| NotComputed {
            analysis: name.to_owned(),
            reason: "the trace has no device activity".to_owned(),
        })
        .to_vec();
    findings
}

/// A thousand devices and ten thousand kernels.
pub fn fleet() -> Findings {
    let mut findings = Findings::default();
    let devices = (0..1000).map(|rank| device(rank, rank % 8, 0.3 + f64::from(rank % 97) / 200.0)).collect();
    findings.insert("devices", Box::new(Devices(devices)));
    let kernels =
        (0..10_000_i64).map(|n| kernel(&format!("kernel_{n:05}"), "gemm", 10, 1_000_000 - n * 99, 1e10));
    findings.insert("kernels", Box::new(Kernels(kernels.collect())));
    findings.insert("verdict", Box::new(verdict()));
    findings.notes = (0..1000)
        .map(|rank| {
            note(Severity::Warning, "clock_skew", &format!("rank{rank}.json"), 2, "clocks differ by 3 ms")
        })
        .collect();
    findings
}

/// What a trace might hold to harm its reader.
pub const HARM: &str = "<script>alert(1)</script>\u{1b}[31m\u{1b}]0;x\u{7}|a`b\r\n\"'&amp;\u{202e}\u{9b}2J";

/// Harm in every place that a trace fills, names of 100 kB, spans of nothing and numbers that are none.
pub fn hostile() -> Findings {
    let long = format!("{HARM}{}", "long<&|`name ".repeat(8_000));
    let mut findings = decode();
    let mut hostile = Findings::default();
    let mut bad = device(0, 0, 0.0);
    (bad.span_ns, bad.busy_ns, bad.idle_ns, bad.compute_ns) = (0, 0, 0, 0);
    bad.name = Some(long.clone());
    bad.timeline.compute = vec![f32::NAN, f32::INFINITY, -1.0];
    let mut odd = kernel(&long, HARM, 0, 0, 0.0);
    (odd.short_name, odd.share, odd.mean_ns) = (long.clone(), f64::NAN, f64::INFINITY);
    (odd.library, odd.dtype) = (Some(HARM.to_owned()), Some(HARM.to_owned()));
    let mut trace = tables::trace();
    (trace.sources, trace.hardware) = (vec![HARM.to_owned()], vec![long.clone()]);
    trace.properties.insert(HARM.to_owned(), long.clone());
    let mut phases = tables::phases();
    phases.0[0].name.clone_from(&long);
    phases.0[0].durations_ns = vec![0; 20];
    phases.0[0].device_busy_share = Some(f64::NAN);
    let mut operators = host::operators();
    operators.0[0].name.clone_from(&long);
    operators.0[0].shapes[0].shapes.clone_from(&long);
    let mut gaps = tables::gaps();
    gaps.0[0].examples[0].host = Some(long.clone());
    hostile.insert("trace", Box::new(trace));
    hostile.insert("devices", Box::new(Devices(vec![bad])));
    hostile.insert("kernels", Box::new(Kernels(vec![odd])));
    hostile.insert("phases", Box::new(phases));
    hostile.insert("operators", Box::new(operators));
    hostile.insert("gaps", Box::new(gaps));
    hostile.insert("memory", Box::new(Memory(vec![])));
    hostile.insert(
        "verdict",
        Box::new(Verdict {
            sentence: long.clone(),
            shares: vec![],
            next: vec![long.clone()],
            claims: vec![],
        }),
    );
    hostile.not_computed = vec![NotComputed { analysis: HARM.to_owned(), reason: long.clone() }];
    hostile.notes = findings.notes.drain(..).collect();
    hostile.notes.push(note(Severity::Warning, HARM, &long, i64::MAX, &long));
    hostile.notes.push(note(Severity::Warning, HARM, "b", i64::MAX, &long));
    hostile
}
