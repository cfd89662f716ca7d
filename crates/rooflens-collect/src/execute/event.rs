//! Events: what a workload tells while it runs. `python/README.md` has their form.

use std::collections::BTreeMap;
use std::io::{PipeReader, Read};
use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use serde_json::{Map, Value as Json};

use super::StepObserver;
use crate::plan::PlannedStep;

/// Something that was told.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkloadEvent {
    /// What happened: `hello`, `round_begin`, …
    pub name: String,
    pub(crate) fields: Map<String, Json>,
}

impl WorkloadEvent {
    /// The event of a line; nothing where the line is none.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let Json::Object(fields) = serde_json::from_slice(line).ok()? else { return None };
        let name = fields.get("event")?.as_str()?.to_owned();
        Some(Self { name, fields })
    }

    /// A field that is text.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.fields.get(key)?.as_str()
    }

    /// A field that is a whole number.
    pub fn number(&self, key: &str) -> Option<u64> {
        self.fields.get(key)?.as_u64()
    }
}

/// All that was told in a step, as far as it matters later.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EventSummary {
    pub(crate) versions: BTreeMap<String, String>,
    pub(crate) error: Option<WorkloadEvent>,
    /// Every `note`.
    pub notes: Vec<WorkloadEvent>,
    /// Lines that are no events.
    pub garbage_lines: u64,
    /// The beginning of the first of them.
    pub garbage: Option<String>,
}

const GARBAGE_CHARS: usize = 120;

impl EventSummary {
    fn add(&mut self, event: &WorkloadEvent) {
        match event.name.as_str() {
            "hello" => self.versions = versions(event),
            "error" => self.error = Some(event.clone()),
            "note" => self.notes.push(event.clone()),
            _ => {}
        }
    }

    fn add_garbage(&mut self, line: &[u8]) {
        self.garbage_lines += 1;
        self.garbage.get_or_insert_with(|| {
            String::from_utf8_lossy(line).chars().take(GARBAGE_CHARS).map(visible).collect()
        });
    }
}

/// Packages that are not there have no version.
fn versions(hello: &WorkloadEvent) -> BTreeMap<String, String> {
    let told = hello.fields.get("versions").and_then(Json::as_object).into_iter().flatten();
    let mut versions: BTreeMap<String, String> =
        told.filter_map(|(name, version)| Some((name.clone(), version.as_str()?.to_owned()))).collect();
    for (name, key) in [("python", "python"), ("rooflens", "rooflens")] {
        if let Some(version) = hello.text(key) {
            versions.insert(name.to_owned(), version.to_owned());
        }
    }
    versions
}

/// What a workload prints may hold what a terminal would obey.
pub(super) fn visible(char: char) -> char {
    if char.is_control() { char::REPLACEMENT_CHARACTER } else { char }
}

pub(super) struct Listener<'a> {
    pub(super) step: &'a PlannedStep,
    pub(super) watch: &'a dyn StepObserver,
    pub(super) heard: EventSummary,
}

impl Listener<'_> {
    pub(super) fn listen(&mut self, lines: &Receiver<Line>, within: Duration) {
        match lines.recv_timeout(within) {
            Ok(line) => {
                self.take(line);
                while let Ok(line) = lines.try_recv() {
                    self.take(line);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            // The pipe is closed, yet the process goes on.
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(within),
        }
    }

    /// Takes what was reported before the end, until the pipe is closed. Processes that left the group can hold it
    /// forever: only they are waited for, and only for a few seconds, however busy the machine is.
    pub(super) fn drain(&mut self, lines: &Receiver<Line>) {
        const LAST_WORDS: Duration = Duration::from_secs(5);
        while let Ok(line) = lines.recv_timeout(LAST_WORDS) {
            self.take(line);
        }
    }

    /// Takes the events that the workload noted in its own file. `conda run` closes every descriptor except the
    /// standard ones, so that nothing comes through the pipe.
    pub(super) fn read_file(&mut self, path: &Path) {
        let lines = std::fs::read(path).unwrap_or_default();
        lines
            .split(|byte| *byte == b'\n')
            .filter_map(WorkloadEvent::parse)
            .for_each(|event| self.event(&event));
    }

    fn take(&mut self, line: Line) {
        match line {
            Line::Event(event) => self.event(&event),
            Line::Garbage(line) => self.heard.add_garbage(&line),
        }
    }

    fn event(&mut self, event: &WorkloadEvent) {
        self.heard.add(event);
        self.watch.event(self.step, event);
    }
}

pub(super) enum Line {
    Event(WorkloadEvent),
    Garbage(Vec<u8>),
}

/// A line longer than this is none of ours; its rest is thrown away.
const LONGEST_LINE: usize = 1 << 20;

/// Starts reading. The channel ends when nobody holds the other end of the pipe any more.
pub(super) fn read_events(pipe: PipeReader) -> Receiver<Line> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || read(pipe, &sender));
    receiver
}

fn read(mut pipe: PipeReader, to: &Sender<Line>) {
    let mut buffer = [0; 1 << 14];
    let mut line = Vec::new();
    loop {
        let read = match pipe.read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(read) => &buffer[..read],
        };
        for &byte in read {
            if byte != b'\n' {
                if line.len() < LONGEST_LINE {
                    line.push(byte);
                }
            } else if !send(&mut line, to) {
                return;
            }
        }
    }
    if !line.is_empty() {
        send(&mut line, to);
    }
}

fn send(line: &mut Vec<u8>, to: &Sender<Line>) -> bool {
    let line = std::mem::take(line);
    if line.iter().all(u8::is_ascii_whitespace) {
        return true;
    }
    let sent = WorkloadEvent::parse(&line).map_or(Line::Garbage(line), Line::Event);
    to.send(sent).is_ok()
}
