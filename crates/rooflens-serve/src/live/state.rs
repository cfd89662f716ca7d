//! How far a run is, by what it has written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rooflens_report::Part;
use rooflens_report::block::{Block, Cell, Column, Fact, Field};
use rooflens_schema::RunDir;
use serde_json::Value as Json;

use super::PROGRESS;
use super::tail::Tail;

/// Rounds that are shown, the newest first.
const ROUNDS: usize = 50;
/// Bytes of a plan or a manifest.
const MOST_BYTES: u64 = 16 << 20;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LiveStep {
    name: String,
    purpose: String,
    state: String,
    duration_ns: Option<i64>,
    now: String,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LiveRound {
    step: String,
    round: i64,
    kind: String,
    duration_ns: Option<i64>,
    output_tokens: i64,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct LiveState {
    steps: Vec<LiveStep>,
    rounds: Vec<LiveRound>,
    load: Option<Json>,
    pub(crate) is_finished: bool,
}

pub(crate) struct LiveRun {
    folder: PathBuf,
    state: LiveState,
    tails: BTreeMap<String, Tail>,
    tokens: BTreeMap<(String, i64), i64>,
    progress: Tail,
}

impl LiveRun {
    pub(crate) fn new(folder: &Path) -> Self {
        LiveRun {
            folder: folder.to_owned(),
            state: LiveState::default(),
            tails: BTreeMap::new(),
            tokens: BTreeMap::new(),
            progress: Tail::new(folder.join(PROGRESS)),
        }
    }

    pub(crate) fn look(&mut self) -> &LiveState {
        let run = RunDir::new(&self.folder);
        // Asked first: what was written before the end is read below.
        let is_finished = is_file(&run.report().join("metrics.json"));
        if self.state.steps.is_empty() {
            self.state.steps = steps(&self.folder);
        }
        for at in 0..self.state.steps.len() {
            self.look_at_step(&run, at);
        }
        if let Some(line) =
            self.progress.lines().iter().rev().find_map(|line| serde_json::from_slice(line).ok())
        {
            self.state.load = Some(line);
        }
        self.state.is_finished = is_finished;
        &self.state
    }

    fn look_at_step(&mut self, run: &RunDir, at: usize) {
        let name = self.state.steps[at].name.clone();
        let folder = run.raw(&name);
        if self.state.steps[at].duration_ns.is_some() || !is_folder(&folder) {
            return;
        }
        let manifest = document(&folder.join("manifest.json"));
        let tail = self.tails.entry(name.clone()).or_insert_with(|| Tail::new(folder.join("events.jsonl")));
        for line in tail.lines() {
            if let Ok(event) = serde_json::from_slice::<Json>(&line) {
                self.take_event(at, &event);
            }
        }
        let step = &mut self.state.steps[at];
        step.state = "running".to_owned();
        if let Some(manifest) = manifest {
            step.state = manifest["end"].as_str().unwrap_or("done").to_owned();
            step.duration_ns = manifest["duration_ns"].as_i64();
            step.now.clear();
        }
    }

    fn take_event(&mut self, at: usize, event: &Json) {
        let step = &mut self.state.steps[at];
        let number = |key: &str| event[key].as_i64().unwrap_or(0);
        let word = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
        match event["event"].as_str().unwrap_or_default() {
            "hello" => step.now = format!("{} started", word("runtime")),
            "loading" => step.now = format!("loading {}", word("what")),
            "working" => step.now = word("what"),
            "model" => step.now = format!("{} is loaded", word("name")),
            "round_begin" => step.now = format!("round {} ({})", number("round"), word("kind")),
            "batch_end" => {
                *self.tokens.entry((step.name.clone(), number("round"))).or_default() +=
                    number("output_tokens");
                step.now = format!("round {}, batch {} ended", number("round"), number("batch"));
            }
            "round_end" => {
                step.now = format!("round {} ({}) ended", number("round"), word("kind"));
                let round = LiveRound {
                    step: step.name.clone(),
                    round: number("round"),
                    kind: word("kind"),
                    duration_ns: event["dur_ns"].as_i64(),
                    output_tokens: self.tokens.remove(&(step.name.clone(), number("round"))).unwrap_or(0),
                };
                self.state.rounds.insert(0, round);
                self.state.rounds.truncate(ROUNDS);
            }
            "error" => step.now = format!("failed: {}", word("message")),
            "stopped" => step.now = "stopped".to_owned(),
            _ => {}
        }
    }
}

fn steps(folder: &Path) -> Vec<LiveStep> {
    let plan = document(&folder.join("plan.json")).unwrap_or_default();
    let of_process = |step: &&Json| step["kind"] == "process";
    let steps = plan["steps"].as_array().map_or(&[][..], Vec::as_slice).iter().filter(of_process);
    let step = |step: &Json| {
        let name = step["name"].as_str()?;
        // It is the name of a folder below this one, and nothing else.
        let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
        is_name.then(|| LiveStep {
            name: name.to_owned(),
            purpose: step["purpose"].as_str().unwrap_or_default().to_owned(),
            state: "waiting".to_owned(),
            duration_ns: None,
            now: String::new(),
        })
    };
    steps.filter_map(step).collect()
}

fn is_file(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|data| data.is_file())
}

fn is_folder(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|data| data.is_dir())
}

fn document(path: &Path) -> Option<Json> {
    let is_read =
        std::fs::symlink_metadata(path).is_ok_and(|data| data.is_file() && data.len() <= MOST_BYTES);
    is_read.then(|| serde_json::from_slice(&std::fs::read(path).ok()?).ok()).flatten()
}

const STEPS: &[Field<LiveStep>] = &[
    (Column::text("step", "Step"), |row| Cell::code(&row.name)),
    (Column::text("state", "State"), |row| Cell::word(&row.state)),
    (Column::number("duration_ns", "Time"), |row| Cell::or(row.duration_ns, Cell::Time, "it has not ended")),
    (Column::text("now", "Last event"), |row| match row.now.is_empty() {
        true => Cell::missing("nothing was reported"),
        false => Cell::text(&row.now),
    }),
    (Column::text("purpose", "Purpose"), |row| Cell::text(&row.purpose)),
];

const ROUND: &[Field<LiveRound>] = &[
    (Column::text("step", "Step"), |row| Cell::code(&row.step)),
    (Column::number("round", "Round"), |row| Cell::Count(row.round)),
    (Column::text("kind", "Kind"), |row| Cell::word(&row.kind)),
    (Column::number("duration_ns", "Time"), |row| {
        Cell::or(row.duration_ns, Cell::Time, "it was not reported")
    }),
    (Column::number("output_tokens", "Output tokens"), |row| match row.output_tokens {
        0 => Cell::missing("no batch was reported"),
        tokens => Cell::Count(tokens),
    }),
];

impl LiveState {
    pub(crate) fn parts(&self) -> Vec<Part> {
        let ended = self.steps.iter().filter(|step| step.duration_ns.is_some()).count();
        let running = self.steps.iter().find(|step| step.state == "running");
        let lead = match (self.is_finished, running, &self.load) {
            (true, ..) => "The run has ended.".to_owned(),
            (_, Some(step), _) => format!("Step {} of {}: {}.", ended + 1, self.steps.len(), step.name),
            (_, _, Some(load)) => {
                format!("Load test: {}.", load["offered"].as_str().unwrap_or("in progress"))
            }
            _ if self.steps.is_empty() => "Nothing has been written yet.".to_owned(),
            _ if ended == self.steps.len() => {
                "All steps have ended; the results are being analyzed.".to_owned()
            }
            _ if ended == 0 => format!("None of {} steps has begun.", self.steps.len()),
            _ => format!("{ended} of {} steps have ended; the next has not begun.", self.steps.len()),
        };
        let mut blocks = vec![Block::Lead(lead)];
        blocks.extend(self.load.as_ref().map(load));
        if !self.steps.is_empty() {
            blocks.push(Block::table("live_steps", STEPS, &self.steps, usize::MAX));
        }
        if !self.rounds.is_empty() {
            blocks.push(Block::Heading("Rounds, newest first".to_owned()));
            blocks.push(Block::table("live_rounds", ROUND, &self.rounds, usize::MAX));
        }
        vec![Part { name: "live", title: "In progress", blocks }]
    }
}

fn load(told: &Json) -> Block {
    let count = |label: &str, key: &str| {
        Fact::new(label, Cell::or(told[key].as_i64(), Cell::Count, "it was not reported"))
    };
    let mut facts = vec![
        Fact::new("Elapsed", Cell::or(told["elapsed_ns"].as_i64(), Cell::Time, "it was not reported")),
        count("Sent", "sent"),
        count("In progress", "in_flight"),
        count("Completed", "completed"),
        count("Failed", "failed"),
        count("Chunks", "chunks"),
    ];
    // One that is bounded by its time has no number of requests.
    facts.extend(told["of"].as_i64().map(|of| Fact::new("Planned", Cell::Count(of))));
    Block::Facts(facts)
}
