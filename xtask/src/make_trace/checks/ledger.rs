//! The time ledger: where each nanosecond goes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Case, DeviceTimes, Shares, by_line, each_seed, integer, number, report, rows, string};

/// Of the wall time of what is compared. Half a point is promised; a mistake may be smaller.
const TOLERANCE: f64 = 0.001;

const IDLE: &[&str] = &["launch_bound", "cpu_bound", "sync", "dependency", "dispatch", "unknown"];

/// Which classes of the catalog do the work of the model.
const WORK: &[(&str, &[&str])] = &[
    ("products", &["gemm", "gemv", "moe"]),
    ("attention", &["attention", "rope", "kv_cache"]),
    ("norms", &["norm"]),
    ("lookups", &["embedding"]),
    ("others", &["sampling"]),
];

const LAYER_PARTS: &[&str] = &["kernels_ns", "unneeded_ns", "moved_ns", "idle_ns"];

#[test]
fn every_injected_nanosecond_is_in_its_line() {
    each_seed("checks::ledger", false, |case| {
        let report = report(&case.traces(), &case.request());
        let ledger = &report["ledger"];
        assert_adds_up(ledger);
        assert_unions(ledger, case);
        assert_steps(&report, case);
        let mut shares = Shares::within(TOLERANCE);
        compare(ledger, case, &mut shares);
        shares.finish()
    });
}

/// Lines and phases add up to the whole, and classes and layers to no more than their lines.
#[track_caller]
pub(super) fn assert_adds_up(ledger: &Value) {
    assert_eq!(ledger["timeline"], "device");
    let wall_ns = integer(&ledger["wall_ns"]);
    let lines = by_line(&ledger["lines"]);
    assert_eq!(lines.values().sum::<i64>(), wall_ns, "the lines do not add up to wall_ns");
    let phases = rows(&ledger["phases"]);
    let in_phases: i64 = phases.iter().map(|phase| integer(&phase["wall_ns"])).sum();
    assert_eq!(in_phases, wall_ns, "the phases do not add up to wall_ns");
    let mut summed: BTreeMap<&str, i64> = BTreeMap::new();
    for phase in phases {
        let (name, phase_ns) = (string(&phase["phase"]), integer(&phase["wall_ns"]));
        let in_phase = by_line(&phase["lines"]);
        for (line, ns) in &in_phase {
            assert!(*ns >= 0, "{name}.{line} is {ns} ns");
            *summed.entry(line).or_default() += ns;
        }
        assert_eq!(in_phase.values().sum::<i64>(), phase_ns, "the lines of {name} do not add up");
        let classes: i64 = rows(&phase["classes"]).iter().map(|row| integer(&row["ns"])).sum();
        let busy_ns = phase_ns - idle_ns(&in_phase);
        assert_eq!(classes, busy_ns, "the classes of {name} do not add up to its busy time");
        let layers = rows(&phase["layers"]).iter();
        let layers: i64 = layers.flat_map(|row| LAYER_PARTS.iter().map(|part| integer(&row[*part]))).sum();
        assert!(layers <= phase_ns, "the layers of {name} have {layers} ns, the phase {phase_ns} ns");
    }
    assert_eq!(summed, lines, "the lines of the phases do not add up to the lines of the whole");
}

fn idle_ns(lines: &BTreeMap<&str, i64>) -> i64 {
    lines.iter().filter(|(line, _)| IDLE.contains(line)).map(|(_, ns)| ns).sum()
}

/// The whole, compared with unions of the intervals of the raw events.
fn assert_unions(ledger: &Value, case: &Case) {
    let devices: Vec<DeviceTimes> = case.job.traces.iter().map(DeviceTimes::of).collect();
    let total = |of: fn(&DeviceTimes) -> i64| devices.iter().map(of).sum::<i64>();
    let lines = by_line(&ledger["lines"]);
    let line = |name| lines.get(name).copied().unwrap_or(0);
    assert_eq!(integer(&ledger["wall_ns"]), total(|device| device.span_ns), "wall time and spans of devices");
    assert_eq!(idle_ns(&lines), total(|device| device.idle_ns), "idle time and gaps between intervals");
    assert_eq!(
        line("communication") + line("comm_wait"),
        total(|device| device.exposed_communication_ns),
        "communication with waiting, and intervals in which only communication runs"
    );
}

/// Each step counts once whatever else is annotated, and no two names of one disagree.
fn assert_steps(report: &Value, case: &Case) {
    let nesting = case.injected("nesting");
    let mut counted: BTreeMap<&str, i64> = BTreeMap::new();
    for row in rows(&report["phases"]).iter().filter(|row| row["role"] == "step") {
        *counted.entry(string(&row["kind"])).or_default() += integer(&row["count"]);
    }
    let injected = injected_phases(case).map(|(name, phase)| (name, integer(&phase["steps"])));
    let injected: BTreeMap<&str, i64> = injected.filter(|(_, steps)| *steps > 0).collect();
    assert_eq!(counted, injected, "steps (left), and injected ones (right), annotated as {nesting}");
    let notes = rows(&report["notes"]);
    let disagreement = notes.iter().find(|note| note["code"] == "step_names_disagree");
    assert_eq!(disagreement, None, "names of a step disagree, annotated as {nesting}");
}

fn injected_phases(case: &Case) -> impl Iterator<Item = (&str, &Value)> {
    case.injected("phases").as_object().unwrap().iter().map(|(name, phase)| (name.as_str(), phase))
}

fn compare(ledger: &Value, case: &Case, shares: &mut Shares) {
    assert_eq!(ledger["wall_ns"], *case.injected("wall_ns"), "wall_ns (left), injected (right)");
    let found = rows(&ledger["phases"]).iter().map(|phase| (string(&phase["phase"]), phase));
    let found: BTreeMap<&str, &Value> = found.collect();
    let names: BTreeSet<&str> = injected_phases(case).map(|(name, _)| name).collect();
    assert_eq!(found.keys().copied().collect::<BTreeSet<_>>(), names, "phases (left), injected (right)");
    let mut whole: BTreeMap<&str, f64> = BTreeMap::new();
    for (name, injected) in injected_phases(case) {
        let phase = found[name];
        assert_eq!(phase["steps"], injected["steps"], "steps of {name} (left), injected (right)");
        let flawed =
            rows(&phase["flawed"]).iter().map(|row| (string(&row["reason"]), integer(&row["steps"])));
        let injected_flawed = injected["flawed"].as_object().unwrap().iter();
        assert_eq!(
            flawed.collect::<BTreeMap<_, _>>(),
            injected_flawed.map(|(reason, steps)| (reason.as_str(), integer(steps))).collect(),
            "flawed steps of {name} (left), injected (right)"
        );
        let lines = injected["lines"].as_object().unwrap().iter();
        let lines: BTreeMap<&str, f64> = lines.map(|(line, ns)| (line.as_str(), number(ns))).collect();
        for (line, ns) in &lines {
            *whole.entry(line).or_default() += ns;
        }
        let wall_ns = lines.values().sum();
        compare_lines(name, &by_line(&phase["lines"]), &lines, wall_ns, shares);
        compare_work(name, phase, injected, wall_ns, shares);
        // Graph replays have no layers.
        if let Some(layers) = injected["layers"].as_object() {
            compare_layers(name, &phase["layers"], layers, wall_ns, shares);
        }
    }
    let wall_ns = number(case.injected("wall_ns"));
    compare_lines("all", &by_line(&ledger["lines"]), &whole, wall_ns, shares);
}

fn compare_lines(
    phase: &str,
    found: &BTreeMap<&str, i64>,
    injected: &BTreeMap<&str, f64>,
    wall_ns: f64,
    shares: &mut Shares,
) {
    let lines: BTreeSet<_> = found.keys().chain(injected.keys()).collect();
    for line in lines {
        let found = found.get(line).copied().unwrap_or(0) as f64;
        let injected = injected.get(line).copied().unwrap_or(0.0);
        shares.compare(&format!("{phase}.{line}"), found, injected, wall_ns);
    }
}

fn compare_work(phase: &str, found: &Value, injected: &Value, wall_ns: f64, shares: &mut Shares) {
    for (work, classes) in WORK {
        let rows = || rows(&found["classes"]).iter().filter(|row| classes.contains(&string(&row["class"])));
        let injected = &injected["work"][work];
        for part in ["ns", "floor_ns"] {
            // Without shapes there is no floor.
            let found: f64 = rows().map(|row| row[part].as_f64().unwrap_or(0.0)).sum();
            let injected = injected[part].as_f64().unwrap_or(0.0);
            shares.compare(&format!("{part} of {phase}.{work}"), found, injected, wall_ns);
        }
    }
}

fn compare_layers(
    phase: &str,
    found: &Value,
    injected: &serde_json::Map<String, Value>,
    wall_ns: f64,
    shares: &mut Shares,
) {
    let found: BTreeMap<String, &Value> =
        rows(found).iter().map(|row| (row["layer"].to_string(), row)).collect();
    let layers: BTreeSet<&String> = found.keys().chain(injected.keys()).collect();
    for layer in layers {
        for part in LAYER_PARTS {
            let ns = |row: Option<&Value>| row.map_or(0.0, |row| number(&row[*part]));
            let (found, injected) = (ns(found.get(layer).copied()), ns(injected.get(layer)));
            shares.compare(&format!("{phase}.layers[{layer}].{part}"), found, injected, wall_ns);
        }
    }
}
