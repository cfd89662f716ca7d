//! Pickles of plain data, read without running anything.
//!
//! A pickle is a program for a stack machine, and Python's own reader runs what it is told to. This one
//! knows only the instructions that make numbers, texts, lists, tuples and dictionaries; any other, and
//! above all those that name a class or call it, ends the reading. Values stand in one array and refer to
//! each other by number: nothing is copied, nothing is walked by recursion, and a value that contains
//! itself does no harm.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

/// Why a pickle was not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PickleError(String);

/// The largest pickle that is taken: places in it are 32-bit numbers.
pub(crate) const LIMIT: usize = 1 << 31;

/// A dictionary is searched from front to back; none that this is made for has more keys.
const MOST_KEYS: usize = 1024;

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
    List(Vec<Id>),
    Dict(Vec<(Id, Id)>),
}

impl Pickle {
    /// Reads a pickle. Memory is a fixed multiple of its length.
    pub fn parse(bytes: Vec<u8>) -> Result<Self, PickleError> {
        if bytes.len() > LIMIT {
            return Err(PickleError(format!("it is larger than {LIMIT} bytes")));
        }
        let (nodes, root) = run(&bytes)?;
        Ok(Pickle { bytes, nodes, root })
    }

    pub(crate) fn root(&self) -> Id {
        self.root
    }

    fn node(&self, id: Id) -> &Node {
        self.nodes.get(id.0 as usize).unwrap_or(&Node::Other)
    }

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

    pub(crate) fn number(&self, id: Id, key: &str) -> Option<i64> {
        match self.node(self.get(id, key)?) {
            Node::Int(value) => Some(*value),
            _ => None,
        }
    }

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

type Memo = HashMap<u32, Id, foldhash::fast::RandomState>;

// The instructions by their byte, as Python's `pickletools` lists them.
const PROTO: u8 = 0x80;
const FRAME: u8 = 0x95;
const STOP: u8 = b'.';
const MARK: u8 = b'(';
const MEMOIZE: u8 = 0x94;
const BINPUT: u8 = b'q';
const LONG_BINPUT: u8 = b'r';
const BINGET: u8 = b'h';
const LONG_BINGET: u8 = b'j';
const NONE: u8 = b'N';
const NEWTRUE: u8 = 0x88;
const NEWFALSE: u8 = 0x89;
const BININT: u8 = b'J';
const BININT1: u8 = b'K';
const BININT2: u8 = b'M';
const LONG1: u8 = 0x8a;
const LONG4: u8 = 0x8b;
const BINFLOAT: u8 = b'G';
const SHORT_BINUNICODE: u8 = 0x8c;
const BINUNICODE: u8 = b'X';
const BINUNICODE8: u8 = 0x8d;
const SHORT_BINBYTES: u8 = b'C';
const BINBYTES: u8 = b'B';
const BINBYTES8: u8 = 0x8e;
const EMPTY_LIST: u8 = b']';
const APPEND: u8 = b'a';
const APPENDS: u8 = b'e';
const EMPTY_TUPLE: u8 = b')';
const TUPLE: u8 = b't';
const TUPLE1: u8 = 0x85;
const TUPLE2: u8 = 0x86;
const TUPLE3: u8 = 0x87;
const EMPTY_DICT: u8 = b'}';
const SETITEM: u8 = b's';
const SETITEMS: u8 = b'u';

/// The others: what makes objects, what only the text protocol 0 uses, and what no snapshot needs.
const REFUSED: &[(u8, &str)] = &[
    (b'c', "GLOBAL"),
    (0x93, "STACK_GLOBAL"),
    (b'R', "REDUCE"),
    (b'b', "BUILD"),
    (b'i', "INST"),
    (b'o', "OBJ"),
    (0x81, "NEWOBJ"),
    (0x92, "NEWOBJ_EX"),
    (0x82, "EXT1"),
    (0x83, "EXT2"),
    (0x84, "EXT4"),
    (b'P', "PERSID"),
    (b'Q', "BINPERSID"),
    (0x97, "NEXT_BUFFER"),
    (0x98, "READONLY_BUFFER"),
    (0x96, "BYTEARRAY8"),
    (0x8f, "EMPTY_SET"),
    (0x90, "ADDITEMS"),
    (0x91, "FROZENSET"),
    (b'0', "POP"),
    (b'1', "POP_MARK"),
    (b'2', "DUP"),
    (b'I', "INT"),
    (b'L', "LONG"),
    (b'F', "FLOAT"),
    (b'S', "STRING"),
    (b'T', "BINSTRING"),
    (b'U', "SHORT_BINSTRING"),
    (b'V', "UNICODE"),
    (b'l', "LIST"),
    (b'd', "DICT"),
    (b'p', "PUT"),
    (b'g', "GET"),
];

/// Runs the instructions up to STOP: the values, and which of them is the whole.
fn run(bytes: &[u8]) -> Result<(Vec<Node>, Id), PickleError> {
    let mut machine = Machine {
        bytes,
        at: 0,
        begin: 0,
        nodes: vec![],
        stack: vec![],
        marks: vec![],
        memo: Memo::default(),
    };
    loop {
        machine.begin = machine.at;
        let opcode = machine.byte()?;
        if opcode == STOP {
            let root = machine.pop()?;
            return Ok((machine.nodes, root));
        }
        machine.step(opcode)?;
    }
}

struct Machine<'b> {
    bytes: &'b [u8],
    at: usize,
    begin: usize,
    nodes: Vec<Node>,
    stack: Vec<Id>,
    /// Heights of the stack.
    marks: Vec<usize>,
    memo: Memo,
}

impl Machine<'_> {
    fn step(&mut self, opcode: u8) -> Result<(), PickleError> {
        match opcode {
            PROTO => drop(self.take(1)?),
            FRAME => drop(self.take(8)?),
            MARK => self.marks.push(self.stack.len()),
            NONE | NEWTRUE | NEWFALSE => self.push(Node::Other),
            BININT => {
                let value = i32::from_le_bytes(self.array()?);
                self.push(Node::Int(value.into()));
            }
            BININT1 => {
                let value = self.byte()?;
                self.push(Node::Int(value.into()));
            }
            BININT2 => {
                let value = u16::from_le_bytes(self.array()?);
                self.push(Node::Int(value.into()));
            }
            LONG1 | LONG4 => {
                let count = if opcode == LONG1 { self.byte()?.into() } else { self.length4()? };
                let value = whole_number(self.take(count)?);
                self.push(value);
            }
            BINFLOAT => {
                self.take(8)?;
                self.push(Node::Other);
            }
            SHORT_BINUNICODE | BINUNICODE | BINUNICODE8 => {
                let count = self.length(opcode == SHORT_BINUNICODE, opcode == BINUNICODE8)?;
                let start = self.at;
                self.take(count)?;
                self.push(Node::Text(start as u32, self.at as u32));
            }
            SHORT_BINBYTES | BINBYTES | BINBYTES8 => {
                let count = self.length(opcode == SHORT_BINBYTES, opcode == BINBYTES8)?;
                self.take(count)?;
                self.push(Node::Other);
            }
            EMPTY_LIST | EMPTY_TUPLE => self.push(Node::List(vec![])),
            EMPTY_DICT => self.push(Node::Dict(vec![])),
            TUPLE1 | TUPLE2 | TUPLE3 => {
                let count = usize::from(opcode - TUPLE1) + 1;
                let start = self
                    .stack
                    .len()
                    .checked_sub(count)
                    .ok_or_else(|| senseless(self.begin, "finds no items"))?;
                let items = self.stack.split_off(start);
                self.push(Node::List(items));
            }
            TUPLE => {
                let items = self.above_mark()?;
                self.push(Node::List(items));
            }
            APPEND => {
                let item = self.pop()?;
                self.append(&[item])?;
            }
            APPENDS => {
                let items = self.above_mark()?;
                self.append(&items)?;
            }
            SETITEM => {
                let value = self.pop()?;
                let key = self.pop()?;
                self.set(&[key, value])?;
            }
            SETITEMS => {
                let items = self.above_mark()?;
                self.set(&items)?;
            }
            MEMOIZE => self.remember(self.memo.len() as u32)?,
            BINPUT => {
                let index = self.byte()?;
                self.remember(index.into())?;
            }
            LONG_BINPUT => {
                let index = u32::from_le_bytes(self.array()?);
                self.remember(index)?;
            }
            BINGET => {
                let index = self.byte()?;
                self.recall(index.into())?;
            }
            LONG_BINGET => {
                let index = u32::from_le_bytes(self.array()?);
                self.recall(index)?;
            }
            byte => {
                let refused = REFUSED.iter().find(|(known, _)| *known == byte);
                let what = match refused {
                    Some((_, name)) => {
                        format!(
                            "the instruction {name}, which plain data does not need and which may run code"
                        )
                    }
                    None => format!("not a pickle instruction: {byte:#04x}"),
                };
                return Err(PickleError(format!("byte {} is {what}", self.begin)));
            }
        }
        Ok(())
    }

    fn take(&mut self, count: usize) -> Result<&[u8], PickleError> {
        let end = self.at.checked_add(count).filter(|end| *end <= self.bytes.len());
        let taken = end.and_then(|end| self.bytes.get(self.at..end));
        let end = || PickleError(format!("it ends early, after {} bytes", self.bytes.len()));
        let taken = taken.ok_or_else(end)?;
        self.at += count;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], PickleError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn byte(&mut self) -> Result<u8, PickleError> {
        let [byte] = self.array()?;
        Ok(byte)
    }

    fn length4(&mut self) -> Result<usize, PickleError> {
        Ok(u32::from_le_bytes(self.array()?) as usize)
    }

    fn length(&mut self, short: bool, long: bool) -> Result<usize, PickleError> {
        if short {
            return Ok(self.byte()?.into());
        }
        if long {
            let count = u64::from_le_bytes(self.array()?);
            // More than there can be is more than there is.
            return Ok(usize::try_from(count).unwrap_or(usize::MAX));
        }
        self.length4()
    }

    /// Every value takes a byte of the pickle at least, so there are never more than 32 bits can number.
    fn push(&mut self, node: Node) {
        self.stack.push(Id(self.nodes.len() as u32));
        self.nodes.push(node);
    }

    fn pop(&mut self) -> Result<Id, PickleError> {
        let floor = self.marks.last().copied().unwrap_or(0);
        let top = if self.stack.len() > floor { self.stack.pop() } else { None };
        top.ok_or_else(|| senseless(self.begin, "finds no value"))
    }

    fn above_mark(&mut self) -> Result<Vec<Id>, PickleError> {
        let mark = self.marks.pop().ok_or_else(|| senseless(self.begin, "finds no mark"))?;
        // Nothing is taken from below a mark, so the stack is never lower.
        Ok(self.stack.split_off(mark.min(self.stack.len())))
    }

    fn top(&mut self) -> Result<&mut Node, PickleError> {
        let floor = self.marks.last().copied().unwrap_or(0);
        let top = self.stack.get(floor..).and_then(<[Id]>::last).map(|id| id.0 as usize);
        match top.filter(|top| *top < self.nodes.len()) {
            Some(top) => Ok(&mut self.nodes[top]),
            None => Err(senseless(self.begin, "finds nothing to fill")),
        }
    }

    fn append(&mut self, items: &[Id]) -> Result<(), PickleError> {
        let begin = self.begin;
        let Node::List(list) = self.top()? else { return Err(senseless(begin, "fills what is no list")) };
        list.extend_from_slice(items);
        Ok(())
    }

    fn set(&mut self, items: &[Id]) -> Result<(), PickleError> {
        let begin = self.begin;
        let (pairs, rest) = items.as_chunks::<2>();
        let Node::Dict(entries) = self.top()? else {
            return Err(senseless(begin, "fills what is no dictionary"));
        };
        if !rest.is_empty() {
            return Err(senseless(begin, "fills what is no dictionary"));
        }
        if entries.len() + pairs.len() > MOST_KEYS {
            return Err(senseless(begin, "makes too many keys"));
        }
        entries.extend(pairs.iter().map(|[key, value]| (*key, *value)));
        Ok(())
    }

    fn remember(&mut self, index: u32) -> Result<(), PickleError> {
        let top = self.stack.last().copied().ok_or_else(|| senseless(self.begin, "finds no value"))?;
        self.memo.insert(index, top);
        Ok(())
    }

    fn recall(&mut self, index: u32) -> Result<(), PickleError> {
        let id = self
            .memo
            .get(&index)
            .copied()
            .ok_or_else(|| senseless(self.begin, "asks for what was never put aside"))?;
        self.stack.push(id);
        Ok(())
    }
}

fn senseless(begin: usize, why: &str) -> PickleError {
    PickleError(format!("the instruction at byte {begin} {why}"))
}

/// A whole number, two's complement, lowest byte first.
fn whole_number(bytes: &[u8]) -> Node {
    let Some(sign) = bytes.last().map(|byte| byte & 0x80 != 0) else { return Node::Int(0) };
    let fill = if sign { 0xff } else { 0 };
    let mut wide = [fill; 8];
    let (low, high) = bytes.split_at(bytes.len().min(8));
    wide[..low.len()].copy_from_slice(low);
    let value = i64::from_le_bytes(wide);
    if high.iter().all(|byte| *byte == fill) && (value < 0) == sign { Node::Int(value) } else { Node::Other }
}
