use rooflens_schema::tables::{GapCause, PhaseSource};

use super::*;
use crate::analyses::Devices;
use crate::sample::{FixedModel, Random, Sample, findings, floor_source};

fn times(lines: &[LedgerLine]) -> Vec<(Line, i64)> {
    lines.iter().map(|line| (line.line, line.ns)).collect()
}

/// A step: 40 of a product, 10 idle by launches, 10 of an elementwise kernel, 20 of communication of which
/// 15 are exposed, a copy hidden behind it.
fn step() -> Sample {
    let mut sample = Sample::new(0);
    sample.phase(0, 100, "decode", PhaseKind::Decode, PhaseSource::Engine);
    sample.kernel(0, 1, 0, 40, "mm", "gemm").in_phase(0).within(None, Some(3), None);
    sample.kernel(0, 1, 50, 10, "add", "elementwise").idle(10, GapCause::LaunchBound).in_phase(0);
    sample.kernel(0, 2, 55, 20, "nccl", "communication").in_phase(0);
    sample.memcpy(0, 3, 60, 5, "copy");
    sample
}

#[test]
fn every_nanosecond_stands_on_one_line() {
    let found = findings(&[step().tables]);
    let ledger = found.get::<Ledger>().expect("activity");
    assert_eq!((ledger.timeline, ledger.timelines, ledger.wall_ns), ("device", 1, 75));
    let expected =
        [(Line::Kernels, 40), (Line::Unneeded, 10), (Line::Communication, 15), (Line::LaunchBound, 10)];
    assert_eq!(times(&ledger.lines), expected);
    assert_eq!(ledger.phases[0].phase, "decode");
    assert_eq!((ledger.phases[0].steps, ledger.phases[0].wall_ns), (1, 75));
    assert_eq!(ledger.phases[0].layers[0].kernels_ns, 40);
    // The hidden copy has no time, and belongs to no step.
    assert_eq!((ledger.phases[1].phase, ledger.phases[1].wall_ns), (OUTSIDE, 0));
}

#[test]
fn the_lower_bound_is_taken_off_the_kernels() {
    let mut found = findings(&[step().tables]);
    let mut ledger = found.get::<Ledger>().expect("activity").clone();
    let model = FixedModel(vec![("mlp", 25.0), ("norm", 4.0), ("comm.all_reduce", 9.0)]);
    ledger.join(floor_source(), &model).expect("steps");
    let expected = [
        (Line::Floor, 29),
        (Line::Inefficiency, 15),
        (Line::Unneeded, 6),
        (Line::Communication, 15),
        (Line::LaunchBound, 10),
    ];
    assert_eq!(times(&ledger.lines), expected);
    assert_eq!(times(&ledger.phases[0].lines), expected);
    // 25 bytes in 40 ns, of 1 byte a nanosecond.
    let gemm = ledger.phases[0].classes.iter().find(|class| class.class == KernelClass::Gemm);
    let achieved = gemm.and_then(|gemm| gemm.achieved).expect("work");
    assert_eq!((achieved.limit, achieved.roof_share, achieved.lost_ns), ("memory", 0.625, 15));
    assert_eq!((achieved.bytes_per_s, achieved.peak_bytes_per_s), (0.625e9, Some(1e9)));
    assert!(ledger.not_computed.is_empty());
    found.not_computed.clear();
}

#[test]
fn a_host_alone_has_a_ledger_too() {
    let mut sample = Sample::new(0);
    sample.op((1, 0, 30), "aten::linear", None, (10, 0), None);
    sample.op((1, 5, 20), "aten::mm", Some(0), (20, 0), None);
    sample.op((1, 50, 10), "aten::copy_", None, (10, 0), None);
    let found = findings(&[sample.tables]);
    let ledger = found.get::<Ledger>().expect("operators");
    assert_eq!((ledger.timeline, ledger.wall_ns), ("host", 60));
    assert_eq!(times(&ledger.lines), [(Line::Kernels, 30), (Line::Unneeded, 10), (Line::CpuBound, 20)]);
}

#[test]
fn it_adds_up_to_the_spans_on_random_ranks() {
    let mut random = Random(5);
    let classes = [("mm", "gemm"), ("nccl", "communication"), ("add", "elementwise"), ("odd", "other")];
    let ranks: Vec<_> = (0..6)
        .map(|rank| {
            let mut sample = Sample::new(rank);
            for device in 0..2 {
                for stream in 0..3 {
                    let mut ts = random.below(10);
                    for _ in 0..40 {
                        let (name, class) = classes[random.below(4) as usize];
                        let dur = random.below(12);
                        sample.kernel(device, stream, ts, dur, name, class);
                        ts += random.below(25);
                    }
                }
            }
            let mut tables = sample.tables;
            crate::facts::derive(&mut tables);
            tables
        })
        .collect();
    let found = findings(&ranks);
    let ledger = found.get::<Ledger>().expect("activity");
    let devices = &found.get::<Devices>().expect("activity").0;
    assert_eq!(ledger.wall_ns, devices.iter().map(|device| device.span_ns).sum::<i64>());
    let idle: i64 = ledger.lines.iter().filter(|line| line.line.is_idle()).map(|line| line.ns).sum();
    assert_eq!(idle, devices.iter().map(|device| device.idle_ns).sum::<i64>());
    let exposed: i64 = devices.iter().map(|device| device.exposed_communication_ns).sum();
    assert_eq!(ledger.on(Line::Communication), exposed);
    assert_eq!(ledger.wall_ns, ledger.phases.iter().map(|phase| phase.wall_ns).sum::<i64>());
}
