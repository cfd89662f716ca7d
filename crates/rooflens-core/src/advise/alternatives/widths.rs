//! Widths that are whole tiles on each device.

use std::collections::HashMap;

use rooflens_analyze::advice::{Alternative, Tiles};
use rooflens_cost::measured::Ran;
use rooflens_cost::roof::Roof;
use rooflens_cost::step::Step;
use rooflens_cost::tiles::{HEAD_WIDTHS, Tiled, tiled};

use super::Change;
use crate::model::ResolvedModel;

/// Columns of the tiles that libraries choose from for large products (NVIDIA, Matrix Multiplication Background
/// User's Guide: 256x128, 128x128, 128x64, 64x64 and others).
const SIDES: [u64; 2] = [64, 128];
/// Widths that devices share, by key of the config.
const SHARED: &[&str] = &["intermediate_size", "moe_intermediate_size", "vocab_size"];
/// Less padding is not worth a change: embeddings and norms do not come out even to the last digit.
const WORTH_IT: f64 = 0.005;

/// The model whose widths are whole tiles, up or down, whichever does a useful operation in less time; none
/// where they are so already.
pub(crate) fn whole(known: &ResolvedModel, phase: &'static str, ran: &[Ran]) -> Option<Alternative> {
    let roof = Roof::of(&known.device)?;
    let steps = distinct(ran);
    let old = SIDES.map(|side| all(known, &roof, &steps, side));
    let changes = [rounded(known, Rounding::Up), rounded(known, Rounding::Down), heads(known)];
    let with_cost = changes.into_iter().flatten().map(|change| {
        let new = SIDES.map(|side| all(&change.known, &roof, &steps, side));
        (change, new)
    });
    let price = |cost: &[Tiled; 2]| cost[1].seconds / cost[1].useful;
    let (change, new) = with_cost.min_by(|a, b| price(&a.1).total_cmp(&price(&b.1)))?;
    // Not a number where nothing is multiplied: no gain either.
    let is_less = price(&new) < price(&old) * (1.0 - WORTH_IT);
    if !is_less {
        return None;
    }
    let (floors, unchanged) = (change.known.floors(ran).ok()?, known.floors(ran).ok()?);
    let tiles = SIDES.iter().zip(old.iter().zip(&new)).map(|(side, (old, new))| Tiles {
        side: *side,
        old_ns: old.seconds * 1e9,
        new_ns: new.seconds * 1e9 * old.useful / new.useful,
        old_padding: 1.0 - old.useful / old.issued,
        new_padding: 1.0 - new.useful / new.issued,
    });
    let (what, how, tiles) = (change.what, change.how, tiles.collect());
    Some(Alternative {
        rule: "tile_fit",
        phase,
        what,
        change: how,
        floors,
        unchanged,
        work: 1.0,
        collectives: 0.0,
        tiles,
    })
}

#[derive(Clone, Copy, PartialEq)]
enum Rounding {
    Up,
    Down,
}

/// Every width that is not whole tiles, rounded.
fn rounded(known: &ResolvedModel, rounding: Rounding) -> Option<Change> {
    let number = |key: &str| known.blueprint.number(key);
    let largest = SIDES[1];
    let mut widths: Vec<(&str, u64, u64)> = SHARED
        .iter()
        .filter_map(|key| Some((*key, number(key)?, largest * known.setup.parallel.tp)))
        .collect();
    // Heads keep their width only where it is told apart from this one.
    if number("head_dim").is_some() {
        widths.extend(number("hidden_size").map(|width| ("hidden_size", width, largest)));
    }
    let mut set = Vec::new();
    let mut words = Vec::new();
    for (key, width, whole) in widths {
        let new = match rounding {
            Rounding::Up => width.next_multiple_of(whole),
            Rounding::Down => width / whole * whole,
        };
        // A width of less than a tile on each device is not made a whole one without being another model.
        if new != width && new > 0 && new.abs_diff(width) * 2 <= width {
            set.push((key, new));
            words.push(format!("{key} {new} instead of {width}"));
        }
    }
    if set.is_empty() { None } else { Change::set(known, words.join("; "), &set) }
}

/// Heads of a width that attention has a kernel for, as many more as make up for it.
fn heads(known: &ResolvedModel) -> Option<Change> {
    let number = |key: &str| known.blueprint.number(key);
    let (count, kv) = (number("num_attention_heads")?, number("num_key_value_heads")?);
    let width = number("head_dim").or_else(|| known.model.hidden.checked_div(count))?;
    if HEAD_WIDTHS.contains(&width) {
        return None;
    }
    [64, 128].into_iter().find_map(|new| {
        let (all, all_kv) = (count * width, kv * width);
        if all % new != 0 || all_kv % new != 0 {
            return None;
        }
        let what = format!("{} heads of width {new} instead of {count} of width {width}", all / new);
        let set =
            [("head_dim", new), ("num_attention_heads", all / new), ("num_key_value_heads", all_kv / new)];
        Change::set(known, what, &set)
    })
}

/// Steps that are alike, counted.
fn distinct(ran: &[Ran]) -> Vec<(&[Step], f64)> {
    let mut steps: Vec<(&[Step], f64)> = Vec::new();
    let mut known: HashMap<&[Step], usize> = HashMap::new();
    for one in ran {
        let at = *known.entry(&one.shape.needed).or_insert(steps.len());
        if at == steps.len() {
            steps.push((&one.shape.needed, 0.0));
        }
        steps[at].1 += 1.0;
    }
    steps
}

fn all(known: &ResolvedModel, roof: &Roof, steps: &[(&[Step], f64)], side: u64) -> Tiled {
    steps.iter().fold(Tiled::default(), |sum, (groups, count)| {
        let one = tiled(&known.model, &known.setup, roof, groups, side);
        Tiled {
            seconds: sum.seconds + one.seconds * count,
            useful: sum.useful + one.useful * count,
            issued: sum.issued + one.issued * count,
        }
    })
}
