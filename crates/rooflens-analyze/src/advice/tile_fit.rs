//! Widths that fit the tiles of the matrix units.

use crate::advice::case::{AdviceKind, AdviceRule, Case, Draft, Range, Tiles};
use crate::sentence::{percent, time};

pub(super) const RULE: AdviceRule = AdviceRule {
    name: "tile_fit",
    about: "The static model with head, feed-forward, hidden and vocabulary widths rounded to whole tiles on \
         each device. Compares the time with all GEMMs in whole tiles, at equal model FLOPs. Low: in tiles \
         of 64 columns; high: in tiles of 128, kernel time in proportion.",
    kind: AdviceKind::Design,
    same_work: false,
    judge,
    ..AdviceRule::DEPLOYMENT
};

fn judge(case: &Case<'_>) -> Result<Option<Draft>, String> {
    let Some(other) = case.alternatives(RULE.name)?.next() else { return Ok(None) };
    let repeats = case.repeats(other);
    let shrunk = |tiles: &Tiles| case.shrunk(tiles.old_ns * repeats, tiles.new_ns * repeats);
    let ranges: Vec<Range> = other.tiles.iter().filter_map(shrunk).collect();
    if ranges.is_empty() {
        return Ok(None);
    }
    // Where one size of tiles loses nothing, a library that chooses it loses nothing.
    let fits_one = ranges.len() < other.tiles.len();
    let low = ranges.iter().map(|range| range.low).fold(f64::INFINITY, f64::min);
    let high = ranges.iter().map(|range| range.high).fold(0.0, f64::max);
    let mut evidence: Vec<String> = other
        .tiles
        .iter()
        .map(|tiles| {
            format!(
                "in tiles of {} columns {} of the FLOPs are padding, {} with {}; lower bound of a {}: \
                 {}, {} at equal model FLOPs",
                tiles.side,
                percent(tiles.old_padding),
                percent(tiles.new_padding),
                other.what,
                case.step_word(),
                time(case.per_step(tiles.old_ns * repeats)),
                time(case.per_step(tiles.new_ns * repeats))
            )
        })
        .collect();
    evidence.push(case.row("the model's kernels", case.kernels_ns()));
    Ok(Some(Draft {
        title: format!("Use {}", other.what),
        gain_ns: Some(Range::new(if fits_one { 0.0 } else { low }, high)),
        acts_on_ns: case.kernels_ns(),
        comes_first: false,
        evidence,
        computed: "the difference in whole tiles of 64, up to kernel time in proportion in tiles of 128; \
                   at equal model FLOPs"
            .to_owned(),
        change: other.change.clone(),
        risk: "A different model: it has to be trained. A library may have an efficient kernel for the \
               current width."
            .to_owned(),
    }))
}
