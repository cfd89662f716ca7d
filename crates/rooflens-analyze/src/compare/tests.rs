//! Planted changes must be the first line, and nothing else a change.

use super::random::Random;
use super::*;
use crate::kernel_catalog;

/// A name may begin with the module that holds it: `mlp/silu`.
fn item(name: &str, dur_ns: i64, wait_ns: i64) -> WorkItem {
    let (module, name) = name.split_once('/').map_or((None, name), |(module, name)| (Some(module), name));
    let hint = match name.starts_with("Memset") {
        true => kernel_catalog::ActivityHint::Memset,
        false => kernel_catalog::ActivityHint::Kernel,
    };
    let class = kernel_catalog::describe(name, hint).class;
    let inside: Vec<std::sync::Arc<str>> = module.into_iter().map(Into::into).collect();
    let cause = crate::ledger::Line::Sync;
    WorkItem { name: name.into(), dtype: None, class, inside: inside.into(), dur_ns, wait_ns, cause }
}

/// Thirty steps of the same work, with noise of one percent.
fn timeline(seed: u64, work: &[(&str, i64, i64)]) -> RankTimeline {
    let mut random = Random::new(seed);
    let mut noisy = |ns: i64| ns + ns * (random.below(200) as i64 - 100) / 10_000;
    let mut step = || TimelineStep {
        items: work.iter().map(|(name, dur, wait)| item(name, noisy(*dur), noisy(*wait))).collect(),
    };
    let steps = (0..30).map(|_| step()).collect();
    RankTimeline { on_device: true, phases: [("decode", steps)].into(), outside: TimelineStep::default() }
}

const LAYER: &[(&str, i64, i64)] = &[
    ("norm", 10_000, 1_000),
    ("block/gemm_128x64_v1", 80_000, 1_000),
    ("block/rope", 8_000, 1_000),
    ("block/attention", 50_000, 1_000),
    ("block/silu", 9_000, 1_000),
    ("block/mul", 9_000, 1_000),
    ("gemm_128x64_v1", 80_000, 1_000),
    ("mul", 9_000, 1_000),
    ("argmax", 20_000, 2_000),
];

fn changed(edit: impl Fn(&mut Vec<(&'static str, i64, i64)>)) -> Vec<ComparedLine> {
    let mut work = LAYER.to_vec();
    edit(&mut work);
    let change = timelines(&timeline(1, LAYER), &timeline(2, &work));
    change.lines.into_iter().filter(|line| line.is_change).collect()
}

fn one(lines: &[ComparedLine]) -> &ComparedLine {
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
    assert_eq!((&*line.what, line.label.as_str(), line.how), ("wait", "idle before argmax", How::Same));
    assert!((line.delta_ns - 5e6).abs() < 1e5, "{line:?}");
}

#[test]
fn a_rename_is_one_line_and_no_change_of_time() {
    let lines = timelines(&timeline(1, LAYER), &{
        let mut work = LAYER.to_vec();
        work[3].0 = "block/flash_fwd";
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
        work[1].0 = "block/gemm_256x32_v2";
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
        work[4] = ("block/silu_and_mul", 11_000, 1_000);
    });
    let line = lines.iter().find(|line| line.what == "work").unwrap();
    assert_eq!((line.how, line.a_count, line.b_count), (How::Fused, 2.0, 1.0));
    assert!((line.delta_ns + 7_000.0).abs() < 500.0, "{line:?}");
    assert!(lines.iter().all(|line| line.label != "mul"), "the other mul did not change: {lines:#?}");
}

#[test]
fn more_calls_and_new_work_are_told() {
    let lines = changed(|work| work.insert(4, ("copy", 30_000, 1_000)));
    assert_eq!((lines[0].how, lines[0].label.as_str(), lines[0].a_ns), (How::OnlyInB, "copy", 0.0));
    let lines = changed(|work| work.insert(4, ("block/rope", 8_000, 1_000)));
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
    assert!(timelines(&RankTimeline::default(), &few(1)).lines.is_empty());
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
        work.splice(1..6, [("block/fused_a", 20_000, 1_000)]);
    });
    let line = lines.iter().find(|line| line.how == How::Fused).unwrap();
    assert_eq!((line.label.as_str(), line.a_names.len()), ("gemm_128x64_v1 + 4 more → fused_a", 5));
}

#[test]
fn expert_26_fused_needs_a_module_that_holds_both() {
    let fused = |work: &mut Vec<(&'static str, i64, i64)>, name| {
        work.remove(5);
        work[4] = (name, 11_000, 1_000);
    };
    let proven = changed(|work| fused(work, "block/silu_and_mul"));
    assert_eq!((proven[0].how, proven[0].inside.as_deref()), (How::Fused, Some("block")));
    // In another module it may be anything.
    let apart = changed(|work| fused(work, "other/silu_and_mul"));
    assert!(apart.iter().all(|line| !matches!(line.how, How::Fused | How::Replaced)), "{apart:#?}");
    assert!(apart.iter().any(|line| line.how == How::OnlyInB), "{apart:#?}");
    assert!(apart.iter().any(|line| line.how == How::OnlyInA), "{apart:#?}");
}

#[test]
fn newcomer_19_communication_is_never_matched_with_compute() {
    let lines = changed(|work| {
        work.splice(4..6, [("block/ncclKernel_SendRecv_RING_SIMPLE", 11_000, 1_000)]);
    });
    let of_nccl = lines.iter().find(|line| line.class == "communication").unwrap();
    assert_eq!((of_nccl.how, of_nccl.a_names.len()), (How::OnlyInB, 0), "{lines:#?}");
}

#[test]
fn an_operator_does_the_same_work_with_other_kernels() {
    let change = |a: &[&str], b: &[&str]| {
        let side = |seed, names: &[&str]| {
            timeline(seed, &names.iter().map(|name| (*name, 10_000, 0)).collect::<Vec<_>>())
        };
        timelines(&side(1, a), &side(2, b)).lines
    };
    let lines =
        change(&["aten::mm/xmma_x", "aten::mm/xmma_y", "k"], &["aten::mm/Cijk_z", "aten::mm/Cijk_z", "k"]);
    let line = lines.iter().find(|line| line.how != How::Same).unwrap();
    assert_eq!((line.how, line.inside.as_deref()), (How::Replaced, Some("aten::mm")));
    // Another operator is other work, even of the same class.
    let lines = change(&["aten::mm/xmma_x", "aten::mm/xmma_y"], &["aten::bmm/Cijk_z", "aten::bmm/Cijk_w"]);
    assert!(lines.iter().all(|line| matches!(line.how, How::OnlyInA | How::OnlyInB)), "{lines:#?}");
}

#[test]
fn expert_26_tables_add_up_to_the_row_above() {
    let slow: Vec<(&str, i64, i64)> =
        LAYER.iter().map(|(name, dur, wait)| (*name, *dur * 2, *wait * 3)).collect();
    let change = timelines(&timeline(1, LAYER), &timeline(2, &slow));
    for account in &change.accounts {
        let of = |entry| account.row(entry).map(|row| (row.a_ns, row.b_ns)).unwrap();
        let sum = |rows: &mut dyn Iterator<Item = &AccountRow>| {
            rows.fold((0.0, 0.0), |sum, row| (sum.0 + row.a_ns, sum.1 + row.b_ns))
        };
        let near = |a: (f64, f64), b: (f64, f64)| (a.0 - b.0).abs() < 1e-3 && (a.1 - b.1).abs() < 1e-3;
        assert!(near(sum(&mut account.parts(Entry::Class)), of(Entry::Busy)), "{account:#?}");
        assert!(near(sum(&mut account.parts(Entry::Cause)), of(Entry::Idle)));
        assert!(near(
            sum(&mut account.rows.iter().filter(|row| row.entry == Entry::Busy || row.entry == Entry::Idle)),
            of(Entry::Wall)
        ));
        assert!(near(sum(&mut account.operators.iter()), of(Entry::Busy)));
    }
    // One for the trace, in all; one per step.
    let walls: Vec<(&str, f64)> = change
        .accounts
        .iter()
        .map(|account| (&*account.per, account.row(Entry::Wall).unwrap().a_ns))
        .collect();
    assert_eq!(walls.iter().map(|(per, _)| *per).collect::<Vec<_>>(), ["trace", "step"]);
    assert!((walls[0].1 / walls[1].1 - 30.0).abs() < 0.1, "{walls:?}");
    // The lines of a phase are its step too.
    let lines: f64 = change.lines.iter().map(|line| line.b_ns).sum();
    assert!((lines - change.phases[0].b_ns).abs() < 1e-3);
    let idle = change.accounts[1].row(Entry::Idle).unwrap();
    assert!(idle.is_change && (idle.b_ns / idle.a_ns - 3.0).abs() < 0.05, "{idle:?}");
}

/// A product that clears its output first, and one that does not: one kernel each, whatever else is done.
#[test]
fn memory_copies_and_fills_are_no_kernels() {
    let of = |seed, work: &[(&str, i64, i64)]| timeline(seed, work);
    let a = of(1, &[("aten::mm/Memset (Device)", 2_000, 0), ("aten::mm/xmma_x", 10_000, 0), ("k", 5_000, 0)]);
    let b = of(2, &[("aten::mm/Cijk_z", 10_000, 0), ("k", 5_000, 0)]);
    let found = timelines(&a, &b);
    let line = found.lines.iter().find(|line| line.b_names == ["Cijk_z"]).unwrap();
    assert_eq!((line.how, line.a_count, line.b_count), (How::Renamed, 1.0, 1.0), "{line:#?}");
    let steps = found.accounts.iter().find(|account| account.per == "step").unwrap();
    let row = steps.operators.iter().find(|row| row.name == "aten::mm").unwrap();
    assert_eq!((row.a_count, row.b_count), (1.0, 1.0));
    // Their time is the operator's all the same: 12 µs.
    assert!((row.a_ns - 12_000.0).abs() < 200.0, "{row:?}");
    // Two kernels that become one are a fusion, with or without a fill.
    let a =
        of(1, &[("aten::mm/Memset (Device)", 2_000, 0), ("aten::mm/x", 10_000, 0), ("aten::mm/y", 9_000, 0)]);
    let found = timelines(&a, &b);
    let line = found.lines.iter().find(|line| line.b_names == ["Cijk_z"]).unwrap();
    assert_eq!((line.how, line.a_count, line.b_count), (How::Fused, 2.0, 1.0), "{line:#?}");
}
