//! What should be changed, and what would it bring?

use rooflens_schema::RankTables;

use crate::advice::{RunContext, advise};
use crate::analyses::{Analysis, Fold, Ledger};
use crate::finding::{Finding, Findings};

const EXPLAIN: &str = "\
Rules over the time ledger and the other findings; `rooflens list rules` names them. Each advice has the phase that
gains and a range: `low` is what the numbers at hand promise, `high` what is left where everything goes well.
Gains of several do not add up: what one saves, the other cannot.

- `items`: most gain first, by the middle of the range; gains below 1 % of the whole are left out. What changes the
  work, the model or the devices (`same_work` false: a larger batch) comes after what does not.
- `gain_ns`: time saved over all steps of the phase; `gain_share`: the same / the phase's wall time;
  `step_gain_ns`: the same / steps.
- `evidence`, `computed`: the rows that it rests on, and how the gain follows from them.
- `change`, `risk`: what to do, and what may go wrong.
- `not_computed`: rules that could not judge, and what they lack. Rules about the model need its floor.
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
