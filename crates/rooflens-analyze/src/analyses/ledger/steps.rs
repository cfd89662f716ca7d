//! The times of single steps, line by line.

use std::collections::{BTreeMap, HashMap};

use rooflens_schema::tables::Phases;

use super::{LineStep, StepTime, Times, sum};
use crate::analyses::FlawedSteps;
use crate::ledger::{Exchange, Line};
use crate::statistics::Durations;

/// Steps that are through, and those of the rank at hand.
#[derive(Default)]
pub(super) struct Steps {
    /// Rows of `phases` of the rank at hand.
    pub(crate) open: HashMap<i32, Times, foldhash::fast::RandomState>,
    sound: Spread,
    flawed: Spread,
    flaws: BTreeMap<String, usize>,
}

#[derive(Default)]
struct Spread {
    wall: Durations,
    lines: BTreeMap<Line, Durations>,
}

impl Steps {
    /// Ends the steps of a rank: ids start anew in the next.
    pub(crate) fn close(&mut self, phases: &Phases, exchange: &mut Exchange) {
        for (row, times) in self.open.drain() {
            let flaw = phases.excluded.get(row as usize).and_then(Option::as_ref);
            exchange.close_step(row, times[Line::Communication as usize], flaw.is_none());
            match flaw {
                Some(flaw) => {
                    *self.flaws.entry(flaw.clone()).or_default() += 1;
                    self.flawed.push(&times);
                }
                None => self.sound.push(&times),
            }
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.sound.wall.count + self.flawed.wall.count
    }

    /// Those whose time is not a step's.
    pub(crate) fn flaws(&self) -> Vec<FlawedSteps> {
        let flaws = self.flaws.iter();
        flaws.map(|(reason, steps)| FlawedSteps { reason: reason.clone(), steps: *steps }).collect()
    }

    /// The time of a step, and of each line in it: of sound steps, where there is any.
    pub(crate) fn summary(self, exchange: &Exchange) -> (Option<StepTime>, Vec<LineStep>) {
        let are_sound = self.sound.wall.count > 0;
        let Spread { wall, mut lines } = if are_sound { self.sound } else { self.flawed };
        for (line, times) in [
            (Line::Communication, exchange.step_transfer_ns(are_sound)),
            (Line::CommWait, exchange.step_wait_ns(are_sound)),
        ] {
            if times.total_ns > 0 {
                lines.insert(line, times);
            }
        }
        let steps = wall.count;
        let line_step = |(line, mut durations): (Line, Durations)| {
            for _ in durations.count..steps {
                durations.push(0);
            }
            let [p50_ns, p99_ns] = durations.summary([50, 99])?.percentiles;
            Some(LineStep { line, p50_ns, p99_ns })
        };
        let step = wall.summary([50, 90, 99]).map(|summary| {
            let [p50_ns, p90_ns, p99_ns] = summary.percentiles;
            StepTime { p50_ns, p90_ns, p99_ns, max_ns: summary.max }
        });
        (step, lines.into_iter().filter_map(line_step).collect())
    }
}

impl Spread {
    fn push(&mut self, times: &Times) {
        self.wall.push(sum(times));
        // How much of its communication is waiting is known in the end.
        let lines = Line::ALL.iter().zip(times).filter(|(line, _)| **line != Line::Communication);
        for (line, &ns) in lines {
            // Lines that steps do not have count as 0 where others of the phase have them.
            if ns > 0 || self.lines.contains_key(line) {
                let known = self.lines.entry(*line).or_default();
                // Steps before this one had none.
                for _ in known.count + 1..self.wall.count {
                    known.push(0);
                }
                known.push(ns);
            }
        }
    }
}
