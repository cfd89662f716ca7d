//! Ranks in lockstep: waiting, transfer and stragglers.

use rooflens_core::model::ModelRequest;
use serde_json::Value;

use super::ledger::assert_adds_up;
use super::{Case, Shares, by_line, each_seed, integer, number, report, rows};

/// Of the devices' time.
const TOLERANCE: f64 = 0.01;
/// Of a rate.
const RATE_TOLERANCE: f64 = 0.02;
/// Ranks leave a collective up to this long after the first.
const LEAVING_NS: f64 = 200.0;

#[test]
fn waiting_is_not_transfer_and_the_straggler_is_named() {
    each_seed("checks::ranks", true, |case| {
        let report = report(&case.traces(), &ModelRequest::default());
        assert_adds_up(&report["ledger"]);
        assert_straggler(&report, case);
        assert_rates(&report["communication"], case);
        assert_one_rank_alone(case);
        compare_split(&report, case)
    });
}

fn compare_split(report: &Value, case: &Case) -> usize {
    let mut shares = Shares::within(TOLERANCE);
    let ledger = &report["ledger"];
    assert_eq!(ledger["wall_ns"], *case.injected("wall_ns"), "wall_ns (left), injected (right)");
    let wall_ns = number(case.injected("wall_ns"));
    let lines = by_line(&ledger["lines"]);
    let ranks = rows(case.injected("ranks"));
    for (line, key) in [("comm_wait", "exposed_wait_ns"), ("communication", "exposed_transfer_ns")] {
        let injected: i64 = ranks.iter().map(|rank| integer(&rank[key])).sum();
        shares.compare(line, lines.get(line).copied().unwrap_or(0) as f64, injected as f64, wall_ns);
    }
    let waits = rows(&report["communication"]["waits"]);
    let numbers: Vec<i64> = waits.iter().map(|row| integer(&row["rank"])).collect();
    let count = integer(case.injected("tp"));
    assert_eq!(numbers, (0..count).collect::<Vec<_>>(), "ranks that wait (left), injected (right)");
    for (row, rank) in waits.iter().zip(ranks) {
        let what = format!("waiting of rank {}", row["rank"]);
        shares.compare(&what, number(&row["wait_ns"]), number(&rank["wait_ns"]), wall_ns / count as f64);
    }
    shares.finish()
}

/// Who is late, and why; no rank if there is jitter alone.
fn assert_straggler(report: &Value, case: &Case) {
    let found = rows(&report["stragglers"]["rows"]);
    let advice = rows(&report["advice"]["items"]);
    let is_advised = advice.iter().any(|item| item["rule"] == "straggler");
    assert_eq!(is_advised, !found.is_empty(), "advice about stragglers (left), stragglers (right)");
    let injected = case.injected("straggler");
    let named: Vec<&Value> = found.iter().map(|row| &row["rank"]).collect();
    if injected.is_null() {
        assert_eq!(named, Vec::<&Value>::new(), "ranks that are late, where none was injected");
        return;
    }
    assert_eq!(named, [&injected["rank"]], "ranks that are late (left), injected (right)");
    let has_more_kernels = injected["what"] == "launches";
    let what = if has_more_kernels { "kernels" } else { injected["what"].as_str().unwrap() };
    let cause = &found[0]["causes"][0];
    assert_eq!(cause["what"], what, "cause {cause} (left), injected {injected} (right)");
    assert_eq!(cause["class"], injected["class"], "class of {cause} (left), injected (right)");
    assert_eq!(cause["idle"], injected["idle"], "idle time of {cause} (left), injected (right)");
    if has_more_kernels {
        let (own, others) = (number(&cause["own_count"]), number(&cause["others_count"]));
        assert!(own > others, "the late rank ran {own} kernels, others {others}: more were injected");
    }
}

/// The one collective of the job: its transfer, its bandwidth, and its share of the link.
fn assert_rates(communication: &Value, case: &Case) {
    let injected = case.injected("collectives");
    let found = rows(&communication["collectives"]);
    assert_eq!(found.len(), 1, "collectives: {}", communication["collectives"]);
    assert_eq!(communication["matched"], injected["calls"], "matched calls (left), injected (right)");
    let row = &found[0];
    assert_eq!(row["algorithm"], injected["algorithm"], "algorithm (left), injected (right)");
    // The median rank leaves after the first.
    let tolerance = RATE_TOLERANCE + LEAVING_NS / number(&injected["transfer_ns"]);
    for (key, injected_key) in
        [("transfer_p50_ns", "transfer_ns"), ("bus_gb_per_s", "bus_gb_per_s"), ("link_share", "link_share")]
    {
        let (got, injected) = (&row[key], &injected[injected_key]);
        // What the trace does not record is null.
        let is_right = match (got.as_f64(), injected.as_f64()) {
            (Some(got), Some(injected)) => (got / injected - 1.0).abs() <= tolerance,
            _ => got == injected,
        };
        assert!(is_right, "{key} {got}, injected {injected}");
    }
}

fn assert_one_rank_alone(case: &Case) {
    let report = report(&case.traces().join("rank-0.json"), &ModelRequest::default());
    let ledger = &report["ledger"];
    let lines = by_line(&ledger["lines"]);
    assert_eq!(lines.get("comm_wait"), None, "waiting of a rank alone");
    let reason = ledger["not_computed"]["comm_wait"].as_str().unwrap_or_default();
    assert!(reason.starts_with("only one rank"), "reason why waiting is not computed: {reason:?}");
    let rank = &case.injected("ranks")[0];
    let exposed_ns = integer(&rank["exposed_wait_ns"]) + integer(&rank["exposed_transfer_ns"]);
    let got_ns = lines.get("communication");
    assert_eq!(got_ns, Some(&exposed_ns), "communication of rank 0 alone (left), injected (right)");
}
