//! Logs of matrix libraries: what was multiplied, never how long it took.
//!
//! * `lt`: cuBLASLt (`CUBLASLT_LOG_LEVEL=2` or more) and hipBLASLt (`HIPBLASLT_LOG_MASK=2`).
//! * `classic`: cuBLAS (`CUBLAS_LOGINFO_DBG=1`).
//! * `bench`: hipBLASLt (`HIPBLASLT_LOG_MASK=32`) and rocBLAS (`ROCBLAS_LAYER=2`).
//!
//! Times in these logs are of the wall clock, in whole seconds: they order nothing that lines do not,
//! and are not kept. Neither are addresses.

mod bench;
mod call;
mod classic;
mod lt;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use rooflens_schema::{Interner, RankTables, Severity};

use crate::artefact::{Artefact, Probe};
use crate::error::IngestError;
use crate::lines;
use crate::reading::{Format, Reading};
use call::Call;

/// What such a log has somewhere in its beginning.
const MARKS: &[&str] = &[
    "][cublasLt][",
    "][HIPBLASLT][",
    "][hipblaslt][",
    "I! cuBLAS (v",
    "hipblaslt-bench --",
    "rocblas-bench -f ",
];

pub(crate) const FORMAT: Format = Format {
    name: "blaslog",
    about: "Log of cuBLAS, cuBLASLt, hipBLASLt or rocBLAS: GEMM calls, without times",
    sniff,
    read,
};

fn sniff(probe: &Probe) -> bool {
    let has = |mark: &&str| memchr::memmem::find(&probe.head, mark.as_bytes()).is_some();
    MARKS.iter().any(has)
}

fn read(from: Artefact, reading: &Reading<'_>) -> Result<RankTables, IngestError> {
    let mut log = Log::default();
    let broken = lines::each(from.into_reader(), |line| log.line(line));
    log.end_record();
    if let Some(error) = broken {
        reading.broke_off(&error);
    }
    let records = log.records;
    let calls = log.counted(reading);
    if calls.is_empty() {
        return Err(reading.fail(
            "it has no GEMM with a shape; cuBLASLt logs shapes with CUBLASLT_LOG_LEVEL=2, \
                   cuBLAS with CUBLAS_LOGINFO_DBG=1, hipBLASLt with HIPBLASLT_LOG_MASK=32, rocBLAS with \
                   ROCBLAS_LAYER=2",
        ));
    }
    let interner = Interner::default();
    let mut tables = RankTables::default();
    for (process, call) in &calls {
        tables.gemms.push(call.row(*process, &interner));
    }
    Ok(reading.finish(tables, interner, records, (0, 0)))
}

/// How a call came to be known. Of one call a log may tell in more than one way.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Trace,
    Api,
    Bench,
}

#[derive(Default)]
struct Log {
    lt: lt::Lt,
    record: Option<classic::Record>,
    calls: Vec<(i32, Way, Box<Call>)>,
    processes: HashMap<String, i32>,
    records: i64,
    shapeless: i64,
    /// At level Api, where a call may be traced besides.
    asked_shapeless: i64,
}

impl Log {
    fn line(&mut self, line: &str) {
        if let Some(record) = &mut self.record {
            if line.starts_with("i!") {
                return record.more(line);
            }
            self.end_record();
        }
        if let Some(record) = classic::begin(line) {
            self.records += 1;
            self.record = Some(record);
        } else if let Some(parts) = lt::line(line) {
            self.records += 1;
            match self.lt.take(&parts) {
                lt::Found::Traced(call) => self.push(parts.process, Way::Trace, call),
                lt::Found::Asked(Some(call)) => self.push(parts.process, Way::Api, call),
                lt::Found::Asked(None) => self.asked_shapeless += 1,
                lt::Found::Shapeless => self.shapeless += 1,
                lt::Found::Other => {}
            }
        } else {
            match bench::take(line) {
                bench::Found::Call(call) => {
                    self.records += 1;
                    self.push("", Way::Bench, call);
                }
                bench::Found::Shapeless => {
                    self.records += 1;
                    self.shapeless += 1;
                }
                bench::Found::Other => {}
            }
        }
    }

    fn end_record(&mut self) {
        let Some(record) = self.record.take().filter(classic::Record::multiplies) else { return };
        match record.call() {
            Some(call) => self.push(&record.process, Way::Trace, Box::new(call)),
            None => self.shapeless += 1,
        }
    }

    fn push(&mut self, process: &str, way: Way, call: Box<Call>) {
        let next = self.processes.len() as i32;
        let process = *self.processes.entry(process.to_owned()).or_insert(next);
        self.calls.push((process, way, call));
    }

    fn counted(self, reading: &Reading<'_>) -> Vec<(i32, Box<Call>)> {
        let traced = |library: &str| {
            self.calls.iter().any(|(_, way, call)| *way == Way::Trace && call.library == library)
        };
        let (lt, hip) = (traced("cublaslt"), traced("hipblaslt"));
        let once = |way: Way, library: &str| match library {
            "cublaslt" => way == Way::Trace || !lt,
            "hipblaslt" => way == Way::Trace || !hip,
            _ => true,
        };
        let lost = self.shapeless + if lt || hip { 0 } else { self.asked_shapeless };
        let message = "calls whose shape the log does not record, since it has addresses in place of \
                       layouts, or is cut";
        reading.lost("call_without_shape", lost, message);
        let both = lt && self.calls.iter().any(|(_, _, call)| call.library == "cublas");
        if both {
            let message = "cuBLAS calls cuBLASLt: a GEMM may be in the log of both, and is counted twice";
            reading.note(Severity::Warning, "nested_calls", 1, message);
        }
        let calls = self.calls.into_iter().filter(|(_, way, call)| once(*way, call.library));
        calls.map(|(process, _, call)| (process, call)).collect()
    }
}
