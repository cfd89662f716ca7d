//! When the parts of a step went on, from what its workload left, on the clock of the samples.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use rooflens_analyze::sampled::{Part, WHOLE};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// Steps that follow each other this closely belong to one stretch.
const TOUCHING_NS: i64 = 1_000_000;

/// The part that counts of a step: its rounds without warm-up.
const ROUNDS: &str = "rounds";

/// One moment on the clock that only goes forward, and since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Clock {
    /// On the clock that only goes forward.
    pub monotonic_ns: i64,
    /// Since 1970.
    pub unix_ns: i64,
}

impl Clock {
    /// That of a step's workload, by its first event.
    pub fn of_step(folder: &Path) -> Option<Self> {
        let events = fs::read_to_string(folder.join("events.jsonl")).ok()?;
        let hello = lines(&events).find(|event| event["event"] == "hello")?;
        serde_json::from_value(hello["clock"].clone()).ok()
    }

    fn since(self, base_unix_ns: i64, monotonic_ns: i64) -> i64 {
        let unix_ns = self.unix_ns.saturating_add(monotonic_ns.saturating_sub(self.monotonic_ns));
        unix_ns.saturating_sub(base_unix_ns)
    }
}

fn lines(text: &str) -> impl Iterator<Item = Json> {
    text.lines().filter_map(|line| serde_json::from_str(line).ok())
}

/// A stretch of a part, and the tokens that were made in it.
struct Stretch {
    from_ns: i64,
    to_ns: i64,
    tokens: Option<u64>,
}

/// The parts of a step, warm-up left out: `rounds`, and each phase. None where its clock is not known.
pub(super) fn of_step(folder: &Path, base_unix_ns: i64) -> Vec<Part> {
    let Some(clock) = Clock::of_step(folder) else { return Vec::new() };
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    let mut found: Vec<(String, Vec<Stretch>)> = Vec::new();
    found.push((ROUNDS.to_owned(), rounds(&text("events.jsonl"))));
    found.extend(phases(&text("steps.csv")));
    found.extend(marked(&text("phases.jsonl")));
    let made = found.into_iter().filter_map(|(name, all)| part(name, all, clock, base_unix_ns));
    let mut parts: Vec<Part> = made.collect();
    // What counts first, then its phases in their order.
    parts.sort_by_key(|part| (part.name != ROUNDS, part.stretches.first().copied()));
    if let Some(rounds) = parts.first_mut().filter(|part| part.name == ROUNDS) {
        rounds.output_tokens = output_tokens(&text("requests.jsonl"));
    }
    parts
}

/// Counted rounds by their begin and end; one that has no end was cut off.
fn rounds(events: &str) -> Vec<Stretch> {
    let mut begun: BTreeMap<i64, i64> = BTreeMap::new();
    let mut rounds = Vec::new();
    for event in lines(events).filter(|event| event["kind"] != "warmup") {
        let (Some(t_ns), Some(round)) = (event["t_ns"].as_i64(), event["round"].as_i64()) else { continue };
        if event["event"] == "round_begin" {
            begun.insert(round, t_ns);
        } else if event["event"] == "round_end"
            && let Some(from_ns) = begun.remove(&round)
        {
            rounds.push(Stretch { from_ns, to_ns: t_ns, tokens: None });
        }
    }
    rounds
}

/// Forward passes by phase; their columns are found by name.
fn phases(steps: &str) -> BTreeMap<String, Vec<Stretch>> {
    let mut lines = steps.lines();
    let head: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let column = |name: &str| head.iter().position(|known| *known == name);
    let mut phases: BTreeMap<String, Vec<Stretch>> = BTreeMap::new();
    let columns = (column("kind"), column("phase"), column("start_ns"), column("dur_ns"));
    let (Some(kind), Some(phase), Some(start), Some(dur)) = columns else { return phases };
    let decode = column("decode_tokens");
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |at: usize| cells.get(at)?.parse::<i64>().ok();
        let (Some(from_ns), Some(dur_ns)) = (number(start), number(dur)) else { continue };
        if cells.len() == head.len() && cells[kind] != "warmup" {
            // A prefill makes tokens, too, but only its requests tell how many.
            let made = || number(decode?)?.try_into().ok();
            let tokens = if cells[phase] == "decode" { made() } else { None };
            let stretch = Stretch { from_ns, to_ns: from_ns.saturating_add(dur_ns), tokens };
            phases.entry(cells[phase].to_owned()).or_default().push(stretch);
        }
    }
    phases
}

/// Phases that a program marked with the probe; their steps lie within them.
fn marked(phases: &str) -> BTreeMap<String, Vec<Stretch>> {
    let mut marked: BTreeMap<String, Vec<Stretch>> = BTreeMap::new();
    for event in lines(phases).filter(|event| event["step"].is_null()) {
        let (start, dur) = (event["start_ns"].as_i64(), event["dur_ns"].as_i64());
        if let (Some(name), Some(from_ns), Some(dur_ns)) = (event["phase"].as_str(), start, dur) {
            // A program may call its phases as it likes, but not as the parts that every step has.
            let is_taken = [WHOLE, ROUNDS].contains(&name);
            let name = if is_taken { format!("phase {name}") } else { name.to_owned() };
            let stretch = Stretch { from_ns, to_ns: from_ns.saturating_add(dur_ns), tokens: None };
            marked.entry(name).or_default().push(stretch);
        }
    }
    marked
}

/// Tokens of counted requests; nothing where there is none.
fn output_tokens(requests: &str) -> Option<u64> {
    let counted = lines(requests).filter(|row| row["kind"] != "warmup");
    let tokens: Vec<u64> = counted.filter_map(|row| row["output_tokens"].as_u64()).collect();
    (!tokens.is_empty()).then(|| tokens.iter().sum())
}

fn part(name: String, mut all: Vec<Stretch>, clock: Clock, base_unix_ns: i64) -> Option<Part> {
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
    let since = |(from, to): &(i64, i64)| (clock.since(base_unix_ns, *from), clock.since(base_unix_ns, *to));
    (!joined.is_empty()).then(|| Part {
        name,
        stretches: joined.iter().map(since).collect(),
        output_tokens: tokens.into_iter().collect::<Option<Vec<u64>>>().map(|all| all.iter().sum()),
    })
}

#[cfg(test)]
mod tests {
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
            "{\"kind\":\"warmup\",\"output_tokens\":9}\n{\"kind\":\"measured\",\"output_tokens\":5}\n",
        );
        let base = 7_000 * MS;
        let parts = of_step(folder.path(), base);
        let part = |name: &str, from: i64, to: i64, output_tokens| Part {
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
        assert_eq!(of_step(folder.path(), base), [], "without a clock nothing can be placed");
    }

    #[test]
    fn phases_of_the_probe() {
        let marked = marked(
            "{\"event\":\"phase\",\"phase\":\"decode\",\"step\":null,\"start_ns\":5,\"dur_ns\":10}\n\
             {\"event\":\"phase\",\"phase\":\"decode\",\"step\":1,\"start_ns\":6,\"dur_ns\":2}\n\
             {\"event\":\"phase\",\"phase\":\"all\",\"step\":null,\"start_ns\":5,\"dur_ns\":10}\n",
        );
        let decode: Vec<(i64, i64)> = marked["decode"].iter().map(|it| (it.from_ns, it.to_ns)).collect();
        assert_eq!(decode, [(5, 15)]);
        assert!(marked.contains_key("phase all") && !marked.contains_key("all"));
    }
}
