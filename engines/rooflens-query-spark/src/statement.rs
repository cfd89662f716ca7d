//! What can be told of SQL without parsing it: the words in it, and whether it only reads.
//!
//! Spark parses the SQL; it would also run commands. So the first words are checked here, and what could write,
//! start programs (`USING 'command'`) or call Java from within a SELECT is refused. Reading files by path is
//! switched off in the session, where settings that change how texts are quoted are also reset:
//! [`crate::session_settings`].

use rooflens_engine_protocol::{Fault, Kind};

#[derive(Debug, PartialEq, Eq)]
enum Token<'a> {
    Word { text: &'a str, quoted: bool },
    Text,
    Sign(char),
}

/// Words that begin a statement that writes, where they stand outside of parentheses after WITH.
const WRITES: [&str; 4] = ["insert", "update", "delete", "merge"];

/// Functions that call any method of Java.
const CALLS: [&str; 3] = ["reflect", "try_reflect", "java_method"];

pub(crate) fn uses(sql: &str, name: &str) -> bool {
    tokens(sql)
        .iter()
        .any(|token| matches!(token, Token::Word { text, .. } if text.eq_ignore_ascii_case(name)))
}

/// Fails unless the SQL is a single statement that only reads.
pub(crate) fn read_only(sql: &str) -> Result<(), Fault> {
    let tokens = tokens(sql);
    let Some(end) = tokens.iter().rposition(|token| *token != Token::Sign(';')) else {
        return Err(refused("it is empty"));
    };
    if tokens[..=end].contains(&Token::Sign(';')) {
        return Err(refused("it has more than one statement"));
    }
    let mut words = tokens.iter().filter_map(|token| match token {
        Token::Word { text, quoted: false } => Some(text.to_ascii_lowercase()),
        _ => None,
    });
    let mut first = words.next().unwrap_or_default();
    if first == "explain" {
        first = words
            .find(|word| !matches!(word.as_str(), "extended" | "codegen" | "cost" | "formatted"))
            .unwrap_or_default();
    }
    if first != "select" && first != "with" {
        return Err(refused("it does not begin with SELECT, WITH or EXPLAIN"));
    }
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Sign('(') => depth += 1,
            Token::Sign(')') => depth = depth.saturating_sub(1),
            Token::Word { text, quoted } => {
                let word = text.to_ascii_lowercase();
                if !quoted && depth == 0 && WRITES.contains(&word.as_str()) {
                    return Err(refused(&format!("it has {}", word.to_uppercase())));
                }
                let next = tokens.get(at + 1);
                if next == Some(&Token::Sign('(')) && CALLS.contains(&word.as_str()) {
                    return Err(refused(&format!("it calls {word}")));
                }
                if next == Some(&Token::Text) && word == "using" {
                    return Err(refused("it starts a program"));
                }
            }
            Token::Text | Token::Sign(_) => {}
        }
    }
    Ok(())
}

fn refused(reason: &str) -> Fault {
    Fault::new(Kind::Sql, format!("the SQL was not run: {reason}"))
        .hint("a query is one SELECT, WITH … SELECT or EXPLAIN; quote column names that are keywords with backticks")
}

fn tokens(sql: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            _ if rest.starts_with("--") => (None, rest.find('\n').unwrap_or(rest.len())),
            _ if rest.starts_with("/*") => (None, comment_length(rest)),
            '\'' | '"' => (Some(Token::Text), text_length(rest, true)),
            'r' | 'R' if rest[1..].starts_with(['\'', '"']) => {
                (Some(Token::Text), 1 + text_length(&rest[1..], false))
            }
            '`' => {
                let length = rest[1..].find('`').map_or(rest.len(), |end| end + 2);
                let text = rest[1..length].trim_end_matches('`');
                (Some(Token::Word { text, quoted: true }), length)
            }
            _ if first.is_alphanumeric() || first == '_' => {
                let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
                (Some(Token::Word { text: &rest[..length], quoted: false }), length)
            }
            _ if first.is_whitespace() => (None, first.len_utf8()),
            _ => (Some(Token::Sign(first)), first.len_utf8()),
        };
        found.extend(token);
        rest = &rest[length..];
    }
    found
}

/// Comments nest in Spark. A hint (`/*+ … */`) is passed over as well: it changes no answer.
fn comment_length(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        if text[at..].starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if text[at..].starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// Length of a text in quotes, where a backslash may escape; a doubled quote makes two texts, which does no harm.
fn text_length(text: &str, escapes: bool) -> usize {
    let mut characters = text.char_indices();
    let quote = characters.next().map(|(_, quote)| quote);
    let mut escaped = false;
    for (at, c) in characters {
        match c {
            _ if escaped => escaped = false,
            '\\' if escapes => escaped = true,
            _ if Some(c) == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_words_outside_of_texts_and_comments() {
        let sql = "SELECT 'runs', \"phases\" FROM Kernels -- steps\n JOIN `kernel_dim` /* gemms /* x */ ranks */ USING (x)";
        let names = ["kernels", "kernel_dim", "runs", "phases", "steps", "gemms", "ranks", "kernel"];
        assert_eq!(names.map(|name| uses(sql, name)), [true, true, false, false, false, false, false, false]);
    }

    #[test]
    fn reading_passes() {
        let good = [
            "select 1;",
            "WITH a AS (SELECT 1) SELECT * FROM a",
            "explain formatted select 1",
            "-- insert into\nselect ';', `update` from t",
            "select transform(array(1), x -> x + 1)",
            "select replace(a, 'drop', '') from t join u using (x)",
            r"select 'it\'s; drop'",
        ];
        for sql in good {
            assert!(read_only(sql).is_ok(), "{sql}: {:?}", read_only(sql));
        }
    }

    #[test]
    fn everything_else_is_refused() {
        let bad = [
            "",
            ";",
            "-- select",
            "drop table x",
            "select 1; drop table x",
            "with a as (select 1) insert into t select * from a",
            "from t insert into u select *",
            "explain analyze table t",
            "set x = 1",
            "select reflect('java.lang.System', 'exit', 0)",
            "select `java_method`('a', 'b')",
            "select transform(a, b) using 'cat' from t",
            "copy t to 'x'",
            r"select r'\', reflect('a', 'b'), '\'",
            "select map a using 'cat' from t",
        ];
        for sql in bad {
            assert_eq!(read_only(sql).unwrap_err().kind, Kind::Sql, "{sql}");
        }
    }
}
