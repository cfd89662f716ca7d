//! Layers found where the names of kernels repeat.
//!
//! A model runs its layers one after the other, so that most names in a step come once a layer. Names that
//! come equally often and strictly in turn are *anchors*: between two of one there is one of each other.
//! Anchors hold where kernels are missing, added or other in some layers (the first and the last, every
//! second one, those with experts), which a fixed distance does not.

use std::ops::Range;

use crate::by_name::FastMap;
use crate::kernel_catalog::KernelClass;

/// Fewer repetitions are no layers.
const FEWEST_LAYERS: usize = 4;
/// Without a kernel of attention, fewer repetitions and anchors are not believed.
const FEWEST_WITHOUT_ATTENTION: (usize, usize) = (6, 3);
/// How like one another two layers must be on average: with kernels of attention, and without.
const LEAST_LIKENESS: (f64, f64) = (0.5, 0.9);
/// Ways to cut, and anchors to begin with, that are tried.
const TRIES: usize = 8;
/// How many layers back to look for one that ends as the last.
const LOOK_BACK: usize = 8;
/// Kernels of attention this close are one attention: a prefix, a suffix, and what merges them.
const ONE_ATTENTION: usize = 4;
/// How often a sequence is cut again before, behind and inside what was found.
const DEEPEST: usize = 12;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kernel {
    pub(crate) name: u32,
    pub(crate) class: KernelClass,
}

/// The layer of each kernel of a sequence; none outside of layers.
///
/// Where the sequence is `one_pass` through a model, kinds of layers that follow one another are counted on
/// (a picture model's double blocks and single blocks); else each stretch of layers begins at 0.
pub(super) fn find(sequence: &[Kernel], one_pass: bool) -> Vec<Option<i32>> {
    let mut stretches = Vec::new();
    cut(sequence, 0..sequence.len(), DEEPEST, &mut stretches);
    stretches.sort_by_key(|stretch| stretch.starts[0]);
    let mut layers = vec![None; sequence.len()];
    let (mut first, mut before) = (0, None);
    for stretch in &stretches {
        let follows = before.is_some_and(|end| stretch.starts[0] - end < ONE_ATTENTION);
        if !(one_pass && follows && !stretch.is_step) {
            first = 0;
        }
        let ends = stretch.starts[1..].iter().chain([&stretch.end]);
        for (&start, &end) in stretch.starts.iter().zip(ends) {
            layers[start..end].fill(Some(first));
            first += 1;
        }
        before = Some(stretch.end);
    }
    layers
}

#[derive(Debug, Clone, PartialEq)]
struct Stretch {
    starts: Vec<usize>,
    end: usize,
    is_step: bool,
}

fn cut(sequence: &[Kernel], range: Range<usize>, depth: usize, found: &mut Vec<Stretch>) {
    let Some(stretch) = best(sequence, range.clone()).filter(|_| depth > 0) else { return };
    if let Some(parts) = steps(sequence, &range, &stretch) {
        for part in parts {
            let from = found.len();
            cut(sequence, part, depth.min(2) - 1, found);
            found[from..].iter_mut().for_each(|stretch| stretch.is_step = true);
        }
        return;
    }
    let (before, behind) = (range.start..stretch.starts[0], stretch.end..range.end);
    found.push(stretch);
    cut(sequence, before, depth - 1, found);
    cut(sequence, behind, depth - 1, found);
}

fn best(sequence: &[Kernel], range: Range<usize>) -> Option<Stretch> {
    let mut places: FastMap<u32, Vec<usize>> = FastMap::default();
    for at in range.clone() {
        places.entry(sequence[at].name).or_default().push(at);
    }
    let mut by_count: FastMap<usize, Vec<Vec<usize>>> = FastMap::default();
    for places in places.into_values().filter(|places| places.len() >= FEWEST_LAYERS) {
        by_count.entry(places.len()).or_default().push(places);
    }
    let mut groups: Vec<Vec<Vec<usize>>> = by_count.into_values().collect();
    let covered = |group: &Vec<Vec<usize>>| group.len() * group[0].len();
    groups.sort_unstable_by_key(|group| std::cmp::Reverse((covered(group), group[0].len())));
    let mut best: Option<(f64, Stretch)> = None;
    for mut group in groups.into_iter().take(TRIES) {
        group.sort_unstable();
        let Some(anchors) = anchors(sequence, group) else { continue };
        let stretch = around(sequence, &range, &anchors);
        let Some(score) = score(sequence, &range, &stretch, anchors.len()) else { continue };
        let rank = |score: f64, stretch: &Stretch| (score, stretch.starts.len());
        if best.as_ref().is_none_or(|(other, known)| rank(score, &stretch) > rank(*other, known)) {
            best = Some((score, stretch));
        }
    }
    best.map(|(_, stretch)| stretch)
}

/// Of names that come equally often, those that come strictly in turn; the one that begins stands first.
fn anchors(sequence: &[Kernel], group: Vec<Vec<usize>>) -> Option<Vec<Vec<usize>>> {
    let in_turn = |first: &[usize], other: &[usize]| {
        first.iter().zip(other).all(|(a, b)| a < b) && other.iter().zip(&first[1..]).all(|(a, b)| a < b)
    };
    // Attention is there in every layer; of the others any may be the odd one.
    let mut order: Vec<usize> = (0..group.len()).collect();
    order.sort_by_key(|&i| !is_attention(sequence[group[i][0]].class));
    let mut largest: Vec<usize> = Vec::new();
    for &reference in order.iter().take(TRIES) {
        let turns: Vec<usize> = (0..group.len())
            .filter(|&i| {
                i == reference
                    || ((in_turn(&group[i], &group[reference]) || in_turn(&group[reference], &group[i]))
                        && is_even(&group[i], &group[reference]))
            })
            .collect();
        if turns.len() > largest.len() {
            largest = turns;
        }
    }
    let mut names: Vec<Vec<usize>> =
        group.into_iter().enumerate().filter(|(i, _)| largest.contains(i)).map(|(_, name)| name).collect();
    let begin = names.remove(names.iter().enumerate().min_by_key(|(_, name)| name[0])?.0);
    names.retain(|name| in_turn(&begin, name));
    let alone = is_attention(sequence[begin[0]].class);
    names.insert(0, begin);
    (names.len() > 1 || alone).then_some(names)
}

/// Whether the first and the last occurrence are about as far from the reference as the others: a kernel may
/// run in all layers but one, and once elsewhere.
fn is_even(name: &[usize], reference: &[usize]) -> bool {
    let distance = |i: usize| name[i] as i64 - reference[i] as i64;
    let period = (reference[reference.len() - 1] - reference[0]) / (reference.len() - 1).max(1);
    let typical = distance(name.len() / 2);
    [0, name.len() - 1]
        .into_iter()
        .all(|i| (distance(i) - typical).unsigned_abs() as usize * 2 <= period.max(8))
}

/// From anchors to whole layers: what stands between the last anchor of a layer and the first of the next
/// belongs to one or the other.
fn around(sequence: &[Kernel], range: &Range<usize>, anchors: &[Vec<usize>]) -> Stretch {
    let begin = &anchors[0];
    let layers = begin.len();
    let last_of = |layer: usize| anchors.iter().map(|name| name[layer]).max().unwrap_or(begin[layer]);
    let between = |layer: usize| &sequence[last_of(layer) + 1..begin[layer + 1]];
    let prefix = &sequence[range.start..begin[0]];
    let mut head = same_end(prefix, between(layers / 2 - 1)).max(same_end(prefix, between(layers - 2)));
    // No layer begins before the one before it has ended.
    head = (0..layers - 1).map(|layer| between(layer).len()).fold(head, usize::min);
    let mut starts: Vec<usize> = begin.iter().map(|&at| at - head).collect();
    if head == 0 && prefix.last().is_some_and(|kernel| kernel.class == KernelClass::Norm) {
        // Its like in the other layers is part of another kernel.
        starts[0] -= 1;
    }
    let suffix = &sequence[last_of(layers - 1) + 1..range.end];
    let tail = (0..layers - 1)
        .rev()
        .take(LOOK_BACK)
        .map(|layer| {
            let between = between(layer);
            let tail = &between[..between.len() - head];
            tail.iter().zip(suffix).take_while(|(a, b)| a.name == b.name).count()
        })
        .max()
        .unwrap_or(0);
    Stretch { starts, end: last_of(layers - 1) + 1 + tail, is_step: false }
}

/// How many kernels at the end of what stands before the first layer are those that begin a layer.
///
/// Compared by class, since the first norm is not fused with an addition. A norm begins a layer: what stands
/// before it is the end of another, or the embedding.
fn same_end(prefix: &[Kernel], between: &[Kernel]) -> usize {
    let like = |(a, b): &(&Kernel, &Kernel)| {
        a.name == b.name || (a.class == b.class && a.class != KernelClass::Other)
    };
    let pairs = prefix.iter().rev().zip(between.iter().rev());
    let same: Vec<_> = pairs.take_while(like).collect();
    let norm = same.iter().rposition(|(kernel, _)| kernel.class == KernelClass::Norm);
    norm.map_or(same.len(), |at| at + 1)
}

fn is_attention(class: KernelClass) -> bool {
    matches!(class, KernelClass::Attention | KernelClass::Ssm | KernelClass::Softmax)
}

/// How good a cut is: the share of the sequence it explains, times how much its pieces look like layers,
/// which have one attention each, or are at least like one another. None where they do not.
fn score(sequence: &[Kernel], range: &Range<usize>, stretch: &Stretch, anchors: usize) -> Option<f64> {
    let layers = stretch.starts.len();
    let bounds: Vec<usize> = stretch.starts.iter().copied().chain([stretch.end]).collect();
    let pieces = || bounds.windows(2).map(|bound| &sequence[bound[0]..bound[1]]);
    let attentions: Vec<usize> = pieces().map(attentions).collect();
    let one = attentions.iter().filter(|&&count| count == 1).count() as f64 / layers as f64;
    let some = attentions.iter().filter(|&&count| count > 0).count() * 2 > layers;
    let likeness =
        pieces().zip(pieces().skip(1)).map(|(a, b)| likeness(a, b)).sum::<f64>() / (layers - 1) as f64;
    let least = if some { LEAST_LIKENESS.0 } else { LEAST_LIKENESS.1 };
    if likeness < least
        || (!some && (layers < FEWEST_WITHOUT_ATTENTION.0 || anchors < FEWEST_WITHOUT_ATTENTION.1))
    {
        return None;
    }
    let explained = (stretch.end - stretch.starts[0]) as f64 / range.len() as f64;
    Some(explained * one.max(0.9 * likeness))
}

fn attentions(layer: &[Kernel]) -> usize {
    let mut count = 0;
    let mut last: Option<usize> = None;
    for at in (0..layer.len()).filter(|&at| is_attention(layer[at].class)) {
        if last.is_none_or(|last| at - last > ONE_ATTENTION) {
            count += 1;
        }
        last = Some(at);
    }
    count
}

/// Kernels of the same class in both, of all in either, 0 to 1.
fn likeness(a: &[Kernel], b: &[Kernel]) -> f64 {
    let mut difference: FastMap<(KernelClass, u32), i64> = FastMap::default();
    // An unknown kernel is like itself only.
    let key =
        |kernel: &Kernel| (kernel.class, if kernel.class == KernelClass::Other { kernel.name } else { 0 });
    a.iter().for_each(|kernel| *difference.entry(key(kernel)).or_default() += 1);
    b.iter().for_each(|kernel| *difference.entry(key(kernel)).or_default() -= 1);
    let apart: u64 = difference.values().map(|count| count.unsigned_abs()).sum();
    let all = (a.len() + b.len()) as u64;
    // |a ∩ b| = (all − apart) / 2 and |a ∪ b| = (all + apart) / 2.
    (all - apart) as f64 / (all + apart).max(1) as f64
}

/// Where the stretch is several steps: the parts of the range that hold one each.
///
/// Between two steps stand the kernels that also stand before the first and behind the last: head, sampler,
/// embedding. All steps must have the same number of layers.
fn steps(sequence: &[Kernel], range: &Range<usize>, stretch: &Stretch) -> Option<Vec<Range<usize>>> {
    let layers = stretch.starts.len();
    let mut inside: FastMap<u32, usize> = FastMap::default();
    for kernel in &sequence[stretch.starts[0]..stretch.end] {
        *inside.entry(kernel.name).or_default() += 1;
    }
    let mut outside: Vec<u32> = (range.start..stretch.starts[0])
        .chain(stretch.end..range.end)
        .map(|at| sequence[at].name)
        .filter(|name| inside.get(name).is_some_and(|&count| count * FEWEST_LAYERS <= layers * 2))
        .collect();
    outside.sort_unstable();
    outside.dedup();
    let least = (outside.len() / 2).max(2);
    let mut cuts = Vec::new();
    for layer in 0..layers - 1 {
        let (from, to) = (stretch.starts[layer], stretch.starts[layer + 1]);
        let mut met: Vec<u32> = sequence[from..to].iter().map(|kernel| kernel.name).collect();
        met.retain(|name| outside.binary_search(name).is_ok());
        met.sort_unstable();
        met.dedup();
        if met.len() >= least {
            let last = (from..to).rfind(|&at| outside.binary_search(&sequence[at].name).is_ok())?;
            cuts.push((layer + 1, last + 1));
        }
    }
    let each = cuts.first()?.0;
    let even = cuts.iter().enumerate().all(|(step, cut)| cut.0 == each * (step + 1));
    if !even || each * (cuts.len() + 1) != layers || each < FEWEST_LAYERS {
        return None;
    }
    let bounds: Vec<usize> =
        [range.start].into_iter().chain(cuts.into_iter().map(|cut| cut.1)).chain([range.end]).collect();
    Some(bounds.windows(2).map(|bound| bound[0]..bound[1]).collect())
}
