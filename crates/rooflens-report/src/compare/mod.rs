//! Two runs side by side: what differs, the largest change, where the time of both went, and what to believe.

mod figure;
mod lead;
mod overview;
mod tables;

use rooflens_analyze::compare::{Account, ComparedLine, How, Pair, PhaseChange};

use self::figure::figure;
use self::lead::{lead, scope, shown_account};
use self::overview::{letter, overview};
use self::tables::{
    ACCOUNT, CHECKS, COMMUNICATION, DIFFERENCES, HEADLINE, LINES, OPERATORS, PHASES, PLACES, Row, place,
};
use crate::block::{Block, Table};
use crate::render::{Part, html as page};

/// What stands before accounts with collectives in them.
const EXPOSED: &str = "Every moment of a device counts once: of collectives and copies, also in the tables of operators and \
                       kernels, only the time in which nothing else ran. `rooflens analyze` shows how long they took in all.";

const AGAINST: [&str; 7] =
    ["B against A", "C against A", "D against A", "E against A", "F against A", "G against A", "H against A"];

/// Comparisons with the same A, with at most `limit` lines a table.
pub fn parts(pairs: &[Pair], limit: usize) -> Vec<Part> {
    let mut parts = Vec::new();
    if pairs.len() > 1 {
        parts.push(overview(pairs));
    }
    parts.extend(
        pairs.iter().enumerate().map(|(at, pair)| part(pair, (pairs.len() > 1).then_some(at), limit)),
    );
    parts
}

fn part(pair: &Pair, at: Option<usize>, limit: usize) -> Part {
    let above = at.map_or(String::new(), |at| format!(" ({} above)", letter(at).0));
    let mut blocks = vec![
        Block::Lead(lead(pair)),
        Block::Lines(vec![format!("A: {}", pair.a), format!("B: {}{above}", pair.b)]),
    ];
    blocks.extend(figure(pair).map(Block::Drawing));
    if pair.is_interleaved {
        blocks.push(Block::Text(
            "A and B took turns: each round of B is compared with its neighbour of A, and a change is that of a typical \
             pair. The values of A and B are those of all rounds together."
                .to_owned(),
        ));
    }
    for place in pair.places.iter().take(1) {
        let only = [("A", &place.change.only_a), ("B", &place.change.only_b)];
        for (side, phases) in only.into_iter().filter(|(_, phases)| !phases.is_empty()) {
            blocks.push(Block::Text(format!("Only {side} has the phase {}.", phases.join(", "))));
        }
    }
    let has_collectives = |account: &Account| account.rows.iter().any(|row| row.name == COMMUNICATION);
    if shown_account(pair).is_some_and(has_collectives) {
        blocks.push(Block::Text(EXPOSED.to_owned()));
    }
    let mut section = |title: &str, table: Table| {
        if !table.rows.is_empty() {
            blocks.push(Block::Heading(title.to_owned()));
            blocks.push(Block::Table(table));
        }
    };
    section("Config", Table::new("differences", DIFFERENCES, &pair.differences, limit));
    let rounds: Vec<Row> = pair.headline.iter().map(|row| (row.clone(), pair.is_valid)).collect();
    section("Headline metrics", Table::new("headline", HEADLINE, &rounds, usize::MAX));
    if pair.places.len() > 1 {
        section("Ranks and devices", Table::new("places", PLACES, &pair.places, limit));
    }
    if let Some(first) = pair.places.first() {
        let of = |title: &str| {
            if pair.places.len() > 1 { format!("{title} of {}", place(first)) } else { title.to_owned() }
        };
        let phases: Vec<&PhaseChange> =
            first.change.phases.iter().filter(|phase| phase.phase != "all").collect();
        section(&of("Steps"), Table::new("phases", PHASES, &phases, usize::MAX));
        let devices = if pair.places.len() > 1 { ", mean of all devices" } else { "" };
        let shown = shown_account(pair);
        for account in shown.into_iter().chain(other_accounts(&pair.accounts, shown)) {
            let title = format!("{}{devices}", scope(account));
            section(&title, Table::new("account", ACCOUNT, &account.rows, usize::MAX));
        }
        if let Some(account) = shown {
            let operators = Table::new("operators", OPERATORS, &account.operators, limit);
            section(&format!("{}{devices}, by operator", scope(account)), operators);
        }
        let lines = |keep: &dyn Fn(&ComparedLine) -> bool| -> Vec<&ComparedLine> {
            first.change.lines.iter().filter(|line| keep(line)).collect()
        };
        let mut changed = lines(&|line| line.is_change);
        changed.sort_by(|a, b| b.delta_ns.abs().total_cmp(&a.delta_ns.abs()));
        section(&of("Kernels that changed"), Table::new("changes", LINES, &changed, limit));
        // Too few steps to judge a line by itself: the largest differences are still worth seeing.
        let mut unjudged = lines(&|line| line.not_judged.is_some() && line.delta_ns != 0.0);
        unjudged.sort_by(|a, b| b.delta_ns.abs().total_cmp(&a.delta_ns.abs()));
        section(&of("Kernels that differ"), Table::new("unjudged", LINES, &unjudged, limit));
        let is_other = |line: &ComparedLine| {
            !line.is_change && line.not_judged.is_none() && line.how != How::Same && line.what == "work"
        };
        let is_alone = |line: &ComparedLine| matches!(line.how, How::OnlyInA | How::OnlyInB);
        let renamed = lines(&|line| is_other(line) && !is_alone(line));
        section(&of("Renamed kernels"), Table::new("renamed", LINES, &renamed, limit));
        let alone = lines(&|line| is_other(line) && is_alone(line));
        section(&of("Kernels on one side only"), Table::new("one_side", LINES, &alone, limit));
    }
    section("Checks", Table::new("checks", CHECKS, &pair.checks, usize::MAX));
    let title = at.and_then(|at| AGAINST.get(at).copied()).unwrap_or("Comparison");
    Part { name: "comparison", title, blocks }
}

/// Accounts beside the one that is shown first: of a trace whose steps are shown, the trace adds nothing.
fn other_accounts<'a>(all: &'a [Account], shown: Option<&'a Account>) -> impl Iterator<Item = &'a Account> {
    let is_trace = |account: &Account| account.per != "step";
    let steps_shown = shown.is_some_and(|account| !is_trace(account));
    let kinds = all.iter().filter(|account| !is_trace(account)).count();
    all.iter().filter(move |account| {
        let is_first = shown == Some(*account);
        !is_first && !is_trace(account) && (steps_shown || kinds > 1)
    })
}

/// The same as a page of its own.
pub fn html(parts: &[Part]) -> String {
    page::parts("Comparison", parts, "Generated by Rooflens.")
}
