//! The tracks of a rank: of each device its ledger, phases, layers, streams and counters; then the host.

use std::collections::HashMap;
use std::io::{self, Write};
use std::ops::Range;

use rooflens_analyze::ledger::{KernelLines, Line, Piece, pieces};
use rooflens_schema::tables::{ActivityKind, CollectiveRow, Collectives, GapCause, Kernels, PhaseKind};
use rooflens_schema::{NameId, Opt, RankTables};

use super::ranges::Ranges;
use super::{Arg, FirstActivities, FloorShares, Slice, Track, Writer};

pub(super) struct View<'a> {
    pub(crate) tables: &'a RankTables,
    floors: &'a FloorShares,
    lines: KernelLines<'a>,
}

/// Writes a rank: each device with its ledger, phases, layers, streams and counters; then the host.
pub(super) fn write<W: Write>(
    writer: &mut Writer<W>,
    tables: &RankTables,
    floors: &FloorShares,
) -> io::Result<()> {
    let pieces = pieces(tables);
    let view = View { tables, floors, lines: KernelLines::new(tables) };
    let mut ranges = Ranges::new(tables);
    let mut from = 0;
    for same in tables.kernels.device.chunk_by(|a, b| a == b) {
        let rows = from..from + same.len();
        from = rows.end;
        let begin = pieces.partition_point(|piece| piece.device < same[0]);
        let end = pieces.partition_point(|piece| piece.device <= same[0]);
        let pid = writer.process(&format!("rank {} device {}", tables.rank, same[0]))?;
        view.ledger(writer, pid, &pieces[begin..end])?;
        view.phases(writer, pid, &pieces[begin..end])?;
        view.layers(writer, pid, &pieces[begin..end])?;
        let free = view.streams(writer, pid, rows.clone(), &mut ranges.launched)?;
        view.counters(writer, pid, rows)?;
        ranges.device(same[0], pid, free);
    }
    view.host(writer, &mut ranges)?;
    view.recording(writer)
}

impl<'a> View<'a> {
    pub(crate) fn text(&self, id: NameId) -> &'a str {
        self.tables.names.get(id)
    }

    fn phase_kind(&self, row: usize) -> Option<PhaseKind> {
        self.tables.phase_kind(self.tables.kernels.phase_id[row].get())
    }

    fn host<W: Write>(&self, writer: &mut Writer<W>, ranges: &mut Ranges) -> io::Result<()> {
        let steps = self.steps();
        if ranges.has_host() || !steps.is_empty() || !self.tables.memory.is_empty() {
            let pid = ranges.host(writer)?;
            let mut free = ranges.free_tids();
            self.write_steps(writer, pid, &mut free, &steps)?;
            if let Some(tid) = free.next() {
                self.memory(writer, Track { pid, tid })?;
            }
        }
        self.ranges(writer, ranges)
    }

    /// The whole recording as one slice: it may begin before the first activity and end after the last.
    fn recording<W: Write>(&self, writer: &mut Writer<W>) -> io::Result<()> {
        let (meta, rank) = (&self.tables.meta, self.tables.rank);
        let track = Track { pid: writer.process(&format!("rank {rank} recording"))?, tid: 1 };
        writer.name(track, "recording")?;
        let span = (meta.first_ns, meta.last_ns);
        writer.slice(&Slice { track, category: "Trace", name: "recording", span, color: None }, &[])
    }
}

pub(super) fn layer(layer: Opt<i32>) -> Option<Arg<'static>> {
    layer.get().map(|layer| Arg::Whole(layer.into()))
}

pub(super) fn span(ts_ns: i64, dur_ns: i64) -> (i64, i64) {
    (ts_ns, ts_ns.saturating_add(dur_ns.max(0)))
}

/// Readers leave events of this category out.
pub(super) const CATEGORY: &str = rooflens_ingest::formats::ANALYSIS_CATEGORY;

const LEDGER: i64 = 1;
const PHASES: i64 = 2;
const LAYERS: i64 = 3;
const STREAMS: i64 = 4;

/// Colours of the Trace Event Format.
fn color(line: Line) -> &'static str {
    match line {
        Line::Floor => "good",
        Line::Inefficiency | Line::Kernels => "thread_state_running",
        Line::Unneeded => "bad",
        Line::Communication | Line::CommWait => "thread_state_iowait",
        Line::Copies => "yellow",
        Line::LaunchBound | Line::CpuBound | Line::Sync => "terrible",
        Line::Dependency => "olive",
        Line::Dispatch | Line::Unknown => "grey",
    }
}

impl View<'_> {
    fn ledger<W: Write>(&self, writer: &mut Writer<W>, pid: u64, pieces: &[Piece]) -> io::Result<()> {
        let track = Track { pid, tid: LEDGER };
        writer.name(track, "ledger")?;
        let kernels = &self.tables.kernels;
        for piece in pieces {
            let args = [
                ("activity", Some(Arg::Text(self.text(kernels.kernel_id[piece.row])))),
                ("phase", self.phase_kind(piece.row).map(|kind| Arg::Text(kind.as_str()))),
                ("layer", layer(kernels.layer[piece.row])),
            ];
            let span = (piece.start_ns, piece.end_ns);
            let color = Some(color(piece.line));
            writer
                .slice(&Slice { track, category: CATEGORY, name: piece.line.as_str(), span, color }, &args)?;
        }
        Ok(())
    }

    fn phases<W: Write>(&self, writer: &mut Writer<W>, pid: u64, pieces: &[Piece]) -> io::Result<()> {
        let track = Track { pid, tid: PHASES };
        writer.name(track, "phases")?;
        let phases = &self.tables.phases;
        for (phase, span) in runs(pieces, |row| self.tables.kernels.phase_id[row].get()) {
            let Some(row) = usize::try_from(phase).ok().filter(|row| *row < phases.len()) else { continue };
            self.phase(writer, track, row, span)?;
        }
        Ok(())
    }

    fn phase<W: Write>(
        &self,
        writer: &mut Writer<W>,
        track: Track,
        row: usize,
        span: (i64, i64),
    ) -> io::Result<()> {
        let phases = &self.tables.phases;
        let whole = |value: Opt<i64>| value.get().map(Arg::Whole);
        let args = [
            ("kind", Some(Arg::Text(phases.kind[row].as_str()))),
            ("step", whole(phases.step[row])),
            ("batch", whole(phases.batch[row])),
            ("prefill_tokens", whole(phases.prefill_tokens[row])),
            ("decode_tokens", whole(phases.decode_tokens[row])),
            ("kv_tokens", whole(phases.kv_tokens[row])),
        ];
        let name = self.text(phases.name_id[row]);
        writer.slice(&Slice { track, category: CATEGORY, name, span, color: None }, &args)
    }

    fn layers<W: Write>(&self, writer: &mut Writer<W>, pid: u64, pieces: &[Piece]) -> io::Result<()> {
        let kernels = &self.tables.kernels;
        let place = |row: usize| Some((kernels.layer[row].get()?, kernels.phase_id[row].get()));
        let track = Track { pid, tid: LAYERS };
        writer.name(track, "layers")?;
        for ((layer, _), span) in runs(pieces, place) {
            let args = [("layer", Some(Arg::Whole(layer.into())))];
            let name = &format!("layer {layer}");
            writer.slice(&Slice { track, category: CATEGORY, name, span, color: None }, &args)?;
        }
        Ok(())
    }

    fn steps(&self) -> Vec<usize> {
        let phases = &self.tables.phases;
        let is_step = |&row: &usize| !phases.device[row].is_some() && phases.kind[row] != PhaseKind::Range;
        (0..phases.len()).filter(is_step).collect()
    }

    fn write_steps<W: Write>(
        &self,
        writer: &mut Writer<W>,
        pid: u64,
        free_tids: &mut impl Iterator<Item = i64>,
        steps: &[usize],
    ) -> io::Result<()> {
        let phases = &self.tables.phases;
        let mut rows = steps.to_vec();
        // Those that were found by pattern stand behind the annotations.
        rows.sort_by_key(|&row| (phases.ts_ns[row], std::cmp::Reverse(phases.dur_ns[row])));
        let (mut lanes, mut tracks) = (Lanes::default(), Vec::new());
        for row in rows {
            let span = span(phases.ts_ns[row], phases.dur_ns[row]);
            let place = lanes.place(span);
            if place.is_new {
                let Some(tid) = free_tids.next() else { continue };
                tracks.push(Track { pid, tid });
                let above = i64::from(i32::MIN) + place.lane as i64;
                writer.name_at(Track { pid, tid }, &named("steps", place.lane), above)?;
            }
            self.phase(writer, tracks[place.lane], row, span)?;
        }
        Ok(())
    }

    fn counters<W: Write>(&self, writer: &mut Writer<W>, pid: u64, rows: Range<usize>) -> io::Result<()> {
        let kernels = &self.tables.kernels;
        let mut launched = Vec::new();
        let mut changes: Vec<(i64, i64)> = Vec::with_capacity(2 * rows.len());
        for row in rows {
            let (start, end) = span(kernels.ts_ns[row], kernels.dur_ns[row]);
            if start < end {
                changes.push((start, 1));
                changes.push((end, -1));
            }
            if let (Some(delay), Some(depth)) =
                (kernels.launch_delay_ns[row].get(), kernels.queue_depth[row].get())
            {
                launched.push((start.saturating_sub(delay), i64::from(depth)));
            }
        }
        changes.sort_unstable();
        let (mut running, mut shown) = (0, None);
        for same in changes.chunk_by(|a, b| a.0 == b.0) {
            running += same.iter().map(|change| change.1).sum::<i64>();
            if shown != Some(running) {
                writer.counter(pid, "running activities", same[0].0, running)?;
                shown = Some(running);
            }
        }
        launched.sort_unstable();
        // All activities of a graph found the same queue.
        launched.dedup();
        for (at, depth) in launched {
            writer.counter(pid, "queue depth", at, depth)?;
        }
        Ok(())
    }
}

/// Neighbours of the same key, together: the key and their span. Pieces without one belong to none.
fn runs<K: PartialEq + Copy>(pieces: &[Piece], key: impl Fn(usize) -> Option<K>) -> Vec<(K, (i64, i64))> {
    let mut found: Vec<(K, (i64, i64))> = Vec::new();
    for piece in pieces {
        let Some(key) = key(piece.row) else { continue };
        match found.last_mut() {
            Some((last, span)) if *last == key && span.1 == piece.start_ns => span.1 = piece.end_ns,
            _ => found.push((key, (piece.start_ns, piece.end_ns))),
        }
    }
    found
}

impl View<'_> {
    /// Writes the streams of a device; answers the first number behind its tracks.
    fn streams<W: Write>(
        &self,
        writer: &mut Writer<W>,
        pid: u64,
        rows: Range<usize>,
        firsts: &mut FirstActivities,
    ) -> io::Result<i64> {
        let kernels = &self.tables.kernels;
        let mut collectives = ByKernel::new(&self.tables.collectives);
        let mut tid = STREAMS;
        let mut from = rows.start;
        for same in kernels.stream[rows].chunk_by(|a, b| a == b) {
            let rows = from..from + same.len();
            from = rows.end;
            // A kernel may begin before the one before it ends: each such lies in a lane of its own.
            let mut lanes = Lanes::default();
            for row in rows {
                let span = span(kernels.ts_ns[row], kernels.dur_ns[row]);
                let place = lanes.place_alone(span);
                let track = Track { pid, tid: tid + place.lane as i64 };
                if place.is_new {
                    writer.name(track, &named(&format!("stream {}", same[0]), place.lane))?;
                }
                // Viewers bind arrows to slices that last.
                if let Some(launch) = kernels.corr_id[row].get().filter(|_| span.0 < span.1) {
                    let first = firsts.entry(launch).or_insert((track, span.0));
                    if span.0 < first.1 {
                        *first = (track, span.0);
                    }
                }
                let collective = collectives.take(self.tables, row);
                self.activity(writer, track, row, span, collective.as_ref())?;
            }
            tid += lanes.len() as i64;
        }
        Ok(tid)
    }

    fn activity<W: Write>(
        &self,
        writer: &mut Writer<W>,
        track: Track,
        row: usize,
        span: (i64, i64),
        collective: Option<&CollectiveRow>,
    ) -> io::Result<()> {
        let kernels = &self.tables.kernels;
        let line = self.lines.of(row);
        let known = self.known(row);
        let recorded = recorded(kernels, row);
        let message = collective.map(|row| self.message(row));
        let args = [&known[..], &recorded, message.as_ref().map_or(&[], |message| &message[..])].concat();
        let name = self.text(kernels.kernel_id[row]);
        let category = match kernels.kind[row] {
            ActivityKind::Kernel => "kernel",
            ActivityKind::Memcpy => "gpu_memcpy",
            ActivityKind::Memset => "gpu_memset",
        };
        writer.slice(&Slice { track, category, name, span, color: Some(color(line)) }, &args)
    }

    fn known(&self, row: usize) -> [(&'static str, Option<Arg<'_>>); 10] {
        let kernels = &self.tables.kernels;
        let line = self.lines.of(row);
        let class = self.lines.class(row).as_str();
        let phase = self.phase_kind(row).map(|kind| kind.as_str());
        let floor = phase.filter(|_| !self.floors.is_empty());
        let floor = floor.and_then(|phase| self.floors.get(&(phase.to_owned(), class.to_owned())));
        let cause = kernels.gap_cause[row];
        let idle = Some(kernels.idle_before_ns[row]).filter(|ns| *ns > 0);
        [
            ("class", Some(Arg::Text(class))),
            ("line", Some(Arg::Text(line.as_str()))),
            ("phase", phase.map(Arg::Text)),
            ("layer", layer(kernels.layer[row])),
            ("module", kernels.module_id[row].get().map(|id| Arg::Text(self.text(id)))),
            ("floor_share_of_class", floor.copied().map(Arg::Share)),
            ("idle_before_ns", idle.map(Arg::Whole)),
            ("gap_cause", (cause != GapCause::None).then(|| Arg::Text(cause.as_str()))),
            ("launch_delay_ns", kernels.launch_delay_ns[row].get().map(Arg::Whole)),
            ("queue_depth", kernels.queue_depth[row].get().map(|depth| Arg::Whole(depth.into()))),
        ]
    }

    fn message(&self, row: &CollectiveRow) -> [(&'static str, Option<Arg<'_>>); 6] {
        [
            ("Collective name", Some(Arg::Text(self.text(row.collective_id)))),
            ("dtype", row.dtype_id.get().map(|id| Arg::Text(self.text(id)))),
            ("In msg nelems", row.in_elements.get().map(Arg::Whole)),
            ("Out msg nelems", row.out_elements.get().map(Arg::Whole)),
            ("Group size", row.group_size.get().map(|size| Arg::Whole(size.into()))),
            ("Process Group Name", row.group_id.get().map(|id| Arg::Text(self.text(id)))),
        ]
    }
}

fn recorded(kernels: &Kernels, row: usize) -> [(&'static str, Option<Arg<'static>>); 11] {
    let whole = |value: Opt<i64>| value.get().map(Arg::Whole);
    let small = |value: Opt<i32>| value.get().map(|value| Arg::Whole(value.into()));
    let triple = |x: Opt<i32>, y: Opt<i32>, z: Opt<i32>| Some(Arg::Triple([x.get()?, y.get()?, z.get()?]));
    [
        ("device", Some(Arg::Whole(kernels.device[row].into()))),
        ("stream", Some(Arg::Whole(kernels.stream[row].into()))),
        ("correlation", whole(kernels.corr_id[row])),
        ("External id", whole(kernels.ext_id[row])),
        ("graph id", whole(kernels.graph_id[row])),
        ("graph node id", whole(kernels.graph_node_id[row])),
        ("grid", triple(kernels.grid_x[row], kernels.grid_y[row], kernels.grid_z[row])),
        ("block", triple(kernels.block_x[row], kernels.block_y[row], kernels.block_z[row])),
        ("registers per thread", small(kernels.registers[row])),
        ("shared memory", small(kernels.shared_memory_bytes[row])),
        ("bytes", whole(kernels.bytes[row])),
    ]
}

/// What a row of `collectives` and its kernel have in common.
type Key = (i32, i64, i64, Option<i64>);

/// Rows of `collectives` by their kernel, the first last.
struct ByKernel(HashMap<Key, Vec<usize>>);

impl ByKernel {
    fn new(collectives: &Collectives) -> Self {
        let mut rows: HashMap<Key, Vec<usize>> = HashMap::new();
        for row in (0..collectives.len()).rev() {
            let key = (
                collectives.device[row],
                collectives.ts_ns[row],
                collectives.dur_ns[row],
                collectives.corr_id[row].get(),
            );
            rows.entry(key).or_default().push(row);
        }
        ByKernel(rows)
    }

    fn take(&mut self, tables: &RankTables, kernel: usize) -> Option<CollectiveRow> {
        let kernels = &tables.kernels;
        let corr_id = kernels.corr_id[kernel].get();
        let key = (kernels.device[kernel], kernels.ts_ns[kernel], kernels.dur_ns[kernel], corr_id);
        tables.collectives.row(self.0.get_mut(&key)?.pop()?)
    }
}

/// The lanes of one timeline. Slices come by start, the longest first.
#[derive(Default)]
pub(super) struct Lanes(Vec<Lane>);

#[derive(Default)]
struct Lane(Vec<i64>);

pub(super) struct Place {
    /// Number of the lane, from 0.
    pub(crate) lane: usize,
    pub(crate) is_new: bool,
}

impl Lanes {
    /// The first lane where the slice lies behind or inside the others.
    pub(crate) fn place(&mut self, span: (i64, i64)) -> Place {
        let found = self.0.iter_mut().position(|lane| lane.takes(span));
        let lane = found.unwrap_or_else(|| {
            self.0.push(Lane(vec![span.1]));
            self.0.len() - 1
        });
        Place { lane, is_new: found.is_none() }
    }

    /// The first lane that is free, for slices that do not nest.
    fn place_alone(&mut self, span: (i64, i64)) -> Place {
        let found = self.0.iter_mut().position(|lane| lane.is_free(span.0));
        match found.and_then(|lane| self.0.get_mut(lane)) {
            Some(lane) => lane.0.push(span.1),
            None => self.0.push(Lane(vec![span.1])),
        }
        Place { lane: found.unwrap_or(self.0.len() - 1), is_new: found.is_none() }
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

impl Lane {
    fn is_free(&mut self, start: i64) -> bool {
        while self.0.last().is_some_and(|open| *open <= start) {
            self.0.pop();
        }
        self.0.is_empty()
    }

    fn takes(&mut self, (start, end): (i64, i64)) -> bool {
        let takes = self.is_free(start) || self.0.last().is_some_and(|open| end <= *open);
        if takes {
            self.0.push(end);
        }
        takes
    }
}

/// What the tracks of a timeline are called: ` (2)` behind the name from the second lane on.
pub(super) fn named(name: &str, lane: usize) -> String {
    if lane > 0 { format!("{name} ({})", lane + 1) } else { name.to_owned() }
}
