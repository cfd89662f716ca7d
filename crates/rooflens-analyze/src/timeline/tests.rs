use rooflens_schema::RankTables;
use rooflens_schema::tables::{GapCause, PhaseKind, PhaseSource};

use super::budget::{LANE_SLICES, SLICES};
use super::*;
use crate::analyses::Ledger;
use crate::sample::{Sample, findings, some_of_everything};

fn slices(window: &DrawnWindow, kind: LaneKind) -> Vec<(i64, i64)> {
    let mut found = Vec::new();
    for lane in window.lanes.iter().filter(|lane| lane.kind == kind) {
        let mut start = window.start_ns;
        for (by, dur) in lane.start.iter().zip(&lane.dur) {
            start += by;
            found.push((start, *dur));
        }
    }
    found
}

fn stepped(steps: i64) -> RankTables {
    let mut sample = Sample::new(0);
    for step in 0..steps {
        let ts = step * 1_000;
        let name = format!("ProfilerStep#{step}");
        sample.phase(ts, 900, &name, PhaseKind::Decode, PhaseSource::ProfilerStep);
        sample.kernel(0, 7, ts + 100, 100, "mm", "gemm").within(None, Some(0), None).in_phase(step as i32);
        let slow = if step == 3 { 400 } else { 100 };
        sample.kernel(0, 7, ts + 250, slow, "fa", "attention").within(None, Some(1), None);
        sample.idle(50, GapCause::LaunchBound).in_phase(step as i32);
    }
    sample.tables
}

#[test]
fn sums_of_steps_are_those_of_the_ledger() {
    for tables in [stepped(9), some_of_everything(0, 0)] {
        let found = findings(std::slice::from_ref(&tables));
        let (ledger, drawn) = (found.get::<Ledger>().unwrap(), found.timeline.as_ref().unwrap());
        assert!(drawn.is_sound());
        for phase in ledger.phases.iter().filter(|phase| phase.steps > 0) {
            let of = drawn.steps.iter().filter(|step| step.kind.as_str() == phase.phase);
            let before: i64 = of.clone().map(|step| step.before_ns).sum();
            let lines: i64 = of.clone().flat_map(|step| &step.lines).sum();
            assert_eq!((of.clone().count(), lines + before), (phase.steps, phase.wall_ns));
            let wall: i64 = of.clone().map(|step| step.wall_ns() * step.devices as i64).sum();
            let others: i64 = of.clone().map(DrawnStep::others_ns).sum();
            assert_eq!(lines + others, wall);
            let mut left_out = 0;
            for line in &phase.lines {
                let sum: i64 = of.clone().map(|step| step.lines[line.line as usize]).sum();
                match line.line.is_idle() {
                    true => left_out += line.ns - sum,
                    false => assert_eq!(sum, line.ns, "{:?}", line.line),
                }
            }
            assert_eq!(left_out, before);
        }
    }
}

fn on_two_streams() -> RankTables {
    let mut sample = Sample::new(0);
    for step in 0..4 {
        let (ts, name) = (step * 1_000, format!("ProfilerStep#{step}"));
        sample.phase(ts, 900, &name, PhaseKind::Decode, PhaseSource::ProfilerStep);
    }
    for (stream, start) in [(7, 300), (20, 0)] {
        for step in 0..4 {
            let ts = step * 1_000 + start;
            sample.kernel(0, stream, ts, 100, "mm", "gemm");
            // On the second stream the gap between steps, on the first that within one.
            let idle = match (stream, step) {
                (7, _) => 200,
                (_, 0) => 0,
                _ => 600,
            };
            sample.idle(idle, GapCause::LaunchBound).in_phase(step as i32);
        }
    }
    sample.tables
}

#[test]
fn the_gap_before_a_step_is_told_from_those_within_on_every_stream() {
    let found = findings(&[on_two_streams()]);
    let drawn = found.timeline.as_ref().unwrap();
    for (at, step) in drawn.steps.iter().enumerate() {
        let idle = step.lines[Line::LaunchBound as usize];
        assert_eq!((step.wall_ns(), idle, step.others_ns()), (400, 200, 0), "{at}");
        assert_eq!(step.before_ns, if at == 0 { 0 } else { 600 }, "{at}");
        assert!(step.lines.iter().all(|ns| *ns >= 0), "{step:?}");
    }
}

#[test]
fn the_median_and_the_slowest_come_first() {
    let found = findings(&[stepped(9)]);
    let drawn = found.timeline.unwrap();
    let first: Vec<usize> =
        drawn.windows.iter().map(|window| drawn.steps[window.step.unwrap()].index).collect();
    assert_eq!(first.len(), 9, "there is room for all");
    assert_eq!(first[1], 3, "the slowest");
    let slow = &drawn.steps[3];
    assert_eq!((slow.wall_ns(), slow.lines[Line::LaunchBound as usize]), (550, 50));
    assert_eq!((drawn.layers.as_slice(), slow.layers.as_slice()), ([0, 1].as_slice(), [100, 450].as_slice()));
    let window = &drawn.windows[1];
    assert_eq!(slices(window, LaneKind::Stream), [(3_100, 100), (3_250, 400)]);
    assert_eq!(slices(window, LaneKind::Idle), [(3_200, 50)]);
    assert_eq!(slices(window, LaneKind::Layers), [(3_100, 100), (3_250, 400)]);
}

#[test]
fn the_longest_call_of_each_name_has_a_place() {
    let tables = stepped(200);
    let found = findings(std::slice::from_ref(&tables)).timeline.unwrap();
    assert_eq!(found.longest.len(), 2);
    for one in &found.longest {
        let window = &found.windows[one.window];
        assert!(slices(window, LaneKind::Stream).contains(&(one.start_ns, one.dur_ns)), "{one:?}");
        let longest = match found.names[one.name as usize].name.as_str() {
            "fa" => (3_250, 400),
            _ => (100, 100),
        };
        assert_eq!((one.start_ns, one.dur_ns), longest);
    }
}

#[test]
fn a_longer_call_of_another_rank_is_the_longest() {
    let mut other = Sample::new(1);
    other.kernel(0, 7, 5_000, 30, "norm", "norm").kernel(0, 7, 5_100, 800, "fa", "attention");
    let found = findings(&[stepped(5), other.tables]).timeline.unwrap();
    let fa = found.longest.iter().find(|one| found.names[one.name as usize].name == "fa").unwrap();
    let window = &found.windows[fa.window];
    assert_eq!((window.rank, window.step, fa.start_ns, fa.dur_ns), (1, None, 5_100, 800));
    assert_eq!(slices(window, LaneKind::Stream), [(5_000, 30), (5_100, 800)]);
}

#[test]
fn what_is_kept_is_bounded() {
    let mut sample = Sample::new(0);
    for step in 0..40 {
        let ts = step * 1_000_000;
        sample.phase(
            ts,
            999_000,
            &format!("ProfilerStep#{step}"),
            PhaseKind::Decode,
            PhaseSource::ProfilerStep,
        );
        for call in 0..8_000 {
            sample.kernel(0, 7, ts + call * 120, 60, "mm", "gemm").in_phase(step as i32);
        }
    }
    let found = findings(&[sample.tables]).timeline.unwrap();
    let all: usize = found.windows.iter().flat_map(|window| &window.lanes).map(|lane| lane.start.len()).sum();
    assert!(all <= SLICES + 100, "{all} slices");
    for lane in found.windows.iter().flat_map(|window| &window.lanes) {
        assert!(lane.start.len() <= LANE_SLICES);
        let stands_for: usize = lane.merged.iter().map(|(_, count, _)| count - 1).sum();
        assert!(lane.kind != LaneKind::Stream || lane.start.len() + stands_for == 8_000);
    }
    assert_eq!(found.steps.len(), 40, "every step has its sums");
    assert!(found.windows.len() < 40);
}

#[test]
fn waiting_is_that_of_the_ledger() {
    // Two ranks in collectives of one process group: the first waits 70 ns of each 100.
    let rank = |number: i32, dur: i64| {
        let mut sample = Sample::new(number);
        sample.phase(0, 9_000, "ProfilerStep#0", PhaseKind::Decode, PhaseSource::ProfilerStep);
        for call in 0..4 {
            sample.kernel(
                0,
                7,
                100 + call * 200,
                dur,
                "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
                "communication",
            );
            sample.launched(call, 10, 1).in_phase(0);
            sample.collective("allreduce", "BFloat16", (1_024, 1_024), ("0", 2));
        }
        sample.tables
    };
    let found = findings(&[rank(0, 100), rank(1, 30)]);
    let drawn = found.timeline.as_ref().unwrap();
    let lane = |kind: LaneKind| drawn.windows[0].lanes.iter().find(|lane| lane.kind == kind).unwrap();
    assert_eq!(lane(LaneKind::Stream).wait, [70; 4]);
    assert_eq!(lane(LaneKind::Collectives).dur, [30; 4]);
    assert_eq!(lane(LaneKind::Collectives).wait, [0; 4]);
}

#[test]
fn nothing_to_draw_is_no_timeline() {
    assert_eq!(findings(&[RankTables::default()]).timeline, None);
}
