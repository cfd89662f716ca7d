//! Annotations as engines, profilers and people write them, and how many steps they are.

use super::*;
use crate::facts::{Derived, derive_with};
use crate::sample::Sample;

/// Name, kind, batch and device time of each step, in order of start.
type Found = Vec<(String, PhaseKind, Option<i64>, i64)>;

fn steps(mut sample: Sample) -> (Found, Derived) {
    let derived = derive_with(&mut sample.tables, None);
    let phases = &sample.tables.phases;
    let are_steps = phases.are_steps();
    let found = (0..phases.len()).filter(|&row| are_steps[row]).map(|row| {
        let name = sample.tables.names.get(phases.name_id[row]).to_owned();
        (name, phases.kind[row], phases.batch[row].get(), phases.device_busy_ns[row].get().unwrap_or(0))
    });
    (found.collect(), derived)
}

fn names(found: &Found) -> Vec<&str> {
    found.iter().map(|step| step.0.as_str()).collect()
}

const EXECUTE: &str = "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk900sqsq32sqsk900)";

#[test]
fn two_names_of_an_engine_are_one_step_whichever_is_outside() {
    for (outer, inner) in [(EXECUTE, "step[DECODE bs=32]"), ("step[DECODE bs=32]", EXECUTE)] {
        let mut sample = Sample::new(0);
        sample.range(1, 0, 1_000, outer).range(1, 100, 800, inner);
        // One kernel before the inner range, one inside, one that the last call of the outer launches.
        sample.launch(1, 50, 7, 60, 10).launch(1, 200, 7, 210, 300).launch(1, 950, 7, 960, 20);
        let mut tables = sample.tables;
        let derived = derive_with(&mut tables, None);
        assert_eq!(derived.contradictions, Contradictions::default());
        let phases = &tables.phases;
        assert_eq!(phases.step_id.iter().map(|id| id.get()).collect::<Vec<_>>(), [Some(0), Some(0)]);
        assert_eq!((phases.batch[0].get(), phases.kv_tokens[0].get()), (Some(32), Some(900)), "{outer}");
        assert_eq!(phases.device_busy_ns[0].get(), Some(330));
        assert!(tables.kernels.phase_id.iter().all(|id| id.get() == Some(0)));
    }
}

#[test]
fn names_that_disagree_are_a_note() {
    let mut sample = Sample::new(0);
    sample.range(1, 0, 1_000, EXECUTE).range(1, 100, 800, "step[DECODE bs=30]");
    let (found, derived) = steps(sample);
    assert_eq!((found.len(), found[0].2), (1, Some(32)));
    assert_eq!(derived.contradictions.steps, 1);
    let expected = format!("batch: 32 by `{EXECUTE}`, 30 by `step[DECODE bs=30]`");
    assert_eq!(derived.contradictions.first, expected);
    // Two engines that differ on what the step does.
    let mut sample = Sample::new(0);
    sample.range(1, 0, 1_000, EXECUTE).range(1, 100, 400, "step[EXTEND bs=32 toks=32]");
    let (found, derived) = steps(sample);
    assert_eq!((found.len(), found[0].1, derived.contradictions.steps), (1, PhaseKind::Decode, 1));
}

#[test]
fn the_same_range_twice_is_one_step() {
    // As an annotation of the profiler and as an NVTX range, which is closed a little later.
    let mut sample = Sample::new(0);
    sample.range(1, 0, 1_000, "decode_step_3").range(1, 5, 1_010, "decode_step_3");
    sample.launch(1, 1_008, 7, 1_100, 10);
    let (found, _) = steps(sample);
    assert_eq!(found, [("decode_step_3".to_owned(), PhaseKind::Decode, None, 10)]);
}

#[test]
fn a_range_drawn_again_on_the_device_is_no_step() {
    let mut sample = Sample::new(0);
    for i in 0..3 {
        sample.range(1, i * 100, 90, "step[DECODE bs=4]");
    }
    // The device is behind: its first range begins in the host's second step.
    for i in 0..3 {
        sample.device_range(0, 150 + i * 100, 80, "step[DECODE bs=4]");
    }
    let mut tables = sample.tables;
    derive_with(&mut tables, None);
    let phases = &tables.phases;
    let drawn = (0..6).filter(|&row| phases.device[row].is_some()).map(|row| phases.step_id[row].get());
    let hosts: Vec<_> =
        (0..6).filter(|&row| !phases.device[row].is_some()).map(|row| Some(row as i32)).collect();
    assert_eq!(drawn.collect::<Vec<_>>(), hosts);
    assert_eq!(phases.are_steps().iter().filter(|is_step| **is_step).count(), 3);
}

#[test]
fn a_trace_of_a_device_alone_has_its_steps() {
    // Drawn once for each stream.
    let mut sample = Sample::new(0);
    for i in 0..2 {
        sample.device_range(0, i * 1_000, 900, "step[DECODE bs=4]");
        sample.device_range(0, i * 1_000 + 400, 600, "step[DECODE bs=4]");
        sample.kernel(0, 7, i * 1_000 + 10, 500, "gemm", "gemm");
    }
    let (found, _) = steps(sample);
    assert_eq!((found.len(), found[0].3, found[1].3), (2, 500, 500));
}

#[test]
fn a_profilers_step_only_holds_the_steps_of_an_engine() {
    // Around one, and around many.
    for number in [1, 5] {
        let mut sample = Sample::new(0);
        sample.range(1, 0, 10_000, "ProfilerStep#3");
        for i in 0..number {
            sample.range(1, 100 + i * 1_000, 900, "step[DECODE bs=4]");
        }
        let (found, _) = steps(sample);
        assert_eq!(names(&found), vec!["step[DECODE bs=4]"; number as usize]);
    }
    // Around a whole answer: prefill and decode stay apart.
    let mut sample = Sample::new(0);
    sample.range(1, 0, 10_000, "ProfilerStep#3").range(1, 0, 3_000, "prefill").range(1, 3_000, 900, "decode");
    let (found, _) = steps(sample);
    assert_eq!(names(&found), ["prefill", "decode"]);
    // Alone it is a step; around one plain numbered step it is the same step.
    let mut sample = Sample::new(0);
    sample.range(1, 0, 900, "ProfilerStep#1").range(1, 1_000, 900, "ProfilerStep#2");
    sample.range(1, 1_010, 800, "step 7");
    let (found, _) = steps(sample);
    assert_eq!(names(&found), ["ProfilerStep#1", "ProfilerStep#2"]);
}

#[test]
fn a_loop_around_steps_is_no_step() {
    let mut sample = Sample::new(0);
    sample.range(1, 0, 3_000, "generate").range(1, 0, 1_000, "prefill").range(1, 1_000, 2_000, "decode");
    for i in 0..4 {
        sample.range(1, 1_000 + i * 500, 490, &format!("decode_step_{i}"));
    }
    let (found, _) = steps(sample);
    let expected = ["prefill", "decode_step_0", "decode_step_1", "decode_step_2", "decode_step_3"];
    assert_eq!(names(&found), expected);
    // Steps that do not say what they do take it from the loop around them.
    let mut sample = Sample::new(0);
    sample.range(1, 0, 3_000, "decode").range(1, 0, 900, "step 1").range(1, 1_000, 900, "step 2");
    let (found, _) = steps(sample);
    assert_eq!(found.iter().map(|step| step.1).collect::<Vec<_>>(), [PhaseKind::Decode; 2]);
}

#[test]
fn parts_of_a_step_are_no_steps() {
    let mut sample = Sample::new(0);
    sample.range(1, 0, 1_000, "decode_step_1").range(1, 0, 400, "decode attention");
    sample.range(1, 400, 500, "decode mlp");
    let (found, _) = steps(sample);
    assert_eq!(names(&found), ["decode_step_1"]);
    // An engine's annotation is one forward pass, whatever a user puts inside.
    let mut sample = Sample::new(0);
    let mixed = "execute_context_1(100_10000)_generation_4(4)";
    sample.range(1, 0, 1_000, mixed).range(1, 0, 400, "prefill").range(1, 400, 500, "decode");
    let (found, derived) = steps(sample);
    assert_eq!((names(&found), derived.contradictions.steps), (vec![mixed], 0));
    // The vision encoder inside a prefill is work of its own.
    let mut sample = Sample::new(0);
    sample.range(1, 0, 1_000, "prefill").range(1, 0, 400, "vision encoder");
    let (found, _) = steps(sample);
    assert_eq!(names(&found), ["prefill", "vision encoder"]);
}

#[test]
fn steps_of_two_threads_that_both_launch_stay_apart() {
    // Asynchronous scheduling: the second step begins before the first ends, on another thread.
    let mut sample = Sample::new(0);
    sample.range(1, 0, 1_000, "step[DECODE bs=8]").range(2, 100, 850, "step[DECODE bs=8]");
    sample.launch(1, 10, 7, 20, 100).launch(2, 110, 8, 130, 200);
    let (found, _) = steps(sample);
    assert_eq!(found.iter().map(|step| step.3).collect::<Vec<_>>(), [100, 200]);
    // A thread that only waits for the worker names the worker's step again.
    let mut sample = Sample::new(0);
    sample.range(1, 0, 1_000, "decode_step_1").range(2, 100, 850, "step[DECODE bs=8]");
    sample.launch(2, 110, 8, 130, 200);
    let (found, _) = steps(sample);
    assert_eq!(found, [("decode_step_1".to_owned(), PhaseKind::Decode, Some(8), 200)]);
    // Pipelined ranges of one thread that overlap by half.
    let mut sample = Sample::new(0);
    sample.range(1, 0, 1_000, "step[DECODE bs=8]").range(1, 500, 1_000, "step[DECODE bs=8]");
    let (found, _) = steps(sample);
    assert_eq!(found.len(), 2);
}
