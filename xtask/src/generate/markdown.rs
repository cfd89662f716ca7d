//! Parts of Markdown pages.

/// Files outside docs/ are not part of the book: pages link them on GitHub.
pub(crate) const MAIN: &str = "https://github.com/rooflens/rooflens/blob/main";

pub(crate) fn test_link(name: &str, file: &str) -> String {
    format!("[`{name}`]({MAIN}/{file})")
}

pub(crate) fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
