//! A rank that the others wait for.

use crate::advice::case::{AdviceRule, Case, Draft, Range};
use crate::analyses::{Excess, Stragglers};
use crate::kernel_catalog::KernelClass;
use crate::ledger::Line;
use crate::statistics::share;

pub(super) const RULE: AdviceRule = AdviceRule {
    name: "straggler",
    about: "Waiting in collectives for a rank that systematically arrives last. Low: it arrives with the last \
         of the others, minus its own waiting; high: it arrives at their mean. Every device gains, including \
         the late one.",
    judge,
    ..AdviceRule::DEPLOYMENT
};

fn judge(case: &Case<'_>) -> Result<Option<Draft>, String> {
    let Some(found) = case.findings.get::<Stragglers>() else { return Ok(None) };
    let Some(row) = found.rows.first() else { return Ok(None) };
    // Waiting that is hidden behind compute costs nothing.
    let exposed = share(case.phase.on(Line::CommWait), found.wait_ns);
    if exposed <= 0.0 {
        return Ok(None);
    }
    let devices = case.ledger.timelines as f64;
    let gain = |ns: i64| ns as f64 * devices * exposed;
    Ok(Some(Draft {
        title: format!("Make rank {} as fast as the others", row.rank),
        gain_ns: Some(Range::new(gain(row.gain_low_ns), gain(row.gain_high_ns))),
        acts_on_ns: case.phase.wall_ns as f64,
        comes_first: false,
        evidence: vec![case.row("waiting for other ranks", case.on(Line::CommWait)), row.sentence.clone()],
        computed: "in each collective, how much later it arrives than the next rank and than the mean of \
                   the others, on all devices; its own waiting is subtracted from the low end"
            .to_owned(),
        change: change(row.causes.first()),
        risk: "Then the next slowest rank arrives last: the jitter of all ranks remains.".to_owned(),
    }))
}

fn change(cause: Option<&Excess>) -> String {
    let Some(cause) = cause else {
        return "Record that rank with stacks and compare it with another: rooflens compare RANK-A RANK-B"
            .to_owned();
    };
    let more = cause.own_count > cause.others_count;
    match (&*cause.what, cause.class) {
        ("idle", _) => {
            "Look at that rank's host: other processes on its cores, cores of another socket than the device (numactl \
             --cpunodebind, taskset), garbage collection, logging, scheduling or detokenising that only this rank does"
        }
        ("all_kernels", _) => {
            "Look at that device: clocks, power and temperature (nvidia-smi -q -d CLOCK,POWER,PERFORMANCE; amd-smi \
             metric), other processes on it, another model of device"
        }
        (_, Some(KernelClass::Moe)) => {
            "Balance the experts: that rank has more tokens or the hot experts (vLLM: --enable-eplb; SGLang: \
             --enable-eplb; DeepEP's load balancer)"
        }
        _ if more => "Find the work that only this rank does, and do it after the collective or on all ranks \
                      equally",
        _ => {
            "Compare the work: longer sequences or more tokens on that rank, uneven shards, another kernel or tile \
             choice; then its clocks (nvidia-smi -q -d CLOCK,PERFORMANCE)"
        }
    }
    .to_owned()
}
