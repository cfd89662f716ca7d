//! Collectives that NCCL was asked for.

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{CommCalls, CommSize};

use crate::block::Level::{Page, Screen};
use crate::block::{Block, Cell, Column, Fact, Field};
use crate::section::Detail;

const NO_TIMES: &str = "the log holds no times";
const NOT_TOLD: &str = "the log does not record it";

pub(super) fn blocks(findings: &Findings, detail: Detail) -> Vec<Block> {
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
    blocks.push(Block::table("comm_calls", FIELDS, &found.sizes, detail.rows()));
    blocks
}

const FIELDS: &[Field<CommSize>] = &[
    (Column::text("collective", "collective"), |row| Cell::word(&row.collective)),
    (Column::number("bytes", "size").help("As nccl-tests counts it."), |row| {
        Cell::or(row.bytes, Cell::Bytes, NOT_TOLD)
    }),
    (Column::number("group_size", "ranks"), |row| Cell::or(row.group_size, Cell::count, NOT_TOLD)),
    (Column::text("dtype", "type").at(Screen), |row| Cell::or(row.dtype.as_ref(), Cell::word, NOT_TOLD)),
    (Column::number("calls", "calls"), |row| Cell::count(row.calls)),
    (Column::number("total_ns", "total"), |row| Cell::or(row.total_ns, Cell::Time, NO_TIMES)),
    (Column::number("p50_ns", "median"), |row| Cell::or(row.p50_ns, Cell::Time, NO_TIMES)),
    (Column::number("max_ns", "longest").at(Page), |row| Cell::or(row.max_ns, Cell::Time, NO_TIMES)),
    (Column::number("alg_gb_per_s", "algorithm").help("Size / time."), |row| {
        Cell::or(row.alg_gb_per_s, Cell::Rate, NO_TIMES)
    }),
    (Column::number("bus_gb_per_s", "bus").help("Bus bandwidth, as nccl-tests computes it."), |row| {
        Cell::or(row.bus_gb_per_s, Cell::Rate, "the time, the ranks or the collective is not known")
    }),
];
