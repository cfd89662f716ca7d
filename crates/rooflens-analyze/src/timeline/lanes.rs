//! The lanes of a window: rows of a rank's tables, as slices.

use std::collections::HashSet;
use std::ops::Range;

use rooflens_schema::tables::{PhaseKind, PhaseSource};
use rooflens_schema::{NameId, RankTables};

use super::budget::{DEPTH, LANE_SLICES, LANES};
use super::slices::{
    Slice, column, in_a_row, main_thread, merged, operator_key, overlaps, plain, starting_within, within,
};
use super::{DrawnLane, DrawnName, LaneKind};
use crate::by_name::ByName;
use crate::interval::{Interval, rows_of, span};
use crate::kernel_catalog::KernelClass;
use crate::ledger::{KernelClasses, Line, of_operator};

pub(super) type Names = ByName<DrawnName>;

/// A lane and the rows that its slices are of.
pub(super) struct BuiltLane {
    pub(crate) lane: DrawnLane,
    pub(crate) rows: Vec<usize>,
    pub(crate) device: Option<i32>,
}

pub(super) struct LaneReader<'a> {
    tables: &'a RankTables,
    classes: KernelClasses,
    dim_rows: Vec<u32>,
    pub(crate) keep: HashSet<usize, foldhash::fast::RandomState>,
    pub(crate) lane_slices: usize,
    streams: Vec<(i32, i32, Range<usize>)>,
    thread: Option<i64>,
}

impl<'a> LaneReader<'a> {
    pub(crate) fn new(tables: &'a RankTables) -> Self {
        let kernels = &tables.kernels;
        let mut streams: Vec<(i32, i32, Range<usize>)> = Vec::new();
        for row in 0..kernels.len() {
            let key = (kernels.device[row], kernels.stream[row]);
            match streams.last_mut() {
                Some((device, stream, rows)) if (*device, *stream) == key => rows.end = row + 1,
                _ => streams.push((key.0, key.1, row..row + 1)),
            }
        }
        LaneReader {
            tables,
            classes: KernelClasses::new(tables),
            dim_rows: tables.kernel_dim_rows(),
            keep: HashSet::default(),
            lane_slices: LANE_SLICES,
            streams,
            thread: main_thread(tables),
        }
    }

    pub(crate) fn window(&self, window: Interval, names: &mut Names) -> Vec<BuiltLane> {
        let mut lanes = vec![self.phases(window, names), self.layers(window)];
        let mut devices: Vec<i32> = self.streams.iter().map(|stream| stream.0).collect();
        devices.dedup();
        for device in devices {
            lanes.push(self.idle(window, device));
            lanes.extend(self.streams(window, device, names));
        }
        lanes.push(self.ranges(window, names));
        if let Some(thread) = self.thread {
            lanes.extend(self.operators(window, thread, names));
            lanes.push(self.calls(window, thread, names));
        }
        lanes.retain(|lane| !lane.lane.start.is_empty());
        lanes
    }

    pub(crate) fn streams(&self, window: Interval, device: i32, names: &mut Names) -> Vec<BuiltLane> {
        let of_device = self.streams.iter().filter(|stream| stream.0 == device);
        let mut found: Vec<(i32, Vec<Slice>)> = of_device
            .map(|(_, stream, rows)| (*stream, self.activities(window, rows.clone(), names)))
            .filter(|(_, slices)| !slices.is_empty())
            .collect();
        if found.len() > LANES {
            found.sort_by_key(|(stream, slices)| (std::cmp::Reverse(slices.len()), *stream));
            found.truncate(LANES);
            found.sort_by_key(|(stream, _)| *stream);
        }
        found
            .into_iter()
            .flat_map(|(stream, slices)| {
                self.stacked(LaneKind::Stream, &stream_title(device, stream), window, slices)
            })
            .map(|lane| BuiltLane { device: Some(device), ..lane })
            .collect()
    }

    fn activities(&self, window: Interval, rows: Range<usize>, names: &mut Names) -> Vec<Slice> {
        let kernels = &self.tables.kernels;
        let rows = within(&kernels.ts_ns, &kernels.dur_ns, rows, window);
        rows.filter(|&row| overlaps(kernels.ts_ns[row], kernels.dur_ns[row], window))
            .map(|row| self.activity(row, names))
            .collect()
    }

    pub(crate) fn activity(&self, row: usize, names: &mut Names) -> Slice {
        let kernels = &self.tables.kernels;
        let (start, end) = span(kernels.ts_ns[row], kernels.dur_ns[row]);
        let operator = kernels.op_id[row].get().and_then(|op| {
            let name = *self.tables.ops.name_id.get(usize::try_from(op).ok()?)?;
            Some(self.operator_name(name, names))
        });
        Slice {
            layer: kernels.layer[row].get().unwrap_or(-1),
            operator: operator.unwrap_or(-1),
            launch: kernels.launch_delay_ns[row].get().unwrap_or(-1),
            ..plain(start, end, self.kernel_name(kernels.kernel_id[row], names), row)
        }
    }

    pub(crate) fn kernel_alone(&self, window: Interval, row: usize, names: &mut Names) -> BuiltLane {
        let (device, stream) = (self.tables.kernels.device[row], self.tables.kernels.stream[row]);
        let slice = self.activity(row, names);
        let lane = self.lane(LaneKind::Stream, stream_title(device, stream), window, vec![slice]);
        BuiltLane { device: Some(device), ..lane }
    }

    pub(crate) fn kernel_name(&self, id: NameId, names: &mut Names) -> i32 {
        let text = self.tables.names.get(id);
        let slot = names.slot(text);
        let known = names.named(text);
        if known.name.is_empty() {
            let row = self.dim_rows.get(id.index()).map_or(usize::MAX, |&row| row as usize);
            let short = self.tables.kernel_dim.short_name.get(row).map_or(text, String::as_str);
            let class = Some(self.classes.of(id));
            *known = DrawnName { name: text.to_owned(), short_name: short.to_owned(), class };
        }
        slot as i32
    }

    pub(crate) fn operator_name(&self, id: NameId, names: &mut Names) -> i32 {
        let class = |text: &str| Some(of_operator(text)).filter(|class| *class != KernelClass::Other);
        self.plain_name(id, class, names)
    }

    pub(crate) fn range_name(&self, id: NameId, names: &mut Names) -> i32 {
        self.plain_name(id, |_| None, names)
    }

    fn plain_name(&self, id: NameId, class: impl Fn(&str) -> Option<KernelClass>, names: &mut Names) -> i32 {
        let text = self.tables.names.get(id);
        let slot = names.slot(text);
        let known = names.named(text);
        if known.name.is_empty() {
            *known = DrawnName { name: text.to_owned(), short_name: text.to_owned(), class: class(text) };
        }
        slot as i32
    }

    fn idle(&self, window: Interval, device: i32) -> BuiltLane {
        let kernels = &self.tables.kernels;
        let mut slices = Vec::new();
        for (_, _, rows) in self.streams.iter().filter(|stream| stream.0 == device) {
            // A gap ends with the activity, so that it is within where its activity starts.
            for row in starting_within(&kernels.ts_ns, rows.clone(), (window.0, window.1.saturating_add(1))) {
                let idle = kernels.idle_before_ns[row];
                let end = kernels.ts_ns[row];
                if idle > 0 {
                    let what = Line::of_gap(kernels.gap_cause[row]) as i32;
                    slices.push(plain(end.saturating_sub(idle), end, what, row));
                }
            }
        }
        slices.sort_by_key(|slice| slice.start);
        self.lane(LaneKind::Idle, format!("GPU {device} · idle, by cause"), window, slices)
    }

    /// Which layer a device is in: neighbours of the same layer are one slice.
    fn layers(&self, window: Interval) -> BuiltLane {
        let kernels = &self.tables.kernels;
        let (device, many) = match self.streams.as_slice() {
            [] => return self.lane(LaneKind::Layers, String::new(), window, Vec::new()),
            [(first, ..), ..] => (*first, self.streams.iter().any(|stream| stream.0 != *first)),
        };
        let mut rows: Vec<usize> = Vec::new();
        for (_, _, of_stream) in self.streams.iter().filter(|stream| stream.0 == device) {
            rows.extend(starting_within(&kernels.ts_ns, of_stream.clone(), window));
        }
        rows.sort_by_key(|&row| kernels.ts_ns[row]);
        let mut slices: Vec<Slice> = Vec::new();
        let mut before: Option<i32> = None;
        for row in rows {
            let layer = kernels.layer[row].get();
            let (start, end) = span(kernels.ts_ns[row], kernels.dur_ns[row]);
            match (layer, slices.last_mut()) {
                (Some(layer), Some(last)) if before == Some(layer) => last.end = last.end.max(end),
                (Some(layer), last) => {
                    // What runs beside the last kernel of a layer is the next layer's from its start on.
                    if let Some(last) = last {
                        last.end = last.end.min(start);
                    }
                    slices.push(plain(start, end, layer, row));
                }
                (None, _) => {}
            }
            before = layer;
        }
        let title = if many { format!("GPU {device} · layers") } else { "layers".to_owned() };
        self.lane(LaneKind::Layers, title, window, slices)
    }

    fn phases(&self, window: Interval, names: &mut Names) -> BuiltLane {
        let phases = &self.tables.phases;
        let are_steps = phases.are_steps();
        let mut slices = Vec::new();
        for row in (0..phases.len()).filter(|&row| are_steps[row]) {
            let on_device = phases.device_first_ns[row].get().zip(phases.device_last_ns[row].get());
            let (start, end) = on_device.unwrap_or_else(|| span(phases.ts_ns[row], phases.dur_ns[row]));
            if start < window.1 && end > window.0 {
                let name = self.range_name(phases.name_id[row], names);
                slices.push(plain(start, end, name, row));
            }
        }
        // Steps of two engines may overlap.
        in_a_row(&mut slices);
        self.lane(LaneKind::Phases, "steps".to_owned(), window, slices)
    }

    /// Annotated ranges of the host that are no steps: the outermost ones.
    fn ranges(&self, window: Interval, names: &mut Names) -> BuiltLane {
        let phases = &self.tables.phases;
        let is_range = |&row: &usize| {
            phases.kind[row] == PhaseKind::Range
                && phases.source[row] == PhaseSource::Annotation
                && !phases.device[row].is_some()
                && overlaps(phases.ts_ns[row], phases.dur_ns[row], window)
                && phases.dur_ns[row] < window.1.saturating_sub(window.0)
        };
        let mut reached = i64::MIN;
        let mut slices = Vec::new();
        for row in (0..phases.len()).filter(is_range) {
            let (start, end) = span(phases.ts_ns[row], phases.dur_ns[row]);
            if start >= reached {
                slices.push(plain(start, end, self.range_name(phases.name_id[row], names), row));
                reached = end;
            }
        }
        self.lane(LaneKind::Ranges, "host · ranges".to_owned(), window, slices)
    }

    /// Operators of a thread, a lane for each depth.
    pub(crate) fn operators(&self, window: Interval, thread: i64, names: &mut Names) -> Vec<BuiltLane> {
        let ops = &self.tables.ops;
        let rows = rows_of(&ops.tid, thread);
        let shortest = window.1.saturating_sub(window.0) / 4_000;
        let mut by_depth: Vec<Vec<Slice>> = vec![Vec::new(); DEPTH as usize];
        let mut inside = starting_within(&ops.ts_ns, rows.clone(), window);
        // What is open when the window begins is within the operator that nothing is around.
        while inside.start > rows.start && (inside.start >= rows.end || ops.depth[inside.start] > 0) {
            inside.start -= 1;
        }
        inside.start = inside.start.saturating_sub(1).max(rows.start);
        while inside.start > rows.start && ops.depth[inside.start] > 0 {
            inside.start -= 1;
        }
        for row in inside {
            let depth = ops.depth[row];
            let is_drawn = (0..DEPTH).contains(&depth) && overlaps(ops.ts_ns[row], ops.dur_ns[row], window);
            if is_drawn && (ops.dur_ns[row] >= shortest || self.keep.contains(&operator_key(row))) {
                let (start, end) = span(ops.ts_ns[row], ops.dur_ns[row]);
                let what = self.operator_name(ops.name_id[row], names);
                let layer = ops.layer[row].get().unwrap_or(-1);
                by_depth[depth as usize].push(Slice { layer, ..plain(start, end, what, operator_key(row)) });
            }
        }
        let title = |depth: usize| match depth {
            0 => "host · operators".to_owned(),
            _ => "host · operators within".to_owned(),
        };
        let lanes = by_depth.into_iter().enumerate().filter(|(_, slices)| !slices.is_empty());
        lanes.map(|(depth, slices)| self.lane(LaneKind::Operators, title(depth), window, slices)).collect()
    }

    pub(crate) fn operator_alone(&self, window: Interval, row: usize, names: &mut Names) -> BuiltLane {
        let ops = &self.tables.ops;
        let (start, end) = span(ops.ts_ns[row], ops.dur_ns[row]);
        let slice = plain(start, end, self.operator_name(ops.name_id[row], names), operator_key(row));
        self.lane(LaneKind::Operators, "host · operators within".to_owned(), window, vec![slice])
    }

    fn calls(&self, window: Interval, thread: i64, names: &mut Names) -> BuiltLane {
        let api = &self.tables.api;
        let rows = within(&api.ts_ns, &api.dur_ns, rows_of(&api.tid, thread), window);
        let mut reached = i64::MIN;
        let mut slices = Vec::new();
        for row in rows {
            let (start, end) = span(api.ts_ns[row], api.dur_ns[row]);
            // Calls of the driver within calls of the runtime are the same call.
            if start >= reached && start < window.1 && end > window.0 {
                slices.push(plain(start, end, self.range_name(api.name_id[row], names), row));
                reached = end;
            }
        }
        self.lane(LaneKind::Calls, "host · driver calls".to_owned(), window, slices)
    }

    fn stacked(&self, kind: LaneKind, title: &str, window: Interval, slices: Vec<Slice>) -> Vec<BuiltLane> {
        let mut rows: Vec<(i64, Vec<Slice>)> = Vec::new();
        for slice in slices {
            match rows.iter().position(|(reached, _)| *reached <= slice.start) {
                Some(at) => {
                    rows[at].0 = slice.end;
                    rows[at].1.push(slice);
                }
                None if rows.len() < LANES => rows.push((slice.end, vec![slice])),
                None => {}
            }
        }
        // Activities of one stream overlap where one begins before the other ends.
        let title = |lane: usize| if lane == 0 { title.to_owned() } else { format!("{title}, overlapping") };
        let lanes = rows.into_iter().enumerate();
        lanes.map(|(lane, (_, slices))| self.lane(kind, title(lane), window, slices)).collect()
    }

    pub(crate) fn lane(
        &self,
        kind: LaneKind,
        title: String,
        window: Interval,
        slices: Vec<Slice>,
    ) -> BuiltLane {
        let slices = merged(slices, window, &self.keep, self.lane_slices);
        let mut lane = DrawnLane {
            kind,
            title,
            start: Vec::with_capacity(slices.len()),
            dur: Vec::with_capacity(slices.len()),
            what: slices.iter().map(|slice| slice.what).collect(),
            layer: column(&slices, |slice| slice.layer, kind, -1),
            operator: column(&slices, |slice| slice.operator, kind, -1),
            launch: column(&slices, |slice| slice.launch, kind, -1),
            wait: column(&slices, |slice| slice.wait, kind, -1),
            merged: Vec::new(),
        };
        let mut before = window.0;
        for (at, slice) in slices.iter().enumerate() {
            lane.start.push(slice.start.saturating_sub(before));
            lane.dur.push(slice.end.saturating_sub(slice.start));
            before = slice.start;
            if slice.count > 1 {
                lane.merged.push((at, slice.count, slice.busy));
            }
        }
        BuiltLane { lane, rows: slices.iter().map(|slice| slice.row).collect(), device: None }
    }
}

fn stream_title(device: i32, stream: i32) -> String {
    format!("GPU {device} · stream {stream}")
}
