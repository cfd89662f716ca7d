//! Any bytes as a command line, an override each line: reading it, composing with it and planning
//! its sweep end, without a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rooflens_compose::overrides::Override;
use rooflens_compose::sources::{ConfigSource, SearchPath};
use rooflens_compose::{ComposeRequest, Composer, Mode};

const CONFIG: &str = "\
defaults: [_self_, {db: small}, {db@other: large}, optional none: x]
a: {b: [1, {c: 2}], d: ${db.port}, e: ???}
text: ${oc.env:HOME,x}/${now:%Y}
";

/// A sweep may have very many jobs; a few of them show what there is to see.
const JOBS: usize = 50;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let lines: Vec<&str> = text.lines().collect();
    for line in &lines {
        let Ok(parsed) = line.parse::<Override>() else { continue };
        drop((parsed.key_text(), parsed.value_text()));
        let options = ["small".to_owned(), "large".to_owned()];
        if let Ok(texts) = parsed.sweep_texts(&options) {
            drop(texts.take(JOBS).collect::<Vec<_>>());
        }
    }
    let files = [("config.yaml", CONFIG), ("db/small.yaml", "port: 1\n"), ("db/large.yaml", "port: 2\n")];
    let composer = Composer::new(SearchPath::new(ConfigSource::memory(files)));
    let request = ComposeRequest::new("config", lines);
    match composer.compose(&request) {
        Ok(made) => drop((made.job_yaml(), made.resolved())),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if let Ok(plan) = composer.multirun(&ComposeRequest { mode: Mode::Multirun, ..request }) {
        for job in plan.batches.iter().flatten().take(JOBS) {
            drop(composer.job(&plan, job));
        }
    }
});
