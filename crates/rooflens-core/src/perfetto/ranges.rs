//! Ranges of host threads, and annotations of streams: as the profiler writes them.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::{self, Write};

use rooflens_schema::tables::{ApiKind, PhaseSource};
use rooflens_schema::{NameId, Opt, RankTables};
use serde::de::IgnoredAny;

use super::rank::{Lanes, Place, View, layer, named, span};
use super::{Arg, Args, FirstActivities, Slice, Track, Writer};

/// Where a range comes from. Of equal ranges the outer stands first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Table {
    Annotation,
    Frame,
    Op,
    Call,
}

/// Start, duration, table, row.
type Key = (i64, Reverse<i64>, Table, u32);

pub(super) struct Ranges<'a> {
    tables: &'a RankTables,
    /// In one order over all threads. Readers sort rows of a table and leave equal ones as they stand: this order
    /// keeps theirs.
    keys: Vec<Key>,
    json: HashSet<NameId>,
    host_pids: Vec<u64>,
    threads: HashMap<i64, Lanes>,
    /// What calls launched first: arrows lead there.
    pub launched: FirstActivities,
    devices: HashMap<i32, Device>,
}

struct Device {
    pid: u64,
    free: i64,
    streams: HashMap<i64, (Lanes, Vec<i64>)>,
}

impl<'a> Ranges<'a> {
    pub(crate) fn new(tables: &'a RankTables) -> Self {
        let (phases, frames, ops, api) = (&tables.phases, &tables.frames, &tables.ops, &tables.api);
        let mut keys = Vec::with_capacity(phases.len() + frames.len() + ops.len() + api.len());
        // Steps that were found by pattern were not recorded.
        let recorded = (0..phases.len()).filter(|&row| phases.source[row] != PhaseSource::Pattern);
        keys.extend(recorded.map(|row| key(&phases.ts_ns, &phases.dur_ns, Table::Annotation, row)));
        keys.extend((0..frames.len()).map(|row| key(&frames.ts_ns, &frames.dur_ns, Table::Frame, row)));
        keys.extend((0..ops.len()).map(|row| key(&ops.ts_ns, &ops.dur_ns, Table::Op, row)));
        keys.extend((0..api.len()).map(|row| key(&api.ts_ns, &api.dur_ns, Table::Call, row)));
        keys.sort_unstable();
        Ranges {
            tables,
            keys,
            json: json(tables),
            host_pids: Vec::new(),
            threads: HashMap::new(),
            launched: FirstActivities::new(),
            devices: HashMap::new(),
        }
    }

    /// Makes a device known: its process, and the first number behind its tracks.
    pub(crate) fn device(&mut self, device: i32, pid: u64, free: i64) {
        self.devices.insert(device, Device { pid, free, streams: HashMap::new() });
    }

    pub(crate) fn has_host(&self) -> bool {
        let tables = self.tables;
        let on_host =
            |key: &Key| key.2 != Table::Annotation || !tables.phases.device[key.3 as usize].is_some();
        self.keys.iter().any(on_host)
    }

    pub(crate) fn host<W: Write>(&mut self, writer: &mut Writer<W>) -> io::Result<u64> {
        self.host_pid(writer, 0)
    }

    /// A thread has one number, so that a further lane of it is in another process.
    fn host_pid<W: Write>(&mut self, writer: &mut Writer<W>, lane: usize) -> io::Result<u64> {
        while self.host_pids.len() <= lane {
            let name = named(&format!("rank {} host", self.tables.rank), self.host_pids.len());
            self.host_pids.push(writer.process(&name)?);
        }
        Ok(self.host_pids[lane])
    }

    pub(crate) fn free_tids(&self) -> impl Iterator<Item = i64> + use<> {
        let (phases, tables) = (&self.tables.phases, self.tables);
        let annotated = phases.tid.iter().filter_map(|tid| tid.get());
        let taken: BTreeSet<i64> =
            [&tables.frames.tid, &tables.ops.tid, &tables.api.tid].into_iter().flatten().copied().collect();
        let taken: BTreeSet<i64> = taken.into_iter().chain(annotated).collect();
        (1..).filter(move |tid| !taken.contains(tid))
    }

    fn thread<W: Write>(&mut self, writer: &mut Writer<W>, tid: i64, span: (i64, i64)) -> io::Result<Track> {
        let Place { lane, is_new } = self.threads.entry(tid).or_default().place(span);
        let track = Track { pid: self.host_pid(writer, lane)?, tid };
        if is_new {
            writer.name(track, &format!("thread {tid}"))?;
        }
        Ok(track)
    }

    fn stream<W: Write>(
        &mut self,
        writer: &mut Writer<W>,
        (device, stream): (i32, i64),
        span: (i64, i64),
    ) -> io::Result<Track> {
        if !self.devices.contains_key(&device) {
            // Annotated, but nothing ran there.
            let pid = writer.process(&format!("rank {} device {device}", self.tables.rank))?;
            self.device(device, pid, 1);
        }
        let Some(Device { pid, free, streams }) = self.devices.get_mut(&device) else {
            return Err(io::Error::other("a device without a process"));
        };
        let (lanes, tids) = streams.entry(stream).or_default();
        let Place { lane, is_new } = lanes.place(span);
        if is_new {
            tids.push(*free);
            *free += 1;
            let track = Track { pid: *pid, tid: tids[lane] };
            writer.name(track, &named(&format!("stream {stream} annotations"), lane))?;
        }
        Ok(Track { pid: *pid, tid: tids[lane] })
    }
}

impl View<'_> {
    pub(crate) fn ranges<W: Write>(&self, writer: &mut Writer<W>, ranges: &mut Ranges) -> io::Result<()> {
        for (ts, Reverse(dur), table, row) in std::mem::take(&mut ranges.keys) {
            let (span, row) = (span(ts, dur), row as usize);
            match table {
                Table::Annotation => self.annotation(writer, ranges, row, span)?,
                Table::Frame => {
                    let frames = &self.tables.frames;
                    let what = ("python_function", frames.name_id[row]);
                    self.on_thread(writer, ranges, frames.tid[row], what, span, &[])?;
                }
                Table::Op => self.op(writer, ranges, row, span)?,
                Table::Call => self.call(writer, ranges, row, span)?,
            }
        }
        Ok(())
    }

    fn annotation<W: Write>(
        &self,
        writer: &mut Writer<W>,
        ranges: &mut Ranges,
        row: usize,
        span: (i64, i64),
    ) -> io::Result<()> {
        let phases = &self.tables.phases;
        let (name, tid) = (phases.name_id[row], phases.tid[row].get().unwrap_or(0));
        let Some(device) = phases.device[row].get() else {
            return self.on_thread(writer, ranges, tid, ("user_annotation", name), span, &[]).map(drop);
        };
        let name = self.text(name);
        let track = ranges.stream(writer, (device, tid), span)?;
        let args = [("device", Some(Arg::Whole(device.into()))), ("stream", Some(Arg::Whole(tid)))];
        writer.slice(&Slice { track, category: "gpu_user_annotation", name, span, color: None }, &args)
    }

    fn op<W: Write>(
        &self,
        writer: &mut Writer<W>,
        ranges: &mut Ranges,
        row: usize,
        span: (i64, i64),
    ) -> io::Result<()> {
        let ops = &self.tables.ops;
        let inputs = |id: Opt<NameId>| {
            let (id, text) = (id.get()?, self.text(id.get()?));
            Some(if ranges.json.contains(&id) { Arg::Json(text) } else { Arg::Text(text) })
        };
        let args = [
            ("layer", layer(ops.layer[row])),
            ("module", ops.module_id[row].get().map(|id| Arg::Text(self.text(id)))),
            ("device_ns", Some(Arg::Whole(ops.device_ns[row]))),
            ("External id", ops.ext_id[row].get().map(Arg::Whole)),
            ("Input Dims", inputs(ops.shapes_id[row])),
            ("Input type", inputs(ops.dtypes_id[row])),
        ];
        self.on_thread(writer, ranges, ops.tid[row], ("cpu_op", ops.name_id[row]), span, &args).map(drop)
    }

    fn call<W: Write>(
        &self,
        writer: &mut Writer<W>,
        ranges: &mut Ranges,
        row: usize,
        span: (i64, i64),
    ) -> io::Result<()> {
        let api = &self.tables.api;
        let category = if api.kind[row] == ApiKind::Overhead { "overhead" } else { "cuda_runtime" };
        let args = [
            ("correlation", api.corr_id[row].get().map(Arg::Whole)),
            ("External id", api.ext_id[row].get().map(Arg::Whole)),
            ("kernel", api.kernel_id[row].get().map(|id| Arg::Text(self.text(id)))),
        ];
        let track =
            self.on_thread(writer, ranges, api.tid[row], (category, api.name_id[row]), span, &args)?;
        // A clock that lets an activity begin before its launch has no arrow to show. Of calls within calls that
        // have the same id the outer one has it.
        let launched = api.corr_id[row].get().filter(|_| span.0 < span.1);
        match launched.and_then(|id| ranges.launched.remove(&id)).filter(|first| first.1 >= span.0) {
            Some(first) => writer.arrow((track, span.0), first),
            None => Ok(()),
        }
    }

    /// Writes a slice of a host thread, with its category and name; answers the track.
    fn on_thread<W: Write>(
        &self,
        writer: &mut Writer<W>,
        ranges: &mut Ranges,
        tid: i64,
        (category, name): (&'static str, NameId),
        span: (i64, i64),
        args: &Args,
    ) -> io::Result<Track> {
        let track = ranges.thread(writer, tid, span)?;
        writer.slice(&Slice { track, category, name: self.text(name), span, color: None }, args)?;
        Ok(track)
    }

    pub(crate) fn memory<W: Write>(&self, writer: &mut Writer<W>, track: Track) -> io::Result<()> {
        let memory = &self.tables.memory;
        if !memory.is_empty() {
            writer.name_at(track, "memory", i32::MAX.into())?;
        }
        for row in 0..memory.len() {
            let device = memory.device[row];
            let args = [
                ("Bytes", Some(Arg::Whole(memory.bytes[row]))),
                // c10::DeviceType: 0 is the CPU, 1 a GPU.
                ("Device Type", Some(Arg::Whole(i64::from(device != -1)))),
                ("Device Id", Some(Arg::Whole(device.into()))),
                ("Total Allocated", memory.allocated_bytes[row].get().map(Arg::Whole)),
                ("Total Reserved", memory.reserved_bytes[row].get().map(Arg::Whole)),
            ];
            writer.instant(track, "cpu_instant_event", "[memory]", memory.ts_ns[row], &args)?;
        }
        Ok(())
    }
}

fn key(ts_ns: &[i64], dur_ns: &[i64], table: Table, row: usize) -> Key {
    (ts_ns[row], Reverse(dur_ns[row]), table, row as u32)
}

/// Shapes and types of inputs that are JSON. A trace may hold what JSON forbids, as a bare `NaN`; such are written as
/// text, since a single one would keep the file from opening.
fn json(tables: &RankTables) -> HashSet<NameId> {
    let ops = &tables.ops;
    let ids: HashSet<NameId> = ops.shapes_id.iter().chain(&ops.dtypes_id).filter_map(|id| id.get()).collect();
    let is_json = |id: &NameId| serde_json::from_str::<IgnoredAny>(tables.names.get(*id)).is_ok();
    ids.into_iter().filter(is_json).collect()
}
