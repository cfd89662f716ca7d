//! Problems are rows: what could not be read, or looks wrong, is counted here and shown in every
//! report. Nothing is dropped in silence.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::table::column_enum;

column_enum! {
    /// How bad it is.
    Severity {
        /// Worth knowing; no number is affected.
        Info = "info",
        /// A number may mislead.
        Warning = "warning",
        /// Something the input held, or should have held, is not in the tables.
        DataLoss = "data_loss",
    }
}

column_enum! {
    /// The stage of the line that met the problem.
    Stage {
        /// Running a tool or sampling a device.
        Collect = "collect",
        /// Turning bytes into rows.
        Ingest = "ingest",
        /// Turning rows into findings.
        Analyze = "analyze",
    }
}

/// A problem, with how often it was met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    /// Where on the line.
    pub stage: Stage,
    /// How bad.
    pub severity: Severity,
    /// A stable word for programs, as `truncated`.
    pub code: String,
    /// The file it was met in, by name; empty where it concerns the whole run.
    pub source: String,
    /// How often it was met.
    pub count: i64,
    /// A sentence for people, about the first occurrence.
    pub message: String,
}

/// Collects notes from several threads; equal (severity, code, source) are counted in one row.
#[derive(Debug, Default)]
pub struct Notes {
    rows: Mutex<BTreeMap<(Severity, String, String), Note>>,
}

impl Notes {
    /// Counts a problem. The first message of its kind is kept.
    pub fn add(&self, stage: Stage, severity: Severity, code: &str, source: &str, message: String) {
        self.add_many(stage, severity, code, source, 1, message);
    }

    /// Counts `count` occurrences at once; nothing happens for zero.
    pub fn add_many(
        &self,
        stage: Stage,
        severity: Severity,
        code: &str,
        source: &str,
        count: i64,
        message: String,
    ) {
        if count == 0 {
            return;
        }
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        rows.entry((severity, code.to_owned(), source.to_owned()))
            .and_modify(|note| note.count += count)
            .or_insert_with(|| Note {
                stage,
                severity,
                code: code.to_owned(),
                source: source.to_owned(),
                count,
                message,
            });
    }

    /// Counts all that `other` has, as if it had been counted here now.
    pub fn absorb(&self, other: Notes) {
        for note in other.rows.into_inner().unwrap_or_else(PoisonError::into_inner).into_values() {
            self.add_many(note.stage, note.severity, &note.code, &note.source, note.count, note.message);
        }
    }

    /// All rows so far, worst first.
    pub fn rows(&self) -> Vec<Note> {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<Note> = rows.values().cloned().collect();
        all.sort_by_key(|note| std::cmp::Reverse(note.severity));
        all
    }
}
