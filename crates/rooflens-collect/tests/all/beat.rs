//! The beat: nothing lost, little taken, and times that agree with the system's clock.

use std::path::Path;
use std::time::Duration;

use rooflens_collect::sample::clock::{Anchor, monotonic_ns, unix_ns};
use rooflens_collect::sample::{Sampler, SamplingOutcome, SamplingSettings, Watched, open};

use crate::mock_nvml::{MockNvml, TWO_DEVICES};

const HUNDRED_HERTZ: Duration = Duration::from_millis(10);

/// Samples the machine and two mocked devices a hundred times a second, and says how that went.
#[expect(clippy::print_stdout, reason = "the numbers are what it is for")]
fn run(seconds: i64) -> (SamplingOutcome, usize) {
    let watched = Watched::default();
    watched.watch(std::process::id());
    let mock = MockNvml::new(TWO_DEVICES);
    let sources: Vec<_> =
        open(Some(&mock.path()), &watched).into_iter().filter_map(|opened| opened.source.ok()).collect();
    let subjects = sources.iter().map(|source| source.subjects().len()).sum();
    let settings = SamplingSettings {
        interval: HUNDRED_HERTZ,
        beats: Some(100 * seconds),
        ..SamplingSettings::default()
    };
    let sampler = Sampler::start(settings, sources).unwrap();
    let mut rows = rooflens_schema::tables::Counters::default();
    while !sampler.is_done() {
        if let Some(more) = sampler.next(Duration::from_millis(100)) {
            rows.append(&mut more.clone());
            sampler.give_back(more);
        }
    }
    let mut outcome = sampler.stop();
    rows.append(&mut outcome.rows);
    outcome.rows = rows;
    let tally = outcome.tally;
    println!(
        "{} of {} beats taken, {} missed, {} over half an interval late, latest {:.2} ms; {:.2} % of one core; \
         anchor known to {} ns, clock moved {} ns",
        tally.taken,
        tally.due,
        tally.missed,
        tally.late,
        tally.latest_ns as f64 / 1e6,
        100.0 * tally.core_share().unwrap(),
        outcome.timeline.anchor.uncertainty_ns,
        outcome.timeline.anchor.stepped_ns(&Anchor::take()),
    );
    (outcome, subjects)
}

/// What holds however busy the machine is.
fn check(outcome: &SamplingOutcome, subjects: usize, seconds: i64) {
    let (rows, tally) = (&outcome.rows, &outcome.tally);
    assert_eq!((tally.due, tally.taken + tally.missed), (100 * seconds, 100 * seconds));
    assert_eq!(rows.len(), tally.taken as usize * subjects);
    // Each was begun on its beat, or as late as it says.
    let first = (0..rows.len()).map(|i| rows.ts_ns[i] - rows.late_ns[i]).min().unwrap();
    for i in 0..rows.len() {
        let off = (rows.ts_ns[i] - rows.late_ns[i] - first) % 10_000_000;
        assert!(off.min(10_000_000 - off) < 1_000, "row {i} is {off} ns off the beat");
    }
    assert!(outcome.timeline.anchor.uncertainty_ns < 1_000_000);
}

#[test]
fn three_seconds() {
    let (outcome, subjects) = run(3);
    check(&outcome, subjects, 3);
}

#[test]
#[ignore = "takes a minute: cargo test --release -p rooflens-collect --test all -- --ignored --nocapture"]
fn nightly_a_minute_at_a_hundred_hertz() {
    let (outcome, subjects) = run(60);
    check(&outcome, subjects, 60);
    let tally = outcome.tally;
    assert_eq!((tally.taken, tally.missed), (6000, 0));
    assert!(tally.core_share().unwrap() < 0.02, "{tally:?}");
}

#[test]
fn times_are_the_time_of_day() {
    // The narrowest of many readings: the scheduler may come between any one of them.
    let anchor = Anchor::take();
    let off = (0..1000).map(|_| (anchor.unix_at(monotonic_ns()) - unix_ns()).abs()).min().unwrap();
    println!("anchor known to {} ns; off CLOCK_REALTIME by {off} ns", anchor.uncertainty_ns);
    assert!(off < 1_000_000, "{off} ns");
}

#[test]
fn it_stops_when_it_is_told_however_long_the_interval() {
    let sources: Vec<_> = open(Some(Path::new("/nowhere/nvml.so")), &Watched::default());
    let sources = sources.into_iter().filter_map(|opened| opened.source.ok()).collect();
    let settings = SamplingSettings { interval: Duration::from_secs(3600), ..SamplingSettings::default() };
    // An hour, if it did not.
    let outcome = Sampler::start(settings, sources).unwrap().stop();
    assert!(outcome.tally.taken <= 1 && outcome.notes.is_empty());
}

#[cfg(target_os = "linux")]
#[test]
fn the_host_tells_of_itself_and_of_the_watched() {
    let (outcome, _) = run(1);
    let host: Vec<_> = (0..outcome.rows.len()).map(|i| outcome.rows.row(i).unwrap()).collect();
    let host: Vec<_> = host.into_iter().filter(|row| row.device.get().is_none()).collect();
    assert!(host.iter().any(|row| row.cpu_busy_pct.is_some_and(|busy| (0.0..=100.0).contains(&busy))));
    let totals: Vec<i64> = host.iter().filter_map(|row| row.mem_total_bytes.get()).collect();
    assert!(!totals.is_empty() && totals.iter().all(|&bytes| bytes > 1 << 20));
    assert!(host.iter().any(|row| row.watched_mem_bytes.get().is_some_and(|bytes| bytes > 1 << 20)));
    let busy: Vec<i64> = host.iter().filter_map(|row| row.cpu_busy_ns.get()).collect();
    assert!(busy.is_sorted());
}
