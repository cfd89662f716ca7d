//! Which collectives did NCCL run, and how fast were they?

use std::borrow::Cow;
use std::collections::BTreeMap;

use rooflens_schema::RankTables;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::{Analysis, Finding, FindingType, Findings, Fold};
use crate::statistics::{DurationSummary, Durations};

/// Collectives by kind, ranks and size, most time first, then most bytes.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct CommCalls {
    /// Calls, all files together.
    pub calls: usize,
    /// Communicators, all files together.
    pub communicators: usize,
    /// Bytes of all calls whose size is known.
    pub bytes: i64,
    /// Calls whose time is known.
    pub(crate) timed_calls: usize,
    /// Their time; `None` where none is known.
    pub total_ns: Option<i64>,
    /// Calls whose bandwidths are in the file and could be recomputed.
    pub checked: usize,
    /// Of these, calls where both agree to a thousandth.
    pub agreeing: usize,
    /// Every collective, group size and message size.
    pub sizes: Vec<CommSize>,
    /// What is null, and why.
    pub not_computed: BTreeMap<Cow<'static, str>, Cow<'static, str>>,
}

/// Calls of one collective with one size.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CommSize {
    /// Collective.
    pub collective: String,
    /// Ranks.
    pub group_size: Option<i32>,
    /// Element type.
    pub dtype: Option<String>,
    /// Size of the message.
    pub bytes: Option<i64>,
    /// Calls.
    pub calls: usize,
    /// Calls whose time is known.
    pub(crate) timed_calls: usize,
    /// Their time.
    pub total_ns: Option<i64>,
    /// Median.
    pub p50_ns: Option<i64>,
    /// Longest.
    pub max_ns: Option<i64>,
    /// Bytes by time, over all timed calls.
    pub alg_gb_per_s: Option<f64>,
    /// The same over the bus.
    pub bus_gb_per_s: Option<f64>,
}

pub(super) const ANALYSIS: Analysis = Analysis {
    name: "comm_calls",
    question: "Which collectives did NCCL run, and how fast were they?",
    needs: "log of NCCL",
    is_special: true,
    finding: FindingType::object::<CommCalls>(),
    start: || Box::new(State::default()),
    explain: "\
Collectives from NCCL's debug log, which has no times, or from the NCCL Inspector, which does; one row per
collective, group size, dtype and message size.

- `bytes`: message size as `nccl-tests` defines it: the data of one rank; for all-gather, reduce-scatter and
  all-to-all, the data of all ranks.
- `alg_gb_per_s`: bytes x timed_calls / total_ns. `bus_gb_per_s`: that times the bus factor of nccl-tests:
  2 (n - 1) / n for all-reduce, (n - 1) / n for all-gather, reduce-scatter and all-to-all, 1 for broadcast,
  reduce, send and receive. Null where the size, the ranks or the factor is not known.
- `checked`, `agreeing`: calls whose bandwidths are in the file, and those that agree with their size, time and
  ranks to 0.1 %.
",
};

type Key = (String, Option<i32>, Option<String>, Option<i64>);

#[derive(Default)]
struct Row {
    calls: usize,
    durations: Durations,
}

#[derive(Default)]
struct State {
    found: CommCalls,
    rows: BTreeMap<Key, Row>,
}

fn bus_factor(collective: &str, ranks: Option<i32>) -> Option<f64> {
    let others = |ranks: i32| f64::from(ranks - 1) / f64::from(ranks);
    match collective {
        "allreduce" => ranks.map(|ranks| 2.0 * others(ranks)),
        "allgather" | "reducescatter" | "alltoall" | "gather" | "scatter" => ranks.map(others),
        "broadcast" | "reduce" | "send" | "recv" | "sendrecv" => Some(1.0),
        _ => None,
    }
}

fn agree(told: f64, computed: f64) -> bool {
    // The Inspector writes six decimals.
    (told - computed).abs() <= 1e-3 * computed.abs() + 1e-6
}

impl Fold for State {
    fn rank(&mut self, tables: &RankTables) {
        let rows = &tables.comm_calls;
        self.found.communicators += rows.comm.iter().max().map_or(0, |last| *last as usize + 1);
        for i in 0..rows.len() {
            let collective = tables.names.get(rows.collective_id[i]);
            let ranks = rows.group_size[i].get().filter(|ranks| *ranks > 0);
            let dtype = rows.dtype_id[i].get().map(|id| tables.names.get(id).to_owned());
            let (bytes, exec_ns) = (rows.bytes[i].get(), rows.exec_ns[i].get());
            self.found.calls += 1;
            self.found.bytes = self.found.bytes.saturating_add(bytes.unwrap_or(0));
            let row = self.rows.entry((collective.to_owned(), ranks, dtype, bytes)).or_default();
            row.calls += 1;
            let Some(ns) = exec_ns else { continue };
            row.durations.push(ns);
            if let (Some(bytes), Some(factor), Some(told_alg), Some(told_bus)) =
                (bytes, bus_factor(collective, ranks), rows.alg_gb_per_s[i], rows.bus_gb_per_s[i])
                && ns > 0
            {
                let alg = bytes as f64 / ns as f64;
                self.found.checked += 1;
                self.found.agreeing += usize::from(agree(told_alg, alg) && agree(told_bus, alg * factor));
            }
        }
    }

    fn finish(self: Box<Self>, _earlier: &Findings) -> Option<Box<dyn Finding>> {
        let mut found = self.found;
        if found.calls == 0 {
            return None;
        }
        let mut total_ns = 0i64;
        for ((collective, group_size, dtype, bytes), row) in self.rows {
            let (timed_calls, time) = (row.durations.count, row.durations.total_ns);
            found.timed_calls += timed_calls;
            total_ns = total_ns.saturating_add(time);
            let alg = bytes.filter(|_| time > 0).map(|bytes| bytes as f64 * timed_calls as f64 / time as f64);
            let bus = alg.zip(bus_factor(&collective, group_size)).map(|(alg, factor)| alg * factor);
            let spread: Option<DurationSummary<1>> = row.durations.summary([50]);
            found.sizes.push(CommSize {
                collective,
                group_size,
                dtype,
                bytes,
                calls: row.calls,
                timed_calls,
                total_ns: (timed_calls > 0).then_some(time),
                p50_ns: spread.as_ref().map(|spread| spread.percentiles[0]),
                max_ns: spread.as_ref().map(|spread| spread.max),
                alg_gb_per_s: alg,
                bus_gb_per_s: bus,
            });
        }
        let all_bytes = |size: &CommSize| size.bytes.map(|bytes| bytes.saturating_mul(size.calls as i64));
        found.sizes.sort_by_key(|size| std::cmp::Reverse((size.total_ns, all_bytes(size))));
        found.total_ns = (found.timed_calls > 0).then_some(total_ns);
        if found.timed_calls == 0 {
            let why = "a debug log holds no times; the NCCL Inspector does";
            for key in ["total_ns", "alg_gb_per_s", "bus_gb_per_s"] {
                found.not_computed.insert(key.into(), why.into());
            }
        }
        Some(Box::new(found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Sample;

    #[test]
    fn bandwidths() {
        let mut sample = Sample::new(0);
        // 1,000 bytes in 100 and in 300 ns: 2,000 B / 400 ns = 5 GB/s, by 2 x 7 / 8 over the bus.
        sample.comm_call("allreduce", 8, 1_000, Some(100), Some((10.0, 17.5)));
        sample.comm_call("allreduce", 8, 1_000, Some(300), Some((9.0, 17.5)));
        sample.comm_call("allgather", 4, 800, Some(100), None);
        sample.comm_call("broadcast", 4, 800, None, None);
        let calls = sample.find::<CommCalls>();
        assert_eq!((calls.calls, calls.bytes, calls.timed_calls), (4, 3_600, 3));
        assert_eq!((calls.total_ns, calls.checked, calls.agreeing), (Some(500), 2, 1));
        let [reduce, gather, broadcast] = &calls.sizes[..] else { panic!("three sizes") };
        assert_eq!((reduce.alg_gb_per_s, reduce.bus_gb_per_s), (Some(5.0), Some(8.75)));
        assert_eq!((reduce.p50_ns, reduce.max_ns), (Some(100), Some(300)));
        assert_eq!((gather.alg_gb_per_s, gather.bus_gb_per_s), (Some(8.0), Some(6.0)));
        assert_eq!((broadcast.total_ns, broadcast.alg_gb_per_s), (None, None));
    }
}
