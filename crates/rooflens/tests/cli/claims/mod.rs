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

use super::corpus_files::kineto_traces;
use super::*;

fn corpus(name: &str) -> String {
    corpus_files::corpus(name).to_str().unwrap().to_owned()
}

/// A config of the corpus, by the name of its file without `.json`.
fn config(name: &str) -> String {
    corpus(&format!("configs/{name}.json"))
}

/// Whether a value is within a share of the right one.
#[track_caller]
fn assert_near(value: f64, right: f64, tolerance: f64) {
    assert!((value - right).abs() <= tolerance * right.abs(), "{value} is not {right} (±{tolerance})");
}
