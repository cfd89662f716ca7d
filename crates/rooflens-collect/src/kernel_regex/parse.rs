//! The text of an expression, read as far as Python's `re` and Boost.Regex agree on it.

use super::RegexError;

/// Groups in groups.
const DEEPEST: usize = 50;
/// The largest count of a repetition.
const MOST: u32 = 1000;

/// A part of an expression.
#[derive(Debug, Clone, PartialEq)]
pub enum RegexNode {
    /// Nothing.
    Empty,
    /// One character.
    Char(char),
    /// Any character.
    Any,
    /// The beginning of the name.
    Begin,
    /// The end of the name.
    End,
    /// The edge of a word, or no edge.
    WordEdge(bool),
    /// One of some characters.
    Class(Class),
    /// One after the other.
    Sequence(Vec<RegexNode>),
    /// One of them.
    Either(Vec<RegexNode>),
    /// Several times. Whether it is greedy changes nothing of what matches.
    Repeat {
        /// What is repeated.
        node: Box<RegexNode>,
        /// At least.
        least: u32,
        /// At most; any number where there is none.
        most: Option<u32>,
    },
    /// What follows matches, or does not.
    Ahead {
        /// What is looked for.
        node: Box<RegexNode>,
        /// Whether it must not be there.
        negated: bool,
    },
}

/// Some characters.
#[derive(Debug, Clone, PartialEq)]
pub struct Class {
    /// What is in it.
    pub items: Vec<ClassItem>,
    /// All others instead.
    pub negated: bool,
}

/// A part of a class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ClassItem {
    /// From one character to another, both in it.
    Range(char, char),
    /// `d`, `D`, `w`, `W`, `s` or `S`.
    Named(char),
}

/// The expression, and whether it ignores case.
pub fn parse(text: &str) -> Result<(RegexNode, bool), RegexError> {
    let mut parser = Parser { chars: text.chars().collect(), at: 0, depth: 0 };
    if parser.chars.is_empty() {
        return Err(parser.wrong(0, "it is empty and would match every kernel"));
    }
    if let Some(at) = parser.chars.iter().position(|char| !char.is_ascii()) {
        return Err(parser.wrong(at, "names of kernels are ASCII"));
    }
    let ignore_case = parser.take("(?i)");
    let node = parser.either()?;
    match parser.next() {
        None => Ok((node, ignore_case)),
        Some(_) => Err(parser.wrong(parser.at, "this ) closes no group")),
    }
}

struct Parser {
    chars: Vec<char>,
    at: usize,
    depth: usize,
}

impl Parser {
    fn wrong(&self, at: usize, why: &str) -> RegexError {
        RegexError { at, why: why.to_owned() }
    }

    fn next(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn take(&mut self, text: &str) -> bool {
        let found = text.chars().enumerate().all(|(at, char)| self.chars.get(self.at + at) == Some(&char));
        if found {
            self.at += text.len();
        }
        found
    }

    fn either(&mut self) -> Result<RegexNode, RegexError> {
        let mut nodes = vec![self.sequence()?];
        while self.take("|") {
            nodes.push(self.sequence()?);
        }
        Ok(if nodes.len() > 1 { RegexNode::Either(nodes) } else { nodes.pop().unwrap_or(RegexNode::Empty) })
    }

    fn sequence(&mut self) -> Result<RegexNode, RegexError> {
        let mut nodes = Vec::new();
        while let Some(char) = self.next().filter(|char| !matches!(char, '|' | ')')) {
            let begin = self.at;
            self.at += 1;
            let node = self.atom(char, begin)?;
            nodes.push(self.repeated(node)?);
        }
        Ok(RegexNode::Sequence(nodes))
    }

    fn atom(&mut self, char: char, begin: usize) -> Result<RegexNode, RegexError> {
        Ok(match char {
            '.' => RegexNode::Any,
            '^' => RegexNode::Begin,
            '$' => RegexNode::End,
            '(' => self.group(begin)?,
            '[' => self.class(begin)?,
            '\\' => self.escape(begin)?,
            '*' | '+' | '?' => return Err(self.wrong(begin, "there is nothing to repeat")),
            '{' => return Err(self.wrong(begin, "a brace without a count: write \\{")),
            char => RegexNode::Char(char),
        })
    }

    fn group(&mut self, begin: usize) -> Result<RegexNode, RegexError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.wrong(begin, "groups are nested too deeply"));
        }
        let ahead = if self.take("?=") {
            Some(false)
        } else if self.take("?!") {
            Some(true)
        } else {
            // Python and Boost agree on more, but not on how it is written or what it means.
            if !self.take("?:") && self.next() == Some('?') {
                return Err(self.wrong(
                    begin,
                    "a group may begin with (?:, (?= or (?!, and the expression with (?i); other marks \
                     differ between Python and ncu",
                ));
            }
            None
        };
        let node = self.either()?;
        if !self.take(")") {
            return Err(self.wrong(begin, "this ( is never closed"));
        }
        self.depth -= 1;
        Ok(match ahead {
            Some(negated) => RegexNode::Ahead { node: Box::new(node), negated },
            // A group of its own, so that what repeats it repeats all of it.
            None => RegexNode::Sequence(vec![node]),
        })
    }

    fn repeated(&mut self, node: RegexNode) -> Result<RegexNode, RegexError> {
        let begin = self.at;
        let counts = match self.next() {
            Some('*') => Some((0, None)),
            Some('+') => Some((1, None)),
            Some('?') => Some((0, Some(1))),
            Some('{') => Some(self.braces()?),
            _ => None,
        };
        let Some((least, most)) = counts else { return Ok(node) };
        // At the sign, or at the closing brace.
        self.at += 1;
        if matches!(
            node,
            RegexNode::Begin | RegexNode::End | RegexNode::WordEdge(_) | RegexNode::Ahead { .. }
        ) {
            return Err(self.wrong(begin, "an empty match cannot be repeated"));
        }
        // Lazy: the same names match.
        self.take("?");
        if matches!(self.next(), Some('*' | '+' | '?' | '{')) {
            return Err(self.wrong(self.at, "a repetition cannot be repeated"));
        }
        Ok(RegexNode::Repeat { node: Box::new(node), least, most })
    }

    /// `{2}`, `{2,}`, `{2,3}`; ends at the closing brace.
    fn braces(&mut self) -> Result<(u32, Option<u32>), RegexError> {
        let begin = self.at;
        let bad = |parser: &Self| parser.wrong(begin, "a brace without a count: write \\{");
        let end = self.chars[begin..].iter().position(|char| *char == '}').ok_or_else(|| bad(self))?;
        let inside: String = self.chars[begin + 1..begin + end].iter().collect();
        let number =
            |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?;
        let (least, most): (Option<u32>, Option<Option<u32>>) = match inside.split_once(',') {
            None => (number(&inside), Some(number(&inside))),
            Some((least, "")) => (number(least), Some(None)),
            Some((least, most)) => (number(least), number(most).map(Some)),
        };
        let (Some(least), Some(most)) = (least, most) else { return Err(bad(self)) };
        if most.is_some_and(|most| most < least) {
            return Err(self.wrong(begin, "the minimum of the repetition is above its maximum"));
        }
        if least.max(most.unwrap_or(0)) > MOST {
            return Err(self.wrong(begin, "it repeats more than 1000 times"));
        }
        self.at = begin + end;
        Ok((least, most))
    }

    fn escape(&mut self, begin: usize) -> Result<RegexNode, RegexError> {
        match self.next() {
            Some('b') => self.skip(RegexNode::WordEdge(true)),
            Some('B') => self.skip(RegexNode::WordEdge(false)),
            Some('A') => self.skip(RegexNode::Begin),
            Some('Z' | 'z') => self.skip(RegexNode::End),
            _ => Ok(match self.escaped(begin)? {
                ClassItem::Range(char, _) => RegexNode::Char(char),
                named @ ClassItem::Named(_) => RegexNode::Class(Class { items: vec![named], negated: false }),
            }),
        }
    }

    fn skip(&mut self, node: RegexNode) -> Result<RegexNode, RegexError> {
        self.at += 1;
        Ok(node)
    }

    /// What stands behind a backslash, in and outside of brackets.
    fn escaped(&mut self, begin: usize) -> Result<ClassItem, RegexError> {
        let Some(char) = self.next() else { return Err(self.wrong(begin, "a \\ at the end")) };
        self.at += 1;
        let single = |char: char| Ok(ClassItem::Range(char, char));
        match char {
            'd' | 'D' | 'w' | 'W' | 's' | 'S' => Ok(ClassItem::Named(char)),
            'n' => single('\n'),
            't' => single('\t'),
            'r' => single('\r'),
            'f' => single('\u{c}'),
            'x' => {
                let digits: String = self.chars.iter().skip(self.at).take(2).collect();
                let value = u8::from_str_radix(&digits, 16).ok().filter(|value| {
                    digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) && *value < 128
                });
                let Some(value) = value else {
                    return Err(self.wrong(begin, "\\x takes two hexadecimal digits, up to 7f"));
                };
                self.at += 2;
                single(char::from(value))
            }
            '0'..='9' => Err(self.wrong(begin, "groups cannot be referred to")),
            char if char.is_ascii_alphabetic() => {
                Err(self.wrong(begin, &format!("\\{char} is unknown, or differs between Python and ncu")))
            }
            char => single(char),
        }
    }

    fn class(&mut self, begin: usize) -> Result<RegexNode, RegexError> {
        let negated = self.take("^");
        let mut items = Vec::new();
        loop {
            let at = self.at;
            let Some(char) = self.next() else { return Err(self.wrong(begin, "this [ is never closed")) };
            self.at += 1;
            let item = match char {
                ']' if !items.is_empty() => break,
                '[' if matches!(self.next(), Some(':' | '.' | '=')) => {
                    return Err(self.wrong(at, "[: differs between Python and ncu: write \\[ or \\w"));
                }
                '\\' => self.escaped(at)?,
                char => ClassItem::Range(char, char),
            };
            let is_range =
                self.next() == Some('-') && self.chars.get(self.at + 1).is_some_and(|next| *next != ']');
            let ClassItem::Range(from, _) = item else {
                if is_range {
                    return Err(self.wrong(at, "a range needs a character at both ends"));
                }
                items.push(item);
                continue;
            };
            if !is_range {
                items.push(item);
                continue;
            }
            self.at += 1;
            let last = self.at;
            let char = self.next().unwrap_or(']');
            self.at += 1;
            let to = match char {
                '\\' => self.escaped(last)?,
                char => ClassItem::Range(char, char),
            };
            match to {
                ClassItem::Range(to, _) if to >= from => items.push(ClassItem::Range(from, to)),
                ClassItem::Range(..) => {
                    return Err(self.wrong(at, "a range whose end is before its beginning"));
                }
                ClassItem::Named(_) => return Err(self.wrong(at, "a range needs a character at both ends")),
            }
        }
        Ok(RegexNode::Class(Class { items, negated }))
    }
}
