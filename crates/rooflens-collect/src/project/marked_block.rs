//! Lines of ours in a file of the user's, between two marks. The rest of the file is never touched.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Position {
    /// Before the rest, but after a `#!` line.
    Top,
    End,
}

/// The text with the block of that label set to some lines; without lines, without the block. For files
/// whose comments begin with `#`.
pub(crate) fn with_block(text: &str, label: &str, lines: &[String], position: Position) -> String {
    let marks = (format!("# >>> {label} >>>"), format!("# <<< {label} <<<"));
    between(text, &marks, lines, position)
}

pub(crate) fn between(text: &str, marks: &(String, String), lines: &[String], position: Position) -> String {
    let (opening, closing) = marks;
    let mut block = String::new();
    if !lines.is_empty() {
        for line in [opening].into_iter().chain(lines).chain([closing]) {
            block.push_str(line);
            block.push('\n');
        }
    }
    if let Some((before, after)) = around(text, opening, closing) {
        return format!("{before}{block}{after}");
    }
    let text = if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
    let (before, after) = match position {
        Position::End => (text.as_str(), ""),
        Position::Top if text.starts_with("#!") => {
            text.split_at(text.find('\n').map_or(text.len(), |end| end + 1))
        }
        Position::Top => ("", text.as_str()),
    };
    if block.is_empty() { text } else { format!("{before}{block}{after}") }
}

/// What stands before and after the block. Marks only count as whole lines; an opening one without
/// its end is left to the user.
fn around<'a>(text: &'a str, opening: &str, closing: &str) -> Option<(&'a str, &'a str)> {
    let mut start = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        let content = line.trim_end();
        match start {
            None if content == opening => start = Some(at),
            Some(start) if content == closing => return Some((&text[..start], &text[end..])),
            _ => {}
        }
        at = end;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        vec![text.to_owned()]
    }

    #[test]
    fn a_block_comes_changes_and_goes() {
        let user = "#!/bin/sh\nexec user-hook";
        let with = with_block(user, "ours", &lines("one"), Position::Top);
        assert_eq!(with, "#!/bin/sh\n# >>> ours >>>\none\n# <<< ours <<<\nexec user-hook\n");
        assert_eq!(with_block(&with, "ours", &lines("one"), Position::Top), with);
        let changed = with_block(&with, "ours", &lines("two"), Position::End);
        assert_eq!(changed, with.replace("one", "two"));
        assert_eq!(with_block(&changed, "ours", &[], Position::Top), "#!/bin/sh\nexec user-hook\n");
    }

    #[test]
    fn a_block_without_its_end_is_left_alone() {
        let text = "# >>> ours >>>\nuser\n";
        let with = with_block(text, "ours", &lines("one"), Position::End);
        assert!(with.starts_with(text));
    }
}
