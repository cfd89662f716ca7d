//! The kernels of a timeline: of a run, a trace, or a table that `nsys stats` printed.

use std::path::{Path, PathBuf};

use rooflens_analyze::top::{KernelTotals, TopKernel, described, with_shares};
use rooflens_ingest::nsys_summary;
use rooflens_schema::Notes;
use rooflens_schema::tables::PhaseKind;

use crate::error::Error;
use crate::input::{ReadOptions, open_input};
use crate::job;
use crate::observer::{Event, SharedObserver};

/// Kernels, and what is to be known of how they were read.
pub(crate) struct TimelineKernels {
    /// Most time first.
    pub(crate) kernels: Vec<TopKernel>,
    /// Calls that launch kernels or graphs.
    pub(crate) launches: u64,
    /// Whether reading was ended early.
    pub(crate) stopped: bool,
}

/// Reads the kernels of a phase, or all.
pub fn read(
    paths: &[PathBuf],
    phase: Option<PhaseKind>,
    observer: &SharedObserver,
) -> Result<TimelineKernels, Error> {
    if let [path] = paths
        && let Some(bytes) = table(path)
    {
        if phase.is_some() {
            return Err(Error::NoPhases { path: path.clone() });
        }
        let rows = nsys_summary::read(&bytes, &path.display().to_string()).map_err(Error::Unreadable)?;
        let kernels = with_shares(rows.into_iter().map(row).collect());
        return Ok(TimelineKernels { kernels, launches: 0, stopped: false });
    }
    let notes = Notes::default();
    let input = open_input(paths, &ReadOptions::default(), &notes, observer)?;
    let mut top = KernelTotals::default();
    let stopped = job::each_rank(&input, &notes, observer, |rank| {
        top.rank(&rank, phase);
        Ok(())
    })?;
    observer.event(&Event::Notes(&notes.rows()));
    let (left_out, launches) = (top.left_out(), top.launches());
    let kernels = top.finish();
    if let (Some(phase), true, true) = (phase, kernels.is_empty(), left_out > 0) {
        return Err(Error::EmptyPhase { phase: phase.as_str(), others: left_out });
    }
    Ok(TimelineKernels { kernels, launches, stopped })
}

/// Whether it is a table that `nsys stats` printed.
pub(crate) fn is_table(path: &Path) -> bool {
    table(path).is_some()
}

/// The bytes of a table that `nsys stats` printed; `None` for anything else.
fn table(path: &Path) -> Option<Vec<u8>> {
    let is_csv = path.extension().is_some_and(|extension| extension == "csv");
    let bytes = std::fs::read(path).ok().filter(|_| is_csv)?;
    nsys_summary::is_summary(&bytes).then_some(bytes)
}

fn row(row: nsys_summary::NsysKernelRow) -> TopKernel {
    described(row.name, |kernel| {
        kernel.count = row.count;
        kernel.total_ns = row.total_ns;
        kernel.mean_ns = row.mean_ns;
        kernel.median_ns = row.median_ns;
        (kernel.min_ns, kernel.max_ns) = (row.min_ns, row.max_ns);
        kernel.stddev_ns = Some(row.stddev_ns).filter(|_| row.count > 1);
    })
}
