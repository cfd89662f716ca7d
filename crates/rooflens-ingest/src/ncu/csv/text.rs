//! Comma-separated values: quotes, doubled quotes, line breaks inside quotes, rows of any length.

/// A row of cells.
pub type CsvRow = Vec<String>;

/// The rows of a text. Lines that the tool talks in (`==PROF== …`) are left out where a row would begin;
/// a quote that is never closed ends with the text.
pub fn rows(text: &str) -> Vec<CsvRow> {
    let mut rows = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let talk = rest.starts_with("==");
        let blank = rest.starts_with(['\n', '\r']);
        if talk || blank {
            rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
            continue;
        }
        let (row, after) = row(rest);
        rows.push(row);
        rest = after;
    }
    rows
}

/// The first row of a text, and what follows it.
fn row(text: &str) -> (CsvRow, &str) {
    let mut cells = Vec::new();
    let mut cell = String::new();
    let mut quoted = false;
    let mut chars = text.char_indices().peekable();
    while let Some((at, char)) = chars.next() {
        match char {
            '"' if quoted && chars.next_if(|next| next.1 == '"').is_some() => cell.push('"'),
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(std::mem::take(&mut cell)),
            '\r' if !quoted && chars.peek().is_some_and(|next| next.1 == '\n') => {}
            '\n' if !quoted => {
                cells.push(cell);
                return (cells, &text[at + 1..]);
            }
            char => cell.push(char),
        }
    }
    cells.push(cell);
    (cells, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_breaks_and_ragged_rows() {
        let text = "==PROF== Connected\n\"a\",\"b \"\"x\"\", y\"\r\n\n1\n\"two\nlines\",,\n\"open";
        let found = rows(text);
        assert_eq!(
            found,
            [vec!["a", "b \"x\", y"], vec!["1"], vec!["two\nlines", "", ""], vec!["open"]]
                .map(|row| row.into_iter().map(str::to_owned).collect::<CsvRow>())
        );
    }
}
