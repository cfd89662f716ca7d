//! Splits Rust source into code, string literals and comments.

/// The literals of `source` outside of its unit tests, each with the line it begins in. Escapes and line continuations
/// are resolved as far as words need it.
pub(crate) fn literals(source: &str) -> impl Iterator<Item = (usize, String)> {
    Parts::new(source).filter_map(|part| match part {
        Part::Literal(line, text) => Some((line, text)),
        Part::Code(_) => None,
    })
}

/// The code of `source` outside of its unit tests, without comments and literals.
pub(crate) fn code(source: &str) -> String {
    let code = |part| match part {
        Part::Code(text) => text,
        Part::Literal(..) => " ",
    };
    Parts::new(source).map(code).collect()
}

enum Part<'a> {
    Code(&'a str),
    Literal(usize, String),
}

struct Parts<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> Parts<'a> {
    fn new(source: &'a str) -> Self {
        let rest = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        Parts { rest, line: 1 }
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = Part<'a>;

    fn next(&mut self) -> Option<Part<'a>> {
        while !self.rest.is_empty() {
            if self.rest.starts_with("//") {
                self.skip(self.rest.find('\n').unwrap_or(self.rest.len()));
            } else if self.rest.starts_with("/*") {
                self.skip(self.rest.find("*/").map_or(self.rest.len(), |end| end + 2));
            } else if let Some(marks) = raw_marks(self.rest) {
                let close = format!("\"{}", "#".repeat(marks));
                self.skip(marks + 2);
                let (line, text) = self.take(&close);
                return Some(Part::Literal(line, text));
            } else if self.rest.starts_with('"') {
                self.skip(1);
                let (line, text) = self.quoted();
                return Some(Part::Literal(line, text));
            } else if let Some(length) = char_length(self.rest) {
                self.skip(length);
            } else {
                // Take a name as a whole, so that an `r` at its end does not open a raw string.
                let word = self.rest.find(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
                let first = self.rest.chars().next().map_or(1, char::len_utf8);
                let (code, _) = self.rest.split_at(word.unwrap_or(self.rest.len()).max(first));
                self.skip(code.len());
                return Some(Part::Code(code));
            }
        }
        None
    }
}

impl Parts<'_> {
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
        let found: Vec<(usize, String)> = literals(source).collect();
        let found: Vec<(usize, &str)> = found.iter().map(|(line, text)| (*line, text.trim())).collect();
        assert_eq!(found, [(1, "one"), (3, "two \"quoted\""), (3, "three"), (4, "four")]);
    }

    #[test]
    fn code_has_neither_comments_nor_literals() {
        assert_eq!(code("use a; // b\nlet c = \"d\"; /* e */ 'f'"), "use a; \nlet c =  ;  ");
    }

    #[test]
    fn unit_tests_are_left_out() {
        assert_eq!(literals("const A: &str = \"a\";\n#[cfg(test)]\nmod tests {\n\"b\"\n}\n").count(), 1);
    }
}
