//! How long a composition takes: `cargo run --release --example compose_speed [FOLDER CONFIG]`.
//!
//! Without arguments it composes the fixture with fifteen groups, files read from disk each time.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "an example")]

use std::time::{Duration, Instant};

use rooflens_compose::sources::{ConfigSource, SearchPath};
use rooflens_compose::{ComposeRequest, Composer};

const ROUNDS: usize = 500;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/pipeline");
    let folder = arguments.next().unwrap_or_else(|| fixture.to_owned());
    let config = arguments.next().unwrap_or_else(|| "config".to_owned());
    let composer = Composer::new(SearchPath::new(ConfigSource::folder(folder)));
    let request = ComposeRequest::new(&config, Vec::<String>::new());
    let groups = composer.compose(&request).unwrap().choices.len();
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            let made = composer.compose(&request).unwrap();
            let text = made.job_yaml();
            let time = start.elapsed();
            assert!(!text.is_empty());
            time
        })
        .collect();
    times.sort();
    let percentile = |part: usize| times[ROUNDS * part / 100 - 1].as_secs_f64() * 1e3;
    println!(
        "{groups} groups (Hydra's own among them): median {:.2} ms, 99 % within {:.2} ms",
        percentile(50),
        percentile(99)
    );
}
