//! From the common SQL of a query to that of an engine: parameters become literals, macros are expanded.
//!
//! Strings, quoted identifiers and comments pass unchanged. There are two macros: `quantile(expression, share)`,
//! exact and interpolated, and `as_text(expression)`.

use crate::dialect::Dialect;

/// Expands `sql`. `value` gives the literal of a parameter; an error is a sentence about the query's text.
pub(crate) fn expand<'a>(
    sql: &str,
    dialect: Dialect,
    value: &dyn Fn(&str) -> Option<&'a str>,
) -> Result<String, String> {
    let mut expanded = String::with_capacity(sql.len() * 2);
    let mut at = 0;
    while let Some(char) = sql[at..].chars().next() {
        let rest = &sql[at..];
        let length = if let Some(length) = opaque(rest)? {
            expanded.push_str(&rest[..length]);
            length
        } else if rest.starts_with("::") {
            return Err("it has `::`; CAST works everywhere".to_owned());
        } else if char == ':' && word(&rest[1..]) > 0 {
            let length = 1 + word(&rest[1..]);
            let name = &rest[1..length];
            expanded.push_str(
                value(name).ok_or_else(|| format!("it uses `:{name}`, which its header does not have"))?,
            );
            length
        } else if word(rest) > 0 {
            let length = word(rest);
            match called(&rest[..length], &rest[length..]) {
                Some((name, open)) => {
                    let inside = length + open + 1;
                    let (arguments, close) = arguments(&rest[inside..])?;
                    let arguments = arguments
                        .into_iter()
                        .map(|argument| expand(argument.trim(), dialect, value))
                        .collect::<Result<Vec<String>, String>>()?;
                    expanded.push_str(&call(dialect, name, &arguments)?);
                    inside + close + 1
                }
                None => {
                    expanded.push_str(&rest[..length]);
                    length
                }
            }
        } else {
            expanded.push(char);
            char.len_utf8()
        };
        at += length;
    }
    Ok(expanded)
}

/// Names of parameters that the text uses.
pub fn parameters(sql: &str) -> Result<Vec<String>, String> {
    let used = std::cell::RefCell::new(Vec::new());
    expand(sql, Dialect::DuckDb, &|name| {
        used.borrow_mut().push(name.to_owned());
        Some("0")
    })?;
    let mut used = used.into_inner();
    used.sort();
    used.dedup();
    Ok(used)
}

#[derive(Debug, Clone, Copy)]
enum Macro {
    Quantile,
    AsText,
}

/// The macro of this name, if a parenthesis follows; and how far away it is.
fn called(name: &str, rest: &str) -> Option<(Macro, usize)> {
    let name = match name {
        "quantile" => Macro::Quantile,
        "as_text" => Macro::AsText,
        _ => return None,
    };
    let open = rest.len() - rest.trim_start().len();
    rest[open..].starts_with('(').then_some((name, open))
}

fn call(dialect: Dialect, name: Macro, arguments: &[String]) -> Result<String, String> {
    match (name, arguments) {
        (Macro::Quantile, [expression, share]) => {
            let share = share.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
            let share = share.ok_or("the second argument of `quantile` is not a number from 0 to 1")?;
            Ok(dialect.quantile(expression, share))
        }
        (Macro::AsText, [expression]) => Ok(dialect.as_text(expression)),
        _ => Err(format!("`{name:?}` with {} arguments", arguments.len())),
    }
}

/// Length of the word that the text begins with: letters, digits and underscores, no digit first.
fn word(text: &str) -> usize {
    let is_part = |char: char| char.is_ascii_alphanumeric() || char == '_';
    if !text.starts_with(is_part) {
        return 0;
    }
    let length = text.find(|char| !is_part(char)).unwrap_or(text.len());
    if text.starts_with(|char: char| char.is_ascii_digit()) { 0 } else { length }
}

/// Length of the string, quoted identifier or comment that the text begins with.
fn opaque(text: &str) -> Result<Option<usize>, String> {
    let enclosed = |open: &str, close: &str, what: &str| {
        let inside = &text[open.len()..];
        inside.find(close).map(|at| Some(open.len() + at + close.len())).ok_or(format!("{what} does not end"))
    };
    // A doubled quote ends one string and begins the next, which comes to the same.
    match text.chars().next() {
        Some('\'') => enclosed("'", "'", "a string"),
        Some('"') => enclosed("\"", "\"", "a quoted identifier"),
        Some('-') if text.starts_with("--") => Ok(Some(text.find('\n').unwrap_or(text.len()))),
        Some('/') if text.starts_with("/*") => enclosed("/*", "*/", "a comment"),
        // A number may have letters (1e6), which are no name.
        Some(digit) if digit.is_ascii_digit() => {
            let is_part = |char: char| char.is_ascii_alphanumeric() || char == '.' || char == '_';
            Ok(Some(text.find(|char| !is_part(char)).unwrap_or(text.len())))
        }
        _ => Ok(None),
    }
}

/// The arguments up to the closing parenthesis, and where that is.
fn arguments(text: &str) -> Result<(Vec<&str>, usize), String> {
    let (mut arguments, mut from, mut at, mut depth) = (Vec::new(), 0, 0, 0_usize);
    while let Some(char) = text[at..].chars().next() {
        if let Some(length) = opaque(&text[at..])? {
            at += length;
            continue;
        }
        match char {
            '(' | '[' => depth += 1,
            ')' if depth == 0 => {
                arguments.push(&text[from..at]);
                return Ok((arguments, at));
            }
            ')' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                arguments.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
        at += char.len_utf8();
    }
    Err("a macro has no closing parenthesis".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sql: &str, dialect: Dialect) -> Result<String, String> {
        expand(sql, dialect, &|name| (name == "p").then_some("'v'"))
    }

    #[test]
    fn strings_comments_and_identifiers_pass_unchanged() {
        let sql = "SELECT ':p quantile(1, 2)', \"a:p\", 'it''s :p' -- :p quantile(\n/* :q ' */ FROM t";
        assert_eq!(of(sql, Dialect::DuckDb).unwrap(), sql);
    }

    #[test]
    fn parameters_become_literals() {
        assert_eq!(of("a=:p AND b = (:p)", Dialect::Spark).unwrap(), "a='v' AND b = ('v')");
        assert!(of(":q", Dialect::Spark).unwrap_err().contains("`:q`"));
        assert!(of("a::text", Dialect::Spark).unwrap_err().contains("CAST"));
        assert_eq!(parameters("a = :x AND ':y' < :z -- :w\n AND quantile(:x, 0.5) > 0").unwrap(), ["x", "z"]);
    }

    #[test]
    fn macros_nest_and_keep_their_arguments() {
        let sql = "quantile(CASE WHEN f(a, ')') > 1e6 THEN coalesce(x, :p) END, 0.5)";
        let expected = "quantile_cont(CASE WHEN f(a, ')') > 1e6 THEN coalesce(x, 'v') END, 0.5)";
        assert_eq!(of(sql, Dialect::DuckDb).unwrap(), expected);
        assert_eq!(of("as_text (as_text(a))", Dialect::Spark).unwrap(), "CAST(CAST(a AS STRING) AS STRING)");
        let others = "my_quantile(a, 2) quantile_cont(b) quantile as_text";
        assert_eq!(of(others, Dialect::DuckDb).unwrap(), others);
        assert_eq!(of("quantile(x, 0.99)", Dialect::ClickHouse).unwrap(), "quantileExactInclusive(0.99)(x)");
    }

    #[test]
    fn broken_text_is_an_error() {
        for sql in [
            "quantile(a, 0.5",
            "quantile(a)",
            "quantile(a, 2)",
            "quantile(a, b)",
            "'open",
            "/* open",
            "\"open",
        ] {
            assert!(of(sql, Dialect::Trino).is_err(), "{sql}");
        }
    }
}
