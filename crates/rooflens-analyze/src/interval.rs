//! Interval arithmetic on half-open `[start, end)` nanosecond ranges.
//!
//! A *merged* list is sorted by start, and its intervals are non-empty and do not touch; [`merge`]
//! makes one, and the functions on slices expect two of them. Ends and lengths saturate: a trace with
//! an overflowed duration gives a wrong number (which the health checks show), never a panic.

use std::ops::Range;

/// `[start, end)`.
pub(crate) type Interval = (i64, i64);

/// Each value of a sorted column with its rows.
pub(crate) fn runs<T: Copy + PartialEq>(sorted: &[T]) -> impl Iterator<Item = (T, Range<usize>)> {
    let mut from = 0;
    sorted.chunk_by(|a, b| a == b).map(move |same| {
        from += same.len();
        (same[0], from - same.len()..from)
    })
}

/// The rows of one value in a sorted column.
pub(crate) fn rows_of<T: PartialOrd>(sorted: &[T], value: T) -> Range<usize> {
    sorted.partition_point(|other| *other < value)..sorted.partition_point(|other| *other <= value)
}

/// The interval of something that starts at `ts_ns` and lasts `dur_ns`; empty for a negative duration.
pub(crate) fn span(ts_ns: i64, dur_ns: i64) -> Interval {
    (ts_ns, ts_ns.saturating_add(dur_ns.max(0)))
}

pub(crate) fn length((start, end): Interval) -> i64 {
    end.saturating_sub(start).max(0)
}

/// Time in both of two intervals.
pub(crate) fn overlap(a: Interval, b: Interval) -> i64 {
    length((a.0.max(b.0), a.1.min(b.1)))
}

/// How many of `sorted` are `before`, which those in front are and the others not: [`slice::partition_point`] for a
/// question whose answer is not far from `near`.
pub(crate) fn partition_near<T>(sorted: &[T], near: usize, before: impl Fn(&T) -> bool) -> usize {
    let near = near.min(sorted.len());
    let mut step = 1;
    let (from, to) = if sorted.get(near).is_some_and(&before) {
        let mut from = near;
        while sorted.get(from + step).is_some_and(&before) {
            from += step;
            step *= 2;
        }
        (from, sorted.len().min(from + step))
    } else {
        let mut to = near;
        while to > 0 && !before(&sorted[to.saturating_sub(step)]) {
            to = to.saturating_sub(step);
            step *= 2;
        }
        (to.saturating_sub(step), to)
    };
    from + sorted[from..to].partition_point(before)
}

/// Time covered by at least one of the intervals, which come sorted by start.
pub(crate) fn union_length(sorted: impl Iterator<Item = (i64, i64)>) -> i64 {
    let mut total = 0i64;
    let mut reached = i64::MIN;
    for (start, end) in sorted {
        if end > reached {
            total = total.saturating_add(length((start.max(reached), end)));
            reached = end;
        }
    }
    total
}

pub(crate) fn merge(mut intervals: Vec<(i64, i64)>) -> Vec<(i64, i64)> {
    if !intervals.is_sorted_by_key(|interval| interval.0) {
        // Stable on purpose: the rows of several streams are runs already sorted, which it merges in
        // linear time.
        intervals.sort_by_key(|interval| interval.0);
    }
    let mut kept = 0;
    for i in 0..intervals.len() {
        let (start, end) = intervals[i];
        if end <= start {
            continue;
        }
        if kept > 0 && start <= intervals[kept - 1].1 {
            intervals[kept - 1].1 = intervals[kept - 1].1.max(end);
        } else {
            intervals[kept] = (start, end);
            kept += 1;
        }
    }
    intervals.truncate(kept);
    intervals
}

pub(crate) fn union(a: &[(i64, i64)], b: &[(i64, i64)]) -> Vec<(i64, i64)> {
    merge([a, b].concat())
}

pub(crate) fn total_length(merged: &[(i64, i64)]) -> i64 {
    merged.iter().fold(0, |total: i64, &interval| total.saturating_add(length(interval)))
}

pub(crate) fn intersect_length(a: &[(i64, i64)], b: &[(i64, i64)]) -> i64 {
    let (mut i, mut j, mut total) = (0, 0, 0i64);
    while let (Some(&left), Some(&right)) = (a.get(i), b.get(j)) {
        total = total.saturating_add(overlap(left, right));
        if left.1 <= right.1 {
            i += 1;
        } else {
            j += 1;
        }
    }
    total
}

pub(crate) fn overlap_with(merged: &[(i64, i64)], part: (i64, i64)) -> i64 {
    let from = merged.partition_point(|other| other.1 <= part.0);
    let to = merged.partition_point(|other| other.0 < part.1);
    intersect_length(&[part], merged.get(from..to).unwrap_or_default())
}

/// What is in `a` and not in `b`, both merged; the result is merged.
pub(crate) fn subtract(a: &[(i64, i64)], b: &[(i64, i64)]) -> Vec<(i64, i64)> {
    let mut rest = Vec::with_capacity(a.len());
    let mut j = 0;
    for &(mut start, end) in a {
        while b.get(j).is_some_and(|right| right.1 <= start) {
            j += 1;
        }
        // `b[j]` may reach into the next interval of `a`, so `j` itself stays.
        let mut k = j;
        while let Some(&right) = b.get(k).filter(|right| right.0 < end) {
            if start < right.0 {
                rest.push((start, right.0));
            }
            start = start.max(right.1);
            k += 1;
        }
        if start < end {
            rest.push((start, end));
        }
    }
    rest
}

/// How much of each of `slices` equal slices, the first at `start`, a merged list covers.
pub(crate) fn coverage(merged: &[(i64, i64)], start: i64, slice: i64, slices: usize) -> Vec<i64> {
    let mut covered = vec![0i64; slices];
    if slice <= 0 {
        return covered;
    }
    let limit = start.saturating_add(slice.saturating_mul(slices as i64));
    for &(from, to) in merged {
        let (mut from, to) = (from.max(start), to.min(limit));
        while from < to {
            let index = (from.saturating_sub(start) / slice) as usize;
            let slice_end = start.saturating_add(slice.saturating_mul(index as i64 + 1));
            let upto = to.min(slice_end);
            let Some(sum) = covered.get_mut(index) else { break };
            *sum += upto - from;
            from = upto;
        }
    }
    covered
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Random;

    fn intervals(random: &mut Random) -> Vec<Interval> {
        let count = random.below(12);
        (0..count).map(|_| span(random.below(60), random.below(14) - 1)).collect()
    }

    fn bitmap(intervals: &[Interval]) -> [bool; 80] {
        let mut bits = [false; 80];
        for &(start, end) in intervals {
            (start..end).for_each(|i| bits[i as usize] = true);
        }
        bits
    }
    fn count(bits: impl Iterator<Item = bool>) -> i64 {
        bits.filter(|bit| *bit).count() as i64
    }

    #[test]
    fn a_search_nearby_finds_what_a_search_of_all_finds() {
        for len in 0..20_i64 {
            let sorted: Vec<i64> = (0..len).map(|i| i / 2).collect();
            for near in 0..25 {
                for limit in -1..12 {
                    let all = sorted.partition_point(|&value| value < limit);
                    assert_eq!(partition_near(&sorted, near, |&value| value < limit), all);
                }
            }
        }
    }

    #[test]
    fn agrees_with_a_bitmap_on_random_lists() {
        let mut random = Random(1);
        for _ in 0..5_000 {
            let (raw_a, raw_b) = (intervals(&mut random), intervals(&mut random));
            let (bits_a, bits_b) = (bitmap(&raw_a), bitmap(&raw_b));
            let mut sorted = raw_a.clone();
            sorted.sort();
            assert_eq!(union_length(sorted.into_iter()), count(bits_a.into_iter()));

            let (a, b) = (merge(raw_a), merge(raw_b));
            assert!(a.iter().all(|(start, end)| start < end));
            assert!(a.windows(2).all(|pair| pair[0].1 < pair[1].0), "{a:?} touches itself");
            assert_eq!(bitmap(&a), bits_a);
            assert_eq!(total_length(&a), count(bits_a.into_iter()));

            let both = bits_a.iter().zip(&bits_b).map(|(a, b)| *a && *b);
            let only_a: Vec<bool> = bits_a.iter().zip(&bits_b).map(|(a, b)| *a && !*b).collect();
            let either: Vec<bool> = bits_a.iter().zip(&bits_b).map(|(a, b)| *a || *b).collect();
            assert_eq!(intersect_length(&a, &b), count(both));
            assert_eq!(bitmap(&subtract(&a, &b)).to_vec(), only_a);
            assert_eq!(bitmap(&union(&a, &b)).to_vec(), either);

            let slices = coverage(&a, 5, 7, 9);
            for (i, covered) in slices.iter().enumerate() {
                let from = 5 + 7 * i;
                assert_eq!(*covered, count(bits_a[from..from + 7].iter().copied()));
            }
        }
    }

    #[test]
    fn ends_saturate_instead_of_overflowing() {
        assert_eq!(span(i64::MAX - 5, 100), (i64::MAX - 5, i64::MAX));
        assert_eq!(span(10, -3), (10, 10));
        assert_eq!(union_length([(i64::MIN, i64::MAX), (0, i64::MAX)].into_iter()), i64::MAX);
        let all = merge(vec![(0, i64::MAX), (i64::MIN, 0)]);
        assert_eq!(all, vec![(i64::MIN, i64::MAX)]);
        assert_eq!(intersect_length(&all, &all), i64::MAX);
    }

    #[test]
    fn touching_intervals_become_one() {
        assert_eq!(merge(vec![(5, 7), (0, 5), (9, 9)]), vec![(0, 7)]);
    }
}
