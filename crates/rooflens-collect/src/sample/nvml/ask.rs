//! Questions that a device may refuse: once and for all, for now, or because it is gone.

use nvml_wrapper::error::NvmlError;
use rooflens_schema::{Notes, Severity, Stage};

const AGAIN_NS: i64 = 1_000_000_000;

pub(super) struct Ask {
    /// The column that it fills; the first, where it fills several.
    pub(super) column: &'static str,
    /// Why it is never asked again.
    pub(super) refused: Option<String>,
    next_ns: i64,
}

pub(super) struct Trouble<'a> {
    pub(super) due_ns: i64,
    pub(super) source: &'a str,
    pub(super) notes: &'a Notes,
    pub(super) lost: bool,
}

impl Ask {
    pub(super) fn new(column: &'static str) -> Self {
        Ask { column, refused: None, next_ns: i64::MIN }
    }

    pub(super) fn ask<T>(
        &mut self,
        trouble: &mut Trouble<'_>,
        call: impl FnOnce() -> Result<T, NvmlError>,
    ) -> Option<T> {
        if trouble.lost || self.refused.is_some() || trouble.due_ns < self.next_ns {
            return None;
        }
        let error = match call() {
            Ok(answer) => return Some(answer),
            Err(error) => error,
        };
        match error {
            NvmlError::GpuLost | NvmlError::ResetRequired => {
                trouble.lost = true;
                let message = format!("{error}; its samples end here, those of other devices continue");
                trouble.notes.add(Stage::Collect, Severity::DataLoss, "device_lost", trouble.source, message);
            }
            NvmlError::NotSupported
            | NvmlError::FailedToLoadSymbol(_)
            | NvmlError::FunctionNotFound
            | NvmlError::NoPermission => self.refused = Some(error.to_string()),
            // No data yet is no trouble.
            NvmlError::NoData | NvmlError::NotFound => {}
            error => {
                self.next_ns = trouble.due_ns + AGAIN_NS;
                let message = format!("{} was not reported: {error}", self.column);
                trouble.notes.add(
                    Stage::Collect,
                    Severity::Warning,
                    "device_unanswered",
                    trouble.source,
                    message,
                );
            }
        }
        None
    }
}
