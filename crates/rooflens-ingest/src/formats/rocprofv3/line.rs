//! A line of CSV as rocprofv3 writes it. A record is a line: no name that the tool writes holds a line
//! break, so damage never reaches beyond its line.

/// The values of a line.
pub fn values(line: &str) -> Vec<String> {
    let mut values = Vec::new();
    let mut rest = line;
    loop {
        let (value, behind) = value(rest);
        values.push(value);
        match behind {
            Some(behind) => rest = behind,
            None => return values,
        }
    }
}

/// The first value, and what stands behind its comma.
fn value(text: &str) -> (String, Option<&str>) {
    let Some(quoted) = text.strip_prefix('"') else {
        return match text.split_once(',') {
            Some((value, behind)) => (value.to_owned(), Some(behind)),
            None => (text.to_owned(), None),
        };
    };
    let mut value = String::new();
    let mut rest = quoted;
    while let Some((before, behind)) = rest.split_once('"') {
        value.push_str(before);
        if behind.is_empty() {
            return (value, None);
        }
        if let Some(behind) = behind.strip_prefix(',') {
            return (value, Some(behind));
        }
        // Older versions do not double the quotes of a name.
        value.push('"');
        rest = behind.strip_prefix('"').unwrap_or(behind);
    }
    value.push_str(rest);
    (value, None)
}

/// The number in a value: `4`, or the 4 of `Agent 4`.
pub fn number(value: &str) -> Option<i64> {
    value.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_and_bare() {
        assert_eq!(values(r#""K",1,"void f(a, b)",,2"#), ["K", "1", "void f(a, b)", "", "2"]);
        assert_eq!(values(r#""say ""hi""",3"#), ["say \"hi\"", "3"]);
        assert_eq!(values(r#""say "hi" there",3"#), ["say \"hi\" there", "3"]);
        assert_eq!(values("1,"), ["1", ""]);
        assert_eq!(values(r#"1,"cut o"#), ["1", "cut o"]);
        assert_eq!(values(""), [""]);
    }

    #[test]
    fn numbers() {
        assert_eq!([number("4"), number("Agent 4"), number(""), number("x")], [Some(4), Some(4), None, None]);
        assert_eq!(number("8819330200067564"), Some(8_819_330_200_067_564));
    }
}
