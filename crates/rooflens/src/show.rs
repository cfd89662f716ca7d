//! A run on one screen, a line of a sweep, and the table at its end.

use std::fmt::Write;
use std::path::Path;

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{Kernels, Operators, Verdict};
use rooflens_core::project::from_here;
use rooflens_core::run::metrics::{Measured, Spread};
use rooflens_core::run::{ANSWERS, RunOutcome, words};
use rooflens_core::text::{aligned, printable};
use rooflens_cost::measured::{Efficiency, PhaseEfficiency, RunPhase};
use rooflens_report::{TerminalOptions, format};

pub(crate) fn screen(done: &RunOutcome, options: &TerminalOptions) -> String {
    let mut text = format!("{}\n", head(done));
    if let Some(measured) = &done.document.measured {
        text.push('\n');
        text += &numbers(measured);
        text += &efficiency(done.document.efficiency.as_ref());
    }
    if let Some(findings) = &done.findings {
        text.push('\n');
        text += &where_time_goes(findings, options.limit);
    }
    text.push('\n');
    text += &aligned(&paths(done));
    text
}

fn head(done: &RunOutcome) -> String {
    std::iter::once(printable(&done.model)).chain(words(&done.document)).collect::<Vec<_>>().join(" · ")
}

fn numbers(measured: &Measured) -> String {
    let why = |name: &str| {
        let reason = measured.not_computed.get(name).map_or("not known", String::as_str);
        [format!("not computed: {reason}"), String::new(), String::new()]
    };
    let times = |name: &str, of: &Option<Spread>| match of {
        Some(spread) => [
            format!("p50 {}", format::time(spread.p50)),
            format!("p99 {}", format::time(spread.p99)),
            format!("mean {}", format::time(spread.mean)),
        ],
        None => why(name),
    };
    let row = |name: &str, cells: [String; 3]| {
        let [a, b, c] = cells;
        [name.to_owned(), a, b, c]
    };
    let rate = match (measured.output_tokens_per_s, measured.decode_tokens_per_s) {
        (Some(all), Some(decode)) => {
            [format!("{all:.1} total"), format!("{decode:.1} in decode"), String::new()]
        }
        (Some(all), None) => [format!("{all:.1} total"), String::new(), String::new()],
        _ => why("output_tokens_per_s"),
    };
    let total: u64 = measured.phases_ns.values().sum();
    let shares: Vec<String> = measured
        .phases_ns
        .iter()
        .filter(|_| total > 0)
        .map(|(phase, ns)| format!("{phase} {:.0}%", *ns as f64 * 100.0 / total as f64))
        .collect();
    let mut rows = vec![
        row("TTFT", times("ttft_ns", &measured.ttft_ns)),
        row("TPOT", times("tpot_ns", &measured.tpot_ns)),
        row("tokens/s", rate),
    ];
    // Most runtimes have no queue: that is no news.
    if measured.queued_ns.is_some() {
        rows.insert(1, row("queue", times("queued_ns", &measured.queued_ns)));
    }
    let shares = if shares.is_empty() { String::new() } else { format!("time      {}\n", shares.join(", ")) };
    aligned(&rows) + &shares
}

/// Achieved rates of what the device can do; nothing where no peaks are known.
fn efficiency(of: Option<&Efficiency>) -> String {
    let phases = of.into_iter().flat_map(|of| &of.phases);
    let reached = |pick: fn(&PhaseEfficiency) -> Option<f64>| {
        let phase = |(phase, found): (&RunPhase, &PhaseEfficiency)| {
            Some(format!("{} {}", phase.as_str(), format::share(pick(found)?)))
        };
        phases.clone().filter_map(phase).collect::<Vec<_>>().join(", ")
    };
    let rows = [("MFU", reached(|of| of.mfu)), ("MBU", reached(|of| of.mbu))];
    rows.iter()
        .filter(|(_, text)| !text.is_empty())
        .map(|(name, text)| format!("{name:<10}{text}\n"))
        .collect()
}

/// The trace's answer in a sentence, and what takes the most time.
fn where_time_goes(findings: &Findings, limit: usize) -> String {
    let mut text = String::new();
    if let Some(verdict) = findings.get::<Verdict>() {
        let _ = writeln!(text, "{}", printable(&verdict.sentence));
    }
    let kernels = findings.get::<Kernels>().filter(|kernels| !kernels.0.is_empty());
    let rows: Vec<[String; 3]> = match (kernels, findings.get::<Operators>()) {
        (Some(kernels), _) => {
            let row = |name: &str, ns: i64, share: f64| {
                [format!("  {name}"), format::time(ns as f64), format::share(share)]
            };
            kernels
                .0
                .iter()
                .take(limit)
                .map(|kernel| row(&kernel.name, kernel.total_ns, kernel.share))
                .collect()
        }
        (None, Some(operators)) => operators
            .0
            .iter()
            .take(limit)
            .map(|operator| {
                [
                    format!("  {}", operator.name),
                    format::time(operator.self_ns as f64),
                    format::share(operator.share),
                ]
            })
            .collect(),
        (None, None) => Vec::new(),
    };
    text += &aligned(&rows);
    let advice = rooflens_report::advice::titles(findings, MOST_ADVICE);
    if !advice.is_empty() {
        text.push('\n');
    }
    for (i, line) in advice.iter().enumerate() {
        let _ = writeln!(text, "{}. {}", i + 1, printable(line));
    }
    text
}

/// Advice on the screen; `rooflens advise` has all of it.
const MOST_ADVICE: usize = 3;

fn paths(done: &RunOutcome) -> Vec<[String; 2]> {
    let row = |name: &str, path: &Path| [name.to_owned(), from_here(path).display().to_string()];
    let mut rows = vec![row("run", &done.folder), row("numbers", &done.folder.join("report/metrics.json"))];
    for name in ["static_compute.md", "cost_sweep.md"] {
        let path = done.folder.join("report").join(name);
        if path.is_file() {
            rows.push(row("model cost", &path));
        }
    }
    let answers = done.folder.join("report").join(ANSWERS);
    rows.extend(answers.is_file().then(|| row("answers", &answers)));
    rows.extend(done.page.as_ref().map(|page| row("report", page)));
    rows
}

pub(crate) fn line(done: &RunOutcome) -> String {
    let number = done.number.map_or_else(String::new, |number| format!("job {number}: "));
    let measured = done.document.measured.as_ref();
    let tpot = measured.and_then(|measured| measured.tpot_ns.as_ref()).map(|spread| format::time(spread.p50));
    let outcome = match tpot {
        Some(tpot) => format!("TPOT p50 {tpot}"),
        None => done.document.status.to_string(),
    };
    format!("{number}{} · {outcome}", done.overrides.join(" "))
}

pub(crate) fn table(all: &[RunOutcome]) -> String {
    let head = ["JOB", "OVERRIDES", "STATUS", "TTFT P50", "TPOT P50", "TPOT P99", "TOKENS/S", "RUN"];
    let mut rows = vec![head.map(str::to_owned)];
    for done in all {
        let measured = done.document.measured.as_ref();
        let of = |pick: fn(&Measured) -> Option<f64>| measured.and_then(pick);
        let time_of = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), format::time);
        rows.push([
            done.number.map_or_else(String::new, |number| number.to_string()),
            done.overrides.join(" "),
            done.document.status.to_string(),
            time_of(of(|it| Some(it.ttft_ns.as_ref()?.p50))),
            time_of(of(|it| Some(it.tpot_ns.as_ref()?.p50))),
            time_of(of(|it| Some(it.tpot_ns.as_ref()?.p99))),
            of(|it| it.output_tokens_per_s).map_or_else(|| "–".to_owned(), |rate| format!("{rate:.1}")),
            from_here(&done.folder).display().to_string(),
        ]);
    }
    aligned(&rows)
}
