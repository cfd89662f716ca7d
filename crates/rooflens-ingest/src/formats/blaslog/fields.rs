//! `key=value` pairs of a line, where a value may be a list in brackets.

/// The pairs of a text; `value` of `key=[a=1 b=2]` is `a=1 b=2`.
pub(super) fn pairs(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            rest = rest.trim_start();
            let end = rest.find([' ', '='])?;
            let (key, behind) = rest.split_at(end);
            let Some(value) = behind.strip_prefix('=') else {
                // A word without a value.
                rest = behind;
                continue;
            };
            let (value, behind) = match value.strip_prefix('[') {
                Some(inner) => inner.split_once(']').unwrap_or((inner, "")),
                None => value.split_at(value.find(' ').unwrap_or(value.len())),
            };
            rest = behind;
            return Some((key, value));
        }
    })
}

/// The value of a key.
pub(super) fn value<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    pairs(text).find(|(found, _)| *found == key).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_stay_whole() {
        let found: Vec<(&str, &str)> =
            pairs("A=0X1 Adesc=[type=R_16F rows=2] word beta=? open=[x=1").collect();
        let expected = [("A", "0X1"), ("Adesc", "type=R_16F rows=2"), ("beta", "?"), ("open", "x=1")];
        assert_eq!(found, expected);
        assert_eq!(value("type=R_16F rows=2", "rows"), Some("2"));
    }
}
