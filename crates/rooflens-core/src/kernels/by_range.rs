//! The kernels of each range of the program.

use std::borrow::Cow;

use rooflens_analyze::by_range::{ByRange, RangeKernel};
use rooflens_report::Part;
use rooflens_report::by_range::parts;
use rooflens_schema::Notes;
use rooflens_schema::tables::PhaseKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{TopRequest, is_table, top};
use crate::error::Error;
use crate::input::{ReadOptions, open_input};
use crate::job;
use crate::observer::{Event, SharedObserver};
use rooflens_schema::SchemaTag;

/// The kernels of each range.
pub struct RangeKernels {
    phase: Option<PhaseKind>,
    rows: Vec<RangeKernel>,
    most: usize,
    /// Whether reading was ended early.
    pub stopped: bool,
}

/// The JSON document: the kernels of each range of the program.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RangeDocument<'a> {
    /// `rooflens.range_kernels`.
    pub(crate) schema: SchemaTag,
    /// The requested phase; null for all.
    pub(crate) phase: Option<Cow<'static, str>>,
    /// The kernels of each range, most time first.
    pub(crate) kernels: Cow<'a, [RangeKernel]>,
    /// Rows that are not listed.
    pub(crate) left_out: usize,
}

impl RangeKernels {
    /// For programs.
    pub fn document(&self) -> RangeDocument<'_> {
        let shown = &self.rows[..self.rows.len().min(self.most)];
        RangeDocument {
            schema: SchemaTag::new("range_kernels"),
            phase: self.phase.map(|phase| phase.as_str().into()),
            kernels: shown.into(),
            left_out: self.rows.len() - shown.len(),
        }
    }

    /// For people.
    pub fn parts(&self) -> Vec<Part> {
        parts(&self.rows, self.most)
    }
}

/// Sums the time of kernels by the range that launched them.
pub fn by_range(request: &TopRequest, observer: &SharedObserver) -> Result<RangeKernels, Error> {
    if let [path] = request.inputs.as_slice()
        && is_table(path)
    {
        return Err(top::no_phases(path));
    }
    let notes = Notes::default();
    let input = open_input(&request.inputs, &ReadOptions::default(), &notes, observer)?;
    let mut all = ByRange::default();
    let stopped = job::each_rank(&input, &notes, observer, |rank| {
        all.rank(&rank, request.phase);
        Ok(())
    })?;
    observer.event(&Event::Notes(&notes.rows()));
    let left_out = all.left_out();
    let rows = all.finish();
    if let (Some(phase), true, true) = (request.phase, rows.is_empty(), left_out > 0) {
        return Err(top::empty_phase(phase, left_out));
    }
    Ok(RangeKernels { phase: request.phase, rows, most: request.most, stopped })
}
