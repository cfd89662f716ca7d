//! Idle time and its cause.

use std::ops::Range;

use rooflens_schema::tables::{Api, ApiKind, GapCause, Kernels};
use rooflens_schema::{Opt, RankTables};

use super::launches::Launches;
use crate::interval::{Interval, length, overlap, runs, span};

/// A host that launches at least this often is busy launching. A launch costs 2 to 10 µs, an eager
/// operator around it 10 to 50 µs, more with a profiler attached.
pub(crate) const LAUNCHING_PACE_NS: i64 = 100_000;
/// A launch that takes longer does more than launch: it loads or compiles its kernel first.
pub(crate) const SLOW_LAUNCH_NS: i64 = 1_000_000;
/// Longest time that a device is believed to need between two queued activities of one stream.
pub(crate) const DISPATCH_NS: i64 = 20_000;
/// How many calls to look back for one that waited.
const LOOK_BACK: usize = 64;

/// Fills `kernels.gap_before_ns`, `idle_before_ns` and `gap_cause`.
///
/// The device is idle between the end of everything before and the start of an activity. Who is to
/// blame is read off that activity's launch:
/// * the launching call ended after the device had run dry, and most of the gap lies before that end:
///   the host was late. If waiting for the device covers most of the gap, or ended in it and the host
///   launched within 100 µs, the wait is the cause (`sync`); if its previous launch is less than 100 µs
///   back, it was launching (`launch_bound`); else it did something else (`cpu_bound`), also where the
///   launching call itself took more than 1 ms (it loads or compiles its kernel) and covers most of the gap.
/// * otherwise the work was queued. On the stream that ran last and within 20 µs it is what the
///   device needs (`dispatch`), else it waited for something (`data_dependency`), which need not be
///   in the trace.
pub(super) fn explain(tables: &mut RankTables, launches: &Launches) {
    let api = &tables.api;
    let kernels = &mut tables.kernels;
    let devices: Vec<Range<usize>> = runs(&kernels.device).map(|(_, rows)| rows).collect();
    for rows in devices {
        stream_gaps(kernels, rows.clone());
        let mut order: Vec<usize> = rows.collect();
        order.sort_by_key(|&i| kernels.ts_ns[i]);
        // The end of all before, and the stream that reached it.
        let mut reached = (kernels.ts_ns[order[0]], None);
        for i in order {
            let (start, stream) = (kernels.ts_ns[i], kernels.stream[i]);
            let idle = start.saturating_sub(reached.0).max(0);
            kernels.idle_before_ns[i] = idle;
            let gap = if idle > 0 { idle } else { kernels.gap_before_ns[i].get().unwrap_or(0) };
            if gap > 0 {
                let dry = start - gap;
                kernels.gap_cause[i] = match launches.of(i) {
                    None => GapCause::Unknown,
                    Some(call) if host_was_late(api, call, dry, start) => {
                        late_host(api, call, (dry, start), launches)
                    }
                    Some(_) if gap <= DISPATCH_NS && (idle == 0 || reached.1 == Some(stream)) => {
                        GapCause::Dispatch
                    }
                    Some(_) => GapCause::DataDependency,
                };
            }
            let end = start.saturating_add(kernels.dur_ns[i]);
            if end >= reached.0 {
                reached = (end, Some(stream));
            }
        }
    }
}

/// Idle time of each stream: from the end of everything before on it.
fn stream_gaps(kernels: &mut Kernels, rows: Range<usize>) {
    let mut reached: Option<(i32, i64)> = None;
    for i in rows {
        let stream = kernels.stream[i];
        let before = reached.filter(|(other, _)| *other == stream).map(|(_, end)| end);
        kernels.gap_before_ns[i] = Opt::from(before.map(|end| kernels.ts_ns[i].saturating_sub(end).max(0)));
        let end = kernels.ts_ns[i].saturating_add(kernels.dur_ns[i]);
        reached = Some((stream, before.map_or(end, |before| before.max(end))));
    }
}

/// Whether the device, idle from `dry` to `start`, waited for the launching call rather than for
/// something behind it.
fn host_was_late(api: &Api, call: usize, dry: i64, start: i64) -> bool {
    let launched = api.ts_ns[call].saturating_add(api.dur_ns[call]);
    let queued = start.saturating_sub(launched.max(dry));
    launched >= dry && (queued <= DISPATCH_NS || queued <= start.saturating_sub(dry) / 2)
}

fn late_host(api: &Api, call: usize, gap: Interval, launches: &Launches) -> GapCause {
    let (tid, dry) = (api.tid[call], gap.0);
    let covers_most = |row: usize| overlap(span(api.ts_ns[row], api.dur_ns[row]), gap) > length(gap) / 2;
    if api.dur_ns[call] > SLOW_LAUNCH_NS && covers_most(call) {
        return GapCause::CpuBound;
    }
    for back in (0..call).rev().take(LOOK_BACK) {
        if api.tid[back] != tid {
            break;
        }
        let end = api.ts_ns[back].saturating_add(api.dur_ns[back]);
        let waits = matches!(api.kind[back], ApiKind::Sync | ApiKind::Memcpy);
        let launched_at_once = api.ts_ns[call].saturating_sub(end) <= LAUNCHING_PACE_NS;
        let held_up = api.ts_ns[back] < dry && end >= dry && launched_at_once;
        if waits && (held_up || covers_most(back)) {
            return GapCause::Sync;
        }
        if end < dry && api.ts_ns[back].saturating_add(LAUNCHING_PACE_NS) < dry {
            break;
        }
    }
    let previous = launches.before(call).map(|row| api.ts_ns[row].saturating_add(api.dur_ns[row]));
    match previous {
        Some(end) if api.ts_ns[call].saturating_sub(end) <= LAUNCHING_PACE_NS => GapCause::LaunchBound,
        _ => GapCause::CpuBound,
    }
}
