//! Where the time of both sides went: wall time is busy time and idle time, busy time is that of kernel classes or of
//! operators, idle time is that of its causes. Every table adds up to the row above it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lines::{Judged, judge_all, mean, typical, weighted_median};
use super::rank_sum::rank_sum;
use super::ratio::{FEWEST, Ratio, ratio};
use super::timeline::{LAYER, MODULE, RankTimeline, WHOLE, WorkItem};

/// What a row of an account is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// From the first to the last activity: busy and idle.
    Wall,
    /// Something ran.
    Busy,
    /// A class of kernels, or of operators on a host: part of busy.
    Class,
    /// Nothing ran.
    Idle,
    /// Why nothing ran: part of idle.
    Cause,
    /// Work that an operator launched: part of busy.
    Operator,
}

/// A row of an account.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AccountRow {
    /// What it is.
    pub entry: Entry,
    /// Its name: a class, a cause of idle time, an operator.
    pub name: String,
    /// Activities in A; kernels alone, without memory copies and fills, for an operator; gaps for idle time.
    pub a_count: f64,
    /// The same in B.
    pub b_count: f64,
    /// Time in A.
    pub a_ns: f64,
    /// Time in B.
    pub b_ns: f64,
    /// `b_ns − a_ns`.
    pub delta_ns: f64,
    /// Its share of the wall time of A, 0 to 1.
    pub a_share: f64,
    /// The same for B.
    pub b_share: f64,
    /// B / A of the medians over steps; null where A has none of it or there are too few steps.
    pub ratio: Option<Ratio>,
    /// Probability of such a difference by chance, corrected for the number of rows; null where too few steps.
    pub p_adjusted: Option<f64>,
    /// Whether it is a change.
    pub is_change: bool,
}

/// The time of both sides, in the whole trace or in a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Account {
    /// The phase, or `trace`.
    pub scope: Cow<'static, str>,
    /// Times are totals of a `trace`, or per `step`: the mean over the typical steps of each side.
    pub per: Cow<'static, str>,
    /// Steps of A; all of them for a trace.
    pub a_steps: usize,
    /// Steps of B.
    pub b_steps: usize,
    /// Wall time, busy time and its classes, idle time and its causes; parts by the size of their change.
    pub rows: Vec<AccountRow>,
    /// Busy time again, by the innermost operator that launched the work; empty where a side knows no operator.
    pub operators: Vec<AccountRow>,
    /// Calls in B / calls in A of a kernel that both have: the median, weighted by its time in A; null where they have
    /// no kernel in common.
    #[serde(default)]
    pub calls_ratio: Option<f64>,
}

/// Work whose operator the trace does not tell.
const NO_OPERATOR: &str = "(no operator recorded)";

impl Account {
    /// A row that there is once.
    pub fn row(&self, entry: Entry) -> Option<&AccountRow> {
        self.rows.iter().find(|row| row.entry == entry)
    }

    /// The rows of an entry, the largest change first.
    pub fn parts(&self, entry: Entry) -> impl Iterator<Item = &AccountRow> {
        self.rows.iter().filter(move |row| row.entry == entry)
    }
}

type Items<'a> = Vec<&'a WorkItem>;

pub(super) fn accounts(a: &RankTimeline, b: &RankTimeline) -> Vec<Account> {
    of_places(&[(a, b)])
}

/// The accounts of several places together: totals are means per place, steps are those of all places.
pub(super) fn of_places(places: &[(&RankTimeline, &RankTimeline)]) -> Vec<Account> {
    let Some((first, _)) = places.first() else { return Vec::new() };
    let on_device = first.on_device;
    let (a, b): (Vec<&RankTimeline>, Vec<&RankTimeline>) = places.iter().copied().unzip();
    let mut found = Vec::new();
    let (steps_a, steps_b) = (by_phase(&a), by_phase(&b));
    let counts = |phases: &BTreeMap<&'static str, Vec<Items<'_>>>| -> Vec<(&'static str, usize)> {
        phases.iter().map(|(phase, steps)| (*phase, steps.len())).collect()
    };
    // Totals of traces with other numbers of steps say nothing.
    if counts(&steps_a) == counts(&steps_b) {
        let steps: usize =
            counts(&steps_a).iter().filter(|(phase, _)| *phase != WHOLE).map(|(_, steps)| steps).sum();
        let mut of_trace = account("trace", "trace", &[whole(&a)], &[whole(&b)], on_device);
        (of_trace.a_steps, of_trace.b_steps) = (steps, steps);
        let share = 1.0 / places.len() as f64;
        for row in of_trace.rows.iter_mut().chain(&mut of_trace.operators) {
            for number in
                [&mut row.a_ns, &mut row.b_ns, &mut row.delta_ns, &mut row.a_count, &mut row.b_count]
            {
                *number *= share;
            }
        }
        found.push(of_trace);
    }
    for (phase, steps) in steps_a.iter().filter(|(phase, _)| **phase != WHOLE) {
        if let Some(others) = steps_b.get(phase) {
            found.push(account(phase, "step", steps, others, on_device));
        }
    }
    found.retain(|account| account.row(Entry::Wall).is_some_and(|wall| wall.a_ns + wall.b_ns > 0.0));
    found
}

fn by_phase<'a>(sides: &[&'a RankTimeline]) -> BTreeMap<&'static str, Vec<Items<'a>>> {
    let mut phases: BTreeMap<&'static str, Vec<Items<'a>>> = BTreeMap::new();
    for (phase, steps) in sides.iter().flat_map(|side| &side.phases) {
        phases
            .entry(phase)
            .or_default()
            .extend(steps.iter().map(|step| step.items.iter().collect::<Items<'a>>()));
    }
    phases
}

fn whole<'a>(sides: &[&'a RankTimeline]) -> Items<'a> {
    let steps = sides.iter().flat_map(|side| side.phases.values().flatten().chain([&side.outside]));
    steps.flat_map(|step| &step.items).collect()
}

type Sums = BTreeMap<(Entry, String), Vec<(f64, f64)>>;

type Part = fn(&(f64, f64)) -> f64;

fn sums(steps: &[Items<'_>], on_device: bool) -> Sums {
    let mut sums = Sums::new();
    for (at, step) in steps.iter().enumerate() {
        let mut add_calls = |entry: Entry, name: &str, ns: i64, calls: f64| {
            let row = sums.entry((entry, name.to_owned())).or_insert_with(|| vec![(0.0, 0.0); steps.len()]);
            row[at].0 += ns as f64;
            row[at].1 += calls;
        };
        for item in step {
            let mut add = |entry, name: &str, ns| add_calls(entry, name, ns, 1.0);
            add(Entry::Wall, "wall time", item.dur_ns.saturating_add(item.wait_ns));
            add(Entry::Busy, "busy", item.dur_ns);
            if item.dur_ns > 0 || item.wait_ns == 0 {
                add(Entry::Class, item.class.as_str(), item.dur_ns);
            }
            if item.wait_ns > 0 {
                add(Entry::Idle, "idle", item.wait_ns);
                add(Entry::Cause, if on_device { item.cause.as_str() } else { "host_code" }, item.wait_ns);
            }
            if on_device {
                let operator =
                    item.inside.first().filter(|place| !place.starts_with(MODULE) && &***place != LAYER);
                let kernels = if item.is_kernel() { 1.0 } else { 0.0 };
                add_calls(Entry::Operator, operator.map_or(NO_OPERATOR, |name| name), item.dur_ns, kernels);
            }
        }
    }
    sums
}

fn account(
    scope: &'static str,
    per: &'static str,
    a: &[Items<'_>],
    b: &[Items<'_>],
    on_device: bool,
) -> Account {
    let (sums_a, sums_b) = (sums(a, on_device), sums(b, on_device));
    let durations = |steps: &[Items<'_>]| -> Vec<i64> {
        steps.iter().map(|items| super::timeline::dur_ns(items.iter().copied())).collect()
    };
    let (usual_a, usual_b) = (typical(&durations(a)), typical(&durations(b)));
    let column = |sums: &Sums, key: &(Entry, String), steps: usize, of: Part| {
        sums.get(key).map_or_else(|| vec![0.0; steps], |row| row.iter().map(of).collect::<Vec<f64>>())
    };
    let (time, calls): (Part, Part) = (|row| row.0, |row| row.1);
    let keys: BTreeSet<&(Entry, String)> = sums_a.keys().chain(sums_b.keys()).collect();
    let mut all: Vec<AccountRow> = keys
        .into_iter()
        .map(|key| {
            let (in_a, in_b) = (column(&sums_a, key, a.len(), time), column(&sums_b, key, b.len(), time));
            let (a_ns, b_ns) = (mean(&in_a, &usual_a), mean(&in_b, &usual_b));
            let ratio = ratio(&in_a, &in_b);
            let enough = in_a.len().min(in_b.len()) >= FEWEST;
            AccountRow {
                entry: key.0,
                name: key.1.clone(),
                a_count: mean(&column(&sums_a, key, a.len(), calls), &usual_a),
                b_count: mean(&column(&sums_b, key, b.len(), calls), &usual_b),
                a_ns,
                b_ns,
                delta_ns: b_ns - a_ns,
                a_share: 0.0,
                b_share: 0.0,
                p_adjusted: ratio
                    .as_ref()
                    .map(|ratio| ratio.p)
                    .or_else(|| rank_sum(&in_a, &in_b).filter(|_| enough)),
                ratio,
                is_change: false,
            }
        })
        .collect();
    let wall = all.iter().find(|row| row.entry == Entry::Wall).map_or((0.0, 0.0), |row| (row.a_ns, row.b_ns));
    // Of a typical step, neither side has any.
    all.retain(|row| {
        matches!(row.entry, Entry::Wall | Entry::Busy | Entry::Idle) || row.a_ns + row.b_ns > 0.0
    });
    let share = |ns: f64, wall: f64| if wall > 0.0 { ns / wall } else { 0.0 };
    for row in &mut all {
        (row.a_share, row.b_share) = (share(row.a_ns, wall.0), share(row.b_ns, wall.1));
    }
    let size = |row: &AccountRow| row.delta_ns.abs();
    all.sort_by(|a, b| {
        a.entry.cmp(&b.entry).then(size(b).total_cmp(&size(a))).then_with(|| a.name.cmp(&b.name))
    });
    let (operators, rows): (Vec<AccountRow>, Vec<AccountRow>) =
        all.into_iter().partition(|row| row.entry == Entry::Operator);
    let is_known =
        |sums: &Sums| sums.keys().any(|(entry, name)| *entry == Entry::Operator && name != NO_OPERATOR);
    // A side without them, as one that comes from a store, did not launch everything without an operator.
    let operators = if is_known(&sums_a) && is_known(&sums_b) { operators } else { Vec::new() };
    Account {
        scope: scope.into(),
        per: per.into(),
        a_steps: a.len(),
        b_steps: b.len(),
        rows,
        operators,
        calls_ratio: calls_ratio(a, b),
    }
}

/// Of the kernels that both sides have, how many calls of B there are for one of A.
fn calls_ratio(a: &[Items<'_>], b: &[Items<'_>]) -> Option<f64> {
    let kernels = |steps: &[Items<'_>]| {
        let mut kernels: HashMap<Arc<str>, (f64, f64)> = HashMap::new();
        for item in steps.iter().flatten().filter(|item| item.is_kernel() && item.dur_ns > 0) {
            let (calls, ns) = kernels.entry(Arc::clone(&item.name)).or_default();
            *calls += 1.0;
            *ns += item.dur_ns as f64;
        }
        kernels
    };
    let (in_a, in_b) = (kernels(a), kernels(b));
    let ratio = |(name, (calls, ns)): (&Arc<str>, &(f64, f64))| Some((in_b.get(name)?.0 / calls, *ns));
    weighted_median(in_a.iter().filter_map(ratio).collect())
}

pub(super) fn judge<'a>(accounts: impl Iterator<Item = &'a mut Account>) {
    let rows = accounts.flat_map(|account| account.rows.iter_mut().chain(&mut account.operators));
    judge_all(rows.map(|row| Judged {
        p: &mut row.p_adjusted,
        ratio: row.ratio.as_ref(),
        a_ns: row.a_ns,
        delta_ns: row.delta_ns,
        is_change: &mut row.is_change,
    }));
}
