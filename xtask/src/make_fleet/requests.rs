//! Requests of a load test, and how many meet the objective.

use rooflens_schema::cell::Opt;
use rooflens_schema::tables::{RequestRow, RequestStatus, Requests};

use super::Draw;

/// The objective whose attainment is counted.
pub(super) const TTFT_NS: i64 = 250_000_000;
/// The same per output token.
pub(super) const TPOT_NS: i64 = 22_000_000;

/// Measured requests of a run: all, failed, within the TTFT, within the TPOT, within both.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RequestCounts(pub(super) [i64; 5]);

pub(super) fn requests(draw: &mut Draw, pace: f64, is_throttled: bool) -> (Requests, RequestCounts) {
    let pace = pace / if is_throttled { 1.25 } else { 1.0 };
    let mut table = Requests::default();
    let mut counts = RequestCounts::default();
    let mut now_ns = 0;
    for number in 0..draw.between(220, 320) {
        now_ns += (9e7 / pace * draw.log_normal(0.8)) as i64;
        let status = match draw.between(0, 99) {
            0..=1 => RequestStatus::Failed,
            2 => RequestStatus::TimedOut,
            3 => RequestStatus::Cancelled,
            _ => RequestStatus::Completed,
        };
        let mut row = RequestRow::new(number, status);
        let is_measured = number >= 20;
        row.round_kind = Some(if is_measured { "measured" } else { "warmup" }.to_owned());
        row.round = Opt::some(0);
        // Some load tests have a schedule that the client falls behind.
        let late_ns = draw.between(0, 3_000_000);
        let is_scheduled = number % 2 == 0;
        row.scheduled_ts_ns = if is_scheduled { Opt::some(now_ns) } else { Opt::NONE };
        row.sent_ts_ns = Opt::some(now_ns + late_ns);
        row.prompt_tokens = Opt::some(draw.between(100, 4_000));
        let ttft_ns = (180e6 / pace * draw.log_normal(0.35)) as i64;
        let tokens = if number % 31 == 0 { 1 } else { draw.between(2, 400) };
        let decode_ns = ((tokens - 1) as f64 * 19e6 / pace * draw.log_normal(0.12)) as i64;
        if status == RequestStatus::Completed {
            let first_ns = now_ns + late_ns + ttft_ns;
            row.first_byte_ts_ns = Opt::some(first_ns);
            row.first_token_ts_ns = Opt::some(first_ns);
            row.last_token_ts_ns = Opt::some(first_ns + decode_ns);
            row.end_ts_ns = Opt::some(first_ns + decode_ns + 20_000);
            row.output_tokens = Opt::some(tokens);
            row.http_status = Opt::some(200);
            row.finish = Some("stop".to_owned());
        } else {
            row.end_ts_ns = Opt::some(now_ns + late_ns + 1_000_000);
            row.error_kind = Some("connection_reset".to_owned());
        }
        table.push(row);
        if is_measured && status != RequestStatus::Cancelled {
            let is_done = status == RequestStatus::Completed;
            let from_schedule_ns = ttft_ns + if is_scheduled { late_ns } else { 0 };
            let is_prompt = is_done && from_schedule_ns <= TTFT_NS;
            let is_fluent = is_done && (tokens == 1 || decode_ns <= TPOT_NS * (tokens - 1));
            let one = [true, !is_done, is_prompt, is_fluent, is_prompt && is_fluent];
            counts.0.iter_mut().zip(one).for_each(|(sum, holds)| *sum += i64::from(holds));
        }
    }
    (table, counts)
}
