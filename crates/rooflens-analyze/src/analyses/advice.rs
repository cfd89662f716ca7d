//! What should be changed, and what would it bring?

use rooflens_schema::RankTables;

use crate::advice::{AdviceList, RunContext, advise};
use crate::analyses::{Analysis, Fold, Ledger};
use crate::finding::{Finding, FindingType, Findings};

const EXPLAIN: &str = "\
Rules over the time ledger and the other findings; `rooflens list rules` names them. Each advice has the phase that
gains and a range: `low` is what the numbers at hand promise, `high` what is left where everything goes well.
Gains are shares of the phase's time. They overlap; do not add them.

- `items`: recordings that hide the run first, then what leaves the work as it is, what changes it (`same_work` false: a
  larger batch), other recordings, and changes to the model's design; within each the most gain first, by the middle of
  the range. Gains below 1 % of the whole are left out.
- `kind`: what is changed: `recording`, `deployment`, `kernel`, or `design`, which takes another model.
- `gain_ns`: time saved over all steps of the phase; `gain_share`: the same / the phase's time; `step_gain_ns`: the same
  / steps. Null where the range would be wider than 10:1, or nothing can be said: `computed` tells why.
- `acts_on_ns`: the time that the change acts on: no gain is larger.
- `evidence`, `computed`: the rows that it rests on, and how the gain follows from them.
- `change`, `risk`: what to do, and what may go wrong.
- `unprofiled`: phases whose steps were also measured without a profiler: `profiled_step_ns`, `unprofiled_step_ns` and
  their `ratio`. Gains of these phases are in the time without it.
- `not_computed`: rules that could not judge, and what they lack. Rules about kernels and the model need its lower bound.
";

/// The question of this file.
pub(super) struct AdviceAnalysis;

impl Analysis for AdviceAnalysis {
    fn name(&self) -> &'static str {
        "advice"
    }
    fn question(&self) -> &'static str {
        "What should be changed, and what would it bring?"
    }
    fn explain(&self) -> &'static str {
        EXPLAIN
    }
    fn needs(&self) -> &'static str {
        "device activity or operators"
    }
    fn finding(&self) -> FindingType {
        FindingType::object::<AdviceList>()
    }

    fn start(&self) -> Box<dyn Fold> {
        Box::new(State)
    }
}

/// Nothing to fold: rules look at the other findings.
struct State;

impl Fold for State {
    fn rank(&mut self, _tables: &RankTables) {}

    fn finish(self: Box<Self>, earlier: &Findings) -> Option<Box<dyn Finding>> {
        earlier.get::<Ledger>()?;
        Some(Box::new(advise(earlier, &RunContext::default())))
    }
}
