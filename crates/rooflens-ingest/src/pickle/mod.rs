//! Pickles of plain data, read without running anything.
//!
//! A pickle is a program for a stack machine, and Python's own reader runs what it is told to. This one
//! knows only the instructions that make numbers, texts, lists, tuples and dictionaries; any other, and
//! above all those that name a class or call it, ends the reading. Values stand in one array and refer to
//! each other by number: nothing is copied, nothing is walked by recursion, and a value that contains
//! itself does no harm.

mod machine;
mod opcode;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

/// Why a pickle was not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PickleError {
    /// It ends in the middle.
    #[error("it ends early, after {at} bytes")]
    Cut {
        /// How long it is.
        at: usize,
    },
    /// It wants more than plain data.
    #[error("byte {at} is the instruction {name}, which plain data does not need and which may run code")]
    Refused {
        /// Where.
        at: usize,
        /// Python's name of the instruction.
        name: &'static str,
    },
    /// There is no such instruction.
    #[error("byte {at} is not a pickle instruction: {byte:#04x}")]
    NoInstruction {
        /// Where.
        at: usize,
        /// What is at the path.
        byte: u8,
    },
    /// An instruction that makes no sense where it stands.
    #[error("the instruction at byte {at} {why}")]
    Senseless {
        /// Where.
        at: usize,
        /// What is wrong.
        why: &'static str,
    },
    /// It is larger than this reader takes.
    #[error("it is larger than {limit} bytes")]
    TooLarge {
        /// The most that is taken.
        limit: usize,
    },
}

/// The largest pickle that is taken: places in it are 32-bit numbers.
pub(crate) const LIMIT: usize = 1 << 31;

/// A dictionary is searched from front to back; none that this is made for has more keys.
const MOST_KEYS: usize = 1024;

/// A value of a pickle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Id(u32);

/// What was read.
#[derive(Debug)]
pub struct Pickle {
    bytes: Vec<u8>,
    nodes: Vec<Node>,
    root: Id,
}

#[derive(Debug)]
enum Node {
    Int(i64),
    /// What is of no use here: None, true and false, fractions, bytes, whole numbers beyond 64 bits.
    Other,
    /// A range of the bytes.
    Text(u32, u32),
    /// A list or a tuple.
    List(Vec<Id>),
    Dict(Vec<(Id, Id)>),
}

impl Pickle {
    /// Reads a pickle. Memory is a fixed multiple of its length.
    pub fn parse(bytes: Vec<u8>) -> Result<Self, PickleError> {
        if bytes.len() > LIMIT {
            return Err(PickleError::TooLarge { limit: LIMIT });
        }
        let (nodes, root) = machine::run(&bytes)?;
        Ok(Pickle { bytes, nodes, root })
    }

    /// The value that the pickle is of.
    pub(crate) fn root(&self) -> Id {
        self.root
    }

    fn node(&self, id: Id) -> &Node {
        self.nodes.get(id.0 as usize).unwrap_or(&Node::Other)
    }

    /// The items of a list or tuple; none of anything else.
    pub(crate) fn items(&self, id: Id) -> &[Id] {
        match self.node(id) {
            Node::List(items) => items,
            _ => &[],
        }
    }

    /// The value of a dictionary's key. Of a key that was set twice, the last.
    pub(crate) fn get(&self, id: Id, key: &str) -> Option<Id> {
        let Node::Dict(entries) = self.node(id) else { return None };
        entries
            .iter()
            .rev()
            .find(|(name, _)| self.raw(*name) == Some(key.as_bytes()))
            .map(|(_, value)| *value)
    }

    /// A whole number of a dictionary.
    pub(crate) fn number(&self, id: Id, key: &str) -> Option<i64> {
        match self.node(self.get(id, key)?) {
            Node::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// A text of a dictionary.
    pub(crate) fn text(&self, id: Id, key: &str) -> Option<&str> {
        std::str::from_utf8(self.raw(self.get(id, key)?)?).ok()
    }

    fn raw(&self, id: Id) -> Option<&[u8]> {
        match self.node(id) {
            Node::Text(start, end) => self.bytes.get(*start as usize..*end as usize),
            _ => None,
        }
    }
}

/// What was put aside to be used again.
type Memo = HashMap<u32, Id, foldhash::fast::RandomState>;
