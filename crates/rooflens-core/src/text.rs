//! Columns on a screen.

const GAP: &str = "  ";

/// A line for each row, its cells padded to columns. The last column is as wide as it is.
pub fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
    let rows: Vec<[String; N]> =
        rows.iter().map(|row| std::array::from_fn(|at| printable(&row[at]))).collect();
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    let line = |row: &[String; N]| {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        format!("{}\n", cells.join(GAP).trim_end())
    };
    rows.iter().map(line).collect()
}

/// Names of files may hold what a terminal would obey.
pub fn printable(text: &str) -> String {
    text.chars().map(|char| if char.is_control() { char::REPLACEMENT_CHARACTER } else { char }).collect()
}

/// So many of something.
pub fn counted(count: usize, noun: &str) -> String {
    match count {
        0 => format!("no {noun}s"),
        1 => format!("1 {noun}"),
        many => format!("{many} {noun}s"),
    }
}

pub(crate) fn capitalised(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_lines_have_no_blanks_at_their_end() {
        let rows = [["a", "bcd", "e"], ["äöü", "", ""], ["x\u{1b}[31m", "y", ""]];
        let rows = rows.map(|row| row.map(str::to_owned));
        assert_eq!(aligned(&rows), "a       bcd  e\näöü\nx\u{fffd}[31m  y\n");
    }
}
