//! How much memory the allocator holds over time.

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{DeviceMemory, Memory, MemoryAtEnd};

use crate::block::{Block, Cell, Chart, ChartUnit, Column, Fact, Field, Mark, Series, Tone};
use crate::section::{Detail, device_label};

/// Devices with a chart.
const CHARTS: usize = 4;
const NO_TOTALS: &str = "the trace has no totals";

pub(super) fn blocks(findings: &Findings, detail: Detail) -> Vec<Block> {
    let Some(Memory(memory)) = findings.get::<Memory>() else { return vec![] };
    let one_rank = memory.iter().all(|device| device.rank == memory[0].rank);
    // The fullest first; a device before the host at the same peak.
    let mut ordered: Vec<&DeviceMemory> = memory.iter().collect();
    ordered.sort_by_key(|device| (std::cmp::Reverse(device.peak_allocated_bytes), device.device < 0));
    let Some(fullest) = ordered.first() else { return vec![] };
    let holders = holders(&ordered, detail);
    if detail.is_screen() {
        let facts = Block::Facts(vec![
            Fact::new("peak allocated", Cell::or(fullest.peak_allocated_bytes, Cell::Bytes, NO_TOTALS)),
            Fact::new("reserved", Cell::or(fullest.peak_reserved_bytes, Cell::Bytes, NO_TOTALS)),
            Fact::plain(device_label(fullest.rank, fullest.device, one_rank)),
            Fact::new("allocations", Cell::count(fullest.allocations)),
        ]);
        let at_end = fullest.at_end.as_ref().map(|end| Block::Facts(facts_at_end(end)));
        return [facts].into_iter().chain(at_end).chain(holders).collect();
    }
    let mut blocks: Vec<Block> = ordered
        .iter()
        .filter(|device| device.timeline.len() > 1)
        .take(CHARTS)
        .map(|device| Block::Chart(chart(device_label(device.rank, device.device, one_rank), device)))
        .collect();
    blocks.push(Block::table("memory", FIELDS, &ordered, detail.rows()));
    if let Some(holders) = holders {
        blocks.push(Block::Heading("Allocations at the peak".to_owned()));
        blocks.push(holders);
    }
    let ends: Vec<End> = ordered.iter().filter_map(|it| Some((it.rank, it.device, it.at_end?))).collect();
    if !ends.is_empty() {
        blocks.push(Block::Heading("At the time of the snapshot".to_owned()));
        blocks.push(Block::table("memory_at_end", ENDS, &ends, detail.rows()));
    }
    blocks
}

type End = (i32, i32, MemoryAtEnd);

struct Holder {
    rank: i32,
    device: i32,
    site: String,
    bytes: i64,
    share: Option<f64>,
    allocations: Option<i64>,
}

const OLDER: &str = "(allocated before the first event)";

fn holders(ordered: &[&DeviceMemory], detail: Detail) -> Option<Block> {
    let mut rows = Vec::new();
    for device in ordered {
        let holder = |site: &str, bytes: i64, allocations| Holder {
            rank: device.rank,
            device: device.device,
            site: site.to_owned(),
            bytes,
            share: device
                .peak_allocated_bytes
                .filter(|peak| *peak > 0)
                .map(|peak| bytes as f64 / peak as f64),
            allocations,
        };
        let sites = device.at_peak.iter().map(|it| holder(&it.site, it.bytes, Some(it.allocations)));
        let older = device.older_at_peak_bytes.filter(|bytes| *bytes > 0);
        let older = older.map(|bytes| holder(OLDER, bytes, None));
        let mut held: Vec<Holder> = sites.chain(older).collect();
        held.sort_by_key(|holder| std::cmp::Reverse(holder.bytes));
        rows.extend(held);
    }
    // On a screen there is room to say once whose they are.
    let one_device = rows.iter().all(|row| (row.rank, row.device) == (rows[0].rank, rows[0].device));
    let fields = if detail.is_screen() && one_device { &HOLDERS[2..] } else { HOLDERS };
    (!rows.is_empty()).then(|| Block::table("memory_at_peak", fields, &rows, detail.rows()))
}

fn facts_at_end(end: &MemoryAtEnd) -> Vec<Fact> {
    vec![
        Fact::new("reserved at the end", Cell::Bytes(end.reserved_bytes)),
        Fact::new("allocated", Cell::Bytes(end.allocated_bytes)),
        Fact::new("largest free block", Cell::Bytes(end.largest_free_bytes)),
        Fact::new("cached", Cell::Bytes(end.cached_bytes)),
        Fact::new("scattered", Cell::Bytes(end.scattered_free_bytes)),
        Fact::new("fragmentation", Cell::or(end.fragmentation, Cell::Share, NOTHING_RESERVED)),
    ]
}

const NOTHING_RESERVED: &str = "nothing is reserved";

fn chart(label: String, device: &DeviceMemory) -> Chart {
    let points = device.timeline.iter().map(|(ts, bytes)| (*ts as f64, *bytes as f64)).collect();
    Chart {
        title: label,
        x: ("over time".into(), ChartUnit::Time),
        y: ("allocated".into(), ChartUnit::Bytes),
        mark: Mark::Steps,
        series: vec![Series { label: "allocated".to_owned(), tone: Tone::Plain, points }],
        rules: vec![],
    }
}

const FIELDS: &[Field<DeviceMemory>] = &[
    (Column::number("rank", "rank"), |row| Cell::count(row.rank)),
    (Column::text("device", "device"), |row| device_cell(row.device)),
    (Column::number("peak_allocated_bytes", "peak allocated"), |row| {
        Cell::or(row.peak_allocated_bytes, Cell::Bytes, NO_TOTALS)
    }),
    (Column::number("peak_ts_ns", "at").help("Since the run's clock base."), |row| {
        Cell::or(row.peak_ts_ns, Cell::At, NO_TOTALS)
    }),
    (Column::number("peak_reserved_bytes", "peak reserved"), |row| {
        Cell::or(row.peak_reserved_bytes, Cell::Bytes, NO_TOTALS)
    }),
    (Column::number("allocations", "allocations"), |row| Cell::count(row.allocations)),
    (Column::number("releases", "releases"), |row| Cell::count(row.releases)),
];

fn device_cell(device: i32) -> Cell {
    Cell::text(if device < 0 { "host".to_owned() } else { device.to_string() })
}

const HOLDERS: &[Field<Holder>] = &[
    (Column::number("rank", "rank"), |row| Cell::count(row.rank)),
    (Column::text("device", "device"), |row| device_cell(row.device)),
    (
        Column::text("site", "call site at the peak")
            .help("Innermost frame that is neither in a library nor native."),
        |row| Cell::text(row.site.clone()),
    ),
    (Column::number("bytes", "bytes"), |row| Cell::Bytes(row.bytes)),
    (Column::number("share", "share"), |row| Cell::or(row.share, Cell::Share, NO_TOTALS)),
    (Column::number("allocations", "allocations"), |row| {
        Cell::or(row.allocations, Cell::Count, "not among the events")
    }),
];

const ENDS: &[Field<End>] = &[
    (Column::number("rank", "rank"), |row| Cell::count(row.0)),
    (Column::text("device", "device"), |row| device_cell(row.1)),
    (Column::number("reserved_bytes", "reserved"), |row| Cell::Bytes(row.2.reserved_bytes)),
    (Column::number("allocated_bytes", "allocated"), |row| Cell::Bytes(row.2.allocated_bytes)),
    (Column::number("requested_bytes", "requested"), |row| {
        Cell::or(row.2.requested_bytes, Cell::Bytes, "the snapshot does not have it")
    }),
    (Column::number("pending_bytes", "pending"), |row| Cell::Bytes(row.2.pending_bytes)),
    (Column::number("free_bytes", "free"), |row| Cell::Bytes(row.2.free_bytes)),
    (Column::number("largest_free_bytes", "largest free block"), |row| Cell::Bytes(row.2.largest_free_bytes)),
    (
        Column::number("scattered_free_bytes", "scattered").help("Free, in segments that are partly in use."),
        |row| Cell::Bytes(row.2.scattered_free_bytes),
    ),
    (Column::number("fragmentation", "fragmentation").help("Scattered / reserved."), |row| {
        Cell::or(row.2.fragmentation, Cell::Share, NOTHING_RESERVED)
    }),
];
