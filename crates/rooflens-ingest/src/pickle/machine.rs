//! The stack machine: instructions to values.

use super::opcode::*;
use super::{Id, MOST_KEYS, Memo, Node, PickleError};

/// Runs the instructions up to STOP: the values, and which of them is the whole.
pub(crate) fn run(bytes: &[u8]) -> Result<(Vec<Node>, Id), PickleError> {
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
    /// Where the instruction begins.
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
                let start = self.stack.len().checked_sub(count).ok_or(self.senseless("finds no items"))?;
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
                return Err(match refused {
                    Some((_, name)) => PickleError::Refused { at: self.begin, name },
                    None => PickleError::NoInstruction { at: self.begin, byte },
                });
            }
        }
        Ok(())
    }

    fn take(&mut self, count: usize) -> Result<&[u8], PickleError> {
        let end = self.at.checked_add(count).filter(|end| *end <= self.bytes.len());
        let taken = end.and_then(|end| self.bytes.get(self.at..end));
        let taken = taken.ok_or(PickleError::Cut { at: self.bytes.len() })?;
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
        top.ok_or(self.senseless("finds no value"))
    }

    fn above_mark(&mut self) -> Result<Vec<Id>, PickleError> {
        let mark = self.marks.pop().ok_or(self.senseless("finds no mark"))?;
        // Nothing is taken from below a mark, so the stack is never lower.
        Ok(self.stack.split_off(mark.min(self.stack.len())))
    }

    fn top(&mut self) -> Result<&mut Node, PickleError> {
        let error = self.senseless("finds nothing to fill");
        let floor = self.marks.last().copied().unwrap_or(0);
        let top = self.stack.get(floor..).and_then(<[Id]>::last);
        top.and_then(|id| self.nodes.get_mut(id.0 as usize)).ok_or(error)
    }

    fn append(&mut self, items: &[Id]) -> Result<(), PickleError> {
        let error = self.senseless("fills what is no list");
        match self.top()? {
            Node::List(list) => {
                list.extend_from_slice(items);
                Ok(())
            }
            _ => Err(error),
        }
    }

    fn set(&mut self, items: &[Id]) -> Result<(), PickleError> {
        let (error, many) =
            (self.senseless("fills what is no dictionary"), self.senseless("makes too many keys"));
        let (pairs, rest) = items.as_chunks::<2>();
        let Node::Dict(entries) = self.top()? else { return Err(error) };
        if !rest.is_empty() {
            return Err(error);
        }
        if entries.len() + pairs.len() > MOST_KEYS {
            return Err(many);
        }
        entries.extend(pairs.iter().map(|[key, value]| (*key, *value)));
        Ok(())
    }

    fn remember(&mut self, index: u32) -> Result<(), PickleError> {
        let top = self.stack.last().copied().ok_or(self.senseless("finds no value"))?;
        self.memo.insert(index, top);
        Ok(())
    }

    fn recall(&mut self, index: u32) -> Result<(), PickleError> {
        let id = self.memo.get(&index).copied().ok_or(self.senseless("asks for what was never put aside"))?;
        self.stack.push(id);
        Ok(())
    }

    fn senseless(&self, why: &'static str) -> PickleError {
        PickleError::Senseless { at: self.begin, why }
    }
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
