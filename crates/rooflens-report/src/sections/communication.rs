//! What collectives cost, and who waits for whom.

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{CollectiveStat, Communication, RankWait};

use crate::block::{Block, Cell, Chart, Column, Fact, Field, Mark, Series, Table, Tone, Unit};
use crate::sections::{Detail, Section};

pub(super) struct CommunicationSection;

impl Section for CommunicationSection {
    fn name(&self) -> &'static str {
        "communication"
    }
    fn title(&self) -> &'static str {
        "Communication"
    }
    fn blocks(&self, findings: &Findings, detail: Detail) -> Vec<Block> {
        let Some(communication) = findings.get::<Communication>() else { return vec![] };
        if communication.count == 0 {
            return vec![];
        }
        let mut facts = vec![
            Fact::new("collectives", Cell::count(communication.count)),
            Fact::new("in all", Cell::Time(communication.total_ns)).help("Sum of the kernels' durations."),
        ];
        if let (true, Some(most)) = (detail.is_screen(), communication.collectives.first()) {
            facts.push(Fact::new(most.name.clone(), Cell::or(most.bus_gb_per_s, Cell::Rate, NOT_TOLD)));
        }
        if let Some(wait) = communication.waits.iter().max_by_key(|wait| wait.wait_ns) {
            facts.push(
                Fact::new(format!("rank {} waited", wait.rank), Cell::Time(wait.wait_ns))
                    .help("The rank that waited most in collectives for the last to arrive."),
            );
        }
        if detail.is_screen() {
            return vec![Block::Facts(facts)];
        }
        if !communication.waits.is_empty() {
            facts.push(
                Fact::new("matched across ranks", Cell::count(communication.matched))
                    .help("Collectives that were found in every rank of their group."),
            );
        }
        let mut blocks = vec![Block::Facts(facts)];
        if !communication.collectives.is_empty() {
            let table = Table::new("collectives", FIELDS, &communication.collectives, detail.rows());
            blocks.push(Block::Table(table));
        }
        if !communication.waits.is_empty() {
            blocks.push(Block::Heading("Who waits".to_owned()));
            blocks.push(Block::Chart(waits(&communication.waits)));
            blocks.push(Block::Table(Table::new("rank_waits", WAITS, &communication.waits, detail.rows())));
        }
        blocks
    }
}

fn waits(waits: &[RankWait]) -> Chart {
    let points = waits.iter().map(|wait| (f64::from(wait.rank), wait.wait_ns as f64)).collect();
    Chart {
        title: "Ranks".to_owned(),
        x: ("by rank", Unit::Index),
        y: ("time waited for the last to arrive", Unit::Time),
        mark: Mark::Columns,
        series: vec![Series { label: "waited".to_owned(), tone: Tone::Communication, points }],
        rules: vec![],
    }
}

const NOT_TOLD: &str = "the trace does not tell";

const FIELDS: &[Field<CollectiveStat>] = &[
    (Column::text("name", "collective"), |stat| Cell::code(&stat.name)),
    (Column::text("dtype", "type"), |stat| Cell::or(stat.dtype.as_ref(), Cell::word, NOT_TOLD)),
    (Column::number("group_size", "group").help("Ranks in the group."), |stat| {
        Cell::or(stat.group_size, |size| Cell::Count(size.into()), NOT_TOLD)
    }),
    (Column::number("bytes", "size").help("Bytes of one call: the larger of in and out."), |stat| {
        Cell::or(stat.bytes, Cell::Bytes, NOT_TOLD)
    }),
    (Column::number("count", "calls"), |stat| Cell::count(stat.count)),
    (Column::number("p50_ns", "median"), |stat| Cell::Time(stat.p50_ns)),
    (Column::number("max_ns", "longest"), |stat| Cell::Time(stat.max_ns)),
    (Column::number("algorithm_gb_per_s", "algorithm bandwidth").help("Size / median duration."), |stat| {
        Cell::or(stat.algorithm_gb_per_s, Cell::Rate, NOT_TOLD)
    }),
    (
        Column::number("bus_gb_per_s", "bus bandwidth")
            .help("The same times the collective's factor, as 2(n-1)/n for all-reduce."),
        |stat| Cell::or(stat.bus_gb_per_s, Cell::Rate, NOT_TOLD),
    ),
    (Column::number("total_ns", "total"), |stat| Cell::Time(stat.total_ns)),
];

const WAITS: &[Field<RankWait>] = &[
    (Column::number("rank", "rank"), |wait| Cell::Count(wait.rank.into())),
    (
        Column::number("wait_ns", "waited")
            .help("Over the matched collectives: its duration less the shortest among the ranks."),
        |wait| Cell::Time(wait.wait_ns),
    ),
    (Column::number("last_to_arrive", "came last").help("Collectives in which it was last."), |wait| {
        Cell::count(wait.last_to_arrive)
    }),
];
