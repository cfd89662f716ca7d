//! What a comparison comes to, in a few sentences: what differs on purpose, the largest change, and what the time
//! is made of.

use rooflens_analyze::compare::{
    Account, AccountRow, Check, CheckVerdict, ComparedLine, ConfigDifference, Entry, Headline, Pair,
    PhaseChange, PlaceChange,
};

use super::tables::{cause, class, least, named, place, told};
use crate::format;

const CLEARLY: f64 = 0.5;
const NAMED: usize = 2;
/// Recordings whose length differs by less are as long as each other.
const SAME_TIME: f64 = 0.02;
/// Calls that differ by this share are another amount of work.
const OTHER_AMOUNT: f64 = 0.03;
/// A change of time below this share is not worth a sentence.
const WORTH_NAMING: f64 = 0.01;

/// The answer; first of all, whether it means anything and what is compared.
pub(super) fn lead(pair: &Pair) -> String {
    let side = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".to_owned());
    let of = |verdict: CheckVerdict| {
        let found = pair.checks.iter().filter(move |check| check.verdict == verdict);
        found.map(|check: &Check| {
            format!("{} {} → {}", check.what.replace('_', " "), side(&check.a), side(&check.b))
        })
    };
    let sentence = |before: &str, found: Vec<String>| match found.as_slice() {
        [] => String::new(),
        [one] => format!("{before}: {one}. "),
        [first, rest @ ..] => format!("{before}: {first}, and {} more below. ", rest.len()),
    };
    let invalid = sentence("Not comparable", of(CheckVerdict::Invalid).collect());
    let purpose = sentence("Different setup", of(CheckVerdict::DiffersOnPurpose).collect());
    let account = shown_account(pair).map_or(String::new(), |account| format!(" {}", made_of(account)));
    format!("{}{invalid}{purpose}{}{}{account}", failures(pair), settings(pair), largest(pair))
}

/// That requests of a load test failed: times are those of the others.
fn failures(pair: &Pair) -> String {
    let row = pair.headline.iter().find(|row| row.metric == "error_rate");
    match row.and_then(|row| row.a.zip(row.b)) {
        Some((a, b)) if a > 0.0 || b > 0.0 => format!(
            "{} of the requests failed in B, {} in A; times are those of the others. ",
            format::share(b),
            format::share(a)
        ),
        _ => String::new(),
    }
}

/// The account that is shown first: of the phase that has the most time where there are steps to speak of, else of
/// the trace.
pub(super) fn shown_account(pair: &Pair) -> Option<&Account> {
    let accounts = &pair.accounts;
    let wall = |account: &Account| {
        account.row(Entry::Wall).map_or(0.0, |row| row.a_ns) * account.a_steps.min(account.b_steps) as f64
    };
    let steps = accounts.iter().filter(|account| account.per == "step");
    let is_step = |account: &&Account| account.a_steps.min(account.b_steps) > 1;
    let most = steps.clone().filter(is_step).max_by(|a, b| wall(a).total_cmp(&wall(b)));
    most.or(accounts.first())
}

/// As `Per decode step`.
pub(super) fn scope(account: &Account) -> String {
    match (&*account.per, &*account.scope) {
        ("step", "step") => "Per step".to_owned(),
        ("step", phase) => format!("Per {phase} step"),
        _ => "Whole trace".to_owned(),
    }
}

/// As `Per step: wall time 49.65 ms → 47.09 ms (-5.2%), busy -2.60 ms (elementwise -5.17 ms, gemm +4.09 ms), idle
/// 4.01 ms → 4.02 ms (8.1% → 8.5%).`
fn made_of(account: &Account) -> String {
    let times = |row: &AccountRow| format!("{} → {}", format::time(row.a_ns), format::time(row.b_ns));
    let Some(wall) = account.row(Entry::Wall) else { return String::new() };
    let change = if wall.a_ns > 0.0 {
        format!(" ({})", format::change(wall.delta_ns / wall.a_ns))
    } else {
        String::new()
    };
    let mut text = format!("{}: wall time {}{change}", scope(account), times(wall));
    let parts = |entry: Entry, name: fn(&AccountRow) -> String| {
        let large = account.parts(entry).filter(|row| row.delta_ns.abs() > WORTH_NAMING * wall.a_ns);
        let parts: Vec<String> = large
            .take(NAMED)
            .map(|row| format!("{} {}", name(row), format::signed_time(row.delta_ns)))
            .collect();
        if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
    };
    if let Some(busy) = account.row(Entry::Busy) {
        let parts = parts(Entry::Class, |row| class(&row.name));
        text.push_str(&format!(", busy {}{parts}", times(busy)));
    }
    if let Some(idle) = account.row(Entry::Idle) {
        let parts = parts(Entry::Cause, |row| cause(&row.name));
        let shares =
            format!("{} → {} of wall time", format::share(idle.a_share), format::share(idle.b_share));
        text.push_str(&format!(", idle {}, {shares}{parts}", times(idle)));
    }
    text.push('.');
    text.push_str(&other_amount(account, wall));
    text
}

/// Without steps, whether recordings of the same length hold different amounts of work: ` B has 11.8% fewer calls …`.
fn other_amount(account: &Account, wall: &AccountRow) -> String {
    let same_time = wall.a_ns > 0.0 && (wall.delta_ns / wall.a_ns).abs() < SAME_TIME;
    if account.per == "step" || !same_time {
        return String::new();
    }
    match account.calls_ratio {
        Some(ratio) if (ratio - 1.0).abs() >= OTHER_AMOUNT => format!(
            " In the same time B ran {} {} of the same kernels: the recordings hold different amounts of work, so compare \
             times per call, not totals.",
            format::share((ratio - 1.0).abs()),
            if ratio < 1.0 { "fewer" } else { "more" }
        ),
        _ => String::new(),
    }
}

/// What the user changed, where that is so little that it is the answer: `model.dtype bf16 → fp32. `.
fn settings(pair: &Pair) -> String {
    let side = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
    let told = |one: &ConfigDifference| format!("{} {} → {}", one.key, side(&one.a), side(&one.b));
    match pair.differences.as_slice() {
        few @ ([_] | [_, _]) => format!("{}. ", few.iter().map(told).collect::<Vec<_>>().join(", ")),
        _ => String::new(),
    }
}

/// A phase that is so different that few steps are enough to look there first: `prefill 83 ms → 316 ms per step,
/// most of it aten::mm (60 ms → 290 ms); 2 and 2 steps are too few to be sure. `.
fn unsure(pair: &Pair, told_ns: f64) -> Option<String> {
    let at = pair.places.first()?;
    let in_all =
        |phase: &PhaseChange| (phase.b_ns - phase.a_ns).abs() * phase.a_steps.min(phase.b_steps) as f64;
    let is_other =
        |phase: &&PhaseChange| (phase.b_ns - phase.a_ns).abs() > CLEARLY * phase.a_ns.min(phase.b_ns);
    let phases = at.change.phases.iter().filter(|phase| phase.ratio.is_none()).filter(is_other);
    let phase = phases.max_by(|a, b| in_all(a).total_cmp(&in_all(b)))?;
    if in_all(phase) < told_ns {
        return None;
    }
    let lines = at.change.lines.iter().filter(|line| line.phase == phase.phase);
    let most = lines.max_by(|a, b| a.delta_ns.abs().total_cmp(&b.delta_ns.abs()));
    let most = most.map_or(String::new(), |line| {
        let (a, b) = (format::time(line.a_ns), format::time(line.b_ns));
        format!(", most of it {} ({a} → {b})", named(line))
    });
    let (a, b) = (format::time(phase.a_ns), format::time(phase.b_ns));
    Some(format!(
        "{}: {a} → {b} per step{most}; {} and {} steps are too few to be sure. ",
        phase.phase, phase.a_steps, phase.b_steps
    ))
}

fn largest(pair: &Pair) -> String {
    let first =
        pair.places.first().and_then(|at| Some((at, at.change.lines.iter().find(|line| line.is_change)?)));
    let number = telling(pair);
    let from = |(at, line): (&PlaceChange, &ComparedLine)| {
        let (a, b) = (format::time(line.a_ns), format::time(line.b_ns));
        let at = if pair.places.len() > 1 { format!("{}, ", place(at)) } else { String::new() };
        let (name, change) = (named(line), format::signed_time(line.delta_ns));
        match whole_cause(pair, line) {
            Some(row) => format!(
                "{}: {} {} per step ({} → {}), for example {name} {change}.",
                line.phase,
                cause(&row.name),
                format::signed_time(row.delta_ns),
                format::time(row.a_ns),
                format::time(row.b_ns)
            ),
            None => format!("{at}{}: {name} {change} per step ({a} → {b}).", line.phase),
        }
    };
    let told_ns = first.map_or(0.0, |(at, line)| {
        let phase = at.change.phases.iter().find(|phase| phase.phase == line.phase);
        line.delta_ns.abs() * phase.map_or(1.0, |phase| phase.a_steps.min(phase.b_steps) as f64)
    });
    if let Some(unsure) = unsure(pair, told_ns).filter(|_| first.is_some()) {
        let sure = first.map_or(String::new(), from);
        return format!("{unsure}{sure}");
    }
    match (first, number) {
        (Some(line), Some(row)) => format!("{} {}.", from(line), told(row)),
        (Some(line), None) => from(line),
        (None, Some(row)) => format!("{}.", told(row)),
        (None, None) => unchanged(pair),
    }
}

/// The cause of idle time that changed by more than one line of it, where the line is idle time: many small gaps before
/// different kernels are one change.
fn whole_cause<'a>(pair: &'a Pair, line: &ComparedLine) -> Option<&'a AccountRow> {
    let is_alone = line.what == "wait" && pair.places.len() == 1;
    let of_phase = |account: &&Account| account.per == "step" && account.scope == line.phase;
    let account = pair.accounts.iter().find(of_phase).filter(|_| is_alone)?;
    let is_same_way = |row: &&AccountRow| row.is_change && row.delta_ns.signum() == line.delta_ns.signum();
    let causes = account.parts(Entry::Cause).filter(is_same_way);
    let most = causes.max_by(|a, b| a.delta_ns.abs().total_cmp(&b.delta_ns.abs()))?;
    (most.delta_ns.abs() > line.delta_ns.abs()).then_some(most)
}

/// The metric that changed: the first, or, of two servers that took turns, the typical time or rate that changed most.
fn telling(pair: &Pair) -> Option<&Headline> {
    let first = pair.headline.iter().find(|row| row.is_change && row.ratio.is_some());
    if !pair.is_interleaved {
        return first;
    }
    let size = |row: &Headline| row.ratio.as_ref().map_or(0.0, |ratio| ratio.ratio.ln().abs());
    let typical = pair.headline.iter().filter(|row| row.is_change && !row.metric.contains("p99"));
    typical.max_by(|a, b| size(a).total_cmp(&size(b))).filter(|row| row.ratio.is_some()).or(first)
}

fn unchanged(pair: &Pair) -> String {
    let judged = pair.headline.iter().find_map(|row| Some((row, row.ratio.as_ref()?)));
    if let Some((row, least)) = judged.and_then(|(row, ratio)| Some((row, least(ratio)?))) {
        let least = format::share(least);
        return format!(
            "No significant change: {}; with this noise only changes above {least} are detectable.",
            told(row)
        );
    }
    if let Some((row, why)) = pair.headline.iter().find_map(|row| Some((row, row.not_judged.as_deref()?)))
        && row.a.is_some()
        && row.b.is_some()
    {
        return format!("{}. Chance cannot be ruled out: {why}.", told(row));
    }
    let phases = pair.places.iter().flat_map(|place| &place.change.phases);
    let Some(phase) = phases.clone().find(|phase| phase.ratio.is_some()).or(phases.clone().next()) else {
        if let Some(row) = pair.headline.first() {
            return format!(
                "{}. Not enough data: {}.",
                told(row),
                row.not_judged.as_deref().unwrap_or("it was not measured")
            );
        }
        return "Nothing to compare: no phase or measured round exists on both sides.".to_owned();
    };
    let (a, b) = (format::time(phase.a_ns), format::time(phase.b_ns));
    let steps = format!("{} {a} → {b} per step", phase.phase);
    match phase.change().filter(|_| phase.ratio.is_some()) {
        Some(change) => {
            format!("No significant change: {steps} ({}).", format::change(change))
        }
        None if phase.phase == "all" => {
            "The trace has no steps to compare one by one, so chance cannot be ruled out.".to_owned()
        }
        None => format!(
            "With {} and {} steps per side, significance cannot be tested: that takes at least 4 per side.",
            phase.a_steps, phase.b_steps
        ),
    }
}
