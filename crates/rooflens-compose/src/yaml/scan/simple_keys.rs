//! Keys without a `?`, which only their `:` gives away.
//!
//! Every token that could begin one is noted until its `:` comes or cannot come any more. There is
//! at most one for each level of brackets, and an outer one always came before an inner one, so
//! the notes are in order by place, by token and by level at once.

use std::collections::VecDeque;

use super::cursor::{Cursor, Mark};
use crate::yaml::syntax::{SyntaxError, SyntaxProblem};

/// The most characters between the beginning of a key and its `:`.
const MAX_KEY_CHARS: usize = 1024;

/// A token that may turn out to begin a key.
#[derive(Debug)]
pub(super) struct SimpleKey {
    /// The number of the token among all tokens of the text.
    pub(super) token: usize,
    /// Whether nothing but a key can stand there.
    pub(super) is_required: bool,
    pub(super) level: usize,
    pub(super) index: usize,
    pub(super) mark: Mark,
}

/// The keys that are still possible, outermost first.
#[derive(Debug, Default)]
pub(super) struct SimpleKeys(VecDeque<SimpleKey>);

impl SimpleKeys {
    /// Notes a key; the level's earlier one has been removed.
    pub(super) fn push(&mut self, key: SimpleKey) {
        self.0.push_back(key);
    }

    /// The first token that may begin a key.
    pub(super) fn first_token(&self) -> Option<usize> {
        self.0.front().map(|key| key.token)
    }

    /// Takes the key of a level, which is the innermost.
    pub(super) fn take(&mut self, level: usize) -> Option<SimpleKey> {
        self.0.pop_back_if(|key| key.level == level)
    }

    /// Gives up the key of a level.
    pub(super) fn remove(&mut self, level: usize) -> Result<(), SyntaxError> {
        self.take(level).map_or(Ok(()), give_up)
    }

    /// Gives up keys whose line has ended, or that have become too long.
    pub(super) fn remove_stale(&mut self, cursor: &Cursor<'_>) -> Result<(), SyntaxError> {
        let is_stale = |key: &mut SimpleKey| {
            key.mark.line != cursor.mark().line || cursor.index() - key.index > MAX_KEY_CHARS
        };
        while let Some(key) = self.0.pop_front_if(is_stale) {
            give_up(key)?;
        }
        Ok(())
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

fn give_up(key: SimpleKey) -> Result<(), SyntaxError> {
    if key.is_required {
        return Err(SyntaxProblem::KeyWithoutColon.at(key.mark));
    }
    Ok(())
}
