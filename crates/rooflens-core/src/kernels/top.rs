//! The kernels of a timeline that take the time, and a list of them for a closer look.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use rooflens_analyze::kernels::choose::choose;
use rooflens_analyze::top::{KernelTotals, TopKernel, described, with_shares};
use rooflens_collect::kernel_regex::KernelRegex;
use rooflens_ingest::nsys_summary;
use rooflens_report::Part;
use rooflens_report::top::{nothing, parts};
use rooflens_schema::Notes;
use rooflens_schema::tables::PhaseKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::list::{self, Listed};
use crate::error::{Error, Hint};
use crate::input::{ReadOptions, open_input};
use crate::job;
use crate::observer::{Event, SharedObserver};
use crate::text::counted;
use rooflens_schema::SchemaTag;

/// What is asked.
#[derive(Debug, Clone)]
pub struct TopRequest {
    /// Run, traces, or a table of `nsys stats`.
    pub inputs: Vec<PathBuf>,
    /// Only the kernels of this phase.
    pub phase: Option<PhaseKind>,
    /// Only kernels whose name one of these matches; all where there is none.
    pub kernel: Vec<String>,
    /// How many.
    pub most: usize,
    /// File for the list.
    pub output: Option<PathBuf>,
}

/// The kernels that take the time.
pub struct TopKernels {
    phase: Option<PhaseKind>,
    /// Most time first.
    kernels: Vec<TopKernel>,
    most: usize,
    before: usize,
    launches: u64,
    /// Whether reading was ended early.
    pub stopped: bool,
}

/// The JSON document: the kernels that take the time.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct TopDocument<'a> {
    /// `rooflens.top_kernels`.
    pub(crate) schema: SchemaTag,
    /// The requested phase; null for all.
    pub(crate) phase: Option<Cow<'static, str>>,
    /// The kernels, most time first.
    pub(crate) kernels: Cow<'a, [TopKernel]>,
    /// Kernels that are not listed.
    pub(crate) left_out: usize,
    /// Their share of the time of all kernels.
    pub(crate) left_out_share: f64,
}

impl TopKernels {
    fn split(&self) -> (&[TopKernel], &[TopKernel]) {
        self.kernels.split_at(self.kernels.len().min(self.most))
    }

    /// For programs.
    pub fn document(&self) -> TopDocument<'_> {
        let (shown, rest) = self.split();
        TopDocument {
            schema: SchemaTag::new("top_kernels"),
            phase: self.phase.map(|phase| phase.as_str().into()),
            kernels: shown.into(),
            left_out: rest.len(),
            left_out_share: rest.iter().fold(0.0, |sum, row| sum + row.share),
        }
    }

    /// The table, with a row for each kernel.
    pub fn table(&self) -> Vec<Part> {
        parts(&self.kernels, self.most)
    }

    /// For people: the table, or why it is empty.
    pub fn parts(&self) -> Vec<Part> {
        match self.kernels.is_empty() {
            true if self.before > 0 => nothing(&format!("None of {} kernels matches --kernel.", self.before)),
            true => nothing(&why_none(self.launches)),
            false => self.table(),
        }
    }

    /// The typical launches, so many of each kernel, as `ncu --kernel-id` takes them.
    pub fn ncu_filter(&self, launches: u64) -> String {
        filter(self.split().0, launches)
    }
}

/// Finds the kernels that take the time; writes their list where a file is given.
pub fn top(request: &TopRequest, observer: &SharedObserver) -> Result<TopKernels, Error> {
    let regexes = super::regexes(&request.kernel)?;
    let TimelineKernels { kernels, launches, stopped } =
        read_timeline(&request.inputs, request.phase, observer)?;
    let before = kernels.len();
    let kernels = matching(kernels, &regexes)?;
    let found = TopKernels { phase: request.phase, kernels, most: request.most, before, launches, stopped };
    if let Some(path) = &request.output {
        let unwritable = |source| Error::unwritable(path, source);
        let text = list::write(found.split().0, request.phase.map(PhaseKind::as_str));
        std::fs::write(path, text).map_err(unwritable)?;
    }
    Ok(found)
}

fn why_none(launches: u64) -> String {
    match launches {
        0 => "There are no kernels: the trace has no device activity. Its operators by host time: rooflens analyze."
            .to_owned(),
        launches => format!(
            "There are no kernels, though the host made {launches} launches: the device events are missing. \
             Record with device activities enabled."
        ),
    }
}

/// Those whose name one of the expressions matches; all where there is none.
pub fn matching(kernels: Vec<TopKernel>, regexes: &[KernelRegex]) -> Result<Vec<TopKernel>, Error> {
    super::selected(kernels, regexes, |kernel| &kernel.name)
}

/// Kernels and their typical launches, `launches` of each, as `ncu --kernel-id` takes them.
pub fn filter(kernels: &[TopKernel], launches: u64) -> String {
    let listed: Vec<Listed> = kernels.iter().map(Listed::from).collect();
    let candidates: Vec<_> = listed.iter().map(Listed::candidate).collect();
    list::filter(&listed, &choose(&candidates, launches).numbers)
}

pub(crate) struct TimelineKernels {
    /// Most time first.
    pub(crate) kernels: Vec<TopKernel>,
    pub(crate) launches: u64,
    pub(crate) stopped: bool,
}

/// Reads the kernels of a phase, or all.
pub(crate) fn read_timeline(
    paths: &[PathBuf],
    phase: Option<PhaseKind>,
    observer: &SharedObserver,
) -> Result<TimelineKernels, Error> {
    if let [path] = paths
        && let Some(bytes) = summary(path)
    {
        if phase.is_some() {
            return Err(no_phases(path));
        }
        let rows = nsys_summary::read(&bytes, &path.display().to_string()).map_err(Error::unreadable)?;
        let kernels = with_shares(rows.into_iter().map(summary_row).collect());
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
        return Err(empty_phase(phase, left_out));
    }
    Ok(TimelineKernels { kernels, launches, stopped })
}

pub(super) fn no_phases(path: &Path) -> Error {
    let message = format!("{} is a table of kernels: it does not record phases or ranges", path.display());
    Error::usage(message).hinted(Hint::leading(
        "give the trace or run it was made from:",
        "rooflens kernels top RUN --phase …",
    ))
}

pub(super) fn empty_phase(phase: PhaseKind, others: u64) -> Error {
    let others = counted(usize::try_from(others).unwrap_or(usize::MAX), "kernel");
    Error::data(format!("no kernel is in phase {}; {others} in other phases or none", phase.as_str()))
        .words("rooflens analyze shows the phases")
}

pub(crate) fn is_table(path: &Path) -> bool {
    summary(path).is_some()
}

/// The bytes of a table that `nsys stats` printed; `None` for anything else.
fn summary(path: &Path) -> Option<Vec<u8>> {
    let is_csv = path.extension().is_some_and(|extension| extension == "csv");
    let bytes = std::fs::read(path).ok().filter(|_| is_csv)?;
    nsys_summary::is_summary(&bytes).then_some(bytes)
}

fn summary_row(row: nsys_summary::NsysKernelRow) -> TopKernel {
    described(row.name, |kernel| {
        kernel.count = row.count;
        kernel.total_ns = row.total_ns;
        kernel.mean_ns = row.mean_ns;
        kernel.median_ns = row.median_ns;
        (kernel.min_ns, kernel.max_ns) = (row.min_ns, row.max_ns);
        kernel.stddev_ns = Some(row.stddev_ns).filter(|_| row.count > 1);
    })
}
