//! The tracks of a rank.

use std::io::{self, Write};

use rooflens_analyze::ledger::{KernelLines, pieces};
use rooflens_schema::tables::PhaseKind;
use rooflens_schema::{NameId, Opt, RankTables};

use super::ranges::Ranges;
use super::{Arg, FloorShares, Slice, Track, Writer};

/// A rank while it is written.
pub(super) struct View<'a> {
    pub(crate) tables: &'a RankTables,
    pub(crate) floors: &'a FloorShares,
    pub(crate) lines: KernelLines<'a>,
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

    pub(crate) fn phase_kind(&self, row: usize) -> Option<PhaseKind> {
        self.tables.phase_kind(self.tables.kernels.phase_id[row].get())
    }

    /// Steps, and each thread's annotations, frames, operators and calls.
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
