//! Steps of a trace that has no annotations: found where the sequence of kernels repeats.
//!
//! A decode step runs the same kernels again and again. Inside it the layers repeat too, so the right
//! period is the longest one: kernels that run once a step (the embedding, the last projection, the
//! sampler) mark its beginning.

use std::collections::HashMap;

use super::flaws::Flaw;
use rooflens_schema::tables::{ActivityKind, PhaseKind, PhaseRow, PhaseSource};
use rooflens_schema::{NameId, Opt, RankTables};

use crate::by_name::FastMap;
use crate::percentile::upper_median;

/// Fewer repetitions are no pattern.
const FEWEST_STEPS: usize = 4;
/// Shorter periods are no step.
const FEWEST_KERNELS: usize = 8;
/// How regular an anchor must come, and how much of the sequence it must span, to be believed.
const LEAST_CONFIDENCE: f64 = 0.6;

/// A way to cut the sequence into steps.
#[derive(Debug, Clone, PartialEq)]
struct Cut {
    period: usize,
    starts: Vec<usize>,
    confidence: f64,
}

/// Adds rows to `phases` where no annotation tells of steps, and numbers all phases.
pub(super) fn find_steps(tables: &mut RankTables) {
    if tables.phases.kind.iter().all(|&kind| kind == PhaseKind::Range) {
        add_steps(tables);
    }
    for (i, phase_id) in tables.phases.phase_id.iter_mut().enumerate() {
        *phase_id = i as i32;
    }
}

fn add_steps(tables: &mut RankTables) {
    let kernels = &tables.kernels;
    let Some(device) = busiest_device(tables) else { return };
    let mut rows: Vec<u32> = (0..kernels.len() as u32)
        .filter(|&i| kernels.device[i as usize] == device && kernels.kind[i as usize] == ActivityKind::Kernel)
        .collect();
    rows.sort_by_key(|&i| (kernels.ts_ns[i as usize], i));
    let sequence: Vec<NameId> = rows.iter().map(|&i| kernels.kernel_id[i as usize]).collect();
    let Some(cut) = cut(&sequence) else { return };
    // Training runs repeat too; what is not inference is only called a step.
    let trains =
        tables.names.iter().any(|(_, name)| name.contains("Backward") || name.starts_with("Optimizer."));
    let kind = if trains { PhaseKind::Step } else { PhaseKind::Decode };
    let name_id = tables.names.add("repeating kernels");
    for (step, bounds) in cut.starts.windows(2).enumerate() {
        let inside = &rows[bounds[0]..bounds[1]];
        let ts_ns = kernels.ts_ns[inside[0] as usize];
        // A step lasts until the next begins; the last until its last kernel ends.
        let end = match rows.get(bounds[1]) {
            Some(&next) if step + 2 < cut.starts.len() => kernels.ts_ns[next as usize],
            _ => inside
                .iter()
                .map(|&i| kernels.ts_ns[i as usize].saturating_add(kernels.dur_ns[i as usize]))
                .max()
                .unwrap_or(ts_ns),
        };
        tables.phases.push(PhaseRow {
            kind,
            device: Opt::some(device),
            step: Opt::some(step as i64),
            confidence: Some(cut.confidence),
            // Fewer kernels than a step has: the recording ended in it.
            excluded: (inside.len() * 8 < cut.period * 7).then(|| Flaw::Cut.as_str().to_owned()),
            ..PhaseRow::new(PhaseSource::Pattern, ts_ns, end.saturating_sub(ts_ns), name_id)
        });
    }
    let phases = &mut tables.phases;
    let mut order: Vec<u32> = (0..phases.len() as u32).collect();
    order.sort_by_key(|&i| (phases.ts_ns[i as usize], std::cmp::Reverse(phases.dur_ns[i as usize])));
    phases.reorder(&order);
}

fn busiest_device(tables: &RankTables) -> Option<i32> {
    let mut time: HashMap<i32, i64> = HashMap::new();
    for (device, dur) in tables.kernels.device.iter().zip(&tables.kernels.dur_ns) {
        let total = time.entry(*device).or_default();
        *total = total.saturating_add(*dur);
    }
    time.into_iter()
        .max_by_key(|&(device, total)| (total, std::cmp::Reverse(device)))
        .map(|(device, _)| device)
}

/// Cuts a sequence of kernels into repeating steps.
///
/// Every kernel is tried as an anchor: its occurrences must come at equal distances (within one in
/// eight, since a step may run a kernel more or less), span most of the sequence, and between two of
/// them something must itself repeat evenly (the layers): otherwise what repeats is a layer, not a
/// step. The longest distance wins; ties by position, so that the result does not depend on ids.
fn cut(sequence: &[NameId]) -> Option<Cut> {
    let mut positions: FastMap<NameId, Vec<usize>> = FastMap::default();
    for (position, &name) in sequence.iter().enumerate() {
        positions.entry(name).or_default().push(position);
    }
    let mut best: Option<Cut> = None;
    for places in positions.values() {
        let Some(candidate) = regular(places, sequence.len()) else { continue };
        let better = best.as_ref().is_none_or(|best| {
            let rank = |cut: &Cut| (cut.period, std::cmp::Reverse(cut.starts[0]));
            rank(&candidate) > rank(best)
        });
        if better && repeats_inside(sequence, &candidate) {
            best = Some(candidate);
        }
    }
    best
}

fn regular(places: &[usize], length: usize) -> Option<Cut> {
    if places.len() < FEWEST_STEPS {
        return None;
    }
    let mut distances: Vec<usize> = places.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let period = upper_median(&mut distances).filter(|period| *period >= FEWEST_KERNELS)?;
    let even = distances.iter().filter(|&&distance| distance.abs_diff(period) * 8 <= period).count();
    let regularity = even as f64 / distances.len() as f64;
    // The last step counts as one more period.
    let spanned = places[places.len() - 1] - places[0] + period;
    let coverage = (spanned as f64 / length as f64).min(1.0);
    let confidence = regularity * coverage;
    if confidence < LEAST_CONFIDENCE {
        return None;
    }
    let end = (places[places.len() - 1] + period).min(length);
    Some(Cut { period, starts: places.iter().copied().chain([end]).collect(), confidence })
}

fn repeats_inside(sequence: &[NameId], cut: &Cut) -> bool {
    let middle = cut.starts.len() / 2;
    let (Some(&from), Some(&to)) = (cut.starts.get(middle - 1), cut.starts.get(middle)) else { return false };
    let mut positions: FastMap<NameId, Vec<usize>> = FastMap::default();
    for (position, &name) in sequence[from..to].iter().enumerate() {
        positions.entry(name).or_default().push(position);
    }
    positions.values().any(|places| {
        let mut distances: Vec<usize> = places.windows(2).map(|pair| pair[1] - pair[0]).collect();
        if distances.len() < 3 {
            return false;
        }
        let Some(typical) = upper_median(&mut distances) else { return false };
        // At least a few kernels apart: a run of one kernel is no layer.
        typical >= 3
            && distances.iter().filter(|&&distance| distance == typical).count() * 10 >= distances.len() * 7
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(layers: usize) -> Vec<NameId> {
        let layer = [2, 3, 4, 3, 5, 3, 6];
        let ids = [vec![1], layer.repeat(layers), vec![7, 8]].concat();
        ids.into_iter().map(NameId).collect()
    }

    #[test]
    fn decode_steps_are_found() {
        let cut = cut(&step(12).repeat(10)).unwrap();
        assert_eq!((cut.period, cut.starts.len(), cut.confidence), (12 * 7 + 3, 11, 1.0));
        assert_eq!(cut.starts[1], 87);
    }

    #[test]
    fn layers_alone_are_no_steps() {
        assert_eq!(cut(&step(48)), None);
    }

    #[test]
    fn noise_is_no_pattern() {
        let mut state = 1u64;
        let noise: Vec<NameId> = (0..5000)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                NameId((state >> 33) as u32 % 40)
            })
            .collect();
        assert_eq!(cut(&noise), None);
        assert_eq!(cut(&[]), None);
    }
}
