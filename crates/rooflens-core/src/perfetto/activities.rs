//! Activities of a device, as the profiler writes them, with what the analysis knows of each.

use std::collections::HashMap;
use std::io::{self, Write};
use std::ops::Range;

use rooflens_schema::tables::{ActivityKind, CollectiveRow, Collectives, GapCause, Kernels};
use rooflens_schema::{Opt, RankTables};

use super::analysis::{STREAMS, color};
use super::lanes::{Lanes, named};
use super::rank::{View, layer, span};
use super::{Arg, FirstActivities, Slice, Track, Writer};

impl View<'_> {
    /// Writes the streams of a device; answers the first number behind its tracks.
    pub(crate) fn streams<W: Write>(
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

    /// What the analysis knows of an activity.
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

    /// What the profiler says of a collective.
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

/// What the profiler says of an activity.
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
