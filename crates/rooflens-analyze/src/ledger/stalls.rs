//! Times between two tokens of the same sequences in which prompts of others were read.
//!
//! A sequence that goes on has a token at the end of each step it is in. Where steps of prompts lie between
//! two steps of decode, and the later has more sequences than there were prompts, those that are left over
//! went on before: they waited. A mixed step keeps its own sequences waiting while it reads prompts.

use rooflens_schema::tables::{PhaseKind, Phases};

use crate::percentile::nearest_rank;

/// A time between two tokens in which prompts were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PrefillStall {
    pub(crate) ns: i64,
    pub(crate) prompt_tokens: i64,
    pub(crate) waiting: i64,
    /// Whether the step that ended it read prompts as well: it rode along.
    pub(crate) rode: bool,
}

/// All of them, and what the same time is without prompts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stalls {
    pub(crate) rows: Vec<PrefillStall>,
    pub(crate) plain_ns: Vec<i64>,
    pub(crate) untold: usize,
}

/// Steps of prompts since the last step of decode. None is what the trace does not tell.
struct Pending {
    steps: usize,
    prompts: Option<i64>,
    tokens: Option<i64>,
}

const NOTHING: Pending = Pending { steps: 0, prompts: Some(0), tokens: Some(0) };

impl Stalls {
    /// Adds the steps of a rank: rows of its phases.
    pub(crate) fn add(&mut self, phases: &Phases, mut steps: Vec<usize>) {
        steps.sort_unstable_by_key(|&row| (phases.ts_ns[row], row));
        let mut last: Option<i64> = None;
        let mut pending = NOTHING;
        for row in steps {
            let (batch, tokens) = (phases.batch[row].get(), phases.prefill_tokens[row].get());
            let kind = phases.kind[row];
            if kind == PhaseKind::Prefill {
                pending.steps += 1;
                pending.prompts = sum(pending.prompts, batch);
                pending.tokens = sum(pending.tokens, tokens);
                continue;
            }
            let pending = std::mem::replace(&mut pending, NOTHING);
            let host_end = phases.ts_ns[row].saturating_add(phases.dur_ns[row]);
            let end = phases.device_last_ns[row].get().unwrap_or(host_end);
            let Some(before) = last.replace(end) else { continue };
            let ns = end.saturating_sub(before).max(0);
            let is_mixed = kind == PhaseKind::Mixed;
            if pending.steps == 0 && !is_mixed {
                self.plain_ns.push(ns);
                continue;
            }
            // A speculating engine has several tokens of a sequence: no more go on than the batch has.
            let own = phases.decode_tokens[row].get();
            let going_on =
                if is_mixed { own.map(|own| own.min(batch.unwrap_or(own))) } else { batch.or(own) };
            let read = if is_mixed { sum(pending.tokens, tokens) } else { pending.tokens };
            let waiting = going_on.zip(pending.prompts).map(|(all, new)| all.saturating_sub(new));
            match waiting.zip(read) {
                None => self.untold += 1,
                Some((waiting, prompt_tokens)) if waiting > 0 && prompt_tokens > 0 => {
                    self.rows.push(PrefillStall { ns, prompt_tokens, waiting, rode: is_mixed });
                }
                Some(_) => {}
            }
        }
    }

    pub(crate) fn usual_ns(&self) -> Option<i64> {
        nearest_rank(&mut self.plain_ns.clone(), 50)
    }
}

fn sum(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    a.zip(b).map(|(a, b)| a.saturating_add(b))
}

#[cfg(test)]
mod tests {
    use rooflens_schema::Opt;
    use rooflens_schema::tables::PhaseSource;

    use super::*;
    use crate::sample::Sample;

    /// Steps one after the other: kind, duration, sequences, prompt tokens.
    fn stalls(steps: &[(PhaseKind, i64, Option<i64>, i64)]) -> Stalls {
        let mut sample = Sample::new(0);
        let mut ts = 0;
        for (row, (kind, dur, batch, tokens)) in steps.iter().enumerate() {
            sample.phase(ts, *dur, "step", *kind, PhaseSource::Engine);
            let phases = &mut sample.tables.phases;
            phases.batch[row] = (*batch).into();
            phases.prefill_tokens[row] = Opt::some(*tokens);
            // A mixed step has one prompt.
            phases.decode_tokens[row] =
                batch.map(|batch| if *kind == PhaseKind::Mixed { batch - 1 } else { batch }).into();
            ts += dur;
        }
        let mut found = Stalls::default();
        found.add(&sample.tables.phases, (0..steps.len()).collect());
        found
    }

    #[test]
    fn those_that_went_on_before_wait() {
        use PhaseKind::{Decode, Mixed, Prefill};
        // Two prompts of 3,000 tokens join four sequences: 70 + 10 from token to token, where 10 is usual.
        let found = stalls(&[
            (Decode, 10, Some(4), 0),
            (Decode, 10, Some(4), 0),
            (Prefill, 70, Some(2), 6000),
            (Decode, 10, Some(6), 0),
        ]);
        assert_eq!(found.rows, [PrefillStall { ns: 80, prompt_tokens: 6000, waiting: 4, rode: false }]);
        assert_eq!(found.usual_ns(), Some(10));
        // One request after the other: nobody waits.
        let found = stalls(&[
            (Prefill, 70, Some(1), 3000),
            (Decode, 10, Some(1), 0),
            (Prefill, 70, Some(1), 3000),
            (Decode, 10, Some(1), 0),
        ]);
        assert_eq!((found.rows.len(), found.untold), (0, 0));
        // A mixed step: its own sequences wait.
        let found = stalls(&[(Decode, 10, Some(4), 0), (Mixed, 90, Some(5), 8000)]);
        assert_eq!(found.rows, [PrefillStall { ns: 90, prompt_tokens: 8000, waiting: 4, rode: true }]);
        // Without the number of sequences nobody knows.
        let found = stalls(&[(Decode, 10, None, 0), (Prefill, 70, None, 3000), (Decode, 10, None, 0)]);
        assert_eq!((found.rows.len(), found.untold), (0, 1));
    }
}
