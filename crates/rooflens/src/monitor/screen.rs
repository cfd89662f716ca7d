//! The live screen: a few lines, drawn anew over themselves. The terminal keeps its scroll-back, and what was
//! shown last stays.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use rooflens_collect::sample::latest::{Latest, LatestValues};
use rooflens_collect::sample::source::DeviceProcess;
use rooflens_collect::sample::throttle;
use rooflens_core::document::samples::SourceState;
use rooflens_core::text::printable;
use rooflens_report::TerminalOptions;
use rooflens_report::text::wrap;

use crate::error::CliError;
use crate::output;

/// Width of a bar.
const BAR: usize = 20;

pub(crate) struct Screen {
    states: Vec<SourceState>,
    interval: Duration,
    options: TerminalOptions,
    start: Instant,
    drawn: usize,
}

impl Screen {
    pub(crate) fn new(states: Vec<SourceState>, interval: Duration, options: TerminalOptions) -> Self {
        Screen { states, interval, options, start: Instant::now(), drawn: 0 }
    }

    /// False where nobody looks any more.
    pub(crate) fn draw(&mut self, latest: &Latest) -> Result<bool, CliError> {
        let seconds = self.start.elapsed().as_secs();
        let mut text = format!(
            "rooflens monitor · every {:?} · {seconds} s · Ctrl-C to \
                                stop\n",
            self.interval
        );
        text.push_str(&self::text(latest, &self.states, &[], &self.options));
        let (columns, rows) = size().unwrap_or((self.options.width, usize::MAX));
        // A line that wraps, or one too many, would be drawn over in the wrong place.
        let text = if self.options.unicode { text } else { ascii(&text) };
        let lines: Vec<String> =
            text.lines().take(rows.saturating_sub(1).max(1)).map(|line| cut(line, columns)).collect();
        // The cursor is not hidden: who is killed could not bring it back.
        let back = if self.drawn == 0 { String::new() } else { format!("\u{1b}[{}A\r", self.drawn) };
        self.drawn = lines.len();
        output::part(&format!("{back}\u{1b}[J{}\n", lines.join("\n")))
    }
}

fn size() -> Option<(usize, usize)> {
    let (width, height) = terminal_size::terminal_size_of(std::io::stdout())?;
    Some((width.0.into(), height.0.into()))
}

fn cut(line: &str, columns: usize) -> String {
    line.chars().take(columns.saturating_sub(1)).collect()
}

pub(crate) fn text(
    latest: &Latest,
    states: &[SourceState],
    processes: &[DeviceProcess],
    options: &TerminalOptions,
) -> String {
    let mut text = String::new();
    for known in &latest.0 {
        match known.subject.device {
            None => host(&mut text, known, options),
            Some(index) => device(&mut text, known, index, processes, options),
        }
    }
    for (state, missing) in states.iter().filter_map(|state| Some((state, state.missing.as_ref()?))) {
        let told = [format!("missing: {}", printable(&missing.fact)), format!("hint: {}", missing.hint)];
        let lines = told.iter().flat_map(|told| wrap(told, options.width.saturating_sub(11).max(30)));
        for (at, line) in lines.enumerate() {
            let name = if at == 0 { &*state.name } else { "" };
            let _ = writeln!(text, "{name:10}{line}");
        }
    }
    if options.unicode { text } else { ascii(&text) }
}

/// For terminals that show nothing else.
fn ascii(text: &str) -> String {
    text.replace(['·', '–'], "-").replace('°', "").replace('…', "...")
}

fn host(text: &mut String, known: &LatestValues, options: &TerminalOptions) {
    let _ = writeln!(text, "{:10}{}", "host", printable(&known.subject.name));
    let _ = writeln!(text, "  {:8}{}{}", "cpu", share(known.number("cpu_busy_pct"), options), memory(known));
    let rate = |name: &str, column| known.rate(column).map(|rate| format!("{name} {}/s", bytes(rate)));
    let moved = [
        rate("disk read", "disk_read_bytes"),
        rate("written", "disk_write_bytes"),
        rate("net in", "net_rx_bytes"),
        rate("out", "net_tx_bytes"),
    ];
    line(text, moved.into_iter().flatten().collect());
    let cores = known.rate("watched_cpu_ns").map(|rate| format!("watched: {:.2} cores", rate / 1e9));
    let resident = known.number("watched_mem_bytes").map(|memory| format!("{} resident", bytes(memory)));
    line(text, cores.into_iter().chain(resident).collect());
}

fn device(
    text: &mut String,
    known: &LatestValues,
    index: i32,
    processes: &[DeviceProcess],
    options: &TerminalOptions,
) {
    let _ = writeln!(text, "{:10}{}", format!("device {index}"), printable(&known.subject.name));
    let _ = writeln!(text, "  {:8}{}{}", "busy", share(known.number("gpu_util_pct"), options), memory(known));
    let whole = |column| known.number(column).map(|number| number as i64);
    line(
        text,
        numbers(
            whole("power_mw"),
            whole("power_limit_mw"),
            whole("temperature_c").map(|celsius| celsius as i32),
            whole("sm_clock_mhz").map(|clock| clock as i32),
            whole("pstate").map(|state| state as i32),
            whole("throttle_reasons"),
        ),
    );
    let part = |name: &str, column| known.number(column).map(|part| format!("{name} {part:.1}%"));
    let gpm = [
        part("SM active", "sm_active_pct"),
        part("occupancy", "sm_occupancy_pct"),
        part("tensor", "tensor_active_pct"),
        part("DRAM", "dram_active_pct"),
    ];
    line(text, gpm.into_iter().flatten().collect());
    let watched = known.number("watched_mem_bytes").map(|memory| format!("watched: {}", bytes(memory)));
    line(text, watched.into_iter().collect());
    for process in processes.iter().filter(|process| process.device == index) {
        let memory = process.mem_bytes.map(|memory| bytes(memory as f64));
        let busy = process.gpu_util_pct.map(|busy| format!("gpu {busy}%"));
        let pid = Some(format!("process {}", process.pid));
        line(text, pid.into_iter().chain(memory).chain(busy).collect());
    }
}

pub(crate) fn numbers(
    power_mw: Option<i64>,
    limit_mw: Option<i64>,
    celsius: Option<i32>,
    sm_mhz: Option<i32>,
    pstate: Option<i32>,
    throttle_bits: Option<i64>,
) -> Vec<String> {
    let watts = |milli: i64| format!("{:.0} W", milli as f64 / 1e3);
    let limit = limit_mw.map_or(String::new(), |limit| format!(" of {}", watts(limit)));
    // Idle clocks are low because nothing runs: nobody is held back.
    let slow = throttle::ALL.iter().filter(|reason| reason.slows).fold(0, |bits, reason| bits | reason.bit);
    let held = throttle_bits.map(|bits| throttle::names(bits & slow)).filter(|names| !names.is_empty());
    [
        power_mw.map(|power| watts(power) + &limit),
        celsius.map(|celsius| format!("{celsius} °C")),
        sm_mhz.map(|clock| format!("SM {clock} MHz")),
        pstate.map(|state| format!("P{state}")),
        held.map(|names| format!("throttled: {}", names.join(", "))),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn line(text: &mut String, cells: Vec<String>) {
    if !cells.is_empty() {
        let _ = writeln!(text, "  {:8}{}", "", cells.join(" · "));
    }
}

fn memory(known: &LatestValues) -> String {
    match (known.number("mem_used_bytes"), known.number("mem_total_bytes")) {
        (Some(used), Some(total)) => format!("   memory {} of {}", bytes(used), bytes(total)),
        _ => String::new(),
    }
}

/// A bar and its number; a dash where it is not known.
fn share(percent: Option<f64>, options: &TerminalOptions) -> String {
    let (full, rest) = if options.unicode { ("█", "·") } else { ("#", ".") };
    let Some(percent) = percent else { return format!("{}     –", rest.repeat(BAR)) };
    let filled = ((percent / 100.0 * BAR as f64).round() as usize).min(BAR);
    format!("{}{} {percent:5.1}%", full.repeat(filled), rest.repeat(BAR - filled))
}

pub(crate) fn bytes(bytes: f64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB", "PB"];
    let mut size = bytes;
    let mut at = 0;
    while size >= 999.5 && at + 1 < units.len() {
        size /= 1000.0;
        at += 1;
    }
    let digits = if at == 0 || size >= 99.95 { 0 } else { 1 };
    format!("{size:.digits$} {}", units[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!([0.0, 999.0, 1000.0, 12_884_901_888.0].map(bytes), ["0 B", "999 B", "1.0 kB", "12.9 GB"]);
        assert_eq!(bytes(999_960.0), "1.0 MB");
    }

    #[test]
    fn a_bar_that_is_not_known_is_not_zero() {
        let options = TerminalOptions { width: 80, color: false, unicode: true, limit: 0 };
        assert!(share(None, &options).ends_with('–'));
        assert_eq!(share(Some(0.0), &options), format!("{}   0.0%", "·".repeat(20)));
        assert_eq!(share(Some(50.0), &options), format!("{}{}  50.0%", "█".repeat(10), "·".repeat(10)));
    }

    #[test]
    fn idle_is_not_held_back() {
        assert!(numbers(None, None, None, None, None, Some(1)).is_empty());
        assert_eq!(
            numbers(Some(301_500), Some(700_000), None, None, Some(2), Some(5)),
            ["302 W of 700 W", "P2", "throttled: sw_power_cap"]
        );
    }
}
