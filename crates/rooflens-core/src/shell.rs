//! Words of a command line, as a shell needs them: hints are meant to be pasted.

use std::path::Path;

/// The path as one word.
pub fn word(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:+=@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_needs_quotes_gets_them() {
        assert_eq!(word(Path::new("runs/a_1.json.gz")), "runs/a_1.json.gz");
        assert_eq!(word(Path::new("my trace.json")), "'my trace.json'");
        assert_eq!(word(Path::new("it's")), r"'it'\''s'");
        assert_eq!(word(Path::new("")), "''");
    }
}
