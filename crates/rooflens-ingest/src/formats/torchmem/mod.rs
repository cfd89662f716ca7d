//! Snapshots of PyTorch's allocator: the pickle of `torch.cuda.memory._dump_snapshot`.
//!
//! A snapshot has what the allocator holds at the end, block by block, and, where history was recorded,
//! the last of its events. Events tell what was asked for, not the size of the block that was given: the
//! totals of `memory` count the former. They are counted back from the end, as older events may be gone.
//!
//! * `site`: where in the program an allocation comes from.

mod site;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::io::Read;

use rooflens_schema::tables::{BlockState, MemoryBlockRow, MemoryRow};
use rooflens_schema::{Interner, NameId, Notes, Opt, RankTables, Severity, Stage};

use crate::artefact::{Artefact, Probe};
use crate::error::IngestError;
use crate::formats::{Format, finish};
use crate::pickle::{self, Id, Pickle};
use site::Sites;

/// The format.
pub(crate) struct Torchmem;

impl Format for Torchmem {
    fn name(&self) -> &'static str {
        "torchmem"
    }

    fn about(&self) -> &'static str {
        "PyTorch allocator snapshot: .pickle, by torch.cuda.memory._dump_snapshot"
    }

    fn sniff(&self, probe: &Probe) -> bool {
        let has = |word: &str| memchr::memmem::find(&probe.head, word.as_bytes()).is_some();
        matches!(probe.head.as_slice(), [0x80, 2..=5, ..]) && (has("segments") || has("device_traces"))
    }

    fn read(&self, from: Artefact, notes: &Notes) -> Result<RankTables, IngestError> {
        let source = from.name().to_owned();
        let fail =
            |why: String| IngestError::NoRecords { source_name: source.clone(), format: "torchmem", why };
        let mut bytes = Vec::new();
        // One byte more than is taken, to know of it.
        let limit = pickle::LIMIT as u64 + 1;
        let broken = from.into_reader().take(limit).read_to_end(&mut bytes).err();
        let pickle = Pickle::parse(bytes).map_err(|error| match broken {
            Some(broken) => fail(format!("the stream ends early: {broken}")),
            None => fail(error.to_string()),
        })?;
        let interner = Interner::default();
        let mut reader = Reader {
            pickle: &pickle,
            sites: Sites::new(&pickle, &interner),
            tables: RankTables::default(),
            ends: HashMap::new(),
            extent: None,
            records: 0,
            lost: 0,
        };
        reader.blocks();
        reader.events(notes, &source);
        let Reader { mut tables, extent, records, lost, .. } = reader;
        if tables.memory.is_empty() && tables.memory_blocks.is_empty() {
            return Err(fail("it has neither blocks nor events with a time".to_owned()));
        }
        let message = "events or blocks without a usable size, state or time".to_owned();
        notes.add_many(Stage::Ingest, Severity::DataLoss, "event_without_time", &source, lost, message);
        // Microseconds since 1970.
        tables.meta.base_unix_ns = extent.map(|_| 0);
        tables.meta.microsecond_clock = true;
        Ok(finish(tables, interner, (self.name(), source), records, extent.unwrap_or((0, 0))))
    }
}

/// What a device holds at the end.
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
    extent: Option<(i64, i64)>,
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
        let requested_bytes = asked.into();
        self.tables.memory_blocks.push(MemoryBlockRow {
            device,
            segment,
            bytes,
            requested_bytes,
            state,
            site_id,
        });
        Some(())
    }

    fn events(&mut self, notes: &Notes, source: &str) {
        let tell = |severity, code: &str, count: i64, message: &str| {
            notes.add_many(Stage::Ingest, severity, code, source, count, message.to_owned());
        };
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
                tell(Severity::DataLoss, "events_missing", 1, message);
            }
        }
        if out_of_memory > 0 {
            tell(Severity::Warning, "out_of_memory", out_of_memory, "the device was out of memory");
        }
        if unknown > 0 {
            let message = "allocator events that are not supported yet and were not read";
            tell(Severity::Info, "unread_allocator_event", unknown, message);
        }
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
        let (first, last) = self.extent.unwrap_or((ts_ns, ts_ns));
        self.extent = Some((first.min(ts_ns), last.max(ts_ns)));
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
