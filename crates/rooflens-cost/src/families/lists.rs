//! Lists with an entry for each layer: which layers are of a kind.

use crate::config::{ConfigError, Keys};

/// Which layers a list of words calls `yes` rather than `no`, where the key is there.
pub(crate) fn by_word(
    keys: &Keys,
    key: &str,
    depth: usize,
    yes: &str,
    no: &str,
    wanted: &'static str,
) -> Result<Option<Vec<bool>>, ConfigError> {
    let Some(words) = keys.texts(key)? else { return Ok(None) };
    keys.check_length(key, words.len(), depth)?;
    let of = |word: &str| match word {
        word if word == yes => Ok(true),
        word if word == no => Ok(false),
        _ => Err(keys.wrong(key, wanted)),
    };
    words.into_iter().take(depth).map(of).collect::<Result<_, _>>().map(Some)
}

/// Which layers a list of numbers gives another number than 0, where the key is there.
pub(crate) fn by_number(keys: &Keys, key: &str, depth: usize) -> Result<Option<Vec<bool>>, ConfigError> {
    let Some(numbers) = keys.numbers(key)? else { return Ok(None) };
    keys.check_length(key, numbers.len(), depth)?;
    Ok(Some(numbers.into_iter().take(depth).map(|number| number != 0).collect()))
}

/// What a list of words may say of feed-forward networks.
pub(crate) const DENSE_OR_SPARSE: &str = "dense or sparse for each layer";
