//! Paths as git's patterns (`.gitignore`, sparse checkouts) that match nothing else.

/// A path as a pattern.
pub(crate) fn literal(path: &str) -> String {
    let mut pattern = String::new();
    for char in path.chars() {
        if matches!(char, '\\' | '*' | '?' | '[' | ']') {
            pattern.push('\\');
        }
        pattern.push(char);
    }
    // A space at the end would be dropped.
    match pattern.strip_suffix(' ') {
        Some(rest) => format!("{rest}\\ "),
        None => pattern,
    }
}
