//! Planted changes must be the first line, and nothing else a change.

use super::random::Random;
use super::*;

fn item(name: &str, dur_ns: i64, wait_ns: i64) -> Item {
    Item { name: name.into(), dtype: None, dur_ns, wait_ns }
}

/// Thirty steps of the same work, with noise of one percent.
fn timeline(seed: u64, work: &[(&str, i64, i64)]) -> Timeline {
    let mut random = Random::new(seed);
    let mut noisy = |ns: i64| ns + ns * (random.below(200) as i64 - 100) / 10_000;
    let mut step = || Step {
        items: work.iter().map(|(name, dur, wait)| item(name, noisy(*dur), noisy(*wait))).collect(),
    };
    let steps = (0..30).map(|_| step()).collect();
    Timeline { on_device: true, phases: [("decode", steps)].into() }
}

const LAYER: &[(&str, i64, i64)] = &[
    ("norm", 10_000, 1_000),
    ("gemm_128x64_v1", 80_000, 1_000),
    ("rope", 8_000, 1_000),
    ("attention", 50_000, 1_000),
    ("silu", 9_000, 1_000),
    ("mul", 9_000, 1_000),
    ("gemm_128x64_v1", 80_000, 1_000),
    ("mul", 9_000, 1_000),
    ("argmax", 20_000, 2_000),
];

fn changed(edit: impl Fn(&mut Vec<(&'static str, i64, i64)>)) -> Vec<Line> {
    let mut work = LAYER.to_vec();
    edit(&mut work);
    let change = timelines(&timeline(1, LAYER), &timeline(2, &work));
    change.lines.into_iter().filter(|line| line.is_change).collect()
}

fn one(lines: &[Line]) -> &Line {
    assert_eq!(lines.len(), 1, "{lines:#?}");
    &lines[0]
}

#[test]
fn the_same_has_no_change() {
    assert!(changed(|_| {}).is_empty());
}

#[test]
fn a_sleep_is_a_wait_before_what_follows() {
    let lines = changed(|work| work[8].2 += 5_000_000);
    let line = one(&lines);
    assert_eq!((line.what, line.label.as_str(), line.how), ("wait", "idle before argmax", How::Same));
    assert!((line.delta_ns - 5e6).abs() < 1e5, "{line:?}");
}

#[test]
fn a_rename_is_one_line_and_no_change_of_time() {
    let lines = timelines(&timeline(1, LAYER), &{
        let mut work = LAYER.to_vec();
        work[3].0 = "flash_fwd";
        timeline(2, &work)
    });
    let line = lines.lines.iter().find(|line| line.what == "work" && line.how == How::Renamed).unwrap();
    assert_eq!(
        (line.a_names.as_slice(), line.b_names.as_slice()),
        (&["attention".to_owned()][..], &["flash_fwd".to_owned()][..])
    );
    assert!(!line.is_change && lines.lines.iter().all(|line| line.how <= How::Renamed));
    // A new version of a name is known by the name itself, wherever it stands.
    let lines = changed(|work| {
        work[1].0 = "gemm_256x32_v2";
        work[6] = ("gemm_256x32_v2", 60_000, 1_000);
    });
    let line = one(&lines);
    assert_eq!((line.how, line.a_count, line.b_count), (How::Renamed, 2.0, 2.0));
    assert!((line.delta_ns + 20_000.0).abs() < 2_000.0);
}

#[test]
fn a_fusion_is_one_line_even_where_a_name_stays_elsewhere() {
    let lines = changed(|work| {
        work.remove(5);
        work[4] = ("silu_and_mul", 11_000, 1_000);
    });
    let line = lines.iter().find(|line| line.what == "work").unwrap();
    assert_eq!((line.how, line.a_count, line.b_count), (How::Fused, 2.0, 1.0));
    assert!((line.delta_ns + 7_000.0).abs() < 500.0, "{line:?}");
    assert!(lines.iter().all(|line| line.label != "mul"), "the other mul did not change: {lines:#?}");
}

#[test]
fn more_calls_and_new_work_are_told() {
    let lines = changed(|work| work.insert(4, ("copy", 30_000, 1_000)));
    assert_eq!((lines[0].how, lines[0].label.as_str(), lines[0].a_ns), (How::New, "copy", 0.0));
    let lines = changed(|work| work.insert(4, ("rope", 8_000, 1_000)));
    assert_eq!((lines[0].label.as_str(), lines[0].a_count, lines[0].b_count), ("rope", 1.0, 2.0));
}

#[test]
fn few_steps_are_not_judged() {
    let few = |seed| {
        let mut timeline = timeline(seed, LAYER);
        timeline.phases.get_mut("decode").unwrap().truncate(3);
        timeline
    };
    let change = timelines(&few(1), &few(2));
    assert!(change.lines.iter().all(|line| !line.is_change && line.not_judged.is_some()));
    assert!(timelines(&Timeline::default(), &few(1)).lines.is_empty());
}

#[test]
fn a_slower_machine_does_not_hide_a_change() {
    // All work takes 1.5 times as long; a copy of 12 µs is less than what that adds to a product of matrices.
    let slow = |ns: i64| ns * 3 / 2;
    let mut work: Vec<(&str, i64, i64)> =
        LAYER.iter().map(|(name, dur, wait)| (*name, slow(*dur), slow(*wait))).collect();
    work.insert(4, ("copy", 12_000, 0));
    let change = timelines(&timeline(1, LAYER), &timeline(2, &work));
    assert!(
        change.phases[0].common_ratio.is_some_and(|ratio| (ratio - 1.5).abs() < 0.01),
        "{:?}",
        change.phases
    );
    assert_eq!(change.lines[0].label, "copy");
    assert!(
        change.lines.iter().any(|line| line.is_change && line.label == "attention"),
        "and is told itself"
    );
}

#[test]
fn of_several_ranks_the_changed_one_comes_first() {
    let slow: Vec<(&str, i64, i64)> =
        LAYER.iter().map(|(name, dur, wait)| (*name, *dur, *wait + 50_000)).collect();
    let sides = [(timeline(1, LAYER), timeline(2, LAYER)), (timeline(3, LAYER), timeline(4, &slow))];
    let pairs = sides.iter().enumerate().map(|(rank, (a, b))| ((rank, Some(0)), a, b));
    let found = places(pairs);
    assert_eq!(found.iter().map(|place| place.rank).collect::<Vec<_>>(), [1, 0]);
    assert!(found[0].change.lines[0].is_change && found[0].change.lines[0].what == "wait");
    assert!(found[1].change.lines.iter().all(|line| !line.is_change));
}

#[test]
fn a_label_names_the_longest_work_only() {
    let lines = changed(|work| {
        work.splice(1..6, [("fused_a", 20_000, 1_000)]);
    });
    let line = lines.iter().find(|line| line.how == How::Fused).unwrap();
    assert_eq!((line.label.as_str(), line.a_names.len()), ("gemm_128x64_v1 + 4 more → fused_a", 5));
}
