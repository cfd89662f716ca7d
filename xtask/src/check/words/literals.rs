//! String literals of Rust source, each with the line it begins in.

/// The literals of `source` outside of its unit tests, escapes and line continuations resolved as far as words
/// need it.
pub fn of(source: &str) -> impl Iterator<Item = (usize, String)> {
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    Literals { rest: source, line: 1 }
}

struct Literals<'a> {
    rest: &'a str,
    line: usize,
}

impl Iterator for Literals<'_> {
    type Item = (usize, String);

    fn next(&mut self) -> Option<(usize, String)> {
        while !self.rest.is_empty() {
            if self.rest.starts_with("//") {
                self.skip(self.rest.find('\n').unwrap_or(self.rest.len()));
            } else if self.rest.starts_with("/*") {
                self.skip(self.rest.find("*/").map_or(self.rest.len(), |end| end + 2));
            } else if let Some(marks) = raw_marks(self.rest) {
                let close = format!("\"{}", "#".repeat(marks));
                self.skip(marks + 2);
                return Some(self.take(&close));
            } else if self.rest.starts_with('"') {
                self.skip(1);
                return Some(self.quoted());
            } else if let Some(length) = char_length(self.rest) {
                self.skip(length);
            } else {
                // A name is passed as a whole, so that the `r` at its end opens no raw string.
                let word = self.rest.find(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
                let first = self.rest.chars().next().map_or(1, char::len_utf8);
                self.skip(word.unwrap_or(self.rest.len()).max(first));
            }
        }
        None
    }
}

impl Literals<'_> {
    fn skip(&mut self, bytes: usize) {
        self.line += self.rest[..bytes].matches('\n').count();
        self.rest = &self.rest[bytes..];
    }

    /// The text until `close`, which is skipped, too.
    fn take(&mut self, close: &str) -> (usize, String) {
        let line = self.line;
        let end = self.rest.find(close).unwrap_or(self.rest.len());
        let text = self.rest[..end].to_owned();
        self.skip((end + close.len()).min(self.rest.len()));
        (line, text)
    }

    fn quoted(&mut self) -> (usize, String) {
        let line = self.line;
        let mut text = String::new();
        let mut letters = self.rest.char_indices();
        let mut end = self.rest.len();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '"' => {
                    end = at + 1;
                    break;
                }
                // A continuation is a break of lines only in the source; of other escapes none is part of a word.
                '\\' => {
                    text.push(letters.next().map_or(' ', |(_, next)| if next == '\n' { '\n' } else { ' ' }))
                }
                letter => text.push(letter),
            }
        }
        self.skip(end);
        (line, text)
    }
}

/// How many `#` open the raw string that `text` begins with.
fn raw_marks(text: &str) -> Option<usize> {
    let rest = text.strip_prefix('r')?;
    let marks = rest.len() - rest.trim_start_matches('#').len();
    rest[marks..].starts_with('"').then_some(marks)
}

/// The length of the character literal that `text` begins with; a lifetime is none.
fn char_length(text: &str) -> Option<usize> {
    let rest = text.strip_prefix('\'')?;
    let mut letters = rest.char_indices();
    let (_, first) = letters.next()?;
    if first == '\\' {
        letters.next()?;
        return rest[2..].find('\'').map(|end| end + 4);
    }
    let (at, second) = letters.next()?;
    (second == '\'').then_some(at + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_literal_is_found_once() {
        let source = "let a: &'static str = \"one\\n\"; // \"none\"\nlet q = '\"'; let e = '\\'';\n\
                      let raw = r#\"two \"quoted\"\"#; let bytes = br\"three\";\nlet or = \"four\";\n";
        let found: Vec<(usize, String)> = of(source).collect();
        let found: Vec<(usize, &str)> = found.iter().map(|(line, text)| (*line, text.trim())).collect();
        assert_eq!(found, [(1, "one"), (3, "two \"quoted\""), (3, "three"), (4, "four")]);
    }

    #[test]
    fn unit_tests_are_left_out() {
        assert_eq!(of("const A: &str = \"a\";\n#[cfg(test)]\nmod tests {\n\"b\"\n}\n").count(), 1);
    }
}
