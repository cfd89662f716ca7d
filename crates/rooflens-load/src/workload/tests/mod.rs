//! Workloads from the description to the bytes that are sent.

mod conversations;
mod files;
mod synthetic;
mod tokenizers_made;
mod traces;

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::plan::{Api, Body, LoadSession};

fn ready(session: &LoadSession) -> Value {
    serde_json::from_str(&ready_text(session)).unwrap()
}

fn ready_text(session: &LoadSession) -> String {
    match &session.turns[0].body {
        Body::Ready(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
        Body::FromReplies(_) => panic!("the first request depends on replies"),
    }
}

fn bodies(session: LoadSession, replies: &[&str]) -> Vec<Value> {
    let replies: Vec<String> = replies.iter().map(|reply| (*reply).to_owned()).collect();
    let body = |(index, body)| match body {
        Body::Ready(bytes) => serde_json::from_slice(&bytes).unwrap(),
        Body::FromReplies(write) => serde_json::from_slice(&write(&replies[..index])).unwrap(),
    };
    session.turns.into_iter().map(|turn| turn.body).enumerate().map(body).collect()
}

fn sessions(spec: &WorkloadSpec, count: usize) -> Vec<LoadSession> {
    let mut opened = open(spec).unwrap();
    std::iter::from_fn(|| opened.source.next()).take(count).collect()
}

fn file(api: Api, path: impl Into<PathBuf>) -> WorkloadSpec {
    let prompts = PromptSource::File { path: path.into(), format: FileFormat::Auto };
    WorkloadSpec { model: "m".to_owned(), ..WorkloadSpec::of(api, prompts) }
}

fn length(text: &str) -> LengthSpec {
    text.parse().unwrap()
}

fn error(spec: &WorkloadSpec) -> String {
    match open(spec) {
        Ok(_) => panic!("it should not open"),
        Err(error) => error.to_string(),
    }
}

fn check_skipping(spec: &WorkloadSpec, count: usize) {
    let mut opened = open(spec).unwrap();
    for session in sessions(spec, count) {
        let shape = opened.source.skip().unwrap();
        assert_eq!((shape.turns, shape.arrival), (session.turns.len(), session.arrival));
    }
}
