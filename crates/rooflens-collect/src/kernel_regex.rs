//! Regular expressions that select kernels by name, with one meaning wherever they are used.
//!
//! Lists of kernels come from Python. Rooflens matches them against the names of a timeline, Nsight Compute
//! (Boost.Regex) against the names of launches. The dialects differ: `\<` is a `<` to Python and the beginning of a
//! word to Nsight Compute, `[[:alpha:]]` the other way around. So Rooflens accepts only what all of them support, and
//! rewrites it once so that `fancy_regex` and Nsight Compute read the same. An expression matches if any part of a
//! name does, as with `re.search` and `ncu --kernel-name regex:`.

use fancy_regex::{Regex, RegexBuilder};

const MAX_CHARS: usize = 8192;
const MAX_COMPILED_BYTES: usize = 8 << 20;
/// Steps back while matching one name. Only expressions with lookaheads take any.
const MAX_BACKTRACKS: usize = 1_000_000;

/// An expression that selects kernels by name.
#[derive(Debug, Clone)]
pub struct KernelRegex {
    text: String,
    /// The same in the words that `fancy_regex` and Nsight Compute share.
    common: String,
    regex: Regex,
}

/// Why an expression cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegexError {
    /// It is malformed, or its meaning differs between readers.
    #[error("at character {}: {why}", at + 1)]
    Syntax {
        /// Characters before the error.
        at: usize,
        /// What is wrong.
        why: String,
    },
    /// Matching it takes too long.
    #[error(
        "matching one name takes over {MAX_BACKTRACKS} steps: simplify the repetitions around its lookaheads"
    )]
    Backtracks,
}

impl KernelRegex {
    /// Reads an expression.
    pub fn new(text: &str) -> Result<Self, RegexError> {
        let common = Translator::new(text)?.translate()?;
        let regex = RegexBuilder::new(&common)
            .backtrack_limit(MAX_BACKTRACKS)
            .delegate_size_limit(MAX_COMPILED_BYTES)
            .build()
            .map_err(|error| match error {
                fancy_regex::Error::CompileError(_) => syntax(0, "the expression is too large"),
                error => syntax(0, error.to_string()),
            })?;
        Ok(Self { text: text.to_owned(), common, regex })
    }

    /// The expression as the user gave it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether any part of a name matches.
    pub fn is_match(&self, name: &str) -> Result<bool, RegexError> {
        self.regex.is_match(name).map_err(|_| RegexError::Backtracks)
    }

    /// The expression for Nsight Compute, as a group: one alternative among others. It holds no colon, because
    /// `--kernel-id` splits at colons.
    pub(crate) fn for_ncu(&self) -> String {
        format!("({})", self.common)
    }
}

fn syntax(at: usize, why: impl Into<String>) -> RegexError {
    RegexError::Syntax { at, why: why.into() }
}

/// Rewrites an expression of Python's `re`, and rejects what the dialects read differently. What is malformed in all of
/// them is left to `fancy_regex`, unless the place of the mistake helps.
struct Translator {
    chars: Vec<char>,
    at: usize,
    out: String,
    groups: Vec<(usize, Atom)>,
    atom: Option<Atom>,
}

/// What a repetition would repeat.
#[derive(Clone, Copy, PartialEq)]
enum Atom {
    Chars,
    /// It matches no character: an anchor or a lookahead.
    Assertion,
}

enum Item {
    Char(char),
    Named(char),
}

impl Translator {
    fn new(text: &str) -> Result<Self, RegexError> {
        let chars: Vec<char> = text.chars().collect();
        if chars.is_empty() {
            return Err(syntax(0, "it is empty and would match every kernel"));
        }
        if let Some(at) = chars.iter().position(|char| !char.is_ascii()) {
            return Err(syntax(at, "names of kernels are ASCII"));
        }
        if chars.len() > MAX_CHARS {
            return Err(syntax(MAX_CHARS, "the expression is too large"));
        }
        Ok(Self { chars, at: 0, out: String::new(), groups: Vec::new(), atom: None })
    }

    fn translate(mut self) -> Result<String, RegexError> {
        if self.take("(?i)") {
            self.out.push_str("(?i)");
        }
        while let Some(char) = self.next() {
            let begin = self.at;
            self.at += 1;
            match char {
                '|' => {
                    self.out.push('|');
                    self.atom = None;
                }
                '(' => self.open(begin)?,
                ')' => self.close(begin)?,
                '*' | '+' | '?' | '{' => self.repeat(char, begin)?,
                '[' => self.class(begin)?,
                '\\' => self.escape(begin)?,
                '.' => self.push(".", Atom::Chars),
                '^' => self.push("^", Atom::Assertion),
                '$' => self.push("$", Atom::Assertion),
                char => self.push(&literal(char), Atom::Chars),
            }
        }
        match self.groups.last() {
            Some((begin, _)) => Err(syntax(*begin, "this ( is never closed")),
            None => Ok(self.out),
        }
    }

    fn next(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn take(&mut self, text: &str) -> bool {
        let is_next = text.chars().eq(self.chars[self.at..].iter().copied().take(text.len()));
        if is_next {
            self.at += text.len();
        }
        is_next
    }

    fn push(&mut self, text: &str, atom: Atom) {
        self.out.push_str(text);
        self.atom = Some(atom);
    }

    fn open(&mut self, begin: usize) -> Result<(), RegexError> {
        let (word, atom) = if self.take("?=") {
            ("(?=", Atom::Assertion)
        } else if self.take("?!") {
            ("(?!", Atom::Assertion)
        } else if !self.take("?:") && self.next() == Some('?') {
            return Err(syntax(
                begin,
                "a group may begin with (?:, (?= or (?!, and the expression with (?i); other marks \
                 differ between Python and ncu",
            ));
        } else {
            ("(", Atom::Chars)
        };
        self.out.push_str(word);
        self.groups.push((begin, atom));
        self.atom = None;
        Ok(())
    }

    fn close(&mut self, begin: usize) -> Result<(), RegexError> {
        let (_, atom) = self.groups.pop().ok_or_else(|| syntax(begin, "this ) closes no group"))?;
        self.push(")", atom);
        Ok(())
    }

    fn repeat(&mut self, char: char, begin: usize) -> Result<(), RegexError> {
        if char == '{' {
            let rest: String = self.chars[self.at..].iter().collect();
            let inside = rest.split_once('}').map(|(inside, _)| inside).filter(|inside| is_count(inside));
            let inside = inside.ok_or_else(|| syntax(begin, "a brace without a count: write \\{"))?;
            self.at += inside.len() + 1;
        }
        match self.atom {
            None => return Err(syntax(begin, "there is nothing to repeat")),
            Some(Atom::Assertion) => return Err(syntax(begin, "an empty match cannot be repeated")),
            Some(Atom::Chars) => self.out.extend(&self.chars[begin..self.at]),
        }
        // A lazy repetition matches the same names.
        self.take("?");
        if matches!(self.next(), Some('*' | '+' | '?' | '{')) {
            return Err(syntax(self.at, "a repetition cannot be repeated"));
        }
        Ok(())
    }

    fn escape(&mut self, begin: usize) -> Result<(), RegexError> {
        let (word, atom) = match self.next() {
            Some('b') => ("\\b", Atom::Assertion),
            Some('B') => ("\\B", Atom::Assertion),
            Some('A') => ("^", Atom::Assertion),
            Some('Z' | 'z') => ("$", Atom::Assertion),
            _ => {
                let item = self.escaped(begin)?;
                self.push(&item.text(), Atom::Chars);
                return Ok(());
            }
        };
        self.at += 1;
        self.push(word, atom);
        Ok(())
    }

    fn escaped(&mut self, begin: usize) -> Result<Item, RegexError> {
        let Some(char) = self.next() else { return Err(syntax(begin, "a \\ at the end")) };
        self.at += 1;
        Ok(match char {
            'd' | 'D' | 'w' | 'W' | 's' | 'S' => Item::Named(char),
            'n' => Item::Char('\n'),
            't' => Item::Char('\t'),
            'r' => Item::Char('\r'),
            'f' => Item::Char('\u{c}'),
            'x' => {
                let digit = |at: usize| self.chars.get(at).and_then(|char| char.to_digit(16));
                let code = digit(self.at).zip(digit(self.at + 1)).map(|(high, low)| 16 * high + low);
                let char = code.filter(|code| *code < 128).and_then(char::from_u32);
                self.at += 2;
                Item::Char(char.ok_or_else(|| syntax(begin, "\\x takes two hexadecimal digits, up to 7f"))?)
            }
            '0'..='9' => return Err(syntax(begin, "groups cannot be referred to")),
            char if char.is_ascii_alphabetic() => {
                return Err(syntax(begin, format!("\\{char} is unknown, or differs between Python and ncu")));
            }
            char => Item::Char(char),
        })
    }

    fn class(&mut self, begin: usize) -> Result<(), RegexError> {
        self.push("[", Atom::Chars);
        if self.take("^") {
            self.out.push('^');
        }
        let first = self.at;
        loop {
            let at = self.at;
            if at > first && self.take("]") {
                self.out.push(']');
                return Ok(());
            }
            let low = self.class_item(begin)?;
            self.out.push_str(&low.text());
            let is_range =
                self.next() == Some('-') && self.chars.get(self.at + 1).is_some_and(|next| *next != ']');
            if is_range {
                self.at += 1;
                let high = self.class_item(begin)?;
                match (&low, &high) {
                    (Item::Char(low), Item::Char(high)) if low <= high => {}
                    (Item::Char(_), Item::Char(_)) => {
                        return Err(syntax(at, "a range whose end is before its beginning"));
                    }
                    _ => return Err(syntax(at, "a range needs a character at both ends")),
                }
                self.out.push('-');
                self.out.push_str(&high.text());
            }
        }
    }

    fn class_item(&mut self, begin: usize) -> Result<Item, RegexError> {
        let at = self.at;
        let Some(char) = self.next() else { return Err(syntax(begin, "this [ is never closed")) };
        self.at += 1;
        match char {
            '[' if matches!(self.next(), Some(':' | '.' | '=')) => {
                Err(syntax(at, "[: differs between Python and ncu: write \\[ or \\w"))
            }
            '\\' => self.escaped(at),
            char => Ok(Item::Char(char)),
        }
    }
}

fn is_count(inside: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (min, max) = inside.split_once(',').unwrap_or((inside, ""));
    is_number(min) && (max.is_empty() || is_number(max))
}

impl Item {
    fn text(&self) -> String {
        match self {
            Item::Char(char) => literal(*char),
            Item::Named(name) => format!("\\{name}"),
        }
    }
}

/// A character that stands for itself, inside and outside of brackets. A colon would split `--kernel-id`, `&&` and
/// `~~` are operators in the classes of `fancy_regex`, and `\<` is the beginning of a word to both readers.
fn literal(char: char) -> String {
    match char {
        ':' | '&' | '~' => format!("\\x{:02x}", u32::from(char)),
        '\n' => "\\n".to_owned(),
        '\t' => "\\t".to_owned(),
        '\r' => "\\r".to_owned(),
        char if char.is_ascii_control() => format!("\\x{:02x}", u32::from(char)),
        '.' | '^' | '$' | '|' | '(' | ')' | '[' | ']' | '{' | '}' | '*' | '+' | '?' | '\\' | '-' => {
            format!("\\{char}")
        }
        char => char.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_matches_by_hand() {
        let cases = [
            ("gemm", "ampere_sgemm_128x64_nn", true),
            ("^gemm", "ampere_sgemm", false),
            ("^a|b$", "ab", true),
            ("^(a|b)$", "ab", false),
            ("(?:a|b)c", "xbc", true),
            ("a{2,3}b", "aab", true),
            ("^a{2}$", "aaa", false),
            ("a+?b*", "aa", true),
            (r"\bmul\b", "x::mul<4>", true),
            (r"\bmul\b", "multiply", false),
            (r"^(?!.*elementwise).*$", "void elementwise_kernel(int)", false),
            (r"^(?!.*elementwise).*$", "void gemm(int)", true),
            (r"kernel(?=<4)", "kernel<4>", true),
            (r"kernel(?=<4)", "kernel<8>", false),
            (r"\(bool\)0,\ \(int\)7", "k<(bool)0, (int)7>", true),
            (r"at::native::<unnamed>", "void at::native::<unnamed>::f()", true),
            (r"\<", "a<b", true),
            (r"[^:]+$", "a::", false),
            (r"^[\w:]+$", "at::native", true),
            (r"[]x]", "a]", true),
            (r"[a\-z]", "b", false),
            ("(?i)GEMM", "sgemm", true),
            ("(?i)[^G]emm", "gemm", false),
            (r"\x41", "A", true),
            ("a|", "b", true),
            ("[a[]", "[", true),
            ("[a&&b]", "&", true),
            ("[^~~-]", "-~", false),
            ("[a-c-e]", "d", false),
            ("a{2}?", "aa", true),
            ("a+]}", "aa]}", true),
            ("(a*)*b", &"a".repeat(5000), false),
        ];
        for (text, name, expected) in cases {
            let regex = KernelRegex::new(text).unwrap();
            assert_eq!(regex.is_match(name), Ok(expected), "{text} on {name}");
            assert!(!regex.for_ncu().contains(':'), "{}", regex.for_ncu());
        }
    }

    #[test]
    fn what_is_refused_and_where() {
        let cases = [
            ("", 1, "empty"),
            ("(a", 1, "never closed"),
            ("a)b", 2, "closes no group"),
            ("ab[c", 3, "never closed"),
            ("*a", 1, "nothing to repeat"),
            ("a|*", 3, "nothing to repeat"),
            ("a**", 3, "cannot be repeated"),
            ("a{2}{3}", 5, "cannot be repeated"),
            ("a{x}", 2, "without a count"),
            ("a{,3}", 2, "without a count"),
            ("{", 1, "without a count"),
            ("^*", 2, "an empty match"),
            (r"(a)\1", 4, "referred"),
            ("(?P<x>a)", 1, "may begin with"),
            ("(?<=a)b", 1, "may begin with"),
            ("a(?i)b", 2, "may begin with"),
            ("[[:alpha:]]", 2, "differs between"),
            ("[z-a]", 2, "before its beginning"),
            (r"[\d-z]", 2, "both ends"),
            (r"a\", 2, "at the end"),
            (r"\q", 1, "is unknown"),
            (r"\xZZ", 1, "hexadecimal"),
            ("é", 1, "ASCII"),
        ];
        for (text, at, why) in cases {
            let error = KernelRegex::new(text).unwrap_err();
            let found = error.to_string();
            assert!(
                found.starts_with(&format!("at character {at}: ")) && found.contains(why),
                "{text}: {error}"
            );
        }
        let deep = "(".repeat(100) + "a" + &")".repeat(100);
        for (text, why) in [
            (deep.as_str(), "deeply"),
            ("((((a{99}){99}){99}){99}){99}", "too large"),
            (r"((\w{1000}){100}){1}", "too large"),
            (&"a".repeat(10_000), "too large"),
            ("a{3,2}", ""),
        ] {
            let error = KernelRegex::new(text).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn backtracking_is_bounded() {
        let regex = KernelRegex::new("(?=a)(a|a)*(?!a)b").unwrap();
        assert_eq!(regex.is_match(&"a".repeat(60)), Err(RegexError::Backtracks));
    }

    #[test]
    fn the_words_of_ncu() {
        let cases = [
            ("^a|b$", "(^a|b$)"),
            (r"\<a::b\>", r"(<a\x3a\x3ab>)"),
            ("(?:ab)+", "((ab)+)"),
            ("a{2,}", "(a{2,})"),
            (r"[:\w-]", r"([\x3a\w\-])"),
            ("(?i)a", "((?i)a)"),
        ];
        for (text, expected) in cases {
            assert_eq!(KernelRegex::new(text).unwrap().for_ncu(), expected, "{text}");
        }
    }
}
