//! The kernels that take the time, and a list of them for a closer look.

use std::borrow::Cow;
use std::path::PathBuf;

use rooflens_analyze::kernels::choose::choose;
use rooflens_analyze::top::TopKernel;
use rooflens_collect::kernel_regex::KernelRegex;
use rooflens_report::Part;
use rooflens_report::top::{nothing, parts};
use rooflens_schema::tables::PhaseKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::list::{self, Listed};
use super::timeline;
use crate::document::SchemaTag;
use crate::error::Error;
use crate::observer::SharedObserver;

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
    /// Kernels before any was chosen by its name.
    before: usize,
    /// Calls that launch kernels or graphs.
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
    let timeline::TimelineKernels { kernels, launches, stopped } =
        timeline::read(&request.inputs, request.phase, observer)?;
    let before = kernels.len();
    let kernels = matching(kernels, &regexes)?;
    let found = TopKernels { phase: request.phase, kernels, most: request.most, before, launches, stopped };
    if let Some(path) = &request.output {
        let unwritable = |source| Error::Unwritable { path: path.clone(), source };
        let text = list::write(found.split().0, request.phase.map(PhaseKind::as_str));
        std::fs::write(path, text).map_err(unwritable)?;
    }
    Ok(found)
}

/// Why there is no kernel, and what helps.
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
