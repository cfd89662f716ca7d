//! Collectives of NCCL and RCCL: from the debug log, which has no times (`NCCL_DEBUG=INFO`,
//! `NCCL_DEBUG_SUBSYS=COLL`), and from the NCCL Inspector, which has (`NCCL_INSPECTOR_ENABLE=1`).
//!
//! Both name hosts, processes and addresses. None is kept: a communicator is a number, in order of
//! first sight.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use rooflens_schema::tables::{CommCallRow, CommCalls};
use rooflens_schema::{Interner, Opt, RankTables, Severity};
use serde::Deserialize;

use crate::artefact::{Artefact, Probe};
use crate::error::IngestError;
use crate::lines;
use crate::reading::{Format, Reading};

fn has(probe: &Probe, word: &str) -> bool {
    memchr::memmem::find(&probe.head, word.as_bytes()).is_some()
}

fn is_inspector(probe: &Probe) -> bool {
    probe.head.trim_ascii_start().starts_with(b"{")
        && (has(probe, "\"coll_perf\"") || has(probe, "\"inspector_output_format_version\""))
}

pub(crate) const FORMAT: Format = Format {
    name: "nccl",
    about: "Collectives of NCCL: debug log (without times) or NCCL Inspector (.log, .jsonl)",
    sniff,
    read,
};

fn sniff(probe: &Probe) -> bool {
    has(probe, " NCCL INFO ") || is_inspector(probe)
}

fn read(from: Artefact, reading: &Reading<'_>) -> Result<RankTables, IngestError> {
    let inspector = is_inspector(from.probe());
    let interner = Interner::default();
    let mut calls = Calls::default();
    let mut records = Records::default();
    let broken = lines::each(from.into_reader(), |line| match inspector {
        true => records.line(line, &mut calls, &interner),
        false => debug_line(line, &mut calls, &interner),
    });
    records.end(&mut calls);
    if let Some(error) = broken {
        reading.broke_off(&error);
    }
    reading.lost("damaged_event", calls.lost, "records of collectives that could not be read");
    let message = "point-to-point messages, which are not supported yet and were not read";
    reading.note(Severity::Info, "unread_p2p", calls.unread, message);
    if calls.rows.is_empty() {
        return Err(reading.fail(match inspector {
            true => "it has no collective",
            false => "it has no collective; NCCL logs them with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=COLL",
        }));
    }
    let tables = RankTables { comm_calls: calls.rows, ..RankTables::default() };
    Ok(reading.finish(tables, interner, calls.records, (0, 0)))
}

#[derive(Default)]
struct Calls {
    rows: CommCalls,
    comms: HashMap<String, i32>,
    records: i64,
    lost: i64,
    unread: i64,
}

impl Calls {
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

/// `ncclDataType_t` of nccl.h, and the bytes of one.
const DTYPES: &[(&str, i64)] = &[
    ("int8", 1),
    ("uint8", 1),
    ("int32", 4),
    ("uint32", 4),
    ("int64", 8),
    ("uint64", 8),
    ("fp16", 2),
    ("fp32", 4),
    ("fp64", 8),
    ("bf16", 2),
    ("fp8_e4m3", 1),
    ("fp8_e5m2", 1),
];

fn debug_line(line: &str, calls: &mut Calls, interner: &Interner) {
    let Some((before, said)) = line.split_once(" NCCL INFO ") else { return };
    // A name, as in `AllReduce: opCount 2 …`; other lines hold the words inside sentences.
    let Some((collective, arguments)) = said.split_once(": opCount ") else { return };
    if collective.contains(' ') {
        return;
    }
    // The process is part of a communicator's name: an address alone may stand in two of them.
    let process = before.split_whitespace().find(|word| word.matches(':').count() == 2).unwrap_or_default();
    let row = logged_call(process, collective, arguments, calls, interner);
    calls.push(row);
}

fn logged_call(
    process: &str,
    collective: &str,
    arguments: &str,
    calls: &mut Calls,
    interner: &Interner,
) -> Option<CommCallRow> {
    let value = |name: &str| {
        let mut words = arguments.split_ascii_whitespace();
        words.find(|word| *word == name).and_then(|_| words.next())
    };
    let collective = collective.to_ascii_lowercase();
    let elements: i64 = value("count")?.parse().ok().filter(|count| *count >= 0)?;
    let dtype = DTYPES.get(value("datatype")?.parse::<usize>().ok()?);
    let ranks: Option<i32> = arguments
        .split_once("[nranks=")
        .and_then(|(_, rest)| rest.split(']').next()?.parse().ok())
        .filter(|ranks| *ranks > 0);
    let named = dtype.and_then(|(_, bytes)| elements.checked_mul(*bytes));
    // host:pid without the thread.
    let process = process.rsplit_once(':').map_or(process, |(process, _)| process);
    let comm = calls.comm(&format!("{process} {}", value("comm")?));
    Some(CommCallRow {
        comm,
        comm_rank: Opt::NONE,
        group_size: ranks.into(),
        // Written in base 16.
        sequence: i64::from_str_radix(arguments.split_ascii_whitespace().next()?, 16).ok().into(),
        collective_id: interner.intern(&collective),
        dtype_id: dtype.map(|(name, _)| interner.intern(name)).into(),
        elements: Opt::some(elements),
        bytes: named.and_then(|named| message_bytes(&collective, named, ranks)).into(),
        exec_ns: Opt::NONE,
        timing_id: Opt::NONE,
        alg_gb_per_s: None,
        bus_gb_per_s: None,
    })
}

/// What is read of a record; host, process and version are not.
#[derive(Deserialize)]
struct Record {
    header: Header,
    coll_perf: Option<Perf>,
}

#[derive(Deserialize)]
struct Header {
    #[serde(default)]
    id: serde_json::Value,
    rank: Option<i32>,
    n_ranks: Option<i32>,
}

#[derive(Deserialize)]
struct Perf {
    coll: String,
    coll_sn: Option<i64>,
    coll_msg_size_bytes: Option<i64>,
    coll_exec_time_us: Option<f64>,
    coll_timing_source: Option<String>,
    coll_algobw_gbs: Option<f64>,
    coll_busbw_gbs: Option<f64>,
}

/// Longer records are damaged.
const LONGEST: usize = 1 << 18;

#[derive(Default)]
struct Records {
    pending: String,
}

impl Records {
    fn line(&mut self, line: &str, calls: &mut Calls, interner: &Interner) {
        if line.trim().is_empty() {
            return;
        }
        // A brace without an indent begins a record.
        if !self.pending.is_empty() && (line.starts_with('{') || self.pending.len() > LONGEST) {
            self.end(calls);
        }
        if self.pending.is_empty() && !line.starts_with('{') {
            return;
        }
        self.pending.push_str(line);
        if !line.trim_end().ends_with('}') || (line.starts_with(' ') || line.starts_with('\t')) {
            return;
        }
        if let Ok(record) = serde_json::from_str::<Record>(&self.pending) {
            self.pending.clear();
            match record.coll_perf {
                Some(perf) => {
                    let row = timed_call(record.header, perf, calls, interner);
                    calls.push(row);
                }
                None => {
                    calls.records += 1;
                    calls.unread += 1;
                }
            }
        }
    }

    fn end(&mut self, calls: &mut Calls) {
        if !self.pending.is_empty() {
            self.pending.clear();
            calls.push(None);
        }
    }
}

fn timed_call(header: Header, perf: Perf, calls: &mut Calls, interner: &Interner) -> Option<CommCallRow> {
    let collective = perf.coll.to_ascii_lowercase();
    let ranks = header.n_ranks.filter(|ranks| *ranks > 0);
    let named = perf.coll_msg_size_bytes.filter(|bytes| *bytes >= 0);
    let us = perf.coll_exec_time_us.filter(|us| (0.0..=1e12).contains(us));
    let rate = |value: Option<f64>| value.filter(|value| value.is_finite() && *value >= 0.0);
    Some(CommCallRow {
        comm: calls.comm(&header.id.to_string()),
        comm_rank: header.rank.into(),
        group_size: ranks.into(),
        sequence: perf.coll_sn.into(),
        bytes: named.and_then(|named| message_bytes(&collective, named, ranks)).into(),
        collective_id: interner.intern(&collective),
        dtype_id: Opt::NONE,
        elements: Opt::NONE,
        exec_ns: us.map(|us| (us * 1000.0).round() as i64).into(),
        timing_id: perf.coll_timing_source.map(|source| interner.intern(&source)).into(),
        alg_gb_per_s: rate(perf.coll_algobw_gbs),
        bus_gb_per_s: rate(perf.coll_busbw_gbs),
    })
}
