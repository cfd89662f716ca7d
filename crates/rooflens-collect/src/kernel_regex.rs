//! Regular expressions that select kernels by name, with one meaning wherever they are used.
//!
//! Lists of kernels come from Python. Rooflens matches them against the names of a timeline, Nsight Compute
//! (Boost.Regex) against the names of launches. The dialects differ: `\<` is a `<` to Python and the beginning of a
//! word to Nsight Compute, `[[:alpha:]]` the other way around. So Rooflens accepts only what all of them support, and
//! rewrites it once so that `fancy_regex` and Nsight Compute read the same. An expression matches if any part of a
//! name does, as with `re.search` and `ncu --kernel-name regex:`.

use fancy_regex::{Regex, RegexBuilder};

/// The longest expression, in characters.
const MAX_LENGTH: usize = 8192;
/// Groups in groups.
const MAX_DEPTH: usize = 50;
/// The largest count of a repetition.
const MAX_COUNT: u64 = 1000;
/// The largest product of counts of nested repetitions.
const MAX_REPEATS: u64 = 100_000;
/// Bytes of a compiled part.
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
    ///
    /// # Errors
    /// [`RegexError::Syntax`] if it is malformed or too large, or if its meaning differs between readers.
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
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether any part of a name matches.
    ///
    /// # Errors
    /// [`RegexError::Backtracks`].
    pub fn is_match(&self, name: &str) -> Result<bool, RegexError> {
        self.regex.is_match(name).map_err(|_| RegexError::Backtracks)
    }

    /// The expression for Nsight Compute, as a group: one alternative among others. It holds no colon, because
    /// `--kernel-id` splits at colons.
    #[must_use]
    pub(crate) fn for_ncu(&self) -> String {
        format!("({})", self.common)
    }
}

fn syntax(at: usize, why: impl Into<String>) -> RegexError {
    RegexError::Syntax { at, why: why.into() }
}

/// Rewrites an expression of Python's `re`, and rejects what the dialects read differently.
struct Translator {
    chars: Vec<char>,
    at: usize,
    out: String,
    groups: Vec<Group>,
    /// What a repetition would repeat.
    atom: Option<Atom>,
}

struct Group {
    begin: usize,
    atom: Atom,
}

#[derive(Clone, Copy)]
struct Atom {
    /// It matches no character: an anchor or a lookahead.
    is_assertion: bool,
    /// The largest product of nested counts.
    repeats: u64,
}

const CHAR: Atom = Atom { is_assertion: false, repeats: 1 };
const ASSERTION: Atom = Atom { is_assertion: true, repeats: 1 };

/// An escape, or a part of a class.
enum Item {
    Char(char),
    /// `d`, `D`, `w`, `W`, `s` or `S`.
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
        if chars.len() > MAX_LENGTH {
            return Err(syntax(MAX_LENGTH, "the expression is too large"));
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
                '.' => self.push(".", CHAR),
                '^' => self.push("^", ASSERTION),
                '$' => self.push("$", ASSERTION),
                char => self.push(&literal(char), CHAR),
            }
        }
        match self.groups.last() {
            Some(group) => Err(syntax(group.begin, "this ( is never closed")),
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
        self.set(atom);
    }

    fn set(&mut self, atom: Atom) {
        self.atom = Some(atom);
        if let Some(group) = self.groups.last_mut() {
            group.atom.repeats = group.atom.repeats.max(atom.repeats);
        }
    }

    fn open(&mut self, begin: usize) -> Result<(), RegexError> {
        if self.groups.len() == MAX_DEPTH {
            return Err(syntax(begin, "groups are nested too deeply"));
        }
        let (word, atom) = if self.take("?=") {
            ("(?=", ASSERTION)
        } else if self.take("?!") {
            ("(?!", ASSERTION)
        } else if !self.take("?:") && self.next() == Some('?') {
            return Err(syntax(
                begin,
                "a group may begin with (?:, (?= or (?!, and the expression with (?i); other marks \
                 differ between Python and ncu",
            ));
        } else {
            ("(", CHAR)
        };
        self.out.push_str(word);
        self.groups.push(Group { begin, atom });
        self.atom = None;
        Ok(())
    }

    fn close(&mut self, begin: usize) -> Result<(), RegexError> {
        let group = self.groups.pop().ok_or_else(|| syntax(begin, "this ) closes no group"))?;
        self.push(")", group.atom);
        Ok(())
    }

    fn repeat(&mut self, char: char, begin: usize) -> Result<(), RegexError> {
        let count = if char == '{' { self.braces(begin)? } else { 1 };
        let atom = self.atom.take().ok_or_else(|| syntax(begin, "there is nothing to repeat"))?;
        if atom.is_assertion {
            return Err(syntax(begin, "an empty match cannot be repeated"));
        }
        let repeats = atom.repeats * count.max(1);
        if repeats > MAX_REPEATS {
            return Err(syntax(begin, "the expression is too large"));
        }
        // A lazy repetition matches the same names.
        self.take("?");
        if matches!(self.next(), Some('*' | '+' | '?' | '{')) {
            return Err(syntax(self.at, "a repetition cannot be repeated"));
        }
        let text = match char {
            '{' => self.chars[begin..self.at].iter().collect::<String>().trim_end_matches('?').to_owned(),
            char => char.to_string(),
        };
        self.push(&text, Atom { repeats, ..atom });
        Ok(())
    }

    /// The larger count of `{2}`, `{2,}` or `{2,3}`.
    fn braces(&mut self, begin: usize) -> Result<u64, RegexError> {
        let bad = || syntax(begin, "a brace without a count: write \\{");
        let length = self.chars[self.at..].iter().position(|char| *char == '}').ok_or_else(bad)?;
        let inside: String = self.chars[self.at..self.at + length].iter().collect();
        self.at += length + 1;
        let number = |text: &str| {
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            // A number that is too long to read is too large, too.
            is_number.then(|| text.parse::<u64>().unwrap_or(u64::MAX)).ok_or_else(bad)
        };
        let (min, max) = match inside.split_once(',') {
            None => (number(&inside)?, None),
            Some((min, "")) => (number(min)?, None),
            Some((min, max)) => (number(min)?, Some(number(max)?)),
        };
        if max.is_some_and(|max| max < min) {
            return Err(syntax(begin, "the minimum of the repetition is above its maximum"));
        }
        let count = max.unwrap_or(min);
        if count > MAX_COUNT {
            return Err(syntax(begin, format!("it repeats more than {MAX_COUNT} times")));
        }
        Ok(count)
    }

    fn escape(&mut self, begin: usize) -> Result<(), RegexError> {
        let (word, atom) = match self.next() {
            Some('b') => ("\\b", ASSERTION),
            Some('B') => ("\\B", ASSERTION),
            Some('A') => ("^", ASSERTION),
            Some('Z' | 'z') => ("$", ASSERTION),
            _ => {
                let item = self.escaped(begin)?;
                self.push(&item.text(), CHAR);
                return Ok(());
            }
        };
        self.at += 1;
        self.push(word, atom);
        Ok(())
    }

    /// Reads what follows a backslash, inside and outside of brackets.
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
        self.push("[", CHAR);
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
            ("a{3,2}", 2, "above its maximum"),
            ("a{1001}", 2, "1000"),
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
        let deep = "(".repeat(60) + "a" + &")".repeat(60);
        let nested = "(".repeat(40) + "a" + &"{1000})".repeat(40);
        let long = "a".repeat(10_000);
        for (text, why) in [
            (deep.as_str(), "deeply"),
            ("((((a{99}){99}){99}){99}){99}", "too large"),
            ("(?=b)((a{100}){100}){100}", "too large"),
            (r"((\w{1000}){100}){1}", "too large"),
            (&nested, "too large"),
            (&long, "too large"),
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
