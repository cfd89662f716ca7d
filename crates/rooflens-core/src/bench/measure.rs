//! From the rows of a level to its numbers.

use std::collections::{BTreeMap, BTreeSet};

use rooflens_analyze::compare::headline::{self, MEASURED, MeasuredRequest, RequestTimes};
use rooflens_analyze::compare::load::blocks::assign_blocks;
use rooflens_analyze::compare::load::interval::{mean_interval, quantile_interval};
use rooflens_analyze::compare::load::omission::{UserRequest, corrected_ttft};
use rooflens_analyze::compare::load::steady::{Arrival, Steadiness, steadiness};
use rooflens_analyze::compare::load::warmup::warm_up;
use rooflens_ingest::formats::workload::WorkloadRecords;
use rooflens_schema::parquet_io::{read_table, write_table};
use rooflens_schema::tables::{RequestStatus, Requests, Tokens};

use super::document::WarmupFacts;
use super::level::LevelRun;
use super::recorder::MAX_EXACT_TOKENS;
use super::request::Warmup;
use crate::error::Error;
use crate::run::metrics::{self, Measured, Spread};

/// A warm-up is left out where this many requests follow per request in progress: what is in progress at its end is
/// served within the time that counts, but not counted.
const PER_STREAM: f64 = 20.0;

pub(crate) struct LevelNumbers {
    pub(crate) tokens: Tokens,
    pub(crate) headline: BTreeMap<String, Option<f64>>,
    pub(crate) intervals: BTreeMap<String, [f64; 2]>,
    pub(crate) measured: Measured,
    pub(crate) warmup: WarmupFacts,
    pub(crate) steady: Steadiness,
    pub(crate) ttft_at_pace_ns: Option<Spread>,
    pub(crate) client_wait_ns: Option<Spread>,
    pub(crate) notes: Vec<String>,
}

pub(crate) fn measure(run: &mut LevelRun, warmup: Warmup) -> Result<LevelNumbers, Error> {
    let is_scheduled = run.level.is_scheduled();
    let warmup = mark_warmup(&mut run.requests, warmup);
    assign_blocks(&mut run.requests);
    write_table(&run.folder, &run.requests).map_err(Error::unwritable_tables)?;
    let is_exact = run.chunks <= MAX_EXACT_TOKENS;
    let tokens: Tokens = match is_exact {
        true => read_table(&run.folder.table("tokens")).map_err(Error::unwritable_tables)?,
        false => std::mem::take(&mut run.brief),
    };
    let records = WorkloadRecords { requests: run.requests.clone(), tokens, ..WorkloadRecords::default() };
    let mut measured = metrics::measured(&records);
    let WorkloadRecords { tokens, .. } = records;
    let requests = headline::measured_requests(&run.requests, &tokens);
    let mut headline = headline_of(&requests);
    let mut notes = Vec::new();
    if !is_exact {
        take_histogram(&mut measured, &mut headline, run);
        notes.push(format!(
            "ITL is from a histogram with a resolution of 0.1 %, since there are {} chunks",
            run.chunks
        ));
    }
    let intervals = intervals(&requests, &run.requests);
    let arrivals = arrivals(&run.requests);
    let steady = steadiness(&arrivals, is_scheduled);
    let wait = |row: usize| {
        Some((run.requests.sent_ts_ns[row].get()? - run.requests.scheduled_ts_ns[row].get()?) as f64)
    };
    let client_wait_ns = Spread::of(measured_rows(&run.requests).filter_map(wait).collect());
    Ok(LevelNumbers {
        ttft_at_pace_ns: (!is_scheduled).then(|| at_pace(&run.requests)).flatten(),
        client_wait_ns,
        headline,
        intervals,
        measured,
        warmup,
        steady,
        notes,
        tokens,
    })
}

pub(crate) fn origin(requests: &Requests, row: usize) -> Option<i64> {
    requests.scheduled_ts_ns[row].get().or(requests.sent_ts_ns[row].get())
}

pub(crate) fn measured_rows(requests: &Requests) -> impl Iterator<Item = usize> {
    (0..requests.len()).filter(|row| requests.round_kind[*row].as_deref() == Some(MEASURED))
}

fn mark_warmup(requests: &mut Requests, rule: Warmup) -> WarmupFacts {
    let mut order: Vec<usize> = (0..requests.len()).collect();
    // One that was never sent is as early as its end.
    order.sort_by_key(|&row| origin(requests, row).or(requests.end_ts_ns[row].get()).unwrap_or(0));
    let is_done = |row: &usize| requests.status[*row] == RequestStatus::Completed;
    let done: Vec<usize> = order.iter().copied().filter(is_done).collect();
    let latency = |row: &usize| {
        let end = requests.last_token_ts_ns[*row].get().or(requests.end_ts_ns[*row].get());
        Some(end?.saturating_sub(origin(requests, *row)?) as f64)
    };
    let (excluded, words) = match rule {
        Warmup::Auto => {
            let latencies: Vec<f64> = done.iter().filter_map(latency).collect();
            let found = warm_up(&latencies);
            let left = done.len().saturating_sub(found.excluded) as f64;
            if found.excluded > 0 && left < PER_STREAM * in_system(&latencies, requests, &done) {
                let words = "no warm-up is left out: requests in progress at its end would be too large a part of the rest";
                (0, words.to_owned())
            } else {
                // The completed request that is the first to count; whatever failed before it does not.
                let first = done.get(found.excluded).and_then(|row| order.iter().position(|of| of == row));
                (if found.excluded == 0 { 0 } else { first.unwrap_or(0) }, found.words)
            }
        }
        Warmup::Requests(count) => {
            let count = usize::try_from(count).unwrap_or(usize::MAX).min(order.len());
            (count, format!("the first {count} requests, as --warmup says"))
        }
    };
    for (place, row) in order.into_iter().enumerate() {
        let kind = if place < excluded { "warmup" } else { MEASURED };
        requests.round_kind[row] = Some(kind.to_owned());
    }
    WarmupFacts { requests: excluded as u64, rule: words }
}

/// Requests in progress on average (Little's law): the sum of their latencies / the time from the first to the last.
fn in_system(latencies: &[f64], requests: &Requests, done: &[usize]) -> f64 {
    let begin = done.iter().filter_map(|row| origin(requests, *row)).min();
    let end = done.iter().filter_map(|row| requests.end_ts_ns[*row].get()).max();
    let span = begin.zip(end).map_or(0.0, |(begin, end)| (end - begin) as f64);
    if span > 0.0 { latencies.iter().sum::<f64>() / span } else { 0.0 }
}

fn headline_of(requests: &[MeasuredRequest<'_>]) -> BTreeMap<String, Option<f64>> {
    let value = |metric: &headline::HeadlineMetric| metric.of(requests).map(|sample| sample.value());
    headline::ALL.iter().map(|metric| (metric.key.to_owned(), value(metric))).collect()
}

fn take_histogram(measured: &mut Measured, headline: &mut BTreeMap<String, Option<f64>>, run: &LevelRun) {
    if run.gaps.is_empty() {
        return;
    }
    let at = |share: f64| run.gaps.value_at_quantile(share) as f64;
    measured.itl_ns = Some(Spread {
        count: usize::try_from(run.gaps.len()).unwrap_or(usize::MAX),
        mean: run.gaps.mean(),
        std: Some(run.gaps.stdev()),
        min: run.gaps.min() as f64,
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        max: run.gaps.max() as f64,
    });
    headline.insert("itl_p50_ns".to_owned(), Some(at(0.5)));
    headline.insert("itl_p99_ns".to_owned(), Some(at(0.99)));
}

fn intervals(requests: &[MeasuredRequest<'_>], rows: &Requests) -> BTreeMap<String, [f64; 2]> {
    let mut order: Vec<&MeasuredRequest<'_>> = requests.iter().collect();
    order.sort_by_key(|request| request.origin_ns());
    let mut found = BTreeMap::new();
    let times: [(&RequestTimes, &str); 3] =
        [(&headline::TTFT, "ttft"), (&headline::TPOT, "tpot"), (&headline::LATENCY, "latency")];
    for (times, name) in times {
        let values: Vec<f64> = order.iter().flat_map(|request| (times.of)(request)).collect();
        for (share, word) in [(0.5, "p50"), (0.99, "p99")] {
            if let Some(interval) = quantile_interval(&values, share) {
                found.insert(format!("{name}_{word}_ns"), [interval.low, interval.high]);
            }
        }
    }
    if let Some(interval) = throughput(rows) {
        found.insert("output_tokens_per_s".to_owned(), interval);
    }
    found
}

/// Output tokens per second, from windows of the time in which requests were sent: tokens count in proportion to the
/// part of their request that lies in a window.
fn throughput(rows: &Requests) -> Option<[f64; 2]> {
    const WINDOWS: usize = 100;
    let decoded: Vec<(i64, i64, f64)> = measured_rows(rows)
        .filter_map(|row| {
            let (first, last) = (rows.first_token_ts_ns[row].get()?, rows.last_token_ts_ns[row].get()?);
            Some((first, last, rows.output_tokens[row].get()? as f64))
        })
        .collect();
    let from = measured_rows(rows).filter_map(|row| origin(rows, row)).min()?;
    let to = measured_rows(rows).filter_map(|row| origin(rows, row)).max()?;
    let length = (to - from) / WINDOWS as i64;
    if length <= 0 {
        return None;
    }
    let mut windows = vec![0.0; WINDOWS];
    for (first, last, tokens) in decoded {
        let span = (last - first).max(1) as f64;
        let begin = ((first - from) / length).clamp(0, WINDOWS as i64) as usize;
        let end = (((last - from) / length) + 1).clamp(0, WINDOWS as i64) as usize;
        for (place, window) in windows.iter_mut().enumerate().take(end).skip(begin) {
            let (low, high) = (from + place as i64 * length, from + (place as i64 + 1) * length);
            let within = (last.min(high) - first.max(low)).max(0) as f64;
            *window += if last == first { tokens } else { tokens * within / span };
        }
    }
    let rates: Vec<f64> = windows.iter().map(|tokens| tokens * 1e9 / length as f64).collect();
    mean_interval(&rates).map(|interval| [interval.low, interval.high])
}

fn arrivals(requests: &Requests) -> Vec<Arrival> {
    let arrival = |row: usize| {
        let end_ns = requests.end_ts_ns[row].get();
        // What was cancelled at the end was still in the system.
        let end_ns = end_ns.filter(|_| requests.status[row] != RequestStatus::Cancelled);
        Some(Arrival { at_ns: origin(requests, row)?, end_ns })
    };
    let mut all: Vec<Arrival> = measured_rows(requests).filter_map(arrival).collect();
    all.sort_by_key(|one| one.at_ns);
    all
}

/// TTFT that arrivals at the median pace of the users would have seen. Which user sent a request follows from the times:
/// the one who was free last.
fn at_pace(requests: &Requests) -> Option<Spread> {
    let request = |row: usize| {
        let request = UserRequest {
            sent_ns: requests.sent_ts_ns[row].get()?,
            first_token_ns: requests.first_token_ts_ns[row].get(),
        };
        Some((request, requests.end_ts_ns[row].get()?))
    };
    let mut all: Vec<(UserRequest, i64)> = measured_rows(requests).filter_map(request).collect();
    all.sort_by_key(|(one, _)| one.sent_ns);
    let mut users: Vec<Vec<UserRequest>> = Vec::new();
    // The time at which each user becomes free.
    let mut free: BTreeSet<(i64, usize)> = BTreeSet::new();
    for (one, end_ns) in all {
        let latest = free.range(..=(one.sent_ns, usize::MAX)).next_back().copied();
        let user = match latest {
            Some(key) => {
                free.remove(&key);
                key.1
            }
            None => {
                users.push(Vec::new());
                users.len() - 1
            }
        };
        free.insert((end_ns, user));
        users[user].push(one);
    }
    Spread::of(corrected_ttft(&users)?)
}

#[cfg(test)]
mod tests {
    use rooflens_schema::Opt;
    use rooflens_schema::tables::RequestRow;

    use super::*;

    fn request(number: i64, sent: i64, end: i64, status: RequestStatus) -> RequestRow {
        RequestRow {
            sent_ts_ns: Opt::some(sent),
            first_token_ts_ns: Opt::some(sent + 5),
            last_token_ts_ns: Opt::some(end),
            end_ts_ns: Opt::some(end),
            output_tokens: Opt::some(10),
            ..RequestRow::new(number, status)
        }
    }

    #[test]
    fn a_stated_warm_up_goes_by_the_time_of_sending() {
        let mut requests = Requests::default();
        // In the order of their ends, which is not that of sending.
        for (number, sent) in [(0, 30), (1, 10), (2, 20)] {
            requests.push(request(number, sent, 100, RequestStatus::Completed));
        }
        let facts = mark_warmup(&mut requests, Warmup::Requests(1));
        assert_eq!(facts.requests, 1);
        let kinds: Vec<&str> = requests.round_kind.iter().flatten().map(String::as_str).collect();
        assert_eq!(kinds, ["measured", "warmup", "measured"]);
        assert_eq!(mark_warmup(&mut requests, Warmup::Requests(9)).requests, 3);
    }

    #[test]
    fn users_follow_from_the_times() {
        let mut requests = Requests::default();
        // Two users of 100 ns cycles; the second stands still for 1,000 ns in its third request.
        for turn in 0..10 {
            requests.push(request(0, turn * 100, turn * 100 + 99, RequestStatus::Completed));
        }
        for (sent, end) in [(10, 109), (110, 209), (210, 1_209), (1_210, 1_309)] {
            requests.push(request(0, sent, end, RequestStatus::Completed));
        }
        mark_warmup(&mut requests, Warmup::Requests(0));
        let spread = at_pace(&requests).unwrap();
        // Most see 5 ns; those who would have come during the stall wait up to 900 ns more.
        assert_eq!(spread.p50, 5.0);
        assert!(spread.max > 800.0, "{spread:?}");
    }
}
