//! The texts of the files that were read, to show lines of them.

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::ComposeError;
use crate::value::ValueSource;

/// How much of a line is shown.
const EXCERPT_CHARS: usize = 160;

/// The texts of the files that were read, by their names.
#[derive(Debug, Clone, Default)]
pub(crate) struct Texts {
    by_name: HashMap<Arc<str>, Arc<str>>,
}

impl Texts {
    pub(super) fn keep(&mut self, name: &Arc<str>, text: &str) {
        self.by_name.insert(Arc::clone(name), Arc::from(text));
    }

    /// Fills in the line an error stands in.
    pub(crate) fn show_place(&self, mut error: ComposeError) -> ComposeError {
        if let Some(place) = &mut error.place
            && let ValueSource::File(file) = &place.origin.source
            && place.excerpt.is_empty()
            && let Some(index) = usize::try_from(place.origin.line).ok().and_then(|line| line.checked_sub(1))
            && let Some(text) = self.by_name.get(file)
        {
            let line = text.lines().nth(index).unwrap_or("");
            place.excerpt = line.chars().take(EXCERPT_CHARS).collect();
        }
        error
    }
}
