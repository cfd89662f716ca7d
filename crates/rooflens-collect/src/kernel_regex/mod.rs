//! Regular expressions that select kernels by name, with one meaning wherever they are used.
//!
//! Such an expression is matched here, over the names of a timeline, and by Nsight Compute, over the names
//! of launches. Lists of kernels come from Python. The three dialects differ: `\<` is a `<` to Python and
//! the beginning of a word to Nsight Compute (Boost.Regex), `[[:alpha:]]` the other way around. So only
//! what all of them read alike is accepted, and it is written anew for Nsight Compute. An expression
//! matches where any part of a name does, as `re.search` and `ncu --kernel-name regex:` have it.
//!
//! * `parse`: text → a tree, with the position of what is wrong.
//! * `program`: matching, in time linear in the length of the name.

mod parse;
mod program;
#[cfg(test)]
mod tests;

use parse::{ClassItem, RegexNode};
use program::Program;

/// An expression.
#[derive(Debug, Clone)]
pub struct KernelRegex {
    text: String,
    ignore_case: bool,
    node: RegexNode,
    program: Program,
}

/// What is wrong with an expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("at character {}: {why}", at + 1)]
pub struct RegexError {
    /// Characters before it.
    pub at: usize,
    /// What is wrong.
    pub why: String,
}

impl KernelRegex {
    /// Reads an expression.
    ///
    /// # Errors
    /// [`RegexError`], where it is malformed, or would mean different things to different readers.
    pub fn new(text: &str) -> Result<Self, RegexError> {
        let (node, ignore_case) = parse::parse(text)?;
        let program = Program::new(&node, ignore_case)
            .ok_or_else(|| RegexError { at: 0, why: "the expression is too large".to_owned() })?;
        Ok(Self { text: text.to_owned(), ignore_case, node, program })
    }

    /// As it was given.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether any part of a name matches.
    #[must_use]
    pub fn is_match(&self, name: &str) -> bool {
        self.program.is_match(name)
    }

    /// The same in the words of Nsight Compute, as one alternative among others: a group. It holds no colon,
    /// at which `--kernel-id` would split it.
    #[must_use]
    pub fn for_ncu(&self) -> String {
        let mut out = if self.ignore_case { "((?i)" } else { "(" }.to_owned();
        write(&self.node, &mut out);
        out.push(')');
        out
    }
}

fn write(node: &RegexNode, out: &mut String) {
    match node {
        RegexNode::Empty => {}
        RegexNode::Char(char) => literal(*char, out),
        RegexNode::Any => out.push('.'),
        RegexNode::Begin => out.push('^'),
        RegexNode::End => out.push('$'),
        RegexNode::WordEdge(true) => out.push_str("\\b"),
        RegexNode::WordEdge(false) => out.push_str("\\B"),
        RegexNode::Class(class) => {
            // Outside of brackets too, `\d` and the like are the same to all.
            out.push_str(if class.negated { "[^" } else { "[" });
            for item in &class.items {
                match item {
                    ClassItem::Range(from, to) => {
                        literal(*from, out);
                        if from != to {
                            out.push('-');
                            literal(*to, out);
                        }
                    }
                    ClassItem::Named(name) => out.extend(['\\', *name]),
                }
            }
            out.push(']');
        }
        RegexNode::Sequence(nodes) => nodes.iter().for_each(|node| write(node, out)),
        RegexNode::Either(nodes) => {
            out.push('(');
            for (at, node) in nodes.iter().enumerate() {
                if at > 0 {
                    out.push('|');
                }
                write(node, out);
            }
            out.push(')');
        }
        RegexNode::Repeat { node, least, most } => {
            out.push('(');
            write(node, out);
            out.push(')');
            match (least, most) {
                (0, None) => out.push('*'),
                (1, None) => out.push('+'),
                (0, Some(1)) => out.push('?'),
                (least, None) => out.push_str(&format!("{{{least},}}")),
                (least, Some(most)) => out.push_str(&format!("{{{least},{most}}}")),
            }
        }
        RegexNode::Ahead { node, negated } => {
            out.push_str(if *negated { "(?!" } else { "(?=" });
            write(node, out);
            out.push(')');
        }
    }
}

/// A character that stands for itself. `\<` would be the beginning of a word, so only what is special is
/// escaped; `\x3a` is a colon.
fn literal(char: char, out: &mut String) {
    match char {
        ':' => out.push_str("\\x3a"),
        '\n' => out.push_str("\\n"),
        '\t' => out.push_str("\\t"),
        '\r' => out.push_str("\\r"),
        char if char.is_ascii_control() => out.push_str(&format!("\\x{:02x}", u32::from(char))),
        '.' | '^' | '$' | '|' | '(' | ')' | '[' | ']' | '{' | '}' | '*' | '+' | '?' | '\\' | '-' => {
            out.extend(['\\', char]);
        }
        char => out.push(char),
    }
}
