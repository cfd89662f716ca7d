//! Matching: all ways through the expression at once, so that no expression takes long on any name.

use super::parse::{Class, ClassItem, RegexNode};

/// No program is larger: repetitions are written out.
const LARGEST: usize = 100_000;

#[derive(Debug, Clone)]
enum Op {
    One(Set),
    Split(usize, usize),
    Jump(usize),
    Begin,
    End,
    WordEdge(bool),
    Ahead(Box<Program>, bool),
    Match,
}

#[derive(Debug, Clone)]
enum Set {
    Any,
    Char(char),
    Class(Class),
}

/// An expression, made ready for matching.
#[derive(Debug, Clone)]
pub struct Program {
    ops: Vec<Op>,
    ignore_case: bool,
}

impl Program {
    /// Of an expression; nothing where it would be too large.
    pub fn new(node: &RegexNode, ignore_case: bool) -> Option<Self> {
        let mut program = Self { ops: Vec::new(), ignore_case };
        program.add(node)?;
        program.ops.push(Op::Match);
        Some(program)
    }

    /// Whether any part of a text matches.
    pub fn is_match(&self, text: &str) -> bool {
        let chars: Vec<char> = text.chars().collect();
        self.run(&chars, 0, true)
    }

    fn add(&mut self, node: &RegexNode) -> Option<()> {
        if self.ops.len() > LARGEST {
            return None;
        }
        match node {
            RegexNode::Empty => {}
            RegexNode::Char(char) => self.ops.push(Op::One(Set::Char(*char))),
            RegexNode::Any => self.ops.push(Op::One(Set::Any)),
            RegexNode::Class(class) => self.ops.push(Op::One(Set::Class(class.clone()))),
            RegexNode::Begin => self.ops.push(Op::Begin),
            RegexNode::End => self.ops.push(Op::End),
            RegexNode::WordEdge(edge) => self.ops.push(Op::WordEdge(*edge)),
            RegexNode::Ahead { node, negated } => {
                let inner = Self::new(node, self.ignore_case)?;
                self.ops.push(Op::Ahead(Box::new(inner), *negated));
            }
            RegexNode::Sequence(nodes) => nodes.iter().try_for_each(|node| self.add(node))?,
            RegexNode::Either(nodes) => {
                let mut jumps = Vec::new();
                for (at, node) in nodes.iter().enumerate() {
                    let split = self.ops.len();
                    if at + 1 < nodes.len() {
                        self.ops.push(Op::Split(split + 1, 0));
                    }
                    self.add(node)?;
                    if at + 1 < nodes.len() {
                        jumps.push(self.ops.len());
                        self.ops.push(Op::Jump(0));
                        self.ops[split] = Op::Split(split + 1, self.ops.len());
                    }
                }
                for jump in jumps {
                    self.ops[jump] = Op::Jump(self.ops.len());
                }
            }
            RegexNode::Repeat { node, least, most } => {
                for _ in 0..*least {
                    self.add(node)?;
                }
                match most {
                    None => {
                        let split = self.ops.len();
                        self.ops.push(Op::Split(split + 1, 0));
                        self.add(node)?;
                        self.ops.push(Op::Jump(split));
                        self.ops[split] = Op::Split(split + 1, self.ops.len());
                    }
                    Some(most) => {
                        for _ in *least..*most {
                            let split = self.ops.len();
                            self.ops.push(Op::Split(split + 1, 0));
                            self.add(node)?;
                            self.ops[split] = Op::Split(split + 1, self.ops.len());
                        }
                    }
                }
            }
        }
        Some(())
    }

    /// From a place on; or from any place after it too.
    fn run(&self, text: &[char], begin: usize, anywhere: bool) -> bool {
        let mut now: Vec<usize> = Vec::new();
        for at in begin..=text.len() {
            let mut seen = vec![false; self.ops.len()];
            let mut waiting = Vec::new();
            if anywhere || at == begin {
                now.push(0);
            }
            for op in std::mem::take(&mut now) {
                if self.follow(op, text, at, &mut seen, &mut waiting) {
                    return true;
                }
            }
            let Some(char) = text.get(at) else { return false };
            now.extend(waiting.into_iter().filter(|op| self.takes(*op, *char)).map(|op| op + 1));
            if now.is_empty() && !anywhere {
                return false;
            }
        }
        false
    }

    /// Goes on as far as it can without a character. Whether that is the end.
    fn follow(
        &self,
        begin: usize,
        text: &[char],
        at: usize,
        seen: &mut [bool],
        waiting: &mut Vec<usize>,
    ) -> bool {
        let mut open = vec![begin];
        while let Some(op) = open.pop() {
            if std::mem::replace(&mut seen[op], true) {
                continue;
            }
            match &self.ops[op] {
                Op::Match => return true,
                Op::One(_) => waiting.push(op),
                Op::Jump(to) => open.push(*to),
                Op::Split(one, other) => open.extend([*one, *other]),
                Op::Begin if at == 0 => open.push(op + 1),
                Op::End if at == text.len() => open.push(op + 1),
                Op::WordEdge(edge) if is_edge(text, at) == *edge => open.push(op + 1),
                Op::Ahead(inner, negated) if inner.run(text, at, false) != *negated => open.push(op + 1),
                Op::Begin | Op::End | Op::WordEdge(_) | Op::Ahead(..) => {}
            }
        }
        false
    }

    fn takes(&self, op: usize, char: char) -> bool {
        let Op::One(set) = &self.ops[op] else { return false };
        let has = |char: char| match set {
            Set::Any => char != '\n',
            Set::Char(one) => *one == char,
            Set::Class(class) => class.items.iter().any(|item| contains(*item, char)),
        };
        let found = has(char)
            || (self.ignore_case && (has(char.to_ascii_lowercase()) || has(char.to_ascii_uppercase())));
        found != matches!(set, Set::Class(class) if class.negated)
    }
}

fn contains(item: ClassItem, char: char) -> bool {
    match item {
        ClassItem::Range(from, to) => (from..=to).contains(&char),
        ClassItem::Named('d') => char.is_ascii_digit(),
        ClassItem::Named('D') => !char.is_ascii_digit(),
        ClassItem::Named('w') => is_word(char),
        ClassItem::Named('W') => !is_word(char),
        ClassItem::Named('s') => char.is_ascii_whitespace(),
        ClassItem::Named(_) => !char.is_ascii_whitespace(),
    }
}

fn is_word(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_'
}

fn is_edge(text: &[char], at: usize) -> bool {
    let word = |at: Option<usize>| at.and_then(|at| text.get(at)).is_some_and(|char| is_word(*char));
    word(at.checked_sub(1)) != word(Some(at))
}
