//! Collectives of NCCL and RCCL: from the debug log, which has no times (`NCCL_DEBUG=INFO`,
//! `NCCL_DEBUG_SUBSYS=COLL`), and from the NCCL Inspector, which has (`NCCL_INSPECTOR_ENABLE=1`).
//!
//! Both name hosts, processes and addresses. None is kept: a communicator is a number, in order of
//! first sight.
//!
//! * `debug`: lines of the log.
//! * `inspector`: JSON, one record a line or pretty-printed.

mod debug;
mod inspector;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use rooflens_schema::tables::{CommCallRow, CommCalls};
use rooflens_schema::{Interner, Notes, RankTables, Severity, Stage};

use crate::artefact::{Artefact, Probe};
use crate::error::IngestError;
use crate::formats::{Format, finish};
use crate::lines;

/// The format.
pub(crate) struct Nccl;

fn has(probe: &Probe, word: &str) -> bool {
    memchr::memmem::find(&probe.head, word.as_bytes()).is_some()
}

fn is_inspector(probe: &Probe) -> bool {
    probe.head.trim_ascii_start().starts_with(b"{")
        && (has(probe, "\"coll_perf\"") || has(probe, "\"inspector_output_format_version\""))
}

impl Format for Nccl {
    fn name(&self) -> &'static str {
        "nccl"
    }

    fn about(&self) -> &'static str {
        "Collectives of NCCL: debug log (without times) or NCCL Inspector (.log, .jsonl)"
    }

    fn sniff(&self, probe: &Probe) -> bool {
        has(probe, " NCCL INFO ") || is_inspector(probe)
    }

    fn read(&self, from: Artefact, notes: &Notes) -> Result<RankTables, IngestError> {
        let source = from.name().to_owned();
        let inspector = is_inspector(from.probe());
        let interner = Interner::default();
        let mut calls = Calls::default();
        let mut records = inspector::Records::default();
        let broken = lines::each(from.into_reader(), |line| match inspector {
            true => records.line(line, &mut calls, &interner),
            false => debug::line(line, &mut calls, &interner),
        });
        records.end(&mut calls);
        let tell = |severity, code: &str, count, message: &str| {
            notes.add_many(Stage::Ingest, severity, code, &source, count, message.to_owned());
        };
        if let Some(error) = broken {
            let message = format!("the stream ends early: {error}; the rest is missing");
            tell(Severity::DataLoss, "stream_error", 1, &message);
        }
        tell(
            Severity::DataLoss,
            "damaged_event",
            calls.lost,
            "records of collectives that could not be read",
        );
        let message = "point-to-point messages, which are not supported yet and were not read";
        tell(Severity::Info, "unread_p2p", calls.unread, message);
        if calls.rows.is_empty() {
            let why = match inspector {
                true => "it has no collective",
                false => {
                    "it has no collective; NCCL logs them with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=COLL"
                }
            };
            let why = why.to_owned();
            return Err(IngestError::NoRecords { source_name: source, format: self.name(), why });
        }
        let records = calls.records;
        let tables = RankTables { comm_calls: calls.rows, ..RankTables::default() };
        Ok(finish(tables, interner, (self.name(), source), records, (0, 0)))
    }
}

/// What was read so far.
#[derive(Default)]
struct Calls {
    rows: CommCalls,
    comms: HashMap<String, i32>,
    records: i64,
    lost: i64,
    unread: i64,
}

impl Calls {
    /// The number of a communicator.
    fn comm(&mut self, name: &str) -> i32 {
        let next = self.comms.len() as i32;
        *self.comms.entry(name.to_owned()).or_insert(next)
    }

    fn push(&mut self, row: Option<CommCallRow>) {
        self.records += 1;
        match row {
            Some(row) => self.rows.push(row),
            None => self.lost += 1,
        }
    }
}

/// The size that bandwidths of a collective refer to, from what one call names: all ranks' parts where
/// parts are gathered, scattered or exchanged, as `nccl-tests` and the Inspector have it.
fn message_bytes(collective: &str, named: i64, ranks: Option<i32>) -> Option<i64> {
    let parts = matches!(collective, "allgather" | "reducescatter" | "alltoall" | "gather" | "scatter");
    if parts { named.checked_mul(ranks?.into()) } else { Some(named) }
}
