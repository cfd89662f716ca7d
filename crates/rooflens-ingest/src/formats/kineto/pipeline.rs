//! Bytes to rows on all cores: one thread reads (and inflates) and cuts blocks, some read events,
//! and the caller puts their rows together in the order of the file.
//!
//! Memory grows with the rows: at most a few blocks of text are alive at once, and buffers are used
//! again.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use rooflens_schema::Interner;

use super::block::{BlockEnd, EventStart, read_block};
use super::event::{EventReader, EventRows};
use super::head::{self, HeadStop, TraceHead};
use super::scan::ScanStop;

/// Text read by one thread at a time: fits the second-level cache with its rows.
const BLOCK: usize = 1 << 20;
const LONGEST_EVENT: usize = 16 << 20;
const LONGEST_HEAD: usize = 256 << 20;
/// How often a new beginning is looked for in a tail that never ends an event.
const RECOVERIES: usize = 64;

pub(crate) struct Contents {
    pub(crate) head: TraceHead,
    pub(crate) rows: EventRows,
    pub(crate) read_error: Option<std::io::Error>,
    /// The array of events was never closed.
    pub(crate) unclosed: bool,
    /// The text behind the events is damaged or cut off.
    pub(crate) damaged_tail: bool,
}

struct Block {
    sequence: usize,
    buffer: Buffer,
}

struct ParsedBlock {
    sequence: usize,
    buffer: Buffer,
    rows: EventRows,
    end: BlockEnd,
}

/// Reads a whole trace, on so many threads beside the one that reads its bytes; or says why it has no events.
pub fn read(mut from: Box<dyn Read + Send>, interner: &Interner, workers: usize) -> Result<Contents, String> {
    let mut head = TraceHead::default();
    let (text, at, read_error) = find_events(&mut from, &mut head)?;
    let start = EventStart::learn(&text, at);
    let mut merge = Merge {
        start: start.clone(),
        spare: EventReader::new(interner),
        rows: EventRows::default(),
        carry: Vec::new(),
        tail: None,
    };
    // A job may have a thousand small traces: threads would take longer to start than their text to read.
    let read_error = if text.len() < BLOCK {
        merge.read_again(&text[at..], 0);
        read_error
    } else {
        read_blocks(from, (text, at, read_error), (&start, interner, workers), &mut merge)
    };
    let unclosed = merge.tail.is_none();
    merge.recover_rest();
    let damaged_tail = match &merge.tail {
        Some(tail) => read_tail(tail, &mut head).is_err(),
        None => false,
    };
    Ok(Contents { head, rows: merge.rows, read_error, unclosed, damaged_tail })
}

fn read_blocks(
    mut from: Box<dyn Read + Send>,
    (text, at, read_error): (Vec<u8>, usize, Option<std::io::Error>),
    (start, interner, workers): (&EventStart, &Interner, usize),
    merge: &mut Merge<'_>,
) -> Option<std::io::Error> {
    let (to_workers, blocks) = sync_channel::<Block>(workers);
    let (to_merge, outcomes) = sync_channel::<ParsedBlock>(workers * 2);
    let (give_back, used) = channel::<Buffer>();
    let blocks = Mutex::new(blocks);
    thread::scope(|scope| {
        let cutter = scope.spawn(move || match read_error {
            Some(error) => {
                let mut buffer = Buffer::default();
                buffer.replace(&text[at..]);
                let _ = to_workers.send(Block { sequence: 0, buffer });
                Some(error)
            }
            None => cut_blocks(&mut *from, &text[at..], start, &to_workers, &used),
        });
        for _ in 0..workers {
            let (blocks, to_merge) = (&blocks, to_merge.clone());
            scope.spawn(move || work(blocks, start, interner, &to_merge));
        }
        drop(to_merge);
        merge.run(&outcomes, &give_back);
        // The cutter's thread cannot have panicked: it only moves bytes. If it did, the file is cut there.
        cutter.join().unwrap_or_else(|_| Some(std::io::Error::other("the reader thread failed")))
    })
}

fn find_events(
    from: &mut dyn Read,
    head: &mut TraceHead,
) -> Result<(Vec<u8>, usize, Option<std::io::Error>), String> {
    let mut text = Vec::new();
    let mut want = BLOCK;
    loop {
        let error = from.take((want - text.len()) as u64).read_to_end(&mut text).err();
        let ended = error.is_some() || text.len() < want;
        *head = TraceHead::default();
        let blank = text.len() - super::scan::without_blank(&text).len();
        let outcome = match text.get(blank) {
            // The plain array form of the Chrome trace format.
            Some(b'[') => Ok(HeadStop::Events(blank + 1)),
            Some(b'{') => head::read(&text, blank + 1, head),
            Some(_) => Err(ScanStop::Bad),
            None => Err(ScanStop::End),
        };
        match outcome {
            Ok(HeadStop::Events(at)) => return Ok((text, at, error)),
            Ok(HeadStop::Done) => return Err("it has no traceEvents".to_owned()),
            Err(ScanStop::Bad) => return Err("the text before traceEvents is damaged".to_owned()),
            Err(ScanStop::End) if ended => {
                let why = error.map(|error| error.to_string());
                return Err(why.unwrap_or_else(|| "it ends before traceEvents".to_owned()));
            }
            Err(ScanStop::End) if want >= LONGEST_HEAD => {
                return Err("no traceEvents in its first 256 MiB".to_owned());
            }
            Err(ScanStop::End) => want *= 2,
        }
    }
}

/// A buffer that is used again without being cleared: only `filled` bytes of it count.
#[derive(Default)]
struct Buffer {
    bytes: Vec<u8>,
    filled: usize,
}

impl Buffer {
    fn text(&self) -> &[u8] {
        &self.bytes[..self.filled]
    }

    fn replace(&mut self, text: &[u8]) {
        self.grow(text.len());
        self.bytes[..text.len()].copy_from_slice(text);
        self.filled = text.len();
    }

    fn grow(&mut self, length: usize) {
        if self.bytes.len() < length {
            self.bytes.resize(length, 0);
        }
    }

    /// Reads `want` more bytes, or as many as there are. Answers whether the stream goes on.
    fn fill(&mut self, from: &mut dyn Read, want: usize) -> std::io::Result<bool> {
        let end = self.filled + want;
        self.grow(end);
        while self.filled < end {
            match from.read(&mut self.bytes[self.filled..end]) {
                Ok(0) => return Ok(false),
                Ok(count) => self.filled += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

/// Reads the stream and cuts it at what seem to be beginnings of events.
fn cut_blocks(
    from: &mut dyn Read,
    first: &[u8],
    start: &EventStart,
    to_workers: &SyncSender<Block>,
    used: &Receiver<Buffer>,
) -> Option<std::io::Error> {
    let mut buffer = Buffer::default();
    buffer.replace(first);
    for sequence in 0.. {
        let want = BLOCK.saturating_sub(buffer.filled).max(BLOCK / 4);
        let more = buffer.fill(from, want);
        if !matches!(more, Ok(true)) {
            let _ = to_workers.send(Block { sequence, buffer });
            return more.err();
        }
        let mut next = used.try_recv().unwrap_or_default();
        next.filled = 0;
        if let Some(cut) = start.last(buffer.text()) {
            next.replace(&buffer.text()[cut..]);
            buffer.filled = cut;
        }
        if to_workers.send(Block { sequence, buffer }).is_err() {
            return None;
        }
        buffer = next;
    }
    None
}

fn work(
    blocks: &Mutex<Receiver<Block>>,
    start: &EventStart,
    interner: &Interner,
    to_merge: &SyncSender<ParsedBlock>,
) {
    let mut reader = EventReader::new(interner);
    loop {
        let block = blocks.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Block { sequence, buffer }) = block else { return };
        let end = read_block(buffer.text(), 0, start, &mut reader);
        let rows = std::mem::take(&mut reader.rows);
        if to_merge.send(ParsedBlock { sequence, buffer, rows, end }).is_err() {
            return;
        }
    }
}

struct Merge<'n> {
    start: EventStart,
    spare: EventReader<'n>,
    rows: EventRows,
    /// Text from the beginning of an event that its block did not end.
    carry: Vec<u8>,
    /// Text behind the events, once their array is closed.
    tail: Option<Vec<u8>>,
}

impl Merge<'_> {
    fn run(&mut self, outcomes: &Receiver<ParsedBlock>, give_back: &Sender<Buffer>) {
        let mut waiting = BTreeMap::new();
        let mut next = 0;
        for outcome in outcomes {
            waiting.insert(outcome.sequence, outcome);
            while let Some(outcome) = waiting.remove(&next) {
                next += 1;
                // Nobody may be left to use the buffer again.
                let _ = give_back.send(self.take(outcome));
            }
        }
    }

    fn take(&mut self, mut outcome: ParsedBlock) -> Buffer {
        let text = outcome.buffer.text();
        if let Some(tail) = &mut self.tail {
            if tail.len() < LONGEST_HEAD {
                tail.extend_from_slice(text);
            }
        } else if self.carry.is_empty() {
            self.rows.append(&mut outcome.rows);
            self.after(text, outcome.end);
        } else {
            let mut joined = std::mem::take(&mut self.carry);
            joined.extend_from_slice(text);
            self.read_again(&joined, 0);
        }
        outcome.buffer
    }

    fn read_again(&mut self, text: &[u8], at: usize) {
        let end = read_block(text, at, &self.start, &mut self.spare);
        self.rows.append(&mut self.spare.rows);
        self.after(text, end);
    }

    fn after(&mut self, text: &[u8], end: BlockEnd) {
        match end {
            BlockEnd::Clean => {}
            BlockEnd::Closed(at) => self.tail = Some(text[at..].to_vec()),
            BlockEnd::Incomplete(at) if text.len() - at <= LONGEST_EVENT => self.carry = text[at..].to_vec(),
            BlockEnd::Incomplete(at) => {
                self.rows.counts.damaged += 1;
                if let Some(next) = self.start.next(text, at + 1) {
                    self.read_again(&text[next..], 0);
                }
            }
        }
    }

    /// The stream has ended in the middle of an event: it is lost, but what it may have swallowed is
    /// looked for.
    fn recover_rest(&mut self) {
        for _ in 0..RECOVERIES {
            let rest = std::mem::take(&mut self.carry);
            if rest.is_empty() {
                return;
            }
            self.rows.counts.damaged += 1;
            match self.start.next(&rest, 1) {
                Some(next) => self.read_again(&rest[next..], 0),
                None => return,
            }
        }
    }
}

fn read_tail(tail: &[u8], head: &mut TraceHead) -> Result<(), ScanStop> {
    // The plain array form has nothing behind it.
    if tail.trim_ascii().is_empty() && head.properties.is_empty() && head.devices.is_empty() {
        return Ok(());
    }
    let mut at = 0;
    loop {
        match head::read(tail, at, head)? {
            HeadStop::Done => return Ok(()),
            // A second array of events: its key is passed over like any other, its events are not read.
            HeadStop::Events(inside) => {
                head.damaged.push("traceEvents".to_owned());
                let mut cursor = super::scan::Cursor::new(tail, inside - 1);
                cursor.skip()?;
                at = cursor.at();
            }
        }
    }
}
