//! Comma-separated values, from whichever tool: quotes around a value, doubled quotes inside of it, line breaks between
//! quotes, rows of any length.
//!
//! No text is an error: a damaged one gives odd rows, in time and memory in proportion to its length.

/// A row of cells.
pub type CsvRow = Vec<String>;

/// The rows of a text. Blank lines are left out, and those that the tools of NVIDIA talk in (`==PROF== …`), where a
/// row would begin; a quote that is never closed ends with the text.
pub(crate) fn rows(text: &str) -> Vec<CsvRow> {
    let mut rows = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        if line.starts_with("==") || matches!(line, "" | "\r") {
            rest = after;
            continue;
        }
        let (row, after) = row(rest);
        rows.push(row);
        rest = after;
    }
    rows
}

/// The cells of a single line, for files in which no value holds a line break: damage never reaches beyond its line.
pub fn cells(line: &str) -> CsvRow {
    row(line).0
}

fn row(text: &str) -> (CsvRow, &str) {
    let mut cells = Vec::new();
    let mut rest = text;
    loop {
        let (cell, after) = cell(rest);
        cells.push(cell);
        match after {
            After::Cell(after) => rest = after,
            After::Row(after) => return (cells, after),
        }
    }
}

enum After<'a> {
    Cell(&'a str),
    /// The next row, or nothing.
    Row(&'a str),
}

/// What follows a cell that ends here; `None` where none does.
fn after(text: &str) -> Option<After<'_>> {
    let next_row = text.strip_prefix("\r\n").or_else(|| text.strip_prefix('\n'));
    match text.strip_prefix(',') {
        Some(rest) => Some(After::Cell(rest)),
        None => next_row.or(text.is_empty().then_some("")).map(After::Row),
    }
}

fn cell(text: &str) -> (String, After<'_>) {
    let Some(mut rest) = text.strip_prefix('"') else {
        let end = memchr::memchr2(b',', b'\n', text.as_bytes()).unwrap_or(text.len());
        let (value, rest) = text.split_at(end);
        let value = if rest.starts_with('\n') { value.strip_suffix('\r').unwrap_or(value) } else { value };
        return (value.to_owned(), after(rest).unwrap_or(After::Row("")));
    };
    let mut value = String::new();
    while let Some((before, behind)) = rest.split_once('"') {
        value.push_str(before);
        if let Some(after) = after(behind) {
            return (value, after);
        }
        // Older versions of rocprofv3 do not double the quotes inside of a name.
        value.push('"');
        rest = behind.strip_prefix('"').unwrap_or(behind);
    }
    value.push_str(rest);
    (value, After::Row(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_breaks_and_ragged_rows() {
        let text = "==PROF== Connected\n\"a\",\"b \"\"x\"\", y\"\r\n\n1\r\n\r\n\"two\nlines\",,\n\"open";
        let expected: [&[&str]; 4] = [&["a", "b \"x\", y"], &["1"], &["two\nlines", "", ""], &["open"]];
        assert_eq!(rows(text), expected);
        assert_eq!((rows("a\r"), rows("")), (vec![vec!["a\r".to_owned()]], vec![]));
    }

    #[test]
    fn a_line_quoted_and_bare() {
        assert_eq!(cells(r#""K",1,"void f(a, b)",,2"#), ["K", "1", "void f(a, b)", "", "2"]);
        assert_eq!(cells(r#""say ""hi""",3"#), ["say \"hi\"", "3"]);
        assert_eq!(cells(r#""say "hi" there",3"#), ["say \"hi\" there", "3"]);
        assert_eq!(cells("1,"), ["1", ""]);
        assert_eq!(cells(r#"1,"cut o"#), ["1", "cut o"]);
        assert_eq!(cells(""), [""]);
    }

    #[test]
    fn hostile_text_is_read_to_its_end() {
        // A mebibyte each of quotes that never close, quotes alone, NULs, one long line, and nothing but ends.
        for pattern in ["\"a", "\"", "\"\"", "\0\"\0,", "\",\"\n", "x", ",", "\n", "==", "\r", "\"\n=="] {
            let text = pattern.repeat((1 << 20) / pattern.len());
            let found = rows(&text);
            let kept: usize = found.iter().flatten().map(String::len).sum();
            assert!(kept <= text.len(), "{pattern:?}");
        }
    }
}
