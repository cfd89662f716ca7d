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
    assert_eq!((&*ledger.timeline, ledger.timelines, ledger.wall_ns), ("device", 1, 75));
    let expected =
        [(Line::Kernels, 40), (Line::Unneeded, 10), (Line::Communication, 15), (Line::LaunchBound, 10)];
    assert_eq!(times(&ledger.lines), expected);
    assert_eq!(ledger.phases[0].phase, "decode");
    assert_eq!((ledger.phases[0].steps, ledger.phases[0].wall_ns), (1, 75));
    assert_eq!(ledger.phases[0].layers[0].kernels_ns, 40);
    // The hidden copy has no time, and belongs to no step.
    assert_eq!((&*ledger.phases[1].phase, ledger.phases[1].wall_ns), (OUTSIDE, 0));
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
    let achieved = gemm.and_then(|gemm| gemm.achieved.clone()).expect("work");
    assert_eq!((&*achieved.limit, achieved.roof_share, achieved.lost_ns), ("memory", 0.625, 15));
    assert_eq!((achieved.bytes_per_s, achieved.peak_bytes_per_s), (0.625e9, Some(1e9)));
    // Of one rank nobody can tell whether it waited.
    let lacking: Vec<_> = ledger.not_computed.keys().collect();
    assert_eq!(lacking, ["comm_wait"]);
    found.not_computed.clear();
}

#[test]
fn a_host_alone_has_a_ledger_too() {
    let mut sample = Sample::new(0);
    sample.op((1, 0, 30), "aten::linear", None, (10, 0), None);
    sample.op((1, 5, 20), "aten::mm", Some(0), (20, 0), None);
    sample.op((1, 50, 10), "aten::copy_", None, (10, 0), None);
    let ledger = sample.find::<Ledger>();
    assert_eq!((&*ledger.timeline, ledger.wall_ns), ("host", 60));
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
    assert_eq!(ledger.on(Line::Communication) + ledger.on(Line::CommWait), exposed);
    assert_eq!(ledger.wall_ns, ledger.phases.iter().map(|phase| phase.wall_ns).sum::<i64>());
}

fn waiting_rank(number: i32, collective: (i64, i64), beside: &[(i64, i64)]) -> RankTables {
    let mut sample = Sample::new(number);
    sample.phase(0, 200, "decode", PhaseKind::Decode, PhaseSource::Engine);
    for (ts, dur) in beside {
        sample.kernel(0, 2, *ts, *dur, "mm", "gemm").in_phase(0);
    }
    sample.kernel(0, 3, collective.0, collective.1, "nccl_all_reduce", "communication").in_phase(0);
    sample.launched(1, 0, 0).collective("allreduce", "BFloat16", (1000, 1000), ("tp", 2));
    sample.tables
}

#[test]
fn expert_09_waiting_for_the_last_rank_is_not_transfer() {
    // Rank 0 is in the collective from 10 to 110, rank 1, whose clock is 1,000 ahead, from 1,070 to 1,110: 40 are
    // transfer and the first 60 of rank 0 are waiting, of which [30, 50) is hidden behind a kernel. Of the
    // transfer of rank 0, [100, 105) is hidden too.
    let early = waiting_rank(0, (10, 100), &[(0, 10), (30, 20), (100, 5)]);
    let late = waiting_rank(1, (1_070, 40), &[(1_000, 5)]);
    let found = findings(&[early.clone(), late]);
    let ledger = found.get::<Ledger>().expect("activity");
    assert_eq!(ledger.on(Line::CommWait), 60 - 20);
    assert_eq!(ledger.on(Line::Communication), (40 - 5) + 40);
    let decode = ledger.phase("decode").expect("a phase");
    let class: Vec<_> = decode
        .classes
        .iter()
        .filter(|row| row.class == KernelClass::Communication)
        .map(|row| (row.line, row.ns))
        .collect();
    assert_eq!(class, [(Line::Communication, 75), (Line::CommWait, 40)]);
    assert_eq!(decode.lines.iter().map(|line| line.ns).sum::<i64>(), decode.wall_ns);
    assert_eq!(decode.transfers.latency_bound, ledger::ExposedTransfers { calls: 2, ns: 75 });
    // Steps of 35 and 40, and of 40 and none.
    let step = |line| decode.line_steps.iter().find(|step| step.line == line).expect("in steps");
    assert_eq!((step(Line::Communication).p50_ns, step(Line::Communication).p99_ns), (35, 40));
    assert_eq!((step(Line::CommWait).p50_ns, step(Line::CommWait).p99_ns), (0, 40));
    assert!(!ledger.not_computed.contains_key("comm_wait"));
    // As the timeline has them for the step of rank 0.
    let drawn = &found.timeline.as_ref().expect("steps").steps[0];
    assert_eq!([Line::Communication, Line::CommWait].map(|line| drawn.lines[line as usize]), [35, 40]);
    // Alone, rank 0 cannot know.
    let found = findings(&[early]);
    let ledger = found.get::<Ledger>().expect("activity");
    assert_eq!((ledger.on(Line::CommWait), ledger.on(Line::Communication)), (0, 75));
    assert!(ledger.not_computed["comm_wait"].starts_with("only one rank was given"));
}
