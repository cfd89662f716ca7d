//! One event of the trace to one row of a table.

use std::collections::{BTreeMap, HashMap};

use rooflens_schema::tables::{
    ActivityKind, ApiKind, ApiRow, CollectiveRow, FrameRow, KernelRow, MemoryRow, OpRow, PhaseRow,
    PhaseSource,
};
use rooflens_schema::{Interner, NameId, Opt, RankTables};

use super::args::{EventArgs, Wanted};
use super::export::ANALYSIS_CATEGORY;
use super::scan::{Cursor, Raw, ScanStop, unescape};
use crate::reading::{Extent, narrow};

/// Rows in the order of the file, and what could not become one.
#[derive(Debug, Default)]
pub(crate) struct EventRows {
    pub(crate) tables: RankTables,
    pub(crate) counts: Counts,
}

#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) events: i64,
    /// Events that could not be read, and passed-over stretches between events.
    pub(crate) damaged: i64,
    /// Events without a usable time or duration.
    pub(crate) timeless: i64,
    pub(crate) bad_text: i64,
    pub(crate) fractions: bool,
    pub(crate) extent: Extent,
    pub(crate) unread: BTreeMap<String, i64>,
}

impl EventRows {
    pub(crate) fn append(&mut self, other: &mut EventRows) {
        self.tables.append(&mut other.tables);
        let counts = std::mem::take(&mut other.counts);
        self.counts.events += counts.events;
        self.counts.damaged += counts.damaged;
        self.counts.timeless += counts.timeless;
        self.counts.bad_text += counts.bad_text;
        self.counts.fractions |= counts.fractions;
        if let Some((start, end)) = counts.extent.0 {
            self.counts.extent.saw(start, end);
        }
        for (category, count) in counts.unread {
            *self.counts.unread.entry(category).or_default() += count;
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Category {
    Activity(ActivityKind),
    /// Activities of an MTIA device, copies and marks of its queues among them.
    Mtia,
    Op,
    Api,
    Overhead,
    Frame,
    Annotation,
    DeviceAnnotation,
    Instant,
    Flow,
    Span,
    /// Added by `rooflens export`.
    Analysis,
    /// No `cat` at all: metadata, or not seen yet.
    Absent,
    Unread,
}

/// As bytes, for the match.
const ANALYSIS: &[u8] = ANALYSIS_CATEGORY.as_bytes();

impl Category {
    /// The names of torch 1.8 to 2.15, and of its CUDA, ROCm, XPU, MTIA and other back ends.
    fn of(name: &[u8]) -> Self {
        match name {
            b"kernel" | b"Kernel" | b"collective_comm" | b"hpu_op" => {
                Category::Activity(ActivityKind::Kernel)
            }
            b"mtia_ccp_events" => Category::Mtia,
            b"gpu_memcpy" | b"Memcpy" => Category::Activity(ActivityKind::Memcpy),
            b"gpu_memset" | b"Memset" => Category::Activity(ActivityKind::Memset),
            b"cpu_op" | b"Operator" => Category::Op,
            b"cuda_runtime"
            | b"cuda_driver"
            | b"Runtime"
            | b"xpu_runtime"
            | b"mtia_runtime"
            | b"glow_runtime"
            | b"privateuse1_runtime"
            | b"privateuse1_driver" => Category::Api,
            b"overhead" => Category::Overhead,
            b"python_function" => Category::Frame,
            b"user_annotation" => Category::Annotation,
            b"gpu_user_annotation" => Category::DeviceAnnotation,
            b"cpu_instant_event" => Category::Instant,
            b"ac2g" | b"async_cpu_to_gpu" | b"async_gpu" | b"fwdbwd" => Category::Flow,
            b"Trace" => Category::Span,
            ANALYSIS => Category::Analysis,
            _ => Category::Unread,
        }
    }

    fn wanted(self) -> Wanted {
        match self {
            Category::Activity(_) | Category::Mtia | Category::DeviceAnnotation => Wanted::Activity,
            Category::Op => Wanted::Op,
            Category::Api => Wanted::Ids,
            Category::Instant => Wanted::Memory,
            _ => Wanted::Nothing,
        }
    }
}

pub(crate) struct EventReader<'n> {
    interner: &'n Interner,
    cache: HashMap<Box<[u8]>, NameId, foldhash::fast::RandomState>,
    pub(crate) rows: EventRows,
}

impl<'n> EventReader<'n> {
    pub(crate) fn new(interner: &'n Interner) -> Self {
        EventReader { interner, cache: HashMap::default(), rows: EventRows::default() }
    }

    /// Reads the event at the cursor. Rows change only if the whole event could be read.
    pub(crate) fn event(&mut self, cursor: &mut Cursor<'_>) -> Result<(), ScanStop> {
        cursor.expect(b'{')?;
        let mut phase = 0u8;
        let mut category_name: &[u8] = b"";
        let mut category = Category::Absent;
        let mut name = Raw { bytes: b"", escaped: false };
        let (mut pid, mut tid) = (None, None);
        let (mut ts, mut dur) = (None, None);
        let mut early_args = None;
        let mut args = None;
        let mut more = !cursor.take(b'}')?;
        while more {
            match cursor.key()? {
                b"ph" => phase = cursor.string()?.bytes.first().copied().unwrap_or(0),
                b"cat" => {
                    category_name = cursor.string()?.bytes;
                    category = Category::of(category_name);
                }
                b"name" => match cursor.peek()? {
                    b'"' => name = cursor.string()?,
                    _ => cursor.skip()?,
                },
                b"pid" => pid = cursor.integer()?,
                b"tid" => tid = cursor.integer()?,
                b"ts" => ts = cursor.microseconds()?,
                b"dur" => dur = cursor.microseconds()?,
                b"args" => {
                    if category == Category::Absent {
                        early_args = Some(cursor.clone());
                    }
                    EventArgs::read(cursor, category.wanted(), &mut args)?;
                }
                _ => cursor.skip()?,
            }
            more = cursor.another_key()?;
        }
        // Arguments that came before the category had to be passed over the first time.
        if let Some(mut cursor) = early_args {
            EventArgs::read(&mut cursor, category.wanted(), &mut args)?;
        }

        self.rows.counts.events += i64::from(category != Category::Analysis);
        let no_args;
        let args = match &args {
            Some(args) => args,
            None => {
                no_args = EventArgs::default();
                &no_args
            }
        };
        let fact = Fact { name, pid, tid, ts, dur, args };
        match (phase, category) {
            (_, Category::Analysis) => {}
            (b'X', _) => self.complete(category, category_name, &fact),
            (b'i' | b'I', Category::Instant) => self.instant(&fact),
            (b'M' | b'i' | b'I', Category::Absent | Category::Span) | (b's' | b'f' | b't', _) => {}
            _ => {
                let what = if category_name.is_empty() { &[phase][..] } else { category_name };
                self.unread(what);
            }
        }
        Ok(())
    }

    fn complete(&mut self, category: Category, category_name: &[u8], fact: &Fact<'_>) {
        if matches!(category, Category::Unread | Category::Absent) {
            return self.unread(if category_name.is_empty() { b"(none)" } else { category_name });
        }
        let duration = fact.dur.filter(|(dur_ns, _)| *dur_ns >= 0);
        let (Some((ts_ns, fraction)), Some((dur_ns, dur_fraction))) = (fact.ts, duration) else {
            self.rows.counts.timeless += 1;
            return;
        };
        self.rows.counts.fractions |= fraction | dur_fraction;
        self.rows.counts.extent.saw(ts_ns, ts_ns.saturating_add(dur_ns));
        let tid = fact.tid.unwrap_or(0);
        match category {
            Category::Activity(kind) => self.activity(kind, ts_ns, dur_ns, fact),
            Category::Mtia => match fact.name.bytes {
                // A queue that waits for, or marks, an event does no work.
                b"event_wait" | b"event_record" => self.unread(b"mtia queue mark"),
                b"dma_request" => self.activity(ActivityKind::Memcpy, ts_ns, dur_ns, fact),
                _ => self.activity(ActivityKind::Kernel, ts_ns, dur_ns, fact),
            },
            Category::Op => {
                let name_id = self.name(fact.name);
                let (shapes_id, dtypes_id) = (self.json(fact.args.shapes), self.json(fact.args.dtypes));
                self.rows.tables.ops.push(OpRow {
                    ext_id: fact.args.external.into(),
                    shapes_id,
                    dtypes_id,
                    ..OpRow::new(tid, ts_ns, dur_ns, name_id)
                });
            }
            Category::Api | Category::Overhead => {
                let kind = if category == Category::Api { ApiKind::Other } else { ApiKind::Overhead };
                let name_id = self.name(fact.name);
                let kernel_id = fact.args.kernel.map(|kernel| self.name(kernel)).into();
                self.rows.tables.api.push(ApiRow {
                    tid,
                    ts_ns,
                    dur_ns,
                    name_id,
                    kind,
                    corr_id: fact.args.correlation.into(),
                    ext_id: fact.args.external.into(),
                    kernel_id,
                    ..ApiRow::default()
                });
            }
            Category::Frame => {
                let name_id = self.name(fact.name);
                self.rows.tables.frames.push(FrameRow { tid, ts_ns, dur_ns, name_id });
            }
            Category::Annotation | Category::DeviceAnnotation => {
                let on_device = category == Category::DeviceAnnotation;
                let (device, stream) = (fact.args.device.or(fact.pid), fact.args.stream.or(fact.tid));
                let name_id = self.name(fact.name);
                let source = if on_device { PhaseSource::DeviceAnnotation } else { PhaseSource::Annotation };
                self.rows.tables.phases.push(PhaseRow {
                    tid: Opt::some(stream.unwrap_or(0)),
                    device: on_device.then(|| narrow(device.unwrap_or(0))).into(),
                    ..PhaseRow::new(source, ts_ns, dur_ns, name_id)
                });
            }
            // The whole recording as one event: it only widens the extent.
            Category::Span => {}
            Category::Instant | Category::Flow | Category::Analysis | Category::Absent | Category::Unread => {
                self.unread(category_name)
            }
        }
    }

    fn activity(&mut self, kind: ActivityKind, ts_ns: i64, dur_ns: i64, fact: &Fact<'_>) {
        let args = fact.args;
        // Older traces give device and stream only as process and thread.
        let device = narrow(args.device.or(fact.pid).unwrap_or(0));
        let stream = narrow(args.stream.or(fact.tid).unwrap_or(0));
        let name = self.name(fact.name);
        let [grid_x, grid_y, grid_z] = dimensions(args.grid);
        let [block_x, block_y, block_z] = dimensions(args.block);
        self.rows.tables.kernels.push(KernelRow {
            corr_id: args.correlation.into(),
            ext_id: args.external.into(),
            graph_id: args.graph.into(),
            graph_node_id: args.graph_node.into(),
            grid_x,
            grid_y,
            grid_z,
            block_x,
            block_y,
            block_z,
            registers: args.registers.map(narrow).into(),
            shared_memory_bytes: args.shared_memory.map(narrow).into(),
            bytes: args.bytes.into(),
            ..KernelRow::new(device, stream, ts_ns, dur_ns, name, kind)
        });
        if let Some(collective) = args.collective {
            let row = CollectiveRow {
                device,
                ts_ns,
                dur_ns,
                corr_id: args.correlation.into(),
                collective_id: self.name(collective),
                dtype_id: args.dtype.map(|dtype| self.name(dtype)).into(),
                in_elements: args.in_elements.into(),
                out_elements: args.out_elements.into(),
                group_size: args.group_size.map(narrow).into(),
                group_id: args.group.map(|group| self.name(group)).into(),
            };
            self.rows.tables.collectives.push(row);
        }
    }

    fn instant(&mut self, fact: &Fact<'_>) {
        if fact.name.bytes != b"[memory]" {
            return self.unread(b"cpu_instant_event");
        }
        let (Some((ts_ns, fraction)), Some(bytes)) = (fact.ts, fact.args.bytes) else {
            self.rows.counts.timeless += 1;
            return;
        };
        self.rows.counts.fractions |= fraction;
        // c10::DeviceType: 0 is the CPU. Its device id is -1 or 0; the table says -1.
        let on_host = fact.args.device_type.unwrap_or(0) == 0;
        self.rows.tables.memory.push(MemoryRow {
            ts_ns,
            bytes,
            allocated_bytes: fact.args.allocated.into(),
            reserved_bytes: fact.args.reserved.into(),
            device: if on_host { -1 } else { narrow(fact.args.device.unwrap_or(0)) },
            ..MemoryRow::default()
        });
    }

    fn unread(&mut self, what: &[u8]) {
        let what = String::from_utf8_lossy(what).chars().take(40).collect();
        *self.rows.counts.unread.entry(what).or_default() += 1;
    }

    fn name(&mut self, raw: Raw<'_>) -> NameId {
        if let Some(&id) = self.cache.get(raw.bytes) {
            return id;
        }
        let (text, bad) = unescape(raw.bytes, raw.escaped);
        self.rows.counts.bad_text += i64::from(bad);
        let id = self.interner.intern(&text);
        self.cache.insert(raw.bytes.into(), id);
        id
    }

    fn json(&mut self, raw: Option<&[u8]>) -> Opt<NameId> {
        let Some(raw) = raw else { return Opt::NONE };
        if let Some(&id) = self.cache.get(raw) {
            return Opt::some(id);
        }
        let mut text = String::from_utf8_lossy(raw).into_owned();
        // Shapes and type names hold no white space that matters.
        text.retain(|c| !c.is_ascii_whitespace());
        let id = self.interner.intern(&text);
        self.cache.insert(raw.into(), id);
        Opt::some(id)
    }
}

struct Fact<'a> {
    name: Raw<'a>,
    pid: Option<i64>,
    tid: Option<i64>,
    ts: Option<(i64, bool)>,
    dur: Option<(i64, bool)>,
    args: &'a EventArgs<'a>,
}

fn dimensions(size: Option<[i64; 3]>) -> [Opt<i32>; 3] {
    size.map_or([Opt::NONE; 3], |size| size.map(|length| Opt::some(narrow(length))))
}
