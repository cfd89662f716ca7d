//! What the program claims in words, held to right values: a test for each claim that an expert or a newcomer
//! once found wrong. Values are worked out by hand or by other tools, never taken from the program.

mod advice;
mod causes;
mod compare;
mod cost;
mod first_use;
mod fit;
mod floors;
mod formats;
mod kernels;
mod pages;
mod ranks;
mod reach;
mod shapes;
mod steps;

use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use super::corpus_files::kineto_traces;
use super::{fixture, rooflens};

/// A file or folder of the corpus.
fn corpus(name: &str) -> String {
    super::corpus_files::corpus(name).to_str().unwrap().to_owned()
}

/// A config of the corpus, by the name of its file without `.json`.
fn config(name: &str) -> String {
    corpus(&format!("configs/{name}.json"))
}

/// What it answers.
struct Answer {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Answer {
    /// Standard output, where all went well.
    fn fine(self) -> String {
        assert_eq!(self.code, 0, "{}", self.stderr);
        self.stdout
    }
}

fn run(args: &[&str]) -> Answer {
    let output = rooflens(args).output().unwrap();
    Answer {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The answer as text, as on a terminal without colours.
fn text(args: &[&str]) -> String {
    run(args).fine()
}

/// The answer as JSON.
fn json(args: &[&str]) -> Json {
    let args: Vec<&str> = args.iter().copied().chain(["--format", "json"]).collect();
    serde_json::from_str(&text(&args)).unwrap()
}

/// Whether a value is within a share of the right one.
#[track_caller]
fn assert_near(value: f64, right: f64, tolerance: f64) {
    assert!((value - right).abs() <= tolerance * right.abs(), "{value} is not {right} (±{tolerance})");
}
