//! Where the numbers of a client are known to be distorted. Measured against a server of known timing: TTFT 50 ms and
//! ITL 5 ms, on two cores.

use super::rows::{BenchClient, BenchResult, Caveat};

pub(super) fn add(result: &mut BenchResult) {
    let found = [
        client_lag(result),
        capped(result),
        closed_loop(result),
        chunks(result),
        no_clock(result),
        no_gaps(result),
        trimmed(result),
    ];
    result.caveats.extend(found.into_iter().flatten());
}

/// Streams from which on clients in Python were seen to lag.
const MANY_STREAMS: i64 = 32;

fn client_lag(result: &BenchResult) -> Option<Caveat> {
    let seen = match result.client {
        BenchClient::VllmPython => "20 ms too long at 64 streams and 157 ms at 256",
        BenchClient::Aiperf => "45 ms too long at 64 streams and 145 ms at 256",
        BenchClient::Guidellm => "100 ms too long at 64 streams and 450 ms at 256",
        BenchClient::VllmRust | BenchClient::Sglang => return None,
    };
    let is_small = result.load.max_concurrency.is_some_and(|most| most < MANY_STREAMS);
    let words = format!(
        "the client runs in Python and lags at high concurrency: on two cores, its median TTFT was {seen}, and the load \
         on the server was lower than asked for"
    );
    (!is_small).then(|| Caveat::new("client_lag", words))
}

fn capped(result: &BenchResult) -> Option<Caveat> {
    let is_capped = result.load.rate.is_some() && result.load.max_concurrency.is_some();
    let is_known = result.requests.scheduled_ts_ns.iter().any(|scheduled| scheduled.is_some());
    let words = match is_known {
        true => {
            "requests above the concurrency limit waited in the client: the file's own TTFT leaves that out, \
                 times from rows include it"
        }
        false => {
            "requests above the concurrency limit waited in the client: TTFT leaves that out, and the file does not \
                  say how long it was"
        }
    };
    is_capped.then(|| Caveat::new("client_queue", words))
}

fn closed_loop(result: &BenchResult) -> Option<Caveat> {
    let is_closed = result.load.rate.is_none() && result.load.max_concurrency.is_some();
    let words = "closed loop: while a response stalls, its user sends nothing, so TTFT percentiles hide stalls \
                 (coordinated omission); ITL and end-to-end latency show them";
    is_closed.then(|| Caveat::new("closed_loop", words))
}

fn chunks(result: &BenchResult) -> Option<Caveat> {
    let words = "if the server sends no usage, this client counts chunks as tokens: with several tokens per chunk, TPOT is \
                 too long and tokens/s too low";
    (result.client == BenchClient::VllmRust).then(|| Caveat::new("chunks_as_tokens", words))
}

fn no_clock(result: &BenchResult) -> Option<Caveat> {
    let words = "the file does not say when requests were sent: rates are those that it states, and changes over time \
                 cannot be seen";
    (!result.has_send_times).then(|| Caveat::new("no_send_times", words))
}

fn no_gaps(result: &BenchResult) -> Option<Caveat> {
    let words =
        "the file does not have the time of each token: ITL is a mean per request, which hides stalls";
    (!result.has_token_times).then(|| Caveat::new("no_token_times", words))
}

fn trimmed(result: &BenchResult) -> Option<Caveat> {
    let rows = result.requests.len();
    let stated = result.stated_requests.filter(|_| !result.is_whole())?;
    let words = match rows {
        0 => "a summary: the file has no requests, so nothing can be recomputed".to_owned(),
        rows => format!("the file has {rows} of {stated} requests: metrics are those that it states"),
    };
    Some(Caveat::new(if rows == 0 { "summary_only" } else { "incomplete" }, words))
}
