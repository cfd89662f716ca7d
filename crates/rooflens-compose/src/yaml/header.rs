//! The `# @package` header of a config file.

use super::python_newlines;

/// How much of a file Hydra reads for its header.
const HEADER_CHARS: usize = 512;

/// What the header of a config file says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Header {
    /// The package, as written; none where the file does not name one.
    pub package: Option<String>,
}

/// A header line that is not a key and a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// A key without a value.
    #[error("line {line}: a header is a key and a value, but this is '{text}'")]
    NoValue {
        /// Line, from 1.
        line: u32,
        /// The line after its `#`.
        text: String,
    },
    /// More than a key and a value.
    #[error("line {line}: a header is one key and one value, but this is '{text}'")]
    TooManyWords {
        /// Line, from 1.
        line: u32,
        /// The line after its `#`.
        text: String,
    },
}

/// Reads the header: the `# @key value` lines at the top, blank lines between them allowed. The
/// first line of another kind ends it, a plain comment too. Keys other than `package` are checked
/// for their shape and then ignored, and only the first 512 characters are looked at, as in Hydra.
///
/// # Errors
/// When a header line is not exactly a key and a value.
pub fn header(text: &str) -> Result<Header, HeaderError> {
    let text = python_newlines(text);
    let end = text.char_indices().nth(HEADER_CHARS).map_or(text.len(), |(end, _)| end);
    let mut header = Header::default();
    for (index, line) in python_lines(&text[..end]).enumerate() {
        let line = line.trim_matches(is_python_space);
        if line.is_empty() {
            continue;
        }
        let is_header = line
            .strip_prefix('#')
            .is_some_and(|rest| rest.trim_start_matches(is_python_space).starts_with('@'));
        if !is_header {
            break;
        }
        let content = line.trim_start_matches('#').trim_matches(is_python_space);
        let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let mut words = content.split(' ').filter(|word| !word.is_empty());
        let (Some(key), Some(value)) = (words.next(), words.next()) else {
            return Err(HeaderError::NoValue { line: number, text: content.to_owned() });
        };
        if words.next().is_some() {
            return Err(HeaderError::TooManyWords { line: number, text: content.to_owned() });
        }
        if key.trim_matches(is_python_space) == "@package" {
            header.package = Some(value.trim_matches(is_python_space).to_owned());
        }
    }
    Ok(header)
}

/// Lines as `str.splitlines` has them.
fn python_lines(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\n', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'])
}

fn is_python_space(char: char) -> bool {
    char.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&char)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_first_block_only() {
        let package = |text| header(text).map(|header| header.package);
        assert_eq!(package("\n# @package _global_\na: 1\n"), Ok(Some("_global_".to_owned())));
        assert_eq!(package("#@package a.b"), Ok(Some("a.b".to_owned())));
        assert_eq!(package("# note\n# @package a\n"), Ok(None));
        assert_eq!(package("# @other x\n\n# @package a\n"), Ok(Some("a".to_owned())));
        assert_eq!(package("a: 1\n# @package a\n"), Ok(None));
        assert_eq!(package("## @package a\n"), Ok(None));
        assert!(matches!(package("# @package"), Err(HeaderError::NoValue { line: 1, .. })));
        assert!(matches!(package("\n# @package a b"), Err(HeaderError::TooManyWords { line: 2, .. })));
    }
}
