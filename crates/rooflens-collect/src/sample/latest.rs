//! The newest known value of every column, for screens and scrapers.

use rooflens_schema::tables::{CounterRow, Counters};

use crate::sample::field::{self, CounterValue};
use crate::sample::source::Subject;

/// What is asked seldom is shown until it is older than this.
const OLD_NS: i64 = 3_000_000_000;

/// A subject with what is known of it.
#[derive(Debug, Clone)]
pub struct LatestValues {
    /// The machine or device.
    pub subject: Subject,
    /// Its last row, if there was one.
    pub row: Option<CounterRow>,
    values: Vec<(i64, CounterValue)>,
    before: Vec<(i64, CounterValue)>,
}

impl LatestValues {
    /// The newest value of a column; null where it was never told, or not of late.
    pub fn value(&self, column: &str) -> CounterValue {
        let Some(row) = &self.row else { return CounterValue::Null };
        let at = field::ALL.iter().position(|field| field.name == column);
        match at.and_then(|at| self.values.get(at)) {
            Some((ts_ns, value)) if row.ts_ns - ts_ns <= OLD_NS => *value,
            _ => CounterValue::Null,
        }
    }

    /// How fast a column that only grows has grown of late, a second.
    pub fn rate(&self, column: &str) -> Option<f64> {
        let at = field::ALL.iter().position(|field| field.name == column)?;
        let ((before_ns, before), (now_ns, now)) = (self.before.get(at)?, self.values.get(at)?);
        let seconds = (now_ns - before_ns) as f64 / 1e9;
        let grown = now.number()? - before.number()?;
        (seconds > 0.0 && grown >= 0.0).then(|| grown / seconds)
    }

    /// The same as a number.
    pub fn number(&self, column: &str) -> Option<f64> {
        self.value(column).number()
    }
}

/// Every subject with what is known of it.
#[derive(Debug, Clone)]
pub struct Latest(pub Vec<LatestValues>);

impl Latest {
    /// Nothing is known yet.
    pub fn new(subjects: Vec<Subject>) -> Self {
        let nothing = vec![(0, CounterValue::Null); field::ALL.len()];
        let known =
            |subject| LatestValues { subject, row: None, values: nothing.clone(), before: nothing.clone() };
        Latest(subjects.into_iter().map(known).collect())
    }

    /// Takes rows in.
    pub fn update(&mut self, rows: &Counters) {
        for row in (0..rows.len()).filter_map(|i| rows.row(i)) {
            let is_of = |known: &&mut LatestValues| {
                known.subject.source == row.source.as_str() && known.subject.device == row.device.get()
            };
            let Some(known) = self.0.iter_mut().find(is_of) else { continue };
            for ((kept, before), field) in known.values.iter_mut().zip(&mut known.before).zip(field::ALL) {
                match (field.of)(&row) {
                    CounterValue::Null => {}
                    value => *before = std::mem::replace(kept, (row.ts_ns, value)),
                }
            }
            known.row = Some(row);
        }
    }
}
