//! Tracks that the analysis adds: ledger, phases, layers, steps, counters.

use std::io::{self, Write};
use std::ops::Range;

use rooflens_analyze::ledger::{Line, Piece};
use rooflens_schema::Opt;
use rooflens_schema::tables::PhaseKind;

use super::lanes::{Lanes, named};
use super::rank::{View, layer, span};
use super::{Arg, Slice, Track, Writer};

/// Readers leave events of this category out.
pub(super) const CATEGORY: &str = rooflens_ingest::formats::ANALYSIS_CATEGORY;

const LEDGER: i64 = 1;
const PHASES: i64 = 2;
const LAYERS: i64 = 3;
/// Streams come below.
pub(super) const STREAMS: i64 = 4;

/// Colours of the Trace Event Format.
pub(super) fn color(line: Line) -> &'static str {
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
    pub(crate) fn ledger<W: Write>(
        &self,
        writer: &mut Writer<W>,
        pid: u64,
        pieces: &[Piece],
    ) -> io::Result<()> {
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

    pub(crate) fn phases<W: Write>(
        &self,
        writer: &mut Writer<W>,
        pid: u64,
        pieces: &[Piece],
    ) -> io::Result<()> {
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

    pub(crate) fn layers<W: Write>(
        &self,
        writer: &mut Writer<W>,
        pid: u64,
        pieces: &[Piece],
    ) -> io::Result<()> {
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

    /// Rows of `phases` that say what the host does.
    pub(crate) fn steps(&self) -> Vec<usize> {
        let phases = &self.tables.phases;
        let is_step = |&row: &usize| !phases.device[row].is_some() && phases.kind[row] != PhaseKind::Range;
        (0..phases.len()).filter(is_step).collect()
    }

    /// Steps of the host, above its threads.
    pub(crate) fn write_steps<W: Write>(
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

    pub(crate) fn counters<W: Write>(
        &self,
        writer: &mut Writer<W>,
        pid: u64,
        rows: Range<usize>,
    ) -> io::Result<()> {
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
