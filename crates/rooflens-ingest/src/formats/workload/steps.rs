//! `steps.csv`: a forward pass a line. Columns are found by name, others may come.

use rooflens_schema::Opt;
use rooflens_schema::tables::{PhaseKind, StepRow};

use super::Reader;
use crate::csv;

pub(super) const FILE: &str = "steps.csv";

impl Reader<'_> {
    pub(super) fn steps(&mut self) {
        let stage = self.stage.to_owned();
        let mut head: Option<Vec<String>> = None;
        let mut unknown_phases = 0;
        self.each_line(FILE, |workload, line, is_whole| {
            let cells = csv::cells(line);
            let Some(head) = &head else {
                let has = |name: &str| cells.iter().any(|cell| cell == name);
                let is_head = ["kind", "phase", "dur_ns"].into_iter().all(has);
                head = Some(if is_head { cells } else { Vec::new() });
                return is_head;
            };
            // A number that is cut is still a number: without its end a line cannot be trusted.
            if !is_whole || head.is_empty() || cells.len() != head.len() {
                return false;
            }
            let mut row = Row { head, cells: &cells, is_damaged: false };
            let step = row.step(workload.steps.len() as i64, &stage, &mut unknown_phases);
            match step.filter(|_| !row.is_damaged) {
                Some(step) => workload.steps.push(step),
                None => return false,
            }
            true
        });
        let message = "steps have a phase other than prefill, decode or mixed: they count as step";
        self.warn("unknown_phase", FILE, unknown_phases, message);
    }
}

/// The cells of a line.
struct Row<'a> {
    head: &'a [String],
    cells: &'a [String],
    /// Whether a cell that must be a number is none.
    is_damaged: bool,
}

impl Row<'_> {
    /// A cell; `None` where there is no such column, or it is empty: then it is not known.
    fn text(&self, name: &str) -> Option<&str> {
        let at = self.head.iter().position(|known| known == name)?;
        self.cells.get(at).map(String::as_str).filter(|cell| !cell.is_empty())
    }

    fn number(&mut self, name: &str) -> Opt<i64> {
        let Some(cell) = self.text(name) else { return Opt::NONE };
        let number = cell.parse().ok().filter(|number: &i64| *number >= 0);
        self.is_damaged |= number.is_none();
        number.into()
    }

    fn step(&mut self, step_id: i64, stage: &str, unknown_phases: &mut i64) -> Option<StepRow> {
        let dur_ns = self.number("dur_ns").get()?;
        let phase = match self.text("phase")? {
            "prefill" => PhaseKind::Prefill,
            "decode" => PhaseKind::Decode,
            "mixed" => PhaseKind::Mixed,
            _ => {
                *unknown_phases += 1;
                PhaseKind::Step
            }
        };
        let kv_usage = match self.text("kv_usage") {
            Some(cell) => Some(cell.parse().ok().filter(|share: &f64| share.is_finite())?),
            None => None,
        };
        Some(StepRow {
            step_id,
            stage: Some(stage.to_owned()),
            round: self.number("round"),
            round_kind: self.text("kind").map(str::to_owned),
            batch_index: self.number("batch_index"),
            number: self.number("step"),
            phase,
            ts_ns: self.number("start_ns"),
            dur_ns,
            batch_size: self.number("batch"),
            prefill_tokens: self.number("prefill_tokens"),
            decode_tokens: self.number("decode_tokens"),
            computed_tokens: self.number("computed_tokens"),
            context_tokens: self.number("kv_tokens"),
            cache_length: self.number("cache_length"),
            prompts: self.text("prompts").map(str::to_owned),
            pictures: self.text("pictures").map(str::to_owned),
            kv_usage,
            waiting: self.number("waiting"),
        })
    }
}
