//! Which part of the program do the kernels belong to? Kernels by the NVTX ranges that were open on the
//! launching thread, with the statistics that `nsys stats --report nvtx_kern_sum` has.

use std::collections::{BTreeMap, BTreeSet};

use rooflens_schema::tables::{ActivityKind, PhaseKind, RangeStyle};
use rooflens_schema::{NameId, RankTables};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::by_name::FastMap;
use crate::facts::CallsById;
use crate::kernel_catalog::{self, ActivityHint};
use crate::short_names;
use crate::top::{LaunchDurations, phase_of};

/// A kernel inside the ranges of one name on one thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RangeKernel {
    /// Text of the ranges, behind their domain; null for what was launched outside of all.
    pub range: Option<String>,
    /// How they were opened and closed; null outside of all, and where the tool does not tell.
    pub style: Option<RangeStyle>,
    /// Process that launched; null where the trace has no launch.
    pub pid: Option<i64>,
    /// Thread that launched; null where the trace has no launch.
    pub tid: Option<i64>,
    /// How many ranges of this name launched the kernel.
    pub ranges: u64,
    /// Full name of the kernel.
    pub name: String,
    /// Readable short form.
    pub short_name: String,
    /// How often it ran. In ranges of one name inside each other it counts once.
    pub count: u64,
    /// Durations.
    #[serde(flatten)]
    pub times: LaunchDurations,
    /// Share of the time of all kernels. Ranges nest: shares of different ranges add up to more than 1.
    pub share: f64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key<N> {
    range: Option<N>,
    style: Option<RangeStyle>,
    pid: Option<i64>,
    tid: Option<i64>,
    kernel: N,
}

#[derive(Debug, Default)]
struct Group {
    ranges: u64,
    durations: Vec<i64>,
    /// The last kernel that was added: it is in several ranges of one name, but runs once.
    last: Option<usize>,
}

struct Span {
    tid: i64,
    pid: Option<i64>,
    start: i64,
    end: i64,
    name: NameId,
    style: Option<RangeStyle>,
}

struct LaunchedKernel {
    tid: i64,
    pid: Option<i64>,
    start: i64,
    end: i64,
    kernel: usize,
}

/// Gathers kernels over ranks.
#[derive(Default)]
pub struct ByRange {
    groups: FastMap<Key<String>, Group>,
    total_ns: i128,
    left_out: u64,
}

impl ByRange {
    /// Adds the kernels of a rank, its facts derived: those of a phase, where one is asked for.
    pub fn rank(&mut self, tables: &RankTables, phase: Option<PhaseKind>) {
        let kernels = &tables.kernels;
        let calls = CallsById::new(&tables.api);
        let mut groups: FastMap<Key<NameId>, Group> = FastMap::default();
        let mut launches = Vec::new();
        for kernel in (0..kernels.len()).filter(|&i| kernels.kind[i] == ActivityKind::Kernel) {
            if phase.is_some() && phase_of(tables, kernel) != phase {
                self.left_out += 1;
                continue;
            }
            self.total_ns += i128::from(kernels.dur_ns[kernel]);
            let call = kernels.corr_id[kernel].get().and_then(|id| calls.get(id));
            let Some(call) = call else {
                let kernel_id = kernels.kernel_id[kernel];
                let key = Key { range: None, style: None, pid: None, tid: None, kernel: kernel_id };
                groups.entry(key).or_default().durations.push(kernels.dur_ns[kernel]);
                continue;
            };
            let api = &tables.api;
            launches.push(LaunchedKernel {
                tid: api.tid[call],
                pid: api.pid[call].get(),
                start: api.ts_ns[call],
                end: api.ts_ns[call].saturating_add(api.dur_ns[call]),
                kernel,
            });
        }
        launches.sort_by_key(|launch| (launch.tid, launch.start));
        attribute(tables, &launches, &spans(tables), &mut groups);
        for (key, group) in groups {
            let text = |id: NameId| tables.names.get(id).to_owned();
            let Key { range, style, pid, tid, kernel } = key;
            let key = Key { range: range.map(text), style, pid, tid, kernel: text(kernel) };
            let all = self.groups.entry(key).or_default();
            all.ranges += group.ranges;
            all.durations.extend(group.durations);
        }
    }

    /// How many kernels were not of the phase asked for.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Every kernel of every range, most time first.
    pub fn finish(self) -> Vec<RangeKernel> {
        let all = self.total_ns as f64;
        let mut rows: Vec<RangeKernel> = self
            .groups
            .into_iter()
            .filter_map(|(key, mut group)| {
                let count = group.durations.len() as u64;
                let times = LaunchDurations::of(&mut group.durations)?;
                let share = if all > 0.0 { times.total_ns / all } else { 0.0 };
                let Key { range, style, pid, tid, kernel: name } = key;
                Some(RangeKernel {
                    range,
                    style,
                    pid,
                    tid,
                    ranges: group.ranges,
                    name,
                    short_name: String::new(),
                    count,
                    times,
                    share,
                })
            })
            .collect();
        let names: BTreeSet<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        let short = |name: &str| kernel_catalog::describe(name, ActivityHint::Kernel).short_name;
        let mut shorts: BTreeMap<String, String> =
            names.into_iter().map(|name| (name.to_owned(), short(name))).collect();
        short_names::tell_apart(shorts.iter_mut().map(|(name, short)| (name.as_str(), short)));
        for row in &mut rows {
            row.short_name.clone_from(&shorts[&row.name]);
        }
        let place = |row: &RangeKernel| (row.range.clone(), row.style, row.pid, row.tid, row.name.clone());
        rows.sort_by(|a, b| {
            b.times.total_ns.total_cmp(&a.times.total_ns).then_with(|| place(a).cmp(&place(b)))
        });
        rows
    }
}

/// The ranges of threads, by thread and start. Where a tool records none as such, those that it gives
/// as phases of a thread.
fn spans(tables: &RankTables) -> Vec<Span> {
    let (ranges, phases) = (&tables.ranges, &tables.phases);
    let mut spans: Vec<Span> = if ranges.is_empty() {
        let of_threads = (0..phases.len()).filter_map(|i| Some((i, phases.tid[i].get()?)));
        let span = |(i, tid): (usize, i64)| Span {
            tid,
            pid: None,
            start: phases.ts_ns[i],
            end: phases.ts_ns[i].saturating_add(phases.dur_ns[i]),
            name: phases.name_id[i],
            style: None,
        };
        of_threads.map(span).collect()
    } else {
        let of_one_thread = (0..ranges.len()).filter(|&i| ranges.style[i] != RangeStyle::Across);
        let span = |i: usize| Span {
            tid: ranges.tid[i],
            pid: Some(ranges.pid[i]),
            start: ranges.ts_ns[i],
            end: ranges.ts_ns[i].saturating_add(ranges.dur_ns[i]),
            name: ranges.name_id[i],
            style: Some(ranges.style[i]),
        };
        of_one_thread.map(span).collect()
    };
    spans.sort_by_key(|span| (span.tid, span.start));
    spans
}

fn attribute(
    tables: &RankTables,
    launches: &[LaunchedKernel],
    spans: &[Span],
    groups: &mut FastMap<Key<NameId>, Group>,
) {
    let kernels = &tables.kernels;
    // Which kernels each range has launched already.
    let mut met: FastMap<(usize, NameId), ()> = FastMap::default();
    let mut open: Vec<usize> = Vec::new();
    let mut next = 0;
    let mut thread = None;
    for launch in launches {
        if thread != Some(launch.tid) {
            thread = Some(launch.tid);
            open.clear();
            next += spans[next..].partition_point(|span| span.tid < launch.tid);
        }
        while let Some(span) = spans.get(next)
            && span.tid == launch.tid
            && span.start <= launch.start
        {
            open.push(next);
            next += 1;
        }
        open.retain(|&span| spans[span].end >= launch.start);
        let kernel_id = kernels.kernel_id[launch.kernel];
        let mut key =
            Key { range: None, style: None, pid: launch.pid, tid: Some(launch.tid), kernel: kernel_id };
        let mut outside = true;
        for &at in &open {
            let span = &spans[at];
            if span.end < launch.end || span.pid != launch.pid {
                continue;
            }
            outside = false;
            (key.range, key.style) = (Some(span.name), span.style);
            let group = groups.entry(key.clone()).or_default();
            group.ranges += u64::from(met.insert((at, kernel_id), ()).is_none());
            if group.last.replace(launch.kernel) != Some(launch.kernel) {
                group.durations.push(kernels.dur_ns[launch.kernel]);
            }
        }
        if outside {
            groups.entry(key).or_default().durations.push(kernels.dur_ns[launch.kernel]);
        }
    }
}

#[cfg(test)]
mod tests {
    use rooflens_schema::Opt;
    use rooflens_schema::tables::{ApiKind, RangeRow};

    use super::*;
    use crate::sample::Sample;

    fn range(
        sample: &mut Sample,
        (pid, tid): (i64, i64),
        ts_ns: i64,
        dur_ns: i64,
        name: &str,
        style: RangeStyle,
    ) {
        let name_id = sample.tables.names.add(name);
        let row = RangeRow { pid, tid, ts_ns, dur_ns, name_id, style, payload_id: Opt::NONE };
        sample.tables.ranges.push(row);
    }

    fn launched(
        sample: &mut Sample,
        (pid, tid): (i64, i64),
        ts: i64,
        dur: i64,
        corr: i64,
        kernel: i64,
        name: &str,
    ) {
        sample.api(tid, ts, dur, "cudaLaunchKernel", ApiKind::Launch, Some(corr));
        let last = sample.tables.api.len() - 1;
        sample.tables.api.pid[last] = Opt::some(pid);
        sample.kernel(0, 7, 1000 + corr, kernel, name, "gemm").corr(corr);
    }

    type Shown = (Option<String>, Option<i64>, u64, u64, f64, String);

    fn rows(sample: &Sample) -> Vec<Shown> {
        let mut all = ByRange::default();
        all.rank(&sample.tables, None);
        let mut rows: Vec<_> = all
            .finish()
            .into_iter()
            .map(|row| (row.range, row.tid, row.ranges, row.count, row.times.total_ns, row.name))
            .collect();
        rows.sort_by(|a, b| (&a.0, a.1, &a.5).cmp(&(&b.0, b.1, &b.5)));
        rows
    }

    #[test]
    fn every_open_range_of_the_thread_gets_the_kernel() {
        use RangeStyle::{Across, PushPop, StartEnd};
        let mut sample = Sample::new(0);
        let (main, other) = ((1, 10), (1, 20));
        range(&mut sample, main, 0, 100, "step", PushPop);
        range(&mut sample, main, 10, 30, "layer", PushPop);
        range(&mut sample, main, 50, 30, "layer", PushPop);
        range(&mut sample, main, 0, 100, "elsewhere", Across);
        range(&mut sample, other, 0, 60, "lazy", StartEnd);
        range(&mut sample, other, 20, 60, "late", StartEnd);
        launched(&mut sample, main, 15, 5, 1, 7, "k"); // step, layer
        launched(&mut sample, main, 55, 5, 2, 8, "k"); // step, the second layer
        launched(&mut sample, main, 75, 10, 3, 9, "k"); // step: the call outlasts the layer
        launched(&mut sample, main, 200, 5, 4, 1, "k"); // nothing
        launched(&mut sample, other, 30, 5, 5, 2, "k"); // lazy, late: they overlap
        launched(&mut sample, other, 65, 5, 6, 3, "k"); // late
        launched(&mut sample, (2, 10), 15, 5, 7, 4, "k"); // another process whose thread has this number
        sample.kernel(0, 7, 5000, 50, "orphan", "gemm");
        let text = |text: &str| Some(text.to_owned());
        let expected = [
            (None, None, 0, 1, 50.0, "orphan".to_owned()),
            (None, Some(10), 0, 1, 4.0, "k".to_owned()),
            (None, Some(10), 0, 1, 1.0, "k".to_owned()),
            (text("late"), Some(20), 1, 2, 5.0, "k".to_owned()),
            (text("layer"), Some(10), 2, 2, 15.0, "k".to_owned()),
            (text("lazy"), Some(20), 1, 1, 2.0, "k".to_owned()),
            (text("step"), Some(10), 1, 3, 24.0, "k".to_owned()),
        ];
        assert_eq!(rows(&sample), expected);
    }

    #[test]
    fn in_ranges_of_one_name_a_kernel_counts_once() {
        let mut sample = Sample::new(0);
        for (start, length) in [(0, 100), (10, 50)] {
            range(&mut sample, (1, 10), start, length, "block", RangeStyle::PushPop);
        }
        launched(&mut sample, (1, 10), 20, 5, 1, 7, "k");
        launched(&mut sample, (1, 10), 80, 5, 2, 5, "k");
        assert_eq!(rows(&sample), [(Some("block".to_owned()), Some(10), 2, 2, 12.0, "k".to_owned())]);
    }

    #[test]
    fn phases_stand_in_where_there_are_no_ranges() {
        let mut sample = Sample::new(0);
        sample.phase(0, 100, "decode", PhaseKind::Decode, rooflens_schema::tables::PhaseSource::Annotation);
        sample.tables.phases.tid[0] = Opt::some(10);
        launched(&mut sample, (1, 10), 20, 5, 1, 7, "k");
        sample.tables.api.pid[0] = Opt::NONE;
        assert_eq!(rows(&sample), [(Some("decode".to_owned()), Some(10), 1, 1, 7.0, "k".to_owned())]);
    }
}
