use std::collections::BTreeSet;

use rooflens_schema::tables::{GapCause, PhaseKind, PhaseSource};

use super::*;
use crate::ledger::Floor;
use crate::sample::{FixedModel, Sample, findings, floor_source};

#[test]
fn every_file_is_in_the_registry() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/advice");
    let names: BTreeSet<&str> = ALL.iter().map(|rule| rule.name).collect();
    for file in std::fs::read_dir(folder).expect("the sources") {
        let path = file.expect("an entry").path();
        let name = path.file_stem().and_then(|stem| stem.to_str()).expect("a name");
        // A rule of `smaller_model` that is not in ALL is code that nobody uses, which the compiler reports.
        let others = ["mod", "case", "tests", "planted", "engine", "roof", "smaller_model"];
        assert!(others.contains(&name) || names.contains(name), "add {name} to ALL");
    }
    assert_eq!(names.len(), ALL.len(), "two rules have the same name");
    for rule in ALL {
        assert!(rule.about.len() > 80, "{}: say when it speaks and how the gain is computed", rule.name);
    }
}

/// Ten decode steps of 100 µs: a kernel of 25 µs after 75 µs of a cause.
fn steps(cause: GapCause, class: &str) -> Findings {
    let mut sample = Sample::new(0);
    for i in 0..10 {
        sample.phase(i * 100_000, 100_000, "step[DECODE bs=1]", PhaseKind::Decode, PhaseSource::Engine);
    }
    for i in 0..10 {
        sample.kernel(0, 7, i * 100_000 + 75_000, 25_000, "k", class).in_phase(i as i32);
        if i > 0 {
            sample.idle(75_000, cause);
        }
    }
    findings(&[sample.tables])
}

fn first(findings: &Findings) -> Advice {
    advise(findings, &RunContext::default()).items.remove(0)
}

pub(super) fn range(low: f64, high: f64) -> Option<Range> {
    Some(Range::new(low, high))
}

pub(super) fn find<'a>(list: &'a AdviceList, rule: &str) -> Option<&'a Advice> {
    list.items.iter().find(|advice| advice.rule == rule)
}

#[test]
fn launch_bound_time_is_for_graphs() {
    let found = first(&steps(GapCause::LaunchBound, "gemv"));
    // 9 gaps of 75 µs less 10 activities at 2 and at 0.5 µs; wall 9 * 100 + 25 µs.
    assert_eq!((&*found.rule, &*found.phase), ("cuda_graphs", "decode"));
    assert_eq!(found.gain_ns, range(655_000.0, 670_000.0));
    assert!((found.gain_share.expect("a gain").high - 670.0 / 925.0).abs() < 1e-12);
    assert_eq!(found.step_gain_ns, range(65_500.0, 67_000.0));
    assert_eq!(found.evidence[0], "idle, launch bound: 675 µs of 925 µs (73.0%)");
}

#[test]
fn each_cause_has_its_rule() {
    for (cause, class, rule, low, high) in [
        (GapCause::CpuBound, "gemv", "host_code", 337_500.0, 675_000.0),
        (GapCause::Sync, "gemv", "sync", 337_500.0, 675_000.0),
        // Ten of 25 µs: half, or three quarters.
        (GapCause::Dispatch, "elementwise", "fusion", 125_000.0, 187_500.0),
        (GapCause::Dispatch, "copy", "copy_operators", 125_000.0, 250_000.0),
        // Ten of 25 µs, down to 15 and to 8 µs: too short to be hidden.
        (GapCause::Dispatch, "communication", "small_collectives", 100_000.0, 170_000.0),
    ] {
        let list = advise(&steps(cause, class), &RunContext::default());
        let found = list.items.first().map(|advice| (&*advice.rule, advice.gain_ns));
        assert_eq!(found, Some((rule, range(low, high))), "{cause:?} {class}");
    }
}

fn floors(ns: f64) -> Vec<Floor> {
    vec![Floor { class: "mlp".to_owned(), ns, flops: 0.0, bytes: 0.0 }]
}

pub(super) fn with_floor(cause: GapCause) -> (Findings, RunContext) {
    let mut found = steps(cause, "gemv");
    let ledger = found.get_mut::<Ledger>().expect("kernels");
    ledger.join(floor_source(), &FixedModel(vec![("mlp", 10_000.0)])).expect("steps");
    let alternative = |rule, ns, work| Alternative {
        rule,
        phase: "decode",
        what: "a change".to_owned(),
        change: String::new(),
        floors: floors(ns),
        unchanged: floors(100_000.0),
        work,
        collectives: 0.0,
        tiles: Vec::new(),
    };
    let tiles = |side, new_ns| Tiles { side, old_ns: 120_000.0, new_ns, old_padding: 0.2, new_padding: 0.0 };
    let alternatives = vec![
        alternative("weight_quantisation", 60_000.0, 1.0),
        alternative("larger_batch", 110_000.0, 2.0),
        alternative("kv_layout", 75_000.0, 1.0),
        alternative("expert_granularity", 99_500.0, 1.0),
        alternative("expert_granularity", 50_000.0, 1.0),
        Alternative {
            tiles: vec![tiles(64, 114_000.0), tiles(128, 90_000.0)],
            ..alternative("tile_fit", 100_000.0, 1.0)
        },
    ];
    (found, RunContext { alternatives, ..RunContext::default() })
}

#[test]
fn a_smaller_floor_and_a_larger_batch() {
    // Kernels 250 µs with a floor of 100; 60 after quantisation: 40 saved, or 250 * 40 %. Idle is dispatch.
    let (found, around) = with_floor(GapCause::Dispatch);
    let list = advise(&found, &around);
    let gain = |rule: &str| find(&list, rule).and_then(|advice| advice.gain_ns);
    assert_eq!(gain("weight_quantisation"), range(40_000.0, 100_000.0));
    // A smaller cache: 25 of 100, or 250 * 25 %. Coarser experts spare half a percent: fewer spare 50, or 250 * 50 %.
    assert_eq!(gain("kv_layout"), range(25_000.0, 62_500.0));
    assert_eq!(gain("expert_granularity"), range(50_000.0, 125_000.0));
    // Tiles of 64: 6 of 120; tiles of 128: 250 * 30 / 120. More than 10:1 is no number.
    assert_eq!(gain("tile_fit"), None);
    assert_eq!(find(&list, "tile_fit").map(|advice| advice.acts_on_ns), Some(250_000.0));
    // Twice the batch: a step grows by 10 of 925 µs, or kernels by a tenth; half of the steps.
    assert_eq!(gain("larger_batch"), range(925_000.0 - 950_000.0 / 2.0, 925_000.0 - 935_000.0 / 2.0));
    // That is per token: a step takes 93.5 to 95 µs and not 92.5, 1850 / 950 and 1850 / 935 tokens for each.
    let batch = find(&list, "larger_batch").expect("a gain");
    assert_eq!(batch.title, "Decode with a change (95% to 98% more tokens per second, in longer steps)");
    assert!(batch.computed.contains("takes 93.5 µs to 95.0 µs instead of 92.5 µs"), "{}", batch.computed);
    assert_eq!(batch.step_gain_ns, None);
    // Where the host is late, a faster device waits: nothing to 100 * 250 / (250 + 675), which is no number.
    let (found, around) = with_floor(GapCause::LaunchBound);
    let list = advise(&found, &around);
    let advice = find(&list, "weight_quantisation").expect("a smaller floor");
    assert_eq!((advice.gain_ns, advice.gain_share, advice.step_gain_ns), (None, None, None));
    assert_eq!(list.items[0].rule, "cuda_graphs");
}

/// Ten decode steps of 100 µs on each of some devices of one process: a kernel of 25 µs after 75 µs of dispatch, with
/// a lower bound of 10 µs.
fn on_devices(devices: i32) -> Findings {
    let mut sample = Sample::new(0);
    for i in 0..10 {
        sample.phase(i * 100_000, 100_000, "step[DECODE bs=1]", PhaseKind::Decode, PhaseSource::Engine);
    }
    for device in 0..devices {
        for i in 0..10 {
            sample.kernel(device, 7, i * 100_000 + 75_000, 25_000, "k", "gemv").in_phase(i as i32);
            if i > 0 {
                sample.idle(75_000, GapCause::Dispatch);
            }
        }
    }
    let mut found = findings(&[sample.tables]);
    let ledger = found.get_mut::<Ledger>().expect("kernels");
    ledger.join(floor_source(), &FixedModel(vec![("mlp", 10_000.0)])).expect("steps");
    found
}

#[test]
fn gains_do_not_grow_with_the_devices_of_a_process() {
    let (_, mut around) = with_floor(GapCause::Dispatch);
    // A collective of 5 to 20 µs, which every device takes part in.
    let halved = around.alternatives[0].clone();
    around.alternatives.push(Alternative { rule: "tensor_parallel", collectives: 1.0, ..halved });
    let gains = |devices: i32| -> Vec<(String, Option<f64>, Option<Range>)> {
        let found = on_devices(devices);
        let wall = found.get::<Ledger>().expect("a ledger").wall_ns as f64;
        let relative = |gain: Range| Range::new(gain.low / wall, gain.high / wall);
        let list = advise(&found, &around);
        let of = |advice: &Advice| {
            (advice.rule.to_string(), Some(advice.acts_on_ns / wall), advice.gain_ns.map(relative))
        };
        list.items.iter().map(of).collect()
    };
    let one = gains(1);
    for rule in ["weight_quantisation", "larger_batch", "kv_layout", "expert_granularity", "tensor_parallel"]
    {
        assert!(one.iter().any(|(name, _, gain)| name == rule && gain.is_some()), "{rule}: {one:?}");
    }
    assert_eq!(gains(2), one);
    assert_eq!(gains(4), one);
    // The same model is no gain, however many devices it runs on.
    for alternative in &mut around.alternatives {
        alternative.floors = floors(100_000.0);
        alternative.tiles.clear();
        alternative.work = 1.0;
    }
    for devices in [1, 2] {
        let list = advise(&on_devices(devices), &around);
        let rules: Vec<&str> = around.alternatives.iter().map(|alternative| alternative.rule).collect();
        let told: Vec<&Advice> = list.items.iter().filter(|item| rules.contains(&&*item.rule)).collect();
        assert!(told.is_empty(), "{devices}: {told:?}");
    }
}

#[test]
fn expert_15_designs_come_last_and_say_so() {
    let (found, around) = with_floor(GapCause::Dispatch);
    let list = advise(&found, &around);
    let kinds: Vec<(AdviceKind, bool)> =
        list.items.iter().map(|advice| (advice.kind, advice.same_work)).collect();
    let design = kinds.iter().position(|(kind, _)| *kind == AdviceKind::Design).expect("kv_layout");
    assert!(kinds[design..].iter().all(|(kind, _)| *kind == AdviceKind::Design), "{kinds:?}");
    let rules: Vec<&str> = list.items[design..].iter().map(|advice| &*advice.rule).collect();
    assert_eq!(rules, ["expert_granularity", "kv_layout", "tile_fit"]);
    assert_eq!(serde_json::to_value(&list.items[design]).expect("JSON")["kind"], "design");
}

#[test]
fn where_a_size_of_tiles_fits_nothing_is_sure() {
    let (found, mut around) = with_floor(GapCause::Dispatch);
    let tiles = &mut around.alternatives.last_mut().expect("tile_fit").tiles;
    tiles[0].new_ns = tiles[0].old_ns;
    let gain = |around: &RunContext| {
        let list = advise(&found, around);
        find(&list, "tile_fit").map(|advice| advice.gain_ns)
    };
    assert_eq!(gain(&around), Some(None));
    // Where both fit, there is nothing to say.
    around.alternatives.last_mut().expect("tile_fit").tiles[1].new_ns = 120_000.0;
    assert_eq!(gain(&around), None);
}

#[test]
fn without_a_floor_rules_say_so() {
    let list = advise(&steps(GapCause::Dispatch, "gemv"), &RunContext::default());
    assert!(list.not_computed["larger_batch"].starts_with("no model was given"));
}

#[test]
fn a_host_names_what_follows_its_own_code() {
    // mm [0,10) µs; 300 µs of own code; argmax [310,320) µs.
    let mut sample = Sample::new(0);
    sample.op((1, 0, 10_000), "aten::mm", None, (10_000, 0), None);
    sample.op((1, 310_000, 10_000), "aten::argmax", None, (10_000, 0), None);
    let found = findings(&[sample.tables]);
    let around = RunContext { threads: Some((1, 4)), ..RunContext::default() };
    let list = advise(&found, &around);
    assert_eq!((&*list.items[0].rule, list.items[0].gain_ns), ("host_code", range(150_000.0, 300_000.0)));
    assert_eq!(list.items[0].title, "Shorten the host's own code before `aten::argmax`");
    assert_eq!(list.items[0].evidence[1], "before `aten::argmax`: 300 µs in 1 gap, the longest 300 µs");
    // 20 µs of operators on one of four threads: 15 µs; of 10 µs of products a fifth of 7.5 µs.
    assert_eq!((&*list.items[1].rule, list.items[1].gain_ns), ("threads", range(1_500.0, 15_000.0)));
}

/// Ranks whose step is a product and an all-reduce, which waits for `late` with a longer product.
fn ranks(late: Option<i32>, transfer_ns: i64) -> Findings {
    let rank = |number: i32| {
        let mut sample = Sample::new(number);
        let step_ns = 60_000 + transfer_ns;
        for i in 0..20 {
            sample.phase(i * step_ns, step_ns, "step[DECODE bs=1]", PhaseKind::Decode, PhaseSource::Engine);
        }
        for i in 0..20 {
            let own = if late.is_none_or(|late| late == number) { 60_000 } else { 40_000 };
            sample.kernel(0, 7, i * step_ns, own, "mm", "gemm").in_phase(i as i32);
            let name = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL";
            let dur = step_ns - own;
            sample.kernel(0, 7, i * step_ns + own, dur, name, "communication").in_phase(i as i32);
            sample.launched(i, 0, 0).collective("allreduce", "BFloat16", (8192, 8192), ("tp", 4));
        }
        sample.tables
    };
    findings(&[rank(0), rank(1), rank(2), rank(3)])
}

#[test]
fn expert_16_short_collectives_are_not_for_overlap() {
    // 27 µs: 19 saved at best in each of 4 * 20. Two micro-batches would pay the latency twice.
    let list = advise(&ranks(None, 27_000), &RunContext::default());
    let gain = |rule: &str| list.items.iter().find(|item| item.rule == rule).map(|item| item.gain_ns);
    assert_eq!(gain("small_collectives"), Some(range(960_000.0, 1_520_000.0)));
    assert_eq!((gain("overlap_communication"), gain("straggler")), (None, None));
    let item = list.items.iter().find(|item| item.rule == "small_collectives").expect("it");
    assert!(!item.change.contains("overlap)") && item.change.contains("allreduce-fusion"));
    assert_eq!(item.evidence[2], "allreduce of 16.4 kB: 27.0 µs, 1 GB/s of bus bandwidth");
    // 400 µs: to be hidden behind the kernels, at most 60 µs each.
    let list = advise(&ranks(None, 400_000), &RunContext::default());
    let rules: Vec<_> = list.items.iter().map(|item| (&*item.rule, item.gain_ns)).collect();
    assert_eq!(rules, [("overlap_communication", None)]);
}

#[test]
fn expert_09_a_straggler_is_mended_and_not_hidden() {
    // Rank 1 is 20 µs behind all others, in every step, on which all four devices spend 20 steps.
    let list = advise(&ranks(Some(1), 10_000), &RunContext::default());
    let first = &list.items[0];
    assert_eq!((&*first.rule, &*first.phase), ("straggler", "decode"));
    assert_eq!(first.gain_ns, range(1_600_000.0, 1_600_000.0));
    assert_eq!(first.step_gain_ns, Some(Range::new(20_000.0, 20_000.0)));
    assert_eq!(first.title, "Make rank 1 as fast as the others");
    assert_eq!(first.evidence[0], "waiting for other ranks: 1.20 ms of 5.60 ms (21.4%)");
    assert!(!list.items.iter().any(|item| item.rule == "overlap_communication"));
}
