//! What devices and the host did while a run went on, laid out: for each step a table and charts.

mod charts;

pub(crate) use charts::{DrawnLevel, levels_of, name_of, with_charts};

use rooflens_analyze::sampled::{
    LevelSummary, PartSampled, Sampled, StateShare, StepSampled, SubjectSampled, Throttled, WHOLE,
};
use rooflens_schema::tables::CounterSource;

use crate::block::{Block, Cell, Column, Field, Table};
use crate::format;
use crate::render::Part;

/// Why a cell is empty; the whole reason stands where there is room for it.
const NOT_SAMPLED: &str = "not available: metrics.json says why";
const RULE: &str = "Values are means over the samples in each part. Energy is from the device's counter, or \
                    the integral of its power.";

/// The part of a report.
pub fn part(sampled: &Sampled) -> Part {
    let mut blocks = Vec::new();
    for step in sampled.steps.iter().filter(|step| has_samples(step)) {
        blocks.extend(step_blocks(step));
    }
    if !blocks.is_empty() {
        blocks.push(Block::Text(RULE.to_owned()));
    }
    let missing = sampled.not_computed.iter().map(|(what, why)| format!("No samples of {what}: {why}."));
    let missing: Vec<String> = missing.collect();
    if !missing.is_empty() {
        blocks.push(Block::Lines(missing));
    }
    Part { name: "sampled", title: "Devices and host", blocks }
}

fn has_samples(step: &StepSampled) -> bool {
    step.parts.iter().flat_map(|part| &part.subjects).any(|subject| subject.samples > 0)
}

fn step_blocks(step: &StepSampled) -> Vec<Block> {
    let name = step.step.as_str().replace('_', " ");
    let mut blocks = Vec::new();
    let mut table = |heading: String, block: Table| {
        blocks.push(Block::Heading(heading));
        blocks.push(Block::Table(block));
    };
    let (devices, host) = (lines(step, CounterSource::Device), lines(step, CounterSource::Host));
    if !devices.is_empty() {
        table(
            format!("Step {name}: devices"),
            Table::new("sampled_devices", &of_devices(), &devices, usize::MAX),
        );
    }
    if !host.is_empty() {
        table(format!("Step {name}: host"), Table::new("sampled_host", &of_host(), &host, usize::MAX));
    }
    let whole: Vec<&SubjectSampled> =
        step.parts.iter().filter(|part| part.part == WHOLE).flat_map(|part| &part.subjects).collect();
    blocks.extend(slow_states(step));
    let names: Vec<String> =
        whole.iter().filter_map(|it| Some(format!("{}: {}", it.device?, it.name))).collect();
    if !names.is_empty() {
        blocks.push(Block::Text(format!("Devices by number: {}.", names.join("; "))));
    }
    let (devices, host) = with_charts(whole.into_iter());
    blocks.extend(host.into_iter().chain(devices).flat_map(charts::of).map(Block::Chart));
    blocks
}

/// Where a device was busy and not in P0.
fn slow_states(step: &StepSampled) -> Option<Block> {
    let line = |line: &Line<'_>| {
        let busy = line.subject.busy_pstates.as_ref().filter(|busy| busy.below_p0_share > 0.0)?;
        Some(format!(
            "Device {} was busy in a performance state below P0 in {} of {} busy samples of {} (about {}): {}.",
            line.subject.device?,
            format::share(busy.below_p0_share),
            busy.samples,
            line.part.part,
            format::time(busy.below_p0_ns as f64),
            state_words(&busy.states)
        ))
    };
    let told: Vec<String> = lines(step, CounterSource::Device).iter().filter_map(line).collect();
    (!told.is_empty()).then_some(Block::Lines(told))
}

fn state_words(states: &[StateShare]) -> String {
    let words = states.iter().map(|it| format!("{} {}", it.state, format::share(it.share)));
    words.collect::<Vec<String>>().join(", ")
}

struct Line<'a> {
    part: &'a PartSampled,
    subject: &'a SubjectSampled,
}

fn lines(step: &StepSampled, source: CounterSource) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    for part in &step.parts {
        lines.extend(
            part.subjects.iter().filter(|it| it.source == source).map(|subject| Line { part, subject }),
        );
    }
    lines
}

impl Line<'_> {
    fn level(&self, column: &str) -> Option<LevelSummary> {
        self.subject.levels.get(column).copied().flatten()
    }
    fn mean(&self, column: &str) -> Option<f64> {
        self.level(column).map(|level| level.mean)
    }
    fn max(&self, column: &str) -> Option<f64> {
        self.level(column).map(|level| level.max)
    }
    fn total(&self, column: &str) -> Option<f64> {
        self.subject.totals.get(column).copied().flatten()
    }
}

fn percent(value: Option<f64>) -> Cell {
    Cell::or(value, |value| Cell::Share(value / 100.0), NOT_SAMPLED)
}

fn bytes(value: Option<f64>) -> Cell {
    Cell::or(value, |value| Cell::Bytes(value.round() as i64), NOT_SAMPLED)
}

fn amount(value: Option<f64>, unit: &'static str) -> Cell {
    Cell::or(value, |value| Cell::amount(value, unit), NOT_SAMPLED)
}

/// Joules and watts below one have no prefix that people use.
fn small_amount(value: Option<f64>, unit: &'static str) -> Cell {
    match value {
        Some(value) if value > 0.0 && value < 1.0 => Cell::text(format!("{value:.3} {unit}")),
        value => amount(value, unit),
    }
}

fn throttle(reasons: Option<&Vec<Throttled>>) -> Cell {
    let words = |reasons: &Vec<Throttled>| match reasons.as_slice() {
        [] => Cell::text("none"),
        reasons => {
            let word =
                |it: &Throttled| format!("{} {}", it.reason.replace('_', " "), format::share(it.share));
            Cell::text(reasons.iter().map(word).collect::<Vec<String>>().join(", "))
        }
    };
    Cell::or(reasons, words, NOT_SAMPLED)
}

const PART: Column =
    Column::text("part", "part").help("`all` is the whole process, `rounds` the measured part of it.");
const TIME: Column = Column::number("dur_ns", "time");
const SAMPLES: Column = Column::number("samples", "samples");

fn of_devices<'a>() -> Vec<Field<Line<'a>>> {
    vec![
        (PART, |line| Cell::word(&line.part.part)),
        (Column::number("device", "device"), |line| Cell::or(line.subject.device, Cell::count, NOT_SAMPLED)),
        (TIME, |line| Cell::Time(line.part.dur_ns)),
        (SAMPLES, |line| Cell::count(line.subject.samples)),
        (Column::number("gpu_util_pct", "busy").help("Fraction of time in which a kernel ran."), |line| {
            percent(line.mean("gpu_util_pct"))
        }),
        (Column::number("sm_active_pct", "SM active"), |line| percent(line.mean("sm_active_pct"))),
        (Column::number("dram_active_pct", "DRAM"), |line| percent(line.mean("dram_active_pct"))),
        (Column::number("power_w", "power"), |line| {
            amount(line.mean("power_mw").map(|power| power / 1e3), "W")
        }),
        (Column::number("power_max_w", "max power"), |line| {
            amount(line.max("power_mw").map(|power| power / 1e3), "W")
        }),
        (Column::number("energy_j", "energy"), |line| small_amount(line.subject.energy_j, "J")),
        (Column::number("energy_j_per_output_token", "per token"), |line| {
            small_amount(line.subject.energy_j_per_output_token, "J")
        }),
        (Column::number("sm_clock_hz", "SM clock"), |line| {
            amount(line.mean("sm_clock_mhz").map(|clock| clock * 1e6), "Hz")
        }),
        (Column::number("sm_clock_min_hz", "min clock"), |line| {
            amount(line.level("sm_clock_mhz").map(|level| level.min * 1e6), "Hz")
        }),
        (Column::number("temperature_max_c", "max temperature"), |line| {
            amount(line.max("temperature_c"), "°C")
        }),
        (Column::number("mem_used_max_bytes", "peak memory"), |line| bytes(line.max("mem_used_bytes"))),
        (Column::text("pstates", "P-states").help("Performance states; P0 is the fastest."), |line| {
            Cell::or(line.subject.pstates.as_ref(), |states| Cell::text(state_words(states)), NOT_SAMPLED)
        }),
        (Column::text("throttle", "clocks throttled by"), |line| throttle(line.subject.throttle.as_ref())),
    ]
}

fn of_host<'a>() -> Vec<Field<Line<'a>>> {
    vec![
        (PART, |line| Cell::word(&line.part.part)),
        (TIME, |line| Cell::Time(line.part.dur_ns)),
        (SAMPLES, |line| Cell::count(line.subject.samples)),
        (Column::number("cpu_busy_pct", "CPU").help("Of all processors, by any process."), |line| {
            percent(line.mean("cpu_busy_pct"))
        }),
        (
            Column::number("watched_cores", "workload cores").help("Processor time of the workload / time."),
            |line| {
                let seconds = line.part.dur_ns as f64;
                let cores = line.total("watched_cpu_ns").filter(|_| seconds > 0.0).map(|busy| busy / seconds);
                Cell::or(cores, |cores| Cell::text(format!("{cores:.2}")), NOT_SAMPLED)
            },
        ),
        (Column::number("mem_used_max_bytes", "peak memory"), |line| bytes(line.max("mem_used_bytes"))),
        (Column::number("watched_mem_max_bytes", "workload memory"), |line| {
            bytes(line.max("watched_mem_bytes"))
        }),
        (Column::number("disk_read_bytes", "read"), |line| bytes(line.total("disk_read_bytes"))),
        (Column::number("disk_write_bytes", "written"), |line| bytes(line.total("disk_write_bytes"))),
        (Column::number("net_rx_bytes", "received"), |line| bytes(line.total("net_rx_bytes"))),
        (Column::number("net_tx_bytes", "sent"), |line| bytes(line.total("net_tx_bytes"))),
    ]
}
