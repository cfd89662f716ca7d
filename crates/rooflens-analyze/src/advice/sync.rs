//! Wait for the device less often.

use crate::advice::case::{AdviceRule, Case, Draft, Range};
use crate::analyses::{ApiStat, Launches};
use crate::ledger::Line;
use crate::sentence::{count, time};
use rooflens_schema::tables::ApiKind;

pub(super) const RULE: AdviceRule = AdviceRule {
    name: "sync",
    about: "Idle time right after the host waited for the device. Low: half of it, if every second wait can be \
         avoided; high: all of it.",
    judge,
    ..AdviceRule::DEPLOYMENT
};

fn judge(case: &Case<'_>) -> Result<Option<Draft>, String> {
    let idle = case.on(Line::Sync);
    if idle <= 0.0 {
        return Ok(None);
    }
    let mut evidence = vec![case.row("idle after the host waited", idle)];
    if let Some(launches) = case.findings.get::<Launches>() {
        let waits = |call: &&ApiStat| matches!(call.kind, ApiKind::Sync | ApiKind::Memcpy);
        evidence.extend(launches.calls.iter().filter(waits).take(3).map(|call| {
            let (calls, all) = (count(call.count as i64), time(call.total_ns as f64));
            format!("`{}`: {calls} calls, {all} of host time{}", call.name, case.of_trace())
        }));
    }
    Ok(Some(Draft {
        title: "Wait for the device less often".to_owned(),
        gain_ns: Some(Range::new(idle / 2.0, idle)),
        acts_on_ns: idle,
        comes_first: false,
        evidence,
        computed: "half of the idle time after waits, up to all of it".to_owned(),
        change:
            "Take .item(), .cpu(), .tolist() and torch.cuda.synchronize() out of the step; copy to pinned \
                 memory with non_blocking=True and read it one step later"
                .to_owned(),
        risk: "A value that is read one step later is one step old: stopping at end-of-sequence costs \
               one extra step."
            .to_owned(),
    }))
}
