//! Records of the NCCL Inspector: `{"header": {…}, "metadata": {…}, "coll_perf": {…}}`.

use rooflens_schema::tables::CommCallRow;
use rooflens_schema::{Interner, Opt};
use serde::Deserialize;

use super::{Calls, message_bytes};

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

/// A record may stand on several lines.
#[derive(Default)]
pub(super) struct Records {
    pending: String,
}

impl Records {
    pub(crate) fn line(&mut self, line: &str, calls: &mut Calls, interner: &Interner) {
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
                    let row = call(record.header, perf, calls, interner);
                    calls.push(row);
                }
                None => {
                    calls.records += 1;
                    calls.unread += 1;
                }
            }
        }
    }

    /// What is left was cut off.
    pub(crate) fn end(&mut self, calls: &mut Calls) {
        if !self.pending.is_empty() {
            self.pending.clear();
            calls.push(None);
        }
    }
}

fn call(header: Header, perf: Perf, calls: &mut Calls, interner: &Interner) -> Option<CommCallRow> {
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
