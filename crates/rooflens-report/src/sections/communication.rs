//! What collectives cost, and who waits for whom.

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{CollectiveStat, Communication, RankWait, Stragglers};

use crate::block::{Block, Cell, Chart, ChartUnit, Column, Fact, Field, Mark, Series, Table, Tone};
use crate::format;
use crate::section::Detail;

pub(super) fn blocks(findings: &Findings, detail: Detail) -> Vec<Block> {
    let Some(communication) = findings.get::<Communication>() else { return vec![] };
    if communication.count == 0 {
        return vec![];
    }
    let mut facts = vec![
        Fact::new("collectives", Cell::count(communication.count)),
        Fact::new("total", Cell::Time(communication.total_ns)).help("Sum of the kernels' durations."),
    ];
    if !communication.waits.is_empty() {
        let waited = communication.waits.iter().map(|wait| wait.wait_ns).fold(0, i64::saturating_add);
        facts.push(
            Fact::new("waiting for other ranks", Cell::Time(waited))
                .help("Part of the total: time before the last rank arrived, summed over ranks."),
        );
    }
    if let (true, Some(most)) = (detail.is_screen(), communication.collectives.first()) {
        let size = most.bytes.map_or(String::new(), |bytes| format!(" of {}", format::bytes(bytes as f64)));
        let label = format!("{}{size}, median", most.name);
        facts.push(Fact::new(label, Cell::or(most.bus_gb_per_s, Cell::Rate, NOT_TOLD)));
        facts.extend(most.link_share.map(|share| Fact::new("link utilisation", Cell::Share(share))));
    }
    let late = findings.get::<Stragglers>().map_or(&[][..], |found| &found.rows);
    let late = late.iter().map(|row| Block::Text(row.sentence.clone()));
    if detail.is_screen() {
        return std::iter::once(Block::Facts(facts)).chain(late.take(1)).collect();
    }
    if let Some(link) = &communication.link {
        facts.push(
            Fact::new(format!("links of {}", link.device), Cell::Rate(link.gb_per_s))
                .help("All links of a device together, one direction."),
        );
    }
    if !communication.waits.is_empty() {
        facts.push(
            Fact::new("matched across ranks", Cell::count(communication.matched))
                .help("Collectives that were found in every rank of their group."),
        );
    }
    let mut blocks: Vec<Block> = std::iter::once(Block::Facts(facts)).chain(late).collect();
    if let Some(reason) = communication.not_computed.get("waits") {
        blocks.push(Block::Text(format!("No waiting: {reason}.")));
    }
    if !communication.collectives.is_empty() {
        let table = Table::new("collectives", FIELDS, &communication.collectives, detail.rows());
        blocks.push(Block::Table(table));
    }
    if !communication.waits.is_empty() {
        blocks.push(Block::Heading("Waiting by rank".to_owned()));
        blocks.push(Block::Chart(waits(&communication.waits)));
        blocks.push(Block::table("rank_waits", WAITS, &communication.waits, detail.rows()));
    }
    blocks
}

fn waits(waits: &[RankWait]) -> Chart {
    // A rank may have several devices: then each has a bar, in the order of the table.
    let is_by_rank = waits.windows(2).all(|pair| pair[0].rank < pair[1].rank);
    let place = |(at, wait): (usize, &RankWait)| if is_by_rank { f64::from(wait.rank) } else { at as f64 };
    let points = waits.iter().enumerate().map(|row| (place(row), row.1.wait_ns as f64)).collect();
    Chart {
        title: "Ranks".to_owned(),
        x: (if is_by_rank { "by rank" } else { "by row of the table" }.into(), ChartUnit::Index),
        y: ("time spent waiting for the last rank".into(), ChartUnit::Time),
        mark: Mark::Columns,
        series: vec![Series { label: "waited".to_owned(), tone: Tone::Communication, points }],
        rules: vec![],
    }
}

const NOT_TOLD: &str = "not in the trace";
const NOT_MATCHED: &str = "not matched across ranks";

const FIELDS: &[Field<CollectiveStat>] = &[
    (Column::text("name", "collective"), |row| Cell::code(&row.name)),
    (Column::text("dtype", "type"), |row| Cell::or(row.dtype.as_ref(), Cell::word, NOT_TOLD)),
    (Column::number("group_size", "group").help("Ranks in the group."), |row| {
        Cell::or(row.group_size, Cell::count, NOT_TOLD)
    }),
    (Column::number("bytes", "size").help("Bytes of one call: the larger of in and out."), |row| {
        Cell::or(row.bytes, Cell::Bytes, NOT_TOLD)
    }),
    (
        Column::text("algorithm", "algorithm").help("As the name of the kernel says."),
        |row| Cell::or(row.algorithm.map(|found| found.as_str()), Cell::word, "not in the kernel's name"),
    ),
    (Column::number("count", "calls"), |row| Cell::count(row.count)),
    (Column::number("p50_ns", "median"), |row| Cell::Time(row.p50_ns)),
    (Column::number("max_ns", "longest"), |row| Cell::Time(row.max_ns)),
    (
        Column::number("transfer_p50_ns", "transfer")
            .help("Median time from the arrival of the last rank to the end: the shortest duration among the ranks."),
        |row| Cell::or(row.transfer_p50_ns, Cell::Time, NOT_MATCHED),
    ),
    (
        Column::number("wait_ns", "waiting").help("Time before the last rank arrived, summed over ranks and \
        calls."),
        |row| Cell::or(row.wait_ns, Cell::Time, NOT_MATCHED),
    ),
    (
        Column::number("algorithm_gb_per_s", "algorithm bandwidth")
            .help("Size / median transfer; / median duration where ranks are not matched."),
        |row| Cell::or(row.algorithm_gb_per_s, Cell::Rate, NOT_TOLD),
    ),
    (
        Column::number("bus_gb_per_s", "bus bandwidth")
            .help("Algorithm bandwidth times the collective's factor, such as 2(n-1)/n for all-reduce."),
        |row| Cell::or(row.bus_gb_per_s, Cell::Rate, NOT_TOLD),
    ),
    (
        Column::number("link_share", "of link rate")
            .help("Traffic over a device's links in one direction / their bandwidth, by algorithm."),
        |row| Cell::or(row.link_share, Cell::Share, "size, group or link are not known, or it may span nodes"),
    ),
    (Column::number("total_ns", "total"), |row| Cell::Time(row.total_ns)),
];

const WAITS: &[Field<RankWait>] = &[
    (Column::number("rank", "rank"), |row| Cell::count(row.rank)),
    (Column::number("device", "device"), |row| Cell::count(row.device)),
    (
        Column::number("wait_ns", "waited")
            .help("Over the matched collectives: its duration minus the shortest among the ranks."),
        |row| Cell::Time(row.wait_ns),
    ),
    (Column::number("collectives", "collectives").help("Matched collectives that it took part in."), |row| {
        Cell::count(row.collectives)
    }),
    (Column::number("last_to_arrive", "arrived last").help("Collectives in which it was last."), |row| {
        Cell::count(row.last_to_arrive)
    }),
    (
        Column::number("lost_to_it_ns", "others waited")
            .help("Total time that the other ranks waited in those."),
        |row| Cell::Time(row.lost_to_it_ns),
    ),
];
