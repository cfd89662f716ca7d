//! Why a page cannot be shown.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use rooflens_report::Part;
use rooflens_report::block::Block;

use crate::cache::KeptPage;
use crate::frame;

/// Characters of a message: it may repeat what was asked for.
const LONGEST: usize = 2_000;

#[derive(Debug, Clone)]
pub(crate) struct PageFault {
    pub(crate) status: StatusCode,
    pub(crate) fact: String,
    pub(crate) hint: Option<String>,
}

impl PageFault {
    pub(crate) fn of(status: StatusCode, fact: impl Into<String>) -> Self {
        PageFault { status, fact: fact.into(), hint: None }
    }

    /// Adds what helps.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn no_run() -> Self {
        let fault = PageFault::of(StatusCode::NOT_FOUND, "There is no such run.");
        fault.hint("It may have been moved or removed: look for it in the list of runs.")
    }

    pub(crate) fn ending() -> Self {
        PageFault::of(StatusCode::SERVICE_UNAVAILABLE, "The server is about to end.")
    }

    pub(crate) fn bug() -> Self {
        PageFault::of(
            StatusCode::INTERNAL_SERVER_ERROR,
            "This is a bug in Rooflens: the page could not be made.",
        )
    }

    /// A library's error.
    pub fn of_error(error: &rooflens_core::Error) -> Self {
        let fault = PageFault::of(StatusCode::UNPROCESSABLE_ENTITY, error.to_string());
        match error.hint() {
            Some(hint) => fault.hint(hint.to_string()),
            None => fault,
        }
    }

    pub(crate) fn parts(&self) -> Vec<Part> {
        let cut = |text: &str| text.chars().take(LONGEST).collect::<String>();
        let mut blocks = vec![Block::Lead(cut(&self.fact))];
        blocks.extend(self.hint.as_deref().map(|hint| Block::Text(cut(hint))));
        vec![Part { name: "problem", title: "Problem", blocks }]
    }
}

impl IntoResponse for PageFault {
    fn into_response(self) -> Response {
        let html = frame::page("Problem", "", "", &self.parts(), "");
        KeptPage::with_status(self.status, html).response(&Default::default())
    }
}
