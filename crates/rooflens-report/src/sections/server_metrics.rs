//! Metrics of servers and devices.

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{DeviceMetrics, ModelMetrics, Over, ServerMetrics};

use crate::block::Level::{Page, Screen};
use crate::block::{Block, Cell, Column, Fact, Field};
use crate::section::Detail;

/// Why a cell is empty; the JSON has the reason of each.
const MISSING: &str = "not available: see not_computed in the JSON";

pub(super) fn blocks(findings: &Findings, _detail: Detail) -> Vec<Block> {
    let Some(found) = findings.get::<ServerMetrics>() else { return vec![] };
    let mut blocks = vec![Block::Facts(vec![
        Fact::new("pages", Cell::count(found.snapshots)),
        Fact::new("in", Cell::or(found.span_ns, Cell::Time, "fewer than two pages have timestamps")),
    ])];
    if !found.models.is_empty() {
        if found.models.iter().any(|model| model.over == Over::SinceStart) {
            let words = "Counts and means of one page cover all requests since the server started.";
            blocks.push(Block::Text(words.to_owned()));
        }
        blocks.push(Block::table("server_models", MODELS, &found.models, usize::MAX));
    }
    if !found.devices.is_empty() {
        blocks.push(Block::table("server_devices", DEVICES, &found.devices, usize::MAX));
        let odd = found.devices.iter().flat_map(|device| device.unit_unknown.keys());
        let mut odd: Vec<&str> = odd.map(String::as_str).collect();
        odd.sort_unstable();
        odd.dedup();
        if !odd.is_empty() {
            let words =
                "Only in the JSON, since their unit is unknown or depends on the exporter's version: ";
            blocks.push(Block::Text(format!("{words}{}.", odd.join(", "))));
        }
    }
    blocks
}

fn mean_time(ns: Option<f64>) -> Cell {
    Cell::or(ns, Cell::MeanTime, MISSING)
}

fn mean(value: Option<f64>) -> Cell {
    Cell::or(value, Cell::Mean, MISSING)
}

fn count(value: Option<f64>) -> Cell {
    Cell::or(value, |value| Cell::count(value as usize), MISSING)
}

const MODELS: &[Field<ModelMetrics>] = &[
    (Column::text("model", "model"), |row| Cell::text(row.model.clone())),
    (Column::text("version", "version").at(Page), |row| Cell::or(row.version.clone(), Cell::text, MISSING)),
    (Column::number("requests", "requests"), |row| count(row.requests)),
    (Column::number("failures", "failed"), |row| count(row.failures)),
    (Column::number("requests_per_s", "per second"), |row| mean(row.requests_per_s)),
    (Column::number("batch", "batch").help("inferences per execution"), |row| mean(row.batch)),
    (Column::number("request_ns", "request"), |row| mean_time(row.request_ns)),
    (Column::number("queue_ns", "queue"), |row| mean_time(row.queue_ns)),
    (Column::number("compute_infer_ns", "compute"), |row| mean_time(row.compute_infer_ns)),
    (Column::number("compute_input_ns", "inputs").at(Page), |row| mean_time(row.compute_input_ns)),
    (Column::number("compute_output_ns", "outputs").at(Page), |row| mean_time(row.compute_output_ns)),
    (Column::number("queue_share", "in queue").at(Screen), |row| {
        Cell::or(row.queue_share, Cell::Share, MISSING)
    }),
    (Column::number("inferences", "inferences").at(Page), |row| count(row.inferences)),
    (Column::number("executions", "executions").at(Page), |row| count(row.executions)),
    (Column::number("inferences_per_s", "inferences per second").at(Page), |row| mean(row.inferences_per_s)),
];

fn value(row: &DeviceMetrics, name: &str) -> Option<f64> {
    row.values.get(name).map(|gauge| gauge.mean)
}

fn share(row: &DeviceMetrics, name: &str) -> Cell {
    Cell::or(value(row, name), Cell::Share, MISSING)
}

fn amount(value: Option<f64>, unit: &'static str) -> Cell {
    Cell::or(value, |value| Cell::amount(value, unit), MISSING)
}

const DEVICES: &[Field<DeviceMetrics>] = &[
    (Column::text("device", "device"), |row| {
        let instance = row.instance.map_or(String::new(), |instance| format!(", instance {instance}"));
        Cell::text(format!("{}{instance}", row.device))
    }),
    (Column::number("utilization_share", "busy").help("mean over the pages"), |row| {
        share(row, "utilization_share")
    }),
    (Column::number("power_w", "power").help("mean over the pages"), |row| {
        amount(value(row, "power_w"), "W")
    }),
    (Column::number("energy_j", "energy"), |row| amount(row.energy_j, "J")),
    (Column::number("mean_power_w", "mean power").help("energy / time"), |row| amount(row.mean_power_w, "W")),
    (Column::number("memory_used_bytes", "memory"), |row| amount(value(row, "memory_used_bytes"), "B")),
    (Column::number("sm_clock_hz", "clock").at(Screen), |row| amount(value(row, "sm_clock_hz"), "Hz")),
    (Column::number("temperature_c", "°C").at(Page), |row| mean(value(row, "temperature_c"))),
    (Column::number("sm_active_share", "SM").at(Page), |row| share(row, "sm_active_share")),
    (Column::number("tensor_active_share", "tensor").at(Screen), |row| share(row, "tensor_active_share")),
    (Column::number("dram_active_share", "DRAM").at(Screen), |row| share(row, "dram_active_share")),
];
