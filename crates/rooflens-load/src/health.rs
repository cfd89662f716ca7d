//! Whether the client kept up, or distorted what it measured.

use hdrhistogram::Histogram;
use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_gettime};

use crate::record::ClientHealth;

/// Requests that leave later than this after they were due were held back by the client. A loaded machine wakes a
/// thread within a millisecond or two; this is well above.
pub(crate) const MAX_SEND_LAG_NS: u64 = 5_000_000;
pub(crate) const MAX_RECEIVE_DELAY_NS: u64 = 5_000_000;
pub(crate) const MAX_LOOP_LAG_NS: u64 = 5_000_000;
/// A thread that computes for more of its time than this has no reserve: queues grow behind it.
pub(crate) const MAX_THREAD_SHARE: f64 = 0.9;
/// A short run in which fewer samples than this were late is not marked: a single hiccup of the machine is not a
/// client that cannot keep up.
pub(crate) const MIN_LATE_SAMPLES: u64 = 3;
/// Threads that lived shorter than this have no meaningful share of processor time.
const MIN_SPAN_NS: i64 = 200_000_000;

const LONGEST_LAG_NS: u64 = 3_600_000_000_000;

/// A histogram of nanoseconds with three significant digits.
pub fn lag_histogram() -> Histogram<u64> {
    #[expect(clippy::expect_used, reason = "only bounds that contradict each other are refused")]
    let histogram = Histogram::new_with_max(LONGEST_LAG_NS, 3).expect("bounds and digits are allowed");
    histogram
}

#[derive(Debug)]
pub(crate) struct ThreadHealth {
    pub(crate) send_lag: Histogram<u64>,
    pub(crate) loop_lag: Histogram<u64>,
    pub(crate) receive_delay: Histogram<u64>,
    pub(crate) cpu_ns: i64,
    pub(crate) span_ns: i64,
    pub(crate) has_kernel_times: bool,
}

pub(crate) fn thread_cpu_ns() -> i64 {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(0, |time| time.num_nanoseconds())
}

pub(crate) fn process_cpu_ns() -> i64 {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).map_or(0, |time| time.num_nanoseconds())
}

pub(crate) fn peak_rss_bytes() -> Option<i64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: i64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kilobytes * 1024)
}

pub(crate) fn client_health(
    threads: &[ThreadHealth],
    cpu_ns: i64,
    chunks: u64,
    is_closed: bool,
) -> ClientHealth {
    let sum = |pick: fn(&ThreadHealth) -> &Histogram<u64>| {
        let mut all = lag_histogram();
        for thread in threads {
            // Both have the same bounds: there is no value that does not fit.
            let _ = all.add(pick(thread));
        }
        all
    };
    let send_lag = sum(|thread| &thread.send_lag);
    let loop_lag = sum(|thread| &thread.loop_lag);
    let receive_delay = sum(|thread| &thread.receive_delay);
    let shares = threads.iter().filter(|thread| thread.span_ns >= MIN_SPAN_NS);
    let busiest_thread = shares.map(|thread| thread.cpu_ns as f64 / thread.span_ns as f64).reduce(f64::max);
    let has_kernel_times = threads.iter().any(|thread| thread.has_kernel_times);
    let mut reasons = Vec::new();
    // Latency of a closed loop counts from sending: that users who become free together leave one after the other does
    // not distort it, unless most of them are held back.
    let share = if is_closed { 0.5 } else { 0.99 };
    late(&send_lag, share, MAX_SEND_LAG_NS, "requests were sent late by the client", &mut reasons);
    late(&receive_delay, 0.99, MAX_RECEIVE_DELAY_NS, "received data waited for the client", &mut reasons);
    if !has_kernel_times {
        late(&loop_lag, 0.99, MAX_LOOP_LAG_NS, "the event loop of the client fell behind", &mut reasons);
    }
    if let Some(share) = busiest_thread.filter(|share| *share > MAX_THREAD_SHARE) {
        let percent = share * 100.0;
        reasons.push(format!(
            "a thread of the client was busy {percent:.0} % of the time: add threads or processes"
        ));
    }
    ClientHealth {
        valid: reasons.is_empty(),
        reasons,
        send_lag_p50_ns: quantile(&send_lag, 0.5),
        send_lag_p99_ns: quantile(&send_lag, 0.99),
        loop_lag_p99_ns: quantile(&loop_lag, 0.99),
        receive_delay_p50_ns: quantile(&receive_delay, 0.5),
        receive_delay_p99_ns: quantile(&receive_delay, 0.99),
        cpu_ns,
        busiest_thread,
        cpu_per_chunk_ns: (chunks > 0).then(|| cpu_ns as f64 / chunks as f64),
        peak_rss_bytes: peak_rss_bytes(),
        threads: threads.len(),
        kernel_timestamps: has_kernel_times,
    }
}

fn quantile(histogram: &Histogram<u64>, quantile: f64) -> Option<i64> {
    (!histogram.is_empty()).then(|| histogram.value_at_quantile(quantile) as i64)
}

fn late(histogram: &Histogram<u64>, share: f64, limit: u64, what: &str, reasons: &mut Vec<String>) {
    if histogram.is_empty() || histogram.value_at_quantile(share) <= limit {
        return;
    }
    let count = histogram.count_between(limit + 1, u64::MAX);
    if count >= MIN_LATE_SAMPLES {
        let (value, percent) = (histogram.value_at_quantile(share) as f64 / 1e6, share * 100.0);
        reasons.push(format!("{what}: p{percent:.0} {value:.1} ms, limit {:.1} ms", limit as f64 / 1e6));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread() -> ThreadHealth {
        ThreadHealth {
            send_lag: lag_histogram(),
            loop_lag: lag_histogram(),
            receive_delay: lag_histogram(),
            cpu_ns: 100_000_000,
            span_ns: 1_000_000_000,
            has_kernel_times: true,
        }
    }

    fn fill(histogram: &mut Histogram<u64>, good: u64, bad: u64) {
        histogram.record_n(100_000, good).unwrap();
        histogram.record_n(20_000_000, bad).unwrap();
    }

    #[test]
    fn lags_of_any_length_are_kept() {
        let mut histogram = lag_histogram();
        for lag in [0, 20_000_000, u64::MAX] {
            histogram.saturating_record(lag);
        }
        assert!((19_900_000..20_100_000).contains(&histogram.value_at_quantile(0.5)));
        assert!(histogram.max() >= LONGEST_LAG_NS);
    }

    #[test]
    fn a_quiet_client_is_valid() {
        let mut quiet = thread();
        fill(&mut quiet.send_lag, 1000, 5);
        fill(&mut quiet.receive_delay, 1000, 5);
        let health = client_health(&[quiet], 100_000_000, 1000, false);
        assert!(health.valid, "{:?}", health.reasons);
        assert_eq!(health.busiest_thread, Some(0.1));
        assert_eq!(health.cpu_per_chunk_ns, Some(100_000.0));
        let p50 = health.send_lag_p50_ns.unwrap();
        assert!((99_900..=100_100).contains(&p50), "{p50}");
    }

    #[test]
    fn a_p99_that_the_client_harmed_marks_the_run() {
        let mut late = thread();
        fill(&mut late.send_lag, 1000, 20);
        let health = client_health(&[late], 0, 0, false);
        assert_eq!(health.reasons.len(), 1);
        assert!(health.reasons[0].contains("sent late"), "{:?}", health.reasons);
        assert_eq!(health.cpu_per_chunk_ns, None);
        let mut slow = thread();
        fill(&mut slow.receive_delay, 1000, 20);
        assert!(!client_health(&[slow], 0, 0, false).valid);
    }

    #[test]
    fn one_hiccup_of_a_short_run_does_not() {
        let mut short = thread();
        fill(&mut short.send_lag, 20, 1);
        assert!(client_health(&[short], 0, 0, false).valid);
    }

    #[test]
    fn the_event_loop_counts_where_the_kernel_gives_no_times() {
        let mut blind = thread();
        fill(&mut blind.loop_lag, 100, 10);
        assert!(client_health(&[blind], 0, 0, false).valid);
        let mut blind = ThreadHealth { has_kernel_times: false, ..thread() };
        fill(&mut blind.loop_lag, 100, 10);
        assert!(!client_health(&[blind], 0, 0, false).valid);
    }

    #[test]
    fn a_saturated_thread_marks_the_run_even_among_idle_ones() {
        let busy = ThreadHealth { cpu_ns: 950_000_000, ..thread() };
        let health = client_health(&[thread(), busy], 0, 0, false);
        assert!(!health.valid);
        assert_eq!(health.busiest_thread, Some(0.95));
    }

    #[test]
    fn this_process_has_memory_and_processor_time() {
        assert!(peak_rss_bytes().unwrap() > 100_000);
        assert!(process_cpu_ns() > 0);
        assert!(thread_cpu_ns() >= 0);
    }
}
