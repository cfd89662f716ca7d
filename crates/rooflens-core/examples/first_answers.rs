//! Analyse a trace, ask what to change, compare it with another one: all that a program needs to call.
//!
//! `cargo run --example first_answers -- fixtures/kineto/decode.json fixtures/kineto/two_ranks`

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program may print")]

use std::path::PathBuf;
use std::sync::Arc;

use rooflens_analyze::advice::AdviceList;
use rooflens_analyze::analyses::Verdict;
use rooflens_core::model::ModelRequest;
use rooflens_core::{Error, Event, Notes, Observer, ReadOptions, SharedObserver};

/// Follows the work; the library itself prints nothing.
struct Warnings;

impl Observer for Warnings {
    fn event(&self, event: &Event<'_>) {
        if let Event::Warning(line) = event {
            eprintln!("warning: {line}");
        }
    }
}

fn main() -> Result<(), Error> {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let observer: SharedObserver = Arc::new(Warnings);
    let notes = Notes::default();
    for path in &paths {
        let input = rooflens_core::open_input(
            std::slice::from_ref(path),
            &ReadOptions::default(),
            &notes,
            &observer,
        )?;
        let analysis = rooflens_core::analyze(&input, &notes, &ModelRequest::default(), None, &observer)?;
        let findings = &analysis.findings;
        println!("{}: {}", path.display(), findings.get::<Verdict>().map_or("", |it| &it.sentence));
        for advice in findings.get::<AdviceList>().into_iter().flat_map(|list| &list.items) {
            println!("  {}: {}", advice.rule, advice.title);
        }
    }
    let comparison = rooflens_core::compare(rooflens_core::read_sides(&paths, &observer)?, &[])?;
    for account in comparison.pairs.iter().flat_map(|pair| &pair.accounts) {
        for row in account.rows.iter().filter(|row| row.is_change) {
            println!("{} {}: {:.0} ns, then {:.0} ns", account.scope, row.name, row.a_ns, row.b_ns);
        }
    }
    Ok(())
}
