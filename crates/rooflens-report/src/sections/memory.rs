//! How much memory the allocator holds over time.

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{DeviceMemory, Memory};

use crate::block::{Block, Cell, Chart, Column, Fact, Field, Mark, Series, Table, Tone, Unit};
use crate::sections::{Detail, Section, device_label};

pub(super) struct MemorySection;

/// Devices with a chart.
const CHARTS: usize = 4;
const NO_TOTALS: &str = "the trace has no totals";

impl Section for MemorySection {
    fn name(&self) -> &'static str {
        "memory"
    }
    fn title(&self) -> &'static str {
        "Memory"
    }
    fn blocks(&self, findings: &Findings, detail: Detail) -> Vec<Block> {
        let Some(Memory(memory)) = findings.get::<Memory>() else { return vec![] };
        let one_rank = memory.iter().all(|device| device.rank == memory[0].rank);
        // The fullest first; a device before the host at the same peak.
        let mut ordered: Vec<&DeviceMemory> = memory.iter().collect();
        ordered.sort_by_key(|device| (std::cmp::Reverse(device.peak_allocated_bytes), device.device < 0));
        let Some(fullest) = ordered.first() else { return vec![] };
        if detail.is_screen() {
            return vec![Block::Facts(vec![
                Fact::new("peak allocated", Cell::or(fullest.peak_allocated_bytes, Cell::Bytes, NO_TOTALS)),
                Fact::new("reserved", Cell::or(fullest.peak_reserved_bytes, Cell::Bytes, NO_TOTALS)),
                Fact::plain(device_label(fullest.rank, fullest.device, one_rank)),
                Fact::new("allocations", Cell::count(fullest.allocations)),
            ])];
        }
        let mut blocks: Vec<Block> = ordered
            .iter()
            .filter(|device| device.timeline.len() > 1)
            .take(CHARTS)
            .map(|device| Block::Chart(chart(device_label(device.rank, device.device, one_rank), device)))
            .collect();
        blocks.push(Block::Table(Table::new("memory", FIELDS, &ordered, detail.rows())));
        blocks
    }
}

fn chart(label: String, device: &DeviceMemory) -> Chart {
    let points = device.timeline.iter().map(|(ts, bytes)| (*ts as f64, *bytes as f64)).collect();
    Chart {
        title: label,
        x: ("over time", Unit::Time),
        y: ("allocated", Unit::Bytes),
        mark: Mark::Steps,
        series: vec![Series { label: "allocated".to_owned(), tone: Tone::Plain, points }],
        rules: vec![],
    }
}

const FIELDS: &[Field<DeviceMemory>] = &[
    (Column::number("rank", "rank"), |device| Cell::Count(device.rank.into())),
    (Column::text("device", "device"), |device| {
        Cell::text(if device.device < 0 { "host".to_owned() } else { device.device.to_string() })
    }),
    (Column::number("peak_allocated_bytes", "peak allocated"), |device| {
        Cell::or(device.peak_allocated_bytes, Cell::Bytes, NO_TOTALS)
    }),
    (Column::number("peak_ts_ns", "at").help("Since the run's clock base."), |device| {
        Cell::or(device.peak_ts_ns, Cell::At, NO_TOTALS)
    }),
    (Column::number("peak_reserved_bytes", "peak reserved"), |device| {
        Cell::or(device.peak_reserved_bytes, Cell::Bytes, NO_TOTALS)
    }),
    (Column::number("allocations", "allocations"), |device| Cell::count(device.allocations)),
    (Column::number("releases", "releases"), |device| Cell::count(device.releases)),
];
