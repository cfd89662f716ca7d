//! Collectives that NCCL was asked for.

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{CommCalls, CommSize};

use crate::block::{Block, Cell, Column, Fact, Field, Level, Table};
use crate::sections::{Detail, Section};

pub(super) struct CommCallsSection;

const NO_TIMES: &str = "the log holds no times";
const NOT_TOLD: &str = "the log does not record it";

impl Section for CommCallsSection {
    fn name(&self) -> &'static str {
        "comm_calls"
    }
    fn title(&self) -> &'static str {
        "Collectives"
    }
    fn blocks(&self, findings: &Findings, detail: Detail) -> Vec<Block> {
        let Some(found) = findings.get::<CommCalls>() else { return vec![] };
        let mut facts = vec![
            Fact::new("calls", Cell::count(found.calls)),
            Fact::new("communicators", Cell::count(found.communicators)),
            Fact::new("messages", Cell::Bytes(found.bytes)),
            Fact::new("total", Cell::or(found.total_ns, Cell::Time, NO_TIMES)),
        ];
        if found.checked > 0 {
            let agree = format!("{} of {}", found.agreeing, found.checked);
            let fact = Fact::new("consistent bandwidths", Cell::text(agree));
            facts.push(fact.help("Of those in the file."));
        }
        let mut blocks = vec![Block::Facts(facts)];
        if let Some(reason) = found.not_computed.get("total_ns") {
            blocks.push(Block::Text(format!("No times: {reason}.")));
        }
        blocks.push(Block::Table(Table::new("comm_calls", FIELDS, &found.sizes, detail.rows())));
        blocks
    }
}

const FIELDS: &[Field<CommSize>] = &[
    (Column::text("collective", "collective"), |size| Cell::word(&size.collective)),
    (Column::number("bytes", "size").help("As nccl-tests counts it."), |size| {
        Cell::or(size.bytes, Cell::Bytes, NOT_TOLD)
    }),
    (Column::number("group_size", "ranks"), |size| {
        Cell::or(size.group_size, |ranks| Cell::Count(ranks.into()), NOT_TOLD)
    }),
    (Column::text("dtype", "type").at(Level::Screen), |size| {
        Cell::or(size.dtype.as_ref(), Cell::word, NOT_TOLD)
    }),
    (Column::number("calls", "calls"), |size| Cell::count(size.calls)),
    (Column::number("total_ns", "total"), |size| Cell::or(size.total_ns, Cell::Time, NO_TIMES)),
    (Column::number("p50_ns", "median"), |size| Cell::or(size.p50_ns, Cell::Time, NO_TIMES)),
    (Column::number("max_ns", "longest").at(Level::Page), |size| Cell::or(size.max_ns, Cell::Time, NO_TIMES)),
    (Column::number("alg_gb_per_s", "algorithm").help("Size / time."), |size| {
        Cell::or(size.alg_gb_per_s, Cell::Rate, NO_TIMES)
    }),
    (Column::number("bus_gb_per_s", "bus").help("Bus bandwidth, as nccl-tests computes it."), |size| {
        Cell::or(size.bus_gb_per_s, Cell::Rate, "the time, the ranks or the collective is not known")
    }),
];
