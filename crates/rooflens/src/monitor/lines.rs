//! A line a sample, where nobody looks at a screen.

use rooflens_core::document::samples::{SampleRow, SamplesHead, SourceState};
use rooflens_schema::tables::{CounterRow, CounterSource, Counters};
use serde::Serialize;

use super::screen::{bytes, numbers};
use crate::error::CliError;
use crate::output;

pub(crate) struct LineOutput {
    json: bool,
}

impl LineOutput {
    pub(crate) fn text() -> Self {
        LineOutput { json: false }
    }

    pub(crate) fn json(states: &[SourceState]) -> Result<Self, CliError> {
        output::part(&line(&SamplesHead::new(states)))?;
        Ok(LineOutput { json: true })
    }

    /// False where nobody reads them any more.
    pub(crate) fn write(&mut self, rows: &Counters) -> Result<bool, CliError> {
        let rows = (0..rows.len()).filter_map(|i| rows.row(i));
        let text: String =
            rows.map(|row| if self.json { line(&SampleRow::from(&row)) } else { words(&row) }).collect();
        output::part(&text)
    }
}

fn line(document: &impl Serialize) -> String {
    // Plain data with text for keys cannot fail.
    serde_json::to_string(document).unwrap_or_default() + "\n"
}

/// Seconds since 1970, who, and what is known.
fn words(row: &CounterRow) -> String {
    let who = match (row.source, row.device.get()) {
        (CounterSource::Device, Some(device)) => format!("device {device}"),
        _ => "host".to_owned(),
    };
    let mut cells = Vec::new();
    cells.extend(row.cpu_busy_pct.map(|busy| format!("cpu {busy:.1}%")));
    cells.extend(row.gpu_util_pct.get().map(|busy| format!("gpu {busy}%")));
    if let (Some(used), Some(total)) = (row.mem_used_bytes.get(), row.mem_total_bytes.get()) {
        cells.push(format!("memory {} of {}", bytes(used as f64), bytes(total as f64)));
    }
    cells.extend(numbers(
        row.power_mw.get(),
        None,
        row.temperature_c.get(),
        row.sm_clock_mhz.get(),
        row.pstate.get(),
        row.throttle_reasons.get(),
    ));
    let (seconds, millis) = (row.ts_ns / 1_000_000_000, row.ts_ns / 1_000_000 % 1_000);
    format!("{seconds}.{millis:03}  {who:9} {}\n", cells.join(" · "))
}
