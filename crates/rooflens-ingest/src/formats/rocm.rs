//! What the two outputs of rocprofv3, CSV and rocpd, have in common: records of the same kinds.

use std::collections::HashMap;

use rooflens_schema::tables::{ActivityKind, ApiKind, ApiRow, KernelRow, PhaseRow, PhaseSource};
use rooflens_schema::{Interner, NameId, Opt, RankTables, Severity};

use crate::reading::{Extent, Reading, narrow};

/// The stream of copies that name no queue: copy engines have none.
pub(crate) const NO_QUEUE: i32 = -1;

pub(crate) type RecordSpan = (Option<i64>, Option<i64>);

#[derive(Default)]
pub(crate) struct Dispatch<'a> {
    pub(crate) span: RecordSpan,
    pub(crate) name: Option<&'a str>,
    pub(crate) agent: Option<i64>,
    pub(crate) queue: Option<i64>,
    pub(crate) correlation: Option<i64>,
    /// Work-items of the whole grid, not blocks.
    pub(crate) grid_items: [Option<i64>; 3],
    pub(crate) workgroup: [Option<i64>; 3],
    pub(crate) registers: Option<i64>,
    /// Local data share a workgroup.
    pub(crate) lds_bytes: Option<i64>,
}

#[derive(Default)]
pub(crate) struct Copy<'a> {
    pub(crate) span: RecordSpan,
    /// As `MEMORY_COPY_HOST_TO_DEVICE`.
    pub(crate) direction: &'a str,
    pub(crate) from_agent: Option<i64>,
    pub(crate) to_agent: Option<i64>,
    pub(crate) queue: Option<i64>,
    pub(crate) correlation: Option<i64>,
    pub(crate) bytes: Option<i64>,
}

/// A call of a library, or a range that a program names.
pub(crate) struct Call<'a> {
    pub(crate) span: RecordSpan,
    /// As `HIP_RUNTIME_API` or `MARKER_CORE_API`.
    pub(crate) domain: &'a str,
    pub(crate) name: Option<&'a str>,
    pub(crate) thread: Option<i64>,
    pub(crate) correlation: Option<i64>,
}

pub(crate) struct RocmRows<'a> {
    pub(crate) tables: RankTables,
    pub(crate) extent: Extent,
    pub(crate) records: i64,
    marks: i64,
    copies: HashMap<String, NameId>,
    interner: &'a Interner,
    reading: &'a Reading<'a>,
}

impl<'a> RocmRows<'a> {
    pub(crate) fn new(interner: &'a Interner, reading: &'a Reading<'a>) -> Self {
        RocmRows {
            tables: RankTables::default(),
            extent: Extent::default(),
            records: 0,
            marks: 0,
            copies: HashMap::new(),
            interner,
            reading,
        }
    }

    pub(crate) fn dispatch(&mut self, record: &Dispatch<'_>) {
        let Some((ts_ns, dur_ns)) = self.span(record.span) else { return };
        let device = record.agent.map_or(0, narrow);
        let queue = record.queue.map_or(0, narrow);
        let name = self.interner.intern(record.name.unwrap_or("(unnamed kernel)"));
        let block = record.workgroup.map(|size| size.map(narrow).into());
        let blocks = |axis: usize| blocks(record.grid_items[axis], record.workgroup[axis]).into();
        self.tables.kernels.push(KernelRow {
            corr_id: correlation(record.correlation),
            grid_x: blocks(0),
            grid_y: blocks(1),
            grid_z: blocks(2),
            block_x: block[0],
            block_y: block[1],
            block_z: block[2],
            registers: record.registers.map(narrow).into(),
            shared_memory_bytes: record.lds_bytes.map(narrow).into(),
            ..KernelRow::new(device, queue, ts_ns, dur_ns, name, ActivityKind::Kernel)
        });
    }

    /// Adds a copy, named as the profiler of PyTorch names it. It stands on the device's side.
    pub(crate) fn copy(&mut self, record: &Copy<'_>) {
        let Some((ts_ns, dur_ns)) = self.span(record.span) else { return };
        let device = if record.direction.contains("HOST_TO_") { record.to_agent } else { record.from_agent };
        let name = match self.copies.get(record.direction) {
            Some(name) => *name,
            None => {
                let name = self.interner.intern(&copy_name(record.direction));
                self.copies.insert(record.direction.to_owned(), name);
                name
            }
        };
        let queue = record.queue.map_or(NO_QUEUE, narrow);
        self.tables.kernels.push(KernelRow {
            corr_id: correlation(record.correlation),
            bytes: record.bytes.into(),
            ..KernelRow::new(device.map_or(0, narrow), queue, ts_ns, dur_ns, name, ActivityKind::Memcpy)
        });
    }

    /// Adds a call, or the range that it names.
    pub(crate) fn call(&mut self, record: &Call<'_>) {
        let Some((ts_ns, dur_ns)) = self.span(record.span) else { return };
        let tid = record.thread.unwrap_or(0);
        let name_id = self.interner.intern(record.name.unwrap_or("(unnamed call)"));
        if !record.domain.starts_with("MARKER_") {
            self.tables.api.push(ApiRow {
                tid,
                ts_ns,
                dur_ns,
                name_id,
                kind: ApiKind::Other,
                corr_id: correlation(record.correlation),
                ..ApiRow::default()
            });
        } else if dur_ns > 0 {
            let row = PhaseRow::new(PhaseSource::Annotation, ts_ns, dur_ns, name_id);
            self.tables.phases.push(PhaseRow { tid: Opt::some(tid), ..row });
        } else {
            self.marks += 1;
        }
    }

    pub(crate) fn tell(&self) {
        let message = "ROCTx marks have no duration and were not read";
        self.reading.note(Severity::Info, "unread_roctx_marks", self.marks, message);
    }

    /// Start and duration, which widen the extent of the trace. Without both the record is lost.
    fn span(&mut self, (start, end): RecordSpan) -> Option<(i64, i64)> {
        self.records += 1;
        let known = start.zip(end).filter(|(start, end)| *start >= 0 && start <= end);
        let Some((start, end)) = known else {
            self.reading.lost("event_without_time", 1, "records without a start and a later end");
            return None;
        };
        self.extent.saw(start, end);
        Some((start, end - start))
    }
}

/// 0 stands for no correlation.
fn correlation(id: Option<i64>) -> Opt<i64> {
    id.filter(|id| *id > 0).into()
}

/// HIP counts a grid in work-items; blocks are what everybody else counts.
fn blocks(items: Option<i64>, workgroup: Option<i64>) -> Option<i32> {
    let (items, workgroup) = items.zip(workgroup)?;
    // The last block may be partly empty.
    (items > 0 && workgroup > 0).then(|| narrow(1 + (items - 1) / workgroup))
}

/// `MEMORY_COPY_HOST_TO_DEVICE` as `Memcpy HtoD (Host -> Device)`.
fn copy_name(direction: &str) -> String {
    let short = direction.strip_prefix("MEMORY_COPY_").unwrap_or(direction);
    let side = |word| match word {
        "HOST" => Some("Host"),
        "DEVICE" => Some("Device"),
        _ => None,
    };
    match short.split_once("_TO_").and_then(|(from, to)| side(from).zip(side(to))) {
        Some((from, to)) => format!("Memcpy {}to{} ({from} -> {to})", &from[..1], &to[..1]),
        None => format!("Memcpy ({short})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_of_work_items_is_blocks() {
        for (items, workgroup, expected) in
            [(1024, 64, Some(16)), (1, 1, Some(1)), (65, 64, Some(2)), (64, 0, None), (0, 64, None)]
        {
            assert_eq!(blocks(Some(items), Some(workgroup)), expected, "{items} by {workgroup}");
        }
        assert_eq!(blocks(Some(i64::MAX), Some(1)), Some(i32::MAX));
    }

    #[test]
    fn copies_have_the_names_of_others() {
        assert_eq!(copy_name("MEMORY_COPY_HOST_TO_DEVICE"), "Memcpy HtoD (Host -> Device)");
        assert_eq!(copy_name("DEVICE_TO_DEVICE"), "Memcpy DtoD (Device -> Device)");
        assert_eq!(copy_name("MEMORY_COPY_NONE"), "Memcpy (NONE)");
        assert_eq!(copy_name("é_TO_DEVICE"), "Memcpy (é_TO_DEVICE)");
    }
}
