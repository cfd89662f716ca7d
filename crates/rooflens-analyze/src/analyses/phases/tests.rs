use rooflens_schema::tables::ApiKind;

use super::*;
use crate::sample::{Sample, findings};

#[test]
fn numbers_are_taken_out_of_names() {
    assert_eq!(pattern("ProfilerStep#12"), "ProfilerStep#*");
    assert_eq!(
        pattern("execute_context_1(888_788544)_generation_0(0)"),
        "execute_context_*(*_*)_generation_*(*)"
    );
    assert_eq!(pattern("forward"), "forward");
}

#[test]
fn steps_are_grouped_and_described() {
    // Ten decode steps of 100, 110 … 190 ns: mean 145, and the line rises by 90 = 0.62 means.
    // Half of the time the device is busy: 50, 55 … 95, in sum 725 of 1450.
    let mut sample = Sample::new(0);
    for i in 0..10 {
        let dur = 100 + 10 * i;
        sample.phase(i * 1000, dur, &format!("step[DECODE bs={i}]"), PhaseKind::Decode, PhaseSource::Engine);
        sample.work(dur / 2, 40, 3);
    }
    sample.phase(20_000, 90_000, "warm up", PhaseKind::Range, PhaseSource::Annotation);
    let rows = sample.find::<Phases>().0;
    assert_eq!(rows.len(), 2);
    let step = &rows[0];
    assert_eq!((step.name.as_str(), step.count, &*step.timeline), ("step[DECODE bs=*]", 10, "host"));
    let host = step.host.as_ref().expect("on the host");
    assert_eq!((host.total_ns, host.mean_ns), (1450, 145.0));
    assert_eq!((host.min_ns, host.p50_ns, host.p90_ns, host.p99_ns, host.max_ns), (100, 140, 180, 190, 190));
    assert!((step.drift.expect("ten ranges") - 90.0 / 145.0).abs() < 1e-9);
    assert_eq!((step.device_busy_ns(), step.device_busy_share), (Some(72.5), Some(0.5)));
    assert_eq!((step.activities, step.launches, step.batch), (Some(40.0), Some(3.0), None));
    let slowest: Vec<_> = step.slowest.iter().map(|range| (range.name.as_str(), range.dur_ns)).collect();
    assert_eq!(slowest, [("step[DECODE bs=9]", 190), ("step[DECODE bs=8]", 180), ("step[DECODE bs=7]", 170)]);
    assert_eq!(step.durations_ns, [100, 110, 120, 130, 140, 150, 160, 170, 180, 190]);
    assert_eq!((rows[1].name.as_str(), rows[1].drift, rows[1].launches), ("warm up", None, None));
}

#[test]
fn ranks_share_a_group_and_many_durations_are_thinned() {
    let rank = |number: i32| {
        let mut sample = Sample::new(number);
        for i in 0..1500 {
            let dur = 10 + i64::from(number);
            sample.phase(
                i * 100,
                dur,
                &format!("ProfilerStep#{i}"),
                PhaseKind::Step,
                PhaseSource::ProfilerStep,
            );
        }
        sample.tables
    };
    let found = findings(&[rank(0), rank(1)]);
    let rows = &found.get::<Phases>().expect("phases").0;
    assert_eq!((rows.len(), rows[0].count, rows[0].durations_ns.len()), (1, 3000, 2000));
    // Each rank is flat at its own level, so nothing drifts.
    assert_eq!(rows[0].drift, Some(0.0));
    let slowest: Vec<_> = rows[0].slowest.iter().map(|range| (range.rank, range.ts_ns)).collect();
    assert_eq!(slowest, [(1, 0), (1, 100), (1, 200)]);
}

/// A range on thread 1, which runs one gradient itself and launches two kernels, while thread 2 launches five of its
/// backward pass; then a range that launches three kernels with nothing on the other thread.
#[test]
fn a_range_that_waits_for_a_backward_pass_has_no_device_time() {
    let mut sample = Sample::new(0);
    sample.op((1, 10, 5), "autograd::engine::evaluate_function: AccumulateGrad", None, (5, 0), None);
    sample.op((2, 10, 80), "autograd::engine::evaluate_function: MmBackward0", None, (80, 0), None);
    for (tid, ts) in
        [(1, 20), (1, 30), (2, 15), (2, 25), (2, 35), (2, 45), (2, 55), (1, 210), (1, 220), (1, 230)]
    {
        sample.api(tid, ts, 2, "cudaLaunchKernel", ApiKind::Launch, None);
    }
    for (start, name, launches) in [(0, "backward", 2), (200, "forward", 3)] {
        sample.range(1, start, 100, name).work(8, launches, launches);
        let last = sample.tables.phases.len() - 1;
        sample.tables.phases.device_first_ns[last] = Opt::some(start + 40);
        sample.tables.phases.device_last_ns[last] = Opt::some(start + 98);
    }
    let rows = sample.find::<Phases>().0;
    let of = |name: &str| {
        let row = rows.iter().find(|row| row.name == name).expect("a range");
        (row.device_span.as_ref().map(|span| span.p50_ns), row.device_busy_ns(), &*row.timeline)
    };
    assert_eq!(of("backward"), (None, None, "host"));
    assert_eq!(of("forward"), (Some(58), Some(8.0), "device"));
}
