//! Which products add up to which operator.

use super::{Slot, Traced};

/// Products that are tried together at most, and sums that are tried for an operator.
const MOST_TOGETHER: usize = 24;
const MOST_TRIED: usize = 20_000;

/// Gives each open operator the free products that add up to it: those of its own name first, then the earliest
/// that do, then by the other ways of doing it; and where none fits alone, all of them together.
pub(super) fn assign(
    slots: &mut [Slot],
    traced: &[Traced],
    taken: &mut [bool],
    open: &[usize],
    mut free: Vec<usize>,
) {
    let flops = |product: usize| traced[product].flops.unwrap_or(0);
    let take = |slot: &mut Slot, found: Vec<usize>, free: &mut Vec<usize>, taken: &mut [bool]| {
        found.iter().for_each(|product| taken[*product] = true);
        free.retain(|product| !found.contains(product));
        slot.found = found;
    };
    for slot in open {
        let slot = &mut slots[*slot];
        let named = |product: &&usize| {
            traced[**product].module.rsplit('.').next() == Some(slot.expected.name)
                && flops(**product) == slot.expected.counted
        };
        if let Some(product) = free.iter().find(named).copied() {
            take(slot, vec![product], &mut free, taken);
        }
    }
    for other_ways in [false, true] {
        for slot in open {
            let slot = &mut slots[*slot];
            if !slot.found.is_empty() {
                continue;
            }
            let ways = slot.expected.others.iter().map(|(_, flops)| *flops);
            let wanted: Vec<u128> = if other_ways { ways.collect() } else { vec![slot.expected.counted] };
            let found = wanted.into_iter().find_map(|flops_wanted| adding_up(&free, flops, flops_wanted));
            if let Some(found) = found {
                take(slot, found, &mut free, taken);
            }
        }
    }
    together(slots, traced, taken, open, &free);
}

/// The sum of what is left is right, and who is who cannot be told.
pub(super) fn together(
    slots: &mut [Slot],
    traced: &[Traced],
    taken: &mut [bool],
    open: &[usize],
    free: &[usize],
) {
    let left: Vec<usize> = open.iter().copied().filter(|slot| slots[*slot].is_open()).collect();
    let expected: u128 = left.iter().map(|slot| slots[*slot].expected.counted).sum();
    let there: u128 = free.iter().filter_map(|product| traced[*product].flops).sum();
    let Some(first) = left.first().filter(|_| expected == there && expected > 0) else { return };
    slots[*first].found = free.to_vec();
    for slot in &left {
        slots[*slot].shared = true;
    }
    free.iter().for_each(|product| taken[*product] = true);
}

/// The earliest products that add up to `wanted`, as few as may be left out between them.
fn adding_up(free: &[usize], flops: impl Fn(usize) -> u128, wanted: u128) -> Option<Vec<usize>> {
    // Neighbours first: that is what nearly every operator is.
    for start in 0..free.len() {
        let mut sum = 0_u128;
        for end in start..free.len() {
            sum = sum.saturating_add(flops(free[end]));
            if sum == wanted {
                return Some(free[start..=end].to_vec());
            }
            if sum > wanted {
                break;
            }
        }
    }
    if free.len() > MOST_TOGETHER {
        return None;
    }
    let mut tries = MOST_TRIED;
    let mut chosen = Vec::new();
    choose(free, &flops, wanted, &mut chosen, &mut tries).then_some(chosen)
}

fn choose(
    free: &[usize],
    flops: &impl Fn(usize) -> u128,
    wanted: u128,
    chosen: &mut Vec<usize>,
    tries: &mut usize,
) -> bool {
    if wanted == 0 {
        return !chosen.is_empty();
    }
    for (i, product) in free.iter().enumerate() {
        if *tries == 0 {
            return false;
        }
        *tries -= 1;
        let Some(rest) = wanted.checked_sub(flops(*product)) else { continue };
        chosen.push(*product);
        if choose(&free[i + 1..], flops, rest, chosen, tries) {
            return true;
        }
        chosen.pop();
    }
    false
}
