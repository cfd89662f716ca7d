//! Why devices were idle.

use std::borrow::Borrow;

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{GapExample, GapHost, GapStat, Gaps};
use rooflens_analyze::host_kind::HostKind;
use rooflens_analyze::ledger::Line;
use rooflens_schema::tables::GapCause;

use crate::block::Level::{Page, Screen};
use crate::block::{Block, Cell, Column, Field, Table};
use crate::section::{Detail, line_tone};

pub(super) fn blocks(findings: &Findings, detail: Detail) -> Vec<Block> {
    let Some(Gaps(gaps)) = findings.get::<Gaps>() else { return vec![] };
    if gaps.is_empty() {
        return vec![];
    }
    // The ledger has the same times on its lines.
    if detail.is_screen() {
        return vec![];
    }
    let mut blocks = vec![Block::Table(table(gaps, usize::MAX))];
    let hosts: Vec<(GapCause, GapHost)> =
        gaps.iter().flat_map(|gap| gap.hosts.iter().map(|host| (gap.cause, host.clone()))).collect();
    if !hosts.is_empty() {
        blocks.push(Block::Heading("Host activity during gaps".to_owned()));
        blocks.push(Block::table("gap_hosts", HOSTS, &hosts, usize::MAX));
    }
    let examples: Vec<(GapCause, GapExample)> =
        gaps.iter().flat_map(|gap| gap.examples.iter().map(|example| (gap.cause, example.clone()))).collect();
    if !examples.is_empty() {
        blocks.push(Block::Heading("Longest gaps of each cause".to_owned()));
        blocks.push(Block::table("gap_examples", EXAMPLES, &examples, usize::MAX));
    }
    blocks
}

fn table(gaps: &[impl Borrow<GapStat>], rows: usize) -> Table {
    Table::new("gaps", FIELDS, gaps, rows).tones(gaps, |gap: &GapStat| line_tone(Line::of_gap(gap.cause)))
}

const FIELDS: &[Field<GapStat>] = &[
    (Column::text("cause", "cause"), |row| Cell::word(row.cause.as_str())),
    (Column::number("count", "gaps"), |row| Cell::count(row.count)),
    (
        Column::number("total_ns", "total")
            .help("Time in which a whole device was idle, summed over devices."),
        |row| Cell::Time(row.total_ns),
    ),
    (Column::number("p50_ns", "median").at(Screen), |row| Cell::Time(row.p50_ns)),
    (Column::number("max_ns", "longest").at(Screen), |row| Cell::Time(row.max_ns)),
    (Column::bar("share_of_idle", "of idle").help("Share of all idle time."), |row| {
        Cell::or(
            row.share_of_idle,
            Cell::Share,
            "the time after a device's last activity is not part of idle time",
        )
    }),
    (Column::text("meaning", "meaning").at(Page), |row| Cell::text(&*row.meaning)),
];

const NOT_TOLD: &str = "the trace does not say";
const NOTHING: &str = "nothing recorded on the launching thread covers half of the gap";

const HOSTS: &[Field<(GapCause, GapHost)>] = &[
    (Column::text("cause", "cause"), |(cause, _)| Cell::word(cause.as_str())),
    (Column::text("host", "host activity").help("What covers at least half of each gap."), |(_, host)| {
        Cell::or(host.name.as_ref(), Cell::code, NOTHING)
    }),
    (Column::text("kind", "kind"), |(_, host)| Cell::text(host.kind.map_or("all others", HostKind::word))),
    (Column::number("count", "gaps"), |(_, host)| Cell::count(host.count)),
    (Column::number("idle_ns", "idle time"), |(_, host)| Cell::Time(host.idle_ns)),
    (Column::number("covered_ns", "covered").help("Idle time that it covers."), |(_, host)| {
        Cell::Time(host.covered_ns)
    }),
    (Column::bar("share", "of the cause"), |(_, host)| Cell::Share(host.share)),
];

const EXAMPLES: &[Field<(GapCause, GapExample)>] = &[
    (Column::text("cause", "cause"), |(cause, _)| Cell::word(cause.as_str())),
    (Column::number("rank", "rank"), |(_, gap)| Cell::count(gap.rank)),
    (Column::number("device", "device"), |(_, gap)| Cell::count(gap.device)),
    (Column::number("ts_ns", "at").help("Start of the gap, since the run's clock base."), |(_, gap)| {
        Cell::At(gap.ts_ns)
    }),
    (Column::number("dur_ns", "length"), |(_, gap)| Cell::Time(gap.dur_ns)),
    (Column::text("before", "after"), |(_, gap)| Cell::or(gap.before.as_ref(), Cell::code, NOT_TOLD)),
    (Column::text("after", "before"), |(_, gap)| Cell::or(gap.after.as_ref(), Cell::code, NOT_TOLD)),
    (
        Column::text("host", "host activity")
            .help("What covers at least half of the gap on the launching thread."),
        |(_, gap)| {
            let reason = if gap.host_kind.is_some() { NOTHING } else { NOT_TOLD };
            Cell::or(gap.host.as_ref(), Cell::code, reason)
        },
    ),
    (Column::number("covered_share", "covers").help("Share of the gap that it covers."), |(_, gap)| {
        Cell::or(gap.covered_share, Cell::Share, NOT_TOLD)
    }),
];
