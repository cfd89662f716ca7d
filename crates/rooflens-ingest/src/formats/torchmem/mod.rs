//! Snapshots of PyTorch's allocator: the pickle of `torch.cuda.memory._dump_snapshot`.
//!
//! A snapshot has what the allocator holds at the end, block by block, and, where history was recorded,
//! the last of its events. Events tell what was asked for, not the size of the block that was given: the
//! totals of `memory` count the former. They are counted back from the end, as older events may be gone.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::io::Read;

use rooflens_schema::tables::{BlockState, MemoryBlockRow, MemoryRow};
use rooflens_schema::{Interner, NameId, Opt, RankTables, Severity};

use crate::artefact::{Artefact, Probe};
use crate::error::IngestError;
use crate::pickle::{self, Id, Pickle};
use crate::reading::{Extent, Format, Reading};

pub(crate) const FORMAT: Format = Format {
    name: "torchmem",
    about: "PyTorch allocator snapshot: .pickle, by torch.cuda.memory._dump_snapshot",
    sniff,
    read,
};

fn sniff(probe: &Probe) -> bool {
    let has = |word: &str| memchr::memmem::find(&probe.head, word.as_bytes()).is_some();
    matches!(probe.head.as_slice(), [0x80, 2..=5, ..]) && (has("segments") || has("device_traces"))
}

fn read(from: Artefact, reading: &Reading<'_>) -> Result<RankTables, IngestError> {
    let mut bytes = Vec::new();
    // One byte more than is taken, to know of it.
    let limit = pickle::LIMIT as u64 + 1;
    let broken = from.into_reader().take(limit).read_to_end(&mut bytes).err();
    let pickle = Pickle::parse(bytes).map_err(|error| match broken {
        Some(broken) => reading.fail(format!("the stream ends early: {broken}")),
        None => reading.fail(error.to_string()),
    })?;
    let interner = Interner::default();
    let mut reader = Reader {
        pickle: &pickle,
        sites: Sites::new(&pickle, &interner),
        tables: RankTables::default(),
        ends: HashMap::new(),
        extent: Extent::default(),
        records: 0,
        lost: 0,
    };
    reader.blocks();
    reader.events(reading);
    let Reader { mut tables, extent, records, lost, .. } = reader;
    if tables.memory.is_empty() && tables.memory_blocks.is_empty() {
        return Err(reading.fail("it has neither blocks nor events with a time"));
    }
    reading.lost("event_without_time", lost, "events or blocks without a usable size, state or time");
    // Microseconds since 1970.
    tables.meta.base_unix_ns = extent.0.map(|_| 0);
    tables.meta.microsecond_clock = true;
    Ok(reading.finish(tables, interner, records, extent.0.unwrap_or((0, 0))))
}

#[derive(Default, Clone, Copy)]
struct End {
    /// As asked for.
    allocated: i64,
    reserved: i64,
}

struct Reader<'p> {
    pickle: &'p Pickle,
    sites: Sites<'p>,
    tables: RankTables,
    ends: HashMap<i32, End>,
    extent: Extent,
    records: i64,
    lost: i64,
}

/// What an event does: to bytes allocated, and to bytes reserved.
fn effect(action: &str) -> Option<(i64, i64)> {
    Some(match action {
        "alloc" => (1, 0),
        // When the program lets go; `free_completed`, when other streams have, changes no total.
        "free_requested" => (-1, 0),
        "segment_alloc" | "segment_map" => (0, 1),
        "segment_free" | "segment_unmap" => (0, -1),
        _ => return None,
    })
}

impl Reader<'_> {
    fn blocks(&mut self) {
        let segments = self.pickle.get(self.pickle.root(), "segments");
        for (number, segment) in segments.map_or(&[][..], |id| self.pickle.items(id)).iter().enumerate() {
            let device = self.pickle.number(*segment, "device").and_then(small).unwrap_or(0);
            let blocks = self.pickle.get(*segment, "blocks");
            for block in blocks.map_or(&[][..], |id| self.pickle.items(id)) {
                self.records += 1;
                if self.block(*block, device, number as i32).is_none() {
                    self.lost += 1;
                }
            }
        }
    }

    fn block(&mut self, block: Id, device: i32, segment: i32) -> Option<()> {
        let bytes = self.pickle.number(block, "size").filter(|bytes| *bytes >= 0)?;
        let state = match self.pickle.text(block, "state")? {
            "active_allocated" => BlockState::Allocated,
            "active_pending_free" | "active_awaiting_free" => BlockState::Pending,
            "inactive" => BlockState::Free,
            _ => return None,
        };
        // Of a free block it is what its last owner asked for.
        let asked = self.pickle.number(block, "requested_size").filter(|_| state != BlockState::Free);
        let end = self.ends.entry(device).or_default();
        end.reserved = end.reserved.saturating_add(bytes);
        let mut site_id = Opt::NONE;
        if state == BlockState::Allocated {
            end.allocated = end.allocated.saturating_add(asked.unwrap_or(bytes));
            site_id = Opt::some(self.sites.of(block));
        }
        let row = MemoryBlockRow { device, segment, bytes, requested_bytes: asked.into(), state, site_id };
        self.tables.memory_blocks.push(row);
        Some(())
    }

    fn events(&mut self, reading: &Reading<'_>) {
        let (mut unknown, mut out_of_memory) = (0, 0);
        let traces = self.pickle.get(self.pickle.root(), "device_traces");
        for (device, trace) in traces.map_or(&[][..], |id| self.pickle.items(id)).iter().enumerate() {
            let device = small(device as i64).unwrap_or(i32::MAX);
            let begin = self.tables.memory.len();
            let mut owners = HashMap::new();
            for event in self.pickle.items(*trace) {
                self.records += 1;
                match self.pickle.text(*event, "action") {
                    Some("free_completed" | "snapshot") => {}
                    Some("oom") => out_of_memory += 1,
                    Some(action) => match effect(action) {
                        Some(effect) => {
                            if self.event(*event, device, effect, &mut owners).is_none() {
                                self.lost += 1;
                            }
                        }
                        None => unknown += 1,
                    },
                    None => self.lost += 1,
                }
            }
            if !self.totals(begin, self.ends.get(&device).copied().unwrap_or_default()) {
                let message = "counting back from the final state gives negative sizes: events are missing, \
                               so there are no totals";
                reading.lost("events_missing", 1, message);
            }
        }
        reading.note(Severity::Warning, "out_of_memory", out_of_memory, "the device was out of memory");
        let message = "allocator events that are not supported yet and were not read";
        reading.note(Severity::Info, "unread_allocator_event", unknown, message);
    }

    /// Adds an event; `reserved_bytes` is what it changes until the totals are known.
    fn event(
        &mut self,
        event: Id,
        device: i32,
        (allocates, reserves): (i64, i64),
        owners: &mut HashMap<i64, NameId>,
    ) -> Option<()> {
        let size = self.pickle.number(event, "size").filter(|size| *size >= 0)?;
        let ts_ns = self.pickle.number(event, "time_us").filter(|us| *us >= 0)?.checked_mul(1000)?;
        let address = self.pickle.number(event, "addr");
        let site_id = match allocates {
            1 => {
                let site = self.sites.of(event);
                address.map(|address| owners.insert(address, site));
                Some(site)
            }
            // Of what was there before the first event it is not known.
            -1 => address.and_then(|address| owners.remove(&address)),
            _ => None,
        };
        self.extent.saw(ts_ns, ts_ns);
        self.tables.memory.push(MemoryRow {
            ts_ns,
            bytes: size * allocates,
            allocated_bytes: Opt::NONE,
            reserved_bytes: Opt::some(size * reserves),
            device,
            site_id: site_id.into(),
        });
        Some(())
    }

    /// Fills the totals of the rows from `begin` on, from the last to the first. Answers whether they
    /// make sense; if not, there are none.
    fn totals(&mut self, begin: usize, end: End) -> bool {
        let memory = &mut self.tables.memory;
        let (mut allocated, mut reserved, mut sensible) = (end.allocated, end.reserved, true);
        for row in (begin..memory.len()).rev() {
            let reserves = memory.reserved_bytes[row].get().unwrap_or(0);
            memory.allocated_bytes[row] = Opt::some(allocated);
            memory.reserved_bytes[row] = Opt::some(reserved);
            allocated = allocated.saturating_sub(memory.bytes[row]);
            reserved = reserved.saturating_sub(reserves);
            sensible &= allocated >= 0 && reserved >= 0;
        }
        if !sensible {
            memory.allocated_bytes[begin..].fill(Opt::NONE);
            memory.reserved_bytes[begin..].fill(Opt::NONE);
        }
        sensible
    }
}

fn small(value: i64) -> Option<i32> {
    i32::try_from(value).ok().filter(|value| *value >= 0)
}

struct Sites<'p> {
    pickle: &'p Pickle,
    interner: &'p Interner,
    /// Many allocations share a stack.
    known: HashMap<Id, NameId, foldhash::fast::RandomState>,
}

impl<'p> Sites<'p> {
    fn new(pickle: &'p Pickle, interner: &'p Interner) -> Self {
        Sites { pickle, interner, known: HashMap::default() }
    }

    /// The place of an event or block, by its `frames`, which begin with the innermost.
    fn of(&mut self, event: Id) -> NameId {
        let Some(frames) = self.pickle.get(event, "frames") else { return self.unknown() };
        if let Some(name) = self.known.get(&frames) {
            return *name;
        }
        let of_kind = |wanted: Kind| {
            let mut items = self.pickle.items(frames).iter().copied();
            items.find(|frame| kind(self.pickle.text(*frame, "filename").unwrap_or_default()) <= wanted)
        };
        let found = of_kind(Kind::User).or_else(|| of_kind(Kind::Library)).or_else(|| of_kind(Kind::Native));
        let name = found.map_or_else(|| self.unknown(), |frame| self.interner.intern(&self.label(frame)));
        self.known.insert(frames, name);
        name
    }

    fn unknown(&self) -> NameId {
        self.interner.intern("(no stack was recorded)")
    }

    /// `file.py(line): function`. Folders may tell who somebody is: only the file's own name is kept.
    fn label(&self, frame: Id) -> String {
        let function = self.pickle.text(frame, "name").unwrap_or("?");
        let file = self.pickle.text(frame, "filename").unwrap_or_default();
        let file = file.rsplit(['/', '\\']).next().unwrap_or_default();
        match self.pickle.number(frame, "line") {
            _ if file.is_empty() || file == "??" => function.to_owned(),
            Some(line) => format!("{file}({line}): {function}"),
            None => format!("{file}: {function}"),
        }
    }
}

/// Whose code a file is, the best first.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    User,
    Library,
    Native,
}

fn kind(file: &str) -> Kind {
    // `<stdin>` and `<string>` are Python too.
    if !file.ends_with(".py") && !file.starts_with('<') {
        return Kind::Native;
    }
    let of_library = |folder: &str| {
        // What Inductor writes is as much the library's as what calls it.
        matches!(folder, "site-packages" | "dist-packages" | "torch")
            || folder.starts_with("python3.")
            || folder.starts_with("torchinductor")
    };
    if file.split(['/', '\\']).any(of_library) { Kind::Library } else { Kind::User }
}
