use std::fs;
use std::path::PathBuf;

use rooflens_schema::tables::{PhaseKind, RequestStatus};
use rooflens_schema::{Notes, Opt};

use super::*;
use crate::testing::codes;

fn fixture() -> PathBuf {
    crate::testing::fixture("workload/measure")
}

fn some(values: &[i64]) -> Vec<Opt<i64>> {
    values.iter().map(|value| Opt::some(*value)).collect()
}

#[test]
fn a_step_is_read_into_tables() {
    let notes = Notes::default();
    let workload = read_folder(&fixture(), "measure", &notes);
    assert!(notes.rows().is_empty());
    assert_eq!(workload.lost, 0);

    let requests = &workload.requests;
    assert_eq!(requests.request_id, [0, 1, 2]);
    assert_eq!(requests.stage, vec![Some("measure".to_owned()); 3]);
    assert_eq!(requests.round, some(&[0, 1, 1]));
    let kinds: Vec<_> = requests.round_kind.iter().flatten().map(String::as_str).collect();
    assert_eq!(kinds, ["warmup", "measured", "measured"]);
    assert_eq!(requests.sample[1].as_deref(), Some("b.txt"));
    assert_eq!(requests.prompt_tokens, some(&[4, 4, 6]));
    assert_eq!(requests.output_tokens, some(&[1, 3, 2]));
    assert_eq!(requests.sent_ts_ns, some(&[1_000, 5_000, 5_000]));
    assert_eq!(requests.first_token_ts_ns, some(&[1_400, 5_400, 5_400]));
    assert_eq!(requests.last_token_ts_ns, some(&[1_400, 5_600, 5_500]));
    assert_eq!(requests.queued_ns, [Opt::NONE, Opt::some(20), Opt::NONE]);
    let finish: Vec<_> = requests.finish.iter().flatten().map(String::as_str).collect();
    assert_eq!(finish, ["length", "length", "stop"]);
    assert_eq!(requests.status, [RequestStatus::Completed; 3]);
    // What a workload does not measure is null, never 0.
    assert!(requests.first_byte_ts_ns.iter().chain(&requests.end_ts_ns).all(|ts| ts.get().is_none()));
    assert!(requests.cached_tokens.iter().all(|count| count.get().is_none()));

    let tokens = &workload.tokens;
    assert_eq!(tokens.request_id, [0, 1, 1, 1, 2, 2]);
    assert_eq!(tokens.index, [0, 0, 1, 2, 0, 1]);
    assert_eq!(tokens.ts_ns, [1_400, 5_400, 5_500, 5_600, 5_400, 5_500]);
    assert_eq!(tokens.tokens, some(&[1; 6]));

    let steps = &workload.steps;
    assert_eq!(steps.step_id, [0, 1, 2, 3]);
    use PhaseKind::{Decode, Prefill};
    assert_eq!(steps.phase, [Prefill, Prefill, Decode, Decode]);
    assert_eq!(steps.ts_ns, some(&[1_000, 5_000, 5_410, 5_510]));
    assert_eq!(steps.dur_ns, [400, 400, 90, 90]);
    assert_eq!(steps.batch_size, some(&[1, 2, 2, 1]));
    assert_eq!(steps.prefill_tokens, some(&[4, 10, 0, 0]));
    assert_eq!(steps.decode_tokens, some(&[0, 0, 2, 1]));
    assert_eq!(steps.context_tokens, [Opt::some(4), Opt::some(10), Opt::some(12), Opt::NONE]);
    assert_eq!(steps.prompts[1].as_deref(), Some("4@0 6@0"));
    assert_eq!(steps.prompts[2], None);
    assert_eq!(steps.kv_usage, [None, Some(0.25), Some(0.25), None]);

    assert_eq!(workload.rounds.len(), 2);
    assert_eq!(workload.rounds[1].kind.as_deref(), Some("measured"));
    assert_eq!((workload.rounds[1].ts_ns, workload.rounds[1].end_ts_ns), (Some(4_990), Some(5_700)));
    assert_eq!((workload.rounds[0].dur_ns, workload.rounds[0].epoch), (Some(510), Some(0)));
    assert_eq!(workload.fact("model", "dtype").and_then(|dtype| dtype.as_str()), Some("bfloat16"));
    assert_eq!(workload.fact("model", "compile"), None);
    let marks: Vec<_> = workload.marks.iter().map(|mark| (mark.phase.as_str(), mark.step)).collect();
    assert_eq!(marks, [("decode", Some(0)), ("decode", None)]);
}

#[test]
fn times_are_put_onto_the_clock_of_the_run() {
    let mut workload = read_folder(&fixture(), "measure", &Notes::default());
    // The workload's clock stood at 500 when it was 2,000,000 ns past 1970; the run's base is 1,900,000.
    assert!(workload.align(1_900_000));
    assert_eq!(workload.requests.sent_ts_ns[0], Opt::some(100_500));
    assert_eq!(workload.requests.first_byte_ts_ns[0], Opt::NONE);
    assert_eq!(workload.requests.queued_ns[1], Opt::some(20));
    assert_eq!(workload.tokens.ts_ns[0], 100_900);
    assert_eq!(workload.steps.ts_ns[1], Opt::some(104_500));
    assert_eq!(workload.steps.dur_ns[1], 400);
    assert_eq!(workload.rounds[1].ts_ns, Some(104_490));
    assert_eq!(workload.marks[0].ts_ns, 104_920);
    // Once more changes nothing.
    assert!(workload.align(1_900_000));
    assert_eq!(workload.tokens.ts_ns[0], 100_900);
    let mut without =
        WorkloadRecords { clock: None, ..read_folder(&fixture(), "measure", &Notes::default()) };
    assert!(!without.align(1_900_000));
    assert_eq!(without.tokens.ts_ns[0], 1_400);
}

#[test]
fn steps_are_joined_with_ids_of_their_own() {
    let mut all = read_folder(&fixture(), "measure", &Notes::default());
    all.append(read_folder(&fixture(), "torch_profiler", &Notes::default()));
    assert_eq!(all.requests.request_id, [0, 1, 2, 3, 4, 5]);
    assert_eq!(all.tokens.request_id[6..], [3, 4, 4, 4, 5, 5]);
    assert_eq!(all.steps.step_id, [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(all.requests.stage[5].as_deref(), Some("torch_profiler"));
}

fn of_files(files: &[(&str, &[u8])]) -> (WorkloadRecords, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    let notes = Notes::default();
    let workload = read_folder(folder.path(), "measure", &notes);
    // Notes that are kept tell as much.
    assert_eq!(lost_rows("measure", &notes.rows()), workload.lost_rows);
    assert_eq!(lost_rows("nsys", &notes.rows()), 0);
    (workload, codes(&notes))
}

#[test]
fn an_empty_folder_has_no_rows() {
    let (workload, notes) = of_files(&[]);
    assert!(workload.requests.is_empty() && workload.steps.is_empty());
    assert_eq!((workload.lost, workload.clock), (0, None));
    assert!(notes.is_empty());
}

#[test]
fn damaged_lines_are_counted_and_the_others_read() {
    let request = |tokens: &str, times: &str| {
        format!(
            "{{\"round\":0,\"kind\":\"measured\",\"prompt_tokens\":4,\"output_tokens\":{tokens},\"start_ns\":5,\"token_ns\":{times}}}\n"
        )
    };
    let lines = [
        request("2", "[7,9]"),
        request("-2", "[7,9]"),
        request("2", "[7,\"9\"]"),
        request("2", "[7,9.5]"),
        request("99999999999999999999", "[7]"),
        "[]\n\n".to_owned(),
        "{\"round\":0,\"kind\":\"measured\"}\n".to_owned(),
        // More tokens than times: how many came at once is not known.
        request("5", "[7,9]"),
        // A clock that went backwards.
        request("2", "[9,7]"),
        request("2", "[7,9]")[..60].to_owned(),
    ]
    .concat();
    let (workload, notes) = of_files(&[("requests.jsonl", lines.as_bytes())]);
    assert_eq!(workload.requests.len(), 3);
    assert_eq!(workload.requests.output_tokens, some(&[2, 5, 2]));
    assert_eq!(workload.tokens.tokens, [some(&[1, 1]), vec![Opt::NONE; 2], some(&[1, 1])].concat());
    assert_eq!(workload.lost, 7);
    assert_eq!(notes, ["damaged_line 7", "times_out_of_order 1", "token_times_differ 1"]);
}

#[test]
fn a_line_of_steps_that_is_cut_within_a_number_is_not_believed() {
    let text = "round,kind,phase,kv_tokens,start_ns,dur_ns\n\
                0,measured,decode,,5,700\n\
                0,measured,dreaming,3,5,70\n\
                0,measured,decode,x,5,70\n\
                0,measured,decode,3,5,\n\
                0,measured,decode\n\
                0,measured,decode,3,5,7";
    let (workload, notes) = of_files(&[("steps.csv", text.as_bytes())]);
    assert_eq!(workload.steps.dur_ns, [700, 70]);
    assert_eq!(workload.steps.context_tokens, [Opt::NONE, Opt::some(3)]);
    assert_eq!(workload.steps.phase, [PhaseKind::Decode, PhaseKind::Step]);
    assert!(workload.steps.batch_size.iter().all(|count| count.get().is_none()), "there is no such column");
    assert_eq!(notes, ["damaged_line 4", "unknown_phase 1"]);
    let (workload, notes) = of_files(&[("steps.csv", b"what,ever\n1,2\n3,4\n")]);
    assert_eq!((workload.steps.len(), notes), (0, vec!["damaged_line 3".to_owned()]));
}

/// Numbers that look random and are always the same.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end.max(1)
    }
}

#[test]
fn any_damage_gives_rows_of_whole_lines_only() {
    const FILES: [&str; 4] = ["events.jsonl", "phases.jsonl", "requests.jsonl", "steps.csv"];
    let originals = FILES.map(|name| fs::read(fixture().join(name)).unwrap());
    let folder = tempfile::tempdir().unwrap();
    for seed in 0..400 {
        let mut dice = Dice(seed);
        for (name, original) in FILES.iter().zip(&originals) {
            let mut bytes = original.clone();
            for _ in 0..dice.below(6) {
                let at = dice.below(bytes.len());
                match dice.below(5) {
                    0 => bytes.truncate(at),
                    1 => bytes.insert(at, [b'\n', b'"', b'{', b',', 0xff, 0][dice.below(6)]),
                    2 if !bytes.is_empty() => bytes[at] = dice.below(256) as u8,
                    3 => drop(bytes.drain(at..(at + dice.below(40)).min(bytes.len()))),
                    _ => {
                        let again = bytes[at..(at + dice.below(80)).min(bytes.len())].to_vec();
                        bytes.splice(at..at, again);
                    }
                }
            }
            fs::write(folder.path().join(name), &bytes).unwrap();
        }
        let notes = Notes::default();
        let mut workload = read_folder(folder.path(), "measure", &notes);
        workload.align(1_900_000);
        let lost: i64 =
            notes.rows().iter().filter(|note| note.code == "damaged_line").map(|note| note.count).sum();
        assert_eq!(lost, workload.lost, "seed {seed}: everything lost is in a note");
        let requests = workload.requests.len() as i64;
        assert!(workload.tokens.request_id.iter().all(|id| (0..requests).contains(id)), "seed {seed}");
        assert!(workload.steps.dur_ns.iter().all(|ns| *ns >= 0), "seed {seed}");
        // A line in, at most a row out.
        let lines = fs::read(folder.path().join("requests.jsonl")).unwrap();
        let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
        assert!(workload.requests.len() <= lines, "seed {seed}");
    }
}
