//! The files of an analysis.

use std::path::Path;

use rooflens_analyze::kernels::{Profile, ProfiledLaunch};
use rooflens_report::block::Block;
use rooflens_report::cost::{csv, markdown, page as html};
use rooflens_report::profiled::parts;
use rooflens_report::profiled_figures::figures;
use rooflens_report::profiled_metrics;
use rooflens_schema::parquet_io::PartWriter;
use rooflens_schema::tables::{ProfiledLaunchRow, ProfiledLaunches, ProfiledMetrics};
use serde::Serialize;

use crate::error::Error;
use crate::observer::SharedObserver;

/// The document; a folder that has it is one of ours.
const DOCUMENT: &str = "kernels.json";
/// Nsight Compute's report, in the output folder.
pub(crate) const REPORT: &str = "report.ncu-rep";

/// Whether files may be written to a folder: a new or empty one, or one that an analysis wrote.
pub(crate) fn destination(folder: &Path) -> Result<(), Error> {
    if folder.exists() && !folder.is_dir() {
        return Err(Error::not_a_folder(folder));
    }
    let empty = std::fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none());
    if empty || [DOCUMENT, REPORT].iter().any(|name| folder.join(name).is_file()) {
        Ok(())
    } else {
        Err(Error::not_ours(folder))
    }
}

const FOOTER: &str = "Times are of single launches under the profiler, which replays them one at a time with \
                      caches flushed; they are not part of a timeline. A dash is a number that was not \
                      collected.";

/// Rows of the table of metrics at most: launches × metrics, some thousand launches.
const MOST_METRICS: usize = 4_000_000;

/// Writes tables, figures, pages and document.
pub fn write(
    folder: &Path,
    profile: &Profile,
    launches: &[ProfiledLaunch],
    document: &impl Serialize,
    observer: &SharedObserver,
) -> Result<(), Error> {
    let unwritable = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::unwritable(path, source)
    };
    std::fs::create_dir_all(folder).map_err(unwritable(folder))?;
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(unwritable(&path))
    };
    let tables = parts(profile, usize::MAX);
    write("kernels.csv", &csv(&tables))?;
    let figures = figures(profile);
    for name in ["rooflines", "histograms"] {
        let inner = folder.join(name);
        std::fs::create_dir_all(&inner).map_err(unwritable(&inner))?;
    }
    for block in figures.iter().flat_map(|part| &part.blocks) {
        if let Block::Drawing(drawing) = block {
            write(&drawing.path, &drawing.svg)?;
        }
    }
    let mut page = tables;
    let at = page.len().min(1);
    page.splice(at..at, figures);
    write("index.html", &html(&title(profile), &page, FOOTER))?;
    table(&folder.join("kernels.parquet"), profile)?;
    write("metrics.csv", &metrics(&folder.join("metrics.parquet"), profile, launches, observer)?)?;
    write("kernels.md", &markdown(&title(profile), &page))?;
    let mut json = serde_json::to_string_pretty(document)
        .map_err(|error| Error::unwritable(folder.join(DOCUMENT), error.into()))?;
    json.push('\n');
    write(DOCUMENT, &json)
}

pub(crate) fn title(profile: &Profile) -> String {
    format!("Kernels under {}", profile.profiler.title())
}

/// Writes every metric as a table, and returns it as comma-separated values.
fn metrics(
    path: &Path,
    profile: &Profile,
    launches: &[ProfiledLaunch],
    observer: &SharedObserver,
) -> Result<String, Error> {
    let mut names = vec![""; launches.len()];
    for kernel in &profile.kernels {
        if let Some(name) = names.get_mut(kernel.launch) {
            *name = &kernel.short_name;
        }
    }
    let mut lines = Vec::new();
    for (at, (launch, name)) in launches.iter().zip(names).enumerate() {
        if lines.len() > MOST_METRICS {
            observer.warn(&format!("metrics.csv has the metrics of the first {at} launches only"));
            break;
        }
        lines.extend(profiled_metrics::lines(at, name, launch));
    }
    let mut rows = ProfiledMetrics::default();
    lines.iter().for_each(|line| rows.push(line.clone()));
    let mut writer = PartWriter::create(path).map_err(Error::unwritable_tables)?;
    writer.write(&rows).and_then(|()| writer.close()).map_err(Error::unwritable_tables)?;
    Ok(profiled_metrics::csv(&lines))
}

fn table(path: &Path, profile: &Profile) -> Result<(), Error> {
    let mut rows = ProfiledLaunches::default();
    for kernel in &profile.kernels {
        let counters = &kernel.counters;
        rows.push(ProfiledLaunchRow {
            launch: i64::try_from(kernel.launch).unwrap_or(i64::MAX),
            name: kernel.name.clone(),
            short_name: kernel.short_name.clone(),
            class: kernel.class.clone(),
            bound: kernel.bound.map_or("", |bound| bound.as_str()).to_owned(),
            time_ns: kernel.time_ns,
            timeline_ns: kernel.timeline_ns,
            floor_ns: kernel.floor_ns,
            compute_pct: kernel.compute_pct,
            memory_pct: kernel.memory_pct,
            dram_pct: kernel.dram_pct,
            l1_hit_pct: kernel.l1_hit_pct,
            l2_hit_pct: kernel.l2_hit_pct,
            roofline_pct: kernel.roofline_pct,
            occupancy_pct: kernel.occupancy.achieved_pct,
            theoretical_occupancy_pct: kernel.occupancy.theoretical_pct,
            waves: kernel.waves,
            registers: kernel.registers,
            flops: kernel.flops.total,
            precision: kernel.flops.leading.clone().unwrap_or_default(),
            flops_per_s: kernel.flops_per_s,
            dram_bytes: kernel.bytes.dram,
            l2_bytes: kernel.bytes.l2,
            l1_bytes: kernel.bytes.l1,
            intensity_dram: kernel.intensity.dram,
            tensor_pipe_pct: counters.tensor_pipe_pct,
            tensor_pipe_elapsed_pct: counters.tensor_pipe_elapsed_pct,
            issue_slots_pct: counters.issue_slots_pct,
            issue_active_pct: counters.issue_active_pct,
            eligible_warps: counters.eligible_warps,
            active_warps: counters.active_warps,
            warp_execution_pct: counters.warp_execution_pct,
            warp_execution_pred_pct: counters.warp_execution_pred_pct,
            load_sectors_per_request: counters.load_sectors_per_request,
            store_sectors_per_request: counters.store_sectors_per_request,
            load_bytes_per_sector: counters.load_bytes_per_sector,
            store_bytes_per_sector: counters.store_bytes_per_sector,
            excess_sectors_pct: counters.excess_sectors_pct,
            bank_conflicts: counters.bank_conflicts,
            bank_conflicts_per_request: counters.bank_conflicts_per_request,
            bank_conflicts_pct: counters.bank_conflicts_pct,
            loss: kernel.loss.clone(),
        });
    }
    let mut writer = PartWriter::create(path).map_err(Error::unwritable_tables)?;
    writer.write(&rows).and_then(|()| writer.close()).map_err(Error::unwritable_tables)
}
