//! What should be changed, and what is the expected gain?

use rooflens_schema::RankTables;

use crate::advice::{AdviceList, RunContext, advise};
use crate::analyses::{Analysis, Fold, Ledger};
use crate::finding::{Finding, FindingType, Findings};

const EXPLAIN: &str = "\
Rules over the time ledger and the other findings; `rooflens list rules` names them. Each item has the phase that
gains and a range: `low` is supported by the measured numbers, `high` is the best case. Gains are shares of the
phase's time. They overlap; do not add them.

- `items`: first problems of the recording that hide the run, then changes that keep the work the same, changes of
  the work (`same_work` false: a larger batch), other changes of the recording, and changes to the model's design;
  each sorted by gain, by the middle of the range. Gains below 1 % of the total are omitted.
- `kind`: what is changed: `recording`, `deployment`, `kernel`, or `design`, which takes another model.
- `gain_ns`: time saved over all steps of the phase; `gain_share`: the same / the phase's time; `step_gain_ns`: the same
  / steps. Null if the range would be wider than 10:1 or is unknown: `computed` says why.
- `acts_on_ns`: the time that the change affects, an upper bound of the gain.
- `evidence`, `computed`: the rows that support it, and how the gain is computed from them.
- `change`, `risk`: what to do, and what may go wrong.
- `unprofiled`: phases whose steps were also measured without a profiler: `profiled_step_ns`, `unprofiled_step_ns` and
  their `ratio`. Gains of these phases are in the time without it.
- `not_computed`: rules that could not be evaluated, and which input is missing. Rules about kernels and the model
  need its lower bound.
";

/// The question of this file.
pub(super) struct AdviceAnalysis;

impl Analysis for AdviceAnalysis {
    fn name(&self) -> &'static str {
        "advice"
    }
    fn question(&self) -> &'static str {
        "What should be changed, and what is the expected gain?"
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
