//! What was measured, as Markdown.

use std::fmt::Write as _;

use super::gates::ten_times;
use super::{Measured, Taken};

pub(crate) fn markdown(all: &[Measured]) -> String {
    let mut out =
        "| trace | program | wall s | CPU s | private memory MB |\n| --- | --- | ---: | ---: | ---: |\n"
            .to_owned();
    for one in all {
        let _ = writeln!(out, "{}", row(&label(one), "rooflens analyze", &one.rooflens));
        let _ = writeln!(out, "| | serde_json, bare pass, parsing alone | {:.2} | | |", one.pass.parse_s);
        let _ = writeln!(out, "{}", row("", "the same, with reading the file", &one.bare));
        if let Some(hta) = &one.hta {
            let _ = writeln!(out, "{}", row("", "HTA, load and two breakdowns", hta));
        }
    }
    out.push_str(
        "\n| trace | of a bare pass (with reading) | HTA takes | memory of file | Parquet bytes an event (with frames) |\n",
    );
    out.push_str("| --- | ---: | ---: | ---: | ---: |\n");
    for one in all {
        let hta = one.hta_over().map_or("not measured".to_owned(), |ratio| format!("{ratio:.0} ×"));
        let with_frames = one.tables.1 as f64 / one.pass.events as f64;
        let _ = writeln!(
            out,
            "| {} | {:.2} ({:.2}) | {hta} | {:.2} | {:.1} ({with_frames:.1}) |",
            one.name,
            one.over_bare(),
            one.over_bare_with_reading(),
            one.memory_over_file(),
            one.bytes_per_event(),
        );
    }
    for (small, large) in ten_times(all) {
        let (size, time) =
            (large.bytes as f64 / small.bytes as f64, large.rooflens.wall_s / small.rooflens.wall_s);
        let _ =
            writeln!(out, "\n{} is {size:.1} × {} and takes {time:.1} × as long.", large.name, small.name);
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let _ = writeln!(out, "\n{} on {cores} cores.", processor());
    out
}

fn label(one: &Measured) -> String {
    format!(
        "{}: {:.0} MB, {:.2} million events",
        one.name,
        one.bytes as f64 / 1e6,
        one.pass.events as f64 / 1e6
    )
}

fn row(label: &str, program: &str, taken: &Taken) -> String {
    let megabytes = taken.private_bytes as f64 / 1e6;
    format!("| {label} | {program} | {:.2} | {:.2} | {megabytes:.0} |", taken.wall_s, taken.cpu_s)
}

fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    name.map_or("An unnamed processor".to_owned(), |(_, name)| name.to_owned())
}
