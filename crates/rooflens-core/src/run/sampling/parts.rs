//! When the parts of a step went on, from what its workload left, on the clock of the samples.

use std::collections::BTreeMap;

use rooflens_analyze::sampled::{StepPart, WHOLE};
use rooflens_ingest::formats::workload::{ProbeMark, Round, WorkloadRecords};
use rooflens_schema::tables::{PhaseKind, Steps};

const TOUCHING_NS: i64 = 1_000_000;

const ROUNDS: &str = "rounds";

const WARMUP: &str = "warmup";

/// A stretch of a part, and the tokens that were made in it.
struct Stretch {
    from_ns: i64,
    to_ns: i64,
    tokens: Option<u64>,
}

/// The parts of a step, warm-up left out: `rounds`, and each phase. None where its clock is not known.
pub(super) fn of_step(mut workload: WorkloadRecords, base_unix_ns: i64) -> Vec<StepPart> {
    if !workload.align(base_unix_ns) {
        return Vec::new();
    }
    let mut found: Vec<(String, Vec<Stretch>)> = vec![(ROUNDS.to_owned(), rounds(&workload.rounds))];
    found.extend(phases(&workload.steps));
    found.extend(marked(&workload.marks));
    let mut parts: Vec<StepPart> = found.into_iter().filter_map(|(name, all)| part(name, all)).collect();
    // What counts first, then its phases in their order.
    parts.sort_by_key(|part| (part.name != ROUNDS, part.stretches.first().copied()));
    if let Some(rounds) = parts.first_mut().filter(|part| part.name == ROUNDS) {
        rounds.output_tokens = output_tokens(&workload);
    }
    parts
}

fn counts(kind: Option<&str>) -> bool {
    kind != Some(WARMUP)
}

/// Counted rounds; one that has no end was cut off.
fn rounds(rounds: &[Round]) -> Vec<Stretch> {
    let counted = rounds.iter().filter(|round| counts(round.kind.as_deref()));
    let stretch =
        |round: &Round| Some(Stretch { from_ns: round.ts_ns?, to_ns: round.end_ts_ns?, tokens: None });
    counted.filter_map(stretch).collect()
}

fn phases(steps: &Steps) -> BTreeMap<String, Vec<Stretch>> {
    let mut phases: BTreeMap<String, Vec<Stretch>> = BTreeMap::new();
    for row in (0..steps.len()).filter(|row| counts(steps.round_kind[*row].as_deref())) {
        let Some(from_ns) = steps.ts_ns[row].get() else { continue };
        let phase = steps.phase[row];
        // A prefill makes tokens, too, but only its requests tell how many.
        let made = steps.decode_tokens[row].get().filter(|_| phase == PhaseKind::Decode);
        let tokens = made.and_then(|tokens| u64::try_from(tokens).ok());
        let stretch = Stretch { from_ns, to_ns: from_ns.saturating_add(steps.dur_ns[row]), tokens };
        phases.entry(phase.as_str().to_owned()).or_default().push(stretch);
    }
    phases
}

/// Phases that a program marked with the probe; their steps lie within them.
fn marked(marks: &[ProbeMark]) -> BTreeMap<String, Vec<Stretch>> {
    let mut marked: BTreeMap<String, Vec<Stretch>> = BTreeMap::new();
    for mark in marks.iter().filter(|mark| mark.step.is_none()) {
        // A program may call its phases as it likes, but not as the parts that every step has.
        let is_taken = [WHOLE, ROUNDS].contains(&mark.phase.as_str());
        let name = if is_taken { format!("phase {}", mark.phase) } else { mark.phase.clone() };
        let to_ns = mark.ts_ns.saturating_add(mark.dur_ns);
        marked.entry(name).or_default().push(Stretch { from_ns: mark.ts_ns, to_ns, tokens: None });
    }
    marked
}

fn output_tokens(workload: &WorkloadRecords) -> Option<u64> {
    let requests = &workload.requests;
    let counted = (0..requests.len()).filter(|row| counts(requests.round_kind[*row].as_deref()));
    let tokens: Vec<u64> =
        counted.filter_map(|row| u64::try_from(requests.output_tokens[row].get()?).ok()).collect();
    (!tokens.is_empty()).then(|| tokens.iter().sum())
}

fn part(name: String, mut all: Vec<Stretch>) -> Option<StepPart> {
    all.sort_by_key(|stretch| stretch.from_ns);
    let tokens: Vec<Option<u64>> = all.iter().map(|stretch| stretch.tokens).collect();
    let mut joined: Vec<(i64, i64)> = Vec::new();
    for stretch in all.iter().filter(|stretch| stretch.from_ns < stretch.to_ns) {
        match joined.last_mut() {
            Some((_, to)) if stretch.from_ns <= to.saturating_add(TOUCHING_NS) => {
                *to = stretch.to_ns.max(*to)
            }
            _ => joined.push((stretch.from_ns, stretch.to_ns)),
        }
    }
    let output_tokens = tokens.into_iter().collect::<Option<Vec<u64>>>().map(|all| all.iter().sum());
    (!joined.is_empty()).then_some(StepPart { name, stretches: joined, output_tokens })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rooflens_ingest::formats::workload::read_folder;
    use rooflens_schema::Notes;

    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn a_step_by_hand() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        // The clock that only goes forward stood at 1 s when it was 100 s past the base, which is 7 s.
        write(
            "events.jsonl",
            r#"{"event":"hello","t_ns":0,"clock":{"monotonic_ns":1000000000,"unix_ns":107000000000,"uncertainty_ns":40}}
{"event":"round_begin","t_ns":1000000000,"round":0,"kind":"warmup"}
{"event":"round_end","t_ns":1100000000,"round":0,"kind":"warmup"}
{"event":"round_begin","t_ns":1200000000,"round":1,"kind":"measured"}
{"event":"round_end","t_ns":1500000000,"round":1,"kind":"measured"}
{"event":"round_begin","t_ns":1600000000,"round":2,"kind":"mea"#,
        );
        write(
            "steps.csv",
            "kind,phase,decode_tokens,start_ns,dur_ns\nwarmup,prefill,0,1000000000,50\nmeasured,prefill,0,1200000000,100000000\n\
             measured,decode,2,1300000000,100000000\nmeasured,decode,1,1400000000,100000000\nmeasured,dec",
        );
        write(
            "requests.jsonl",
            &[("warmup", 9), ("measured", 5)].map(|(kind, tokens)| format!("{{\"round\":0,\"kind\":\"{kind}\",\"prompt_tokens\":4,\"output_tokens\":{tokens},\"start_ns\":5,\"token_ns\":[]}}\n")).concat(),
        );
        let base = 7_000 * MS;
        let read = || read_folder(folder.path(), "measure", &Notes::default());
        let parts = of_step(read(), base);
        let part = |name: &str, from: i64, to: i64, output_tokens| StepPart {
            name: name.to_owned(),
            stretches: vec![((100_000 + from) * MS, (100_000 + to) * MS)],
            output_tokens,
        };
        assert_eq!(
            parts,
            [
                part("rounds", 200, 500, Some(5)),
                part("prefill", 200, 300, None),
                part("decode", 300, 500, Some(3))
            ]
        );
        write("events.jsonl", "");
        assert_eq!(of_step(read(), base), [], "without a clock nothing can be placed");
    }

    #[test]
    fn phases_of_the_probe() {
        let mark = |phase: &str, step| ProbeMark { phase: phase.to_owned(), step, ts_ns: 5, dur_ns: 10 };
        let marked = marked(&[mark("decode", None), mark("decode", Some(1)), mark("all", None)]);
        let decode: Vec<(i64, i64)> = marked["decode"].iter().map(|it| (it.from_ns, it.to_ns)).collect();
        assert_eq!(decode, [(5, 15)]);
        assert!(marked.contains_key("phase all") && !marked.contains_key("all"));
    }
}
