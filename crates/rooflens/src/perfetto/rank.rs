//! The tracks of a rank.

use std::io::{self, Write};
use std::ops::Range;

use rooflens_analyze::ledger::{Line, Lines, Piece, pieces};
use rooflens_schema::tables::{GapCause, PhaseKind};
use rooflens_schema::{NameId, Opt, RankTables};

use super::{Arg, FloorShares, Track, Writer};

const LEDGER: u64 = 1;
const PHASES: u64 = 2;
const LAYERS: u64 = 3;
/// Streams and threads come below.
const OTHERS: u64 = 4;

/// Writes a rank: each device with its ledger, phases, layers, streams and counters; then the host.
pub(super) fn write<W: Write>(
    writer: &mut Writer<W>,
    tables: &RankTables,
    floors: &FloorShares,
) -> io::Result<()> {
    let pieces = pieces(tables);
    let view = View { tables, floors, lines: Lines::new(tables) };
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
        view.streams(writer, pid, rows.clone())?;
        view.counters(writer, pid, rows)?;
    }
    view.host(writer)
}

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

struct View<'a> {
    tables: &'a RankTables,
    floors: &'a FloorShares,
    lines: Lines<'a>,
}

impl<'a> View<'a> {
    fn text(&self, id: NameId) -> &'a str {
        self.tables.names.get(id)
    }

    fn phase_kind(&self, row: usize) -> Option<PhaseKind> {
        self.tables.phase_kind(self.tables.kernels.phase_id[row].get())
    }

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
            writer.slice(track, piece.line.as_str(), span, Some(color(piece.line)), &args)?;
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
        writer.slice(track, self.text(phases.name_id[row]), span, None, &args)
    }

    fn layers<W: Write>(&self, writer: &mut Writer<W>, pid: u64, pieces: &[Piece]) -> io::Result<()> {
        let kernels = &self.tables.kernels;
        let place = |row: usize| Some((kernels.layer[row].get()?, kernels.phase_id[row].get()));
        let track = Track { pid, tid: LAYERS };
        writer.name(track, "layers")?;
        for ((layer, _), span) in runs(pieces, place) {
            let args = [("layer", Some(Arg::Whole(layer.into())))];
            writer.slice(track, &format!("layer {layer}"), span, None, &args)?;
        }
        Ok(())
    }

    fn streams<W: Write>(&self, writer: &mut Writer<W>, pid: u64, rows: Range<usize>) -> io::Result<()> {
        let kernels = &self.tables.kernels;
        let mut tid = OTHERS;
        let mut from = rows.start;
        for same in kernels.stream[rows].chunk_by(|a, b| a == b) {
            let rows = from..from + same.len();
            from = rows.end;
            // A kernel may begin before the one before it ends: each such lies in a lane of its own.
            let mut lanes: Vec<i64> = Vec::new();
            for row in rows {
                let (start, end) = span(kernels.ts_ns[row], kernels.dur_ns[row]);
                let free = lanes.iter().position(|reached| *reached <= start);
                let lane = free.unwrap_or(lanes.len());
                let track = Track { pid, tid: tid + lane as u64 };
                match lanes.get_mut(lane) {
                    Some(reached) => *reached = end,
                    None => {
                        lanes.push(end);
                        let more = if lane > 0 { format!(" ({})", lane + 1) } else { String::new() };
                        writer.name(track, &format!("stream {}{more}", same[0]))?;
                    }
                }
                self.activity(writer, track, row, (start, end))?;
            }
            tid += lanes.len() as u64;
        }
        Ok(())
    }

    fn activity<W: Write>(
        &self,
        writer: &mut Writer<W>,
        track: Track,
        row: usize,
        span: (i64, i64),
    ) -> io::Result<()> {
        let kernels = &self.tables.kernels;
        let name = kernels.kernel_id[row];
        let line = self.lines.of(row);
        let class = self.lines.class(row).as_str();
        let phase = self.phase_kind(row).map(|kind| kind.as_str());
        let floor = phase.filter(|_| !self.floors.is_empty());
        let floor = floor.and_then(|phase| self.floors.get(&(phase.to_owned(), class.to_owned())));
        let cause = kernels.gap_cause[row];
        let idle = Some(kernels.idle_before_ns[row]).filter(|ns| *ns > 0);
        let args = [
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
            ("correlation", kernels.corr_id[row].get().map(Arg::Whole)),
        ];
        writer.slice(track, self.text(name), span, Some(color(line)), &args)
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

    /// Steps, and each thread's operators and calls.
    fn host<W: Write>(&self, writer: &mut Writer<W>) -> io::Result<()> {
        let (ops, api, phases) = (&self.tables.ops, &self.tables.api, &self.tables.phases);
        let steps = || {
            (0..phases.len()).filter(|&i| !phases.device[i].is_some() && phases.kind[i] != PhaseKind::Range)
        };
        if ops.is_empty() && api.is_empty() && steps().next().is_none() {
            return Ok(());
        }
        let pid = writer.process(&format!("rank {} host", self.tables.rank))?;
        let track = Track { pid, tid: PHASES };
        writer.name(track, "steps")?;
        let mut open = Open::default();
        for row in steps() {
            let span = open.fit(span(phases.ts_ns[row], phases.dur_ns[row]));
            self.phase(writer, track, row, span)?;
        }
        let (mut op, mut call) = (0, 0);
        let mut thread: Option<(i64, Track)> = None;
        loop {
            let next_op = (op < ops.len()).then(|| (ops.tid[op], ops.ts_ns[op], -ops.dur_ns[op]));
            let next_call = (call < api.len()).then(|| (api.tid[call], api.ts_ns[call], -api.dur_ns[call]));
            let is_op = match (next_op, next_call) {
                (None, None) => return Ok(()),
                (Some(op), Some(call)) => op <= call,
                (op, _) => op.is_some(),
            };
            let tid = if is_op { ops.tid[op] } else { api.tid[call] };
            let track = match thread {
                Some((open, track)) if open == tid => track,
                _ => {
                    let track = Track { pid, tid: thread.map_or(OTHERS, |(_, track)| track.tid + 1) };
                    writer.name(track, &format!("thread {tid}"))?;
                    open = Open::default();
                    thread = Some((tid, track));
                    track
                }
            };
            if is_op {
                let span = open.fit(span(ops.ts_ns[op], ops.dur_ns[op]));
                let args = [
                    ("layer", layer(ops.layer[op])),
                    ("module", ops.module_id[op].get().map(|id| Arg::Text(self.text(id)))),
                    ("device_ns", Some(Arg::Whole(ops.device_ns[op]))),
                ];
                writer.slice(track, self.text(ops.name_id[op]), span, None, &args)?;
                op += 1;
            } else {
                let span = open.fit(span(api.ts_ns[call], api.dur_ns[call]));
                let args = [("correlation", api.corr_id[call].get().map(Arg::Whole))];
                writer.slice(track, self.text(api.name_id[call]), span, None, &args)?;
                call += 1;
            }
        }
    }
}

fn layer(layer: Opt<i32>) -> Option<Arg<'static>> {
    layer.get().map(|layer| Arg::Whole(layer.into()))
}

fn span(ts_ns: i64, dur_ns: i64) -> (i64, i64) {
    (ts_ns, ts_ns.saturating_add(dur_ns.max(0)))
}

/// Slices that are open on a track, by their ends.
#[derive(Default)]
struct Open(Vec<i64>);

impl Open {
    /// Slices come by start, the longest first. One that reaches beyond the one around it is cut.
    fn fit(&mut self, (start, end): (i64, i64)) -> (i64, i64) {
        while self.0.last().is_some_and(|open| *open <= start) {
            self.0.pop();
        }
        let end = self.0.last().map_or(end, |open| end.min(*open));
        self.0.push(end);
        (start, end)
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
