//! Which kernels of a step do which operators of the model.
//!
//! Both come in the order of execution, so the answer is the cheapest monotone alignment of the two sequences:
//! an operator is done by a kernel, by several in a row (queries, keys and values apart; split attention with
//! its merge), or together with the operator before it by one fused kernel; kernels that no operator asks for
//! and operators that no kernel does have a price each. Layers repeat, so one right layer makes all right.

use super::operators::{OperatorFloor, Role, unasked};
use crate::kernel_catalog::KernelClass;

#[derive(Debug, Clone, Copy)]
pub(super) struct StepKernel {
    pub(crate) class: KernelClass,
    pub(crate) ns: f64,
    pub(crate) matrix: Option<(u64, u64)>,
}

/// Operators and the kernels that do them, by their places in the sequences.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Group {
    pub(crate) operators: Vec<usize>,
    pub(crate) kernels: Vec<usize>,
}

/// More cells than this are not worth the wait: the caller goes by class alone.
const MOST_CELLS: usize = 12_000_000;

/// Kernels that the open operator has so far: none, one, two, three or more.
const OPEN: usize = 4;

#[derive(Clone, Copy, PartialEq)]
#[repr(u8)]
enum Move {
    Start,
    SkipKernel,
    SkipOperator,
    Match,
    Continue,
    Fuse,
}

/// The cheapest alignment; none where the sequences are too long.
pub(super) fn align(operators: &[OperatorFloor], kernels: &[StepKernel]) -> Option<Vec<Group>> {
    let (rows, columns) = (operators.len() + 1, kernels.len() + 1);
    if rows.saturating_mul(columns) > MOST_CELLS {
        return None;
    }
    let width = columns * OPEN;
    let mut moves = vec![(Move::Start, 0_u8); rows * width];
    let mut here = vec![f64::INFINITY; width];
    let mut next = vec![f64::INFINITY; width];
    here[0] = 0.0;
    let roles: Vec<Role> = operators.iter().map(|operator| Role::of(operator.class)).collect();
    for row in 0..rows {
        next.fill(f64::INFINITY);
        for column in 0..columns {
            for open in 0..OPEN {
                let cost = here[column * OPEN + open];
                if !cost.is_finite() {
                    continue;
                }
                let mut reach =
                    |costs: &mut [f64], down: usize, to: (usize, usize), price: f64, how: Move| {
                        let at = to.0 * OPEN + to.1;
                        if cost + price < costs[at] {
                            costs[at] = cost + price;
                            moves[(row + down) * width + at] = (how, open as u8);
                        }
                    };
                if let Some(kernel) = kernels.get(column) {
                    reach(&mut here, 0, (column + 1, open), unasked(kernel.class), Move::SkipKernel);
                    if open > 0
                        && let Some(price) = continues(&operators[row - 1], roles[row - 1], kernel, open)
                    {
                        let more = (open + 1).min(OPEN - 1);
                        reach(&mut here, 0, (column + 1, more), price, Move::Continue);
                    }
                }
                let Some((operator, role)) = operators.get(row).zip(roles.get(row)) else { continue };
                let missing = if operator.ns > 0.0 { role.missing() } else { 0.0 };
                reach(&mut next, 1, (column, 0), missing, Move::SkipOperator);
                if open > 0
                    && let Some(fused) = role.fused(roles[row - 1])
                {
                    let fused = if operator.ns > 0.0 { fused } else { 0.05 };
                    reach(&mut next, 1, (column, open), fused, Move::Fuse);
                }
                if let Some(kernel) = kernels.get(column)
                    && let Some(price) = matches(operator, *role, kernel)
                {
                    reach(&mut next, 1, (column + 1, 1), price, Move::Match);
                }
            }
        }
        if row + 1 < rows {
            std::mem::swap(&mut here, &mut next);
        }
    }
    Some(walk_back(&moves, &here, rows, columns))
}

fn walk_back(moves: &[(Move, u8)], last: &[f64], rows: usize, columns: usize) -> Vec<Group> {
    let width = columns * OPEN;
    let end = &last[(columns - 1) * OPEN..];
    let mut open = (0..OPEN).min_by(|a, b| end[*a].total_cmp(&end[*b])).unwrap_or(0);
    let (mut row, mut column) = (rows - 1, columns - 1);
    let mut groups: Vec<Group> = Vec::new();
    // Met from the end: what joins a group comes before what begins it.
    let mut joined = Group { operators: Vec::new(), kernels: Vec::new() };
    loop {
        let (how, before) = moves[row * width + column * OPEN + open];
        match how {
            Move::Start => break,
            Move::SkipKernel => column -= 1,
            Move::SkipOperator => row -= 1,
            Move::Continue => {
                column -= 1;
                joined.kernels.push(column);
            }
            Move::Fuse => {
                row -= 1;
                joined.operators.push(row);
            }
            Move::Match => {
                (row, column) = (row - 1, column - 1);
                joined.kernels.push(column);
                joined.operators.push(row);
                joined.kernels.reverse();
                joined.operators.reverse();
                groups.push(std::mem::replace(
                    &mut joined,
                    Group { operators: Vec::new(), kernels: Vec::new() },
                ));
            }
        }
        open = before as usize;
    }
    groups.reverse();
    groups
}

fn matches(operator: &OperatorFloor, role: Role, kernel: &StepKernel) -> Option<f64> {
    let misfit = role.misfit(kernel.class)?;
    if operator.ns <= 0.0 {
        // Nothing is lost where work that costs nothing has no kernel; one that waits for it may be another's.
        return Some(misfit + 0.2);
    }
    let shape = match (role, operator.matrix, kernel.matrix) {
        (Role::Linear, Some(told), Some(seen)) => shape_misfit(operator, told, seen),
        _ => 0.0,
    };
    let smallest = operator.parts.iter().copied().fold(1.0, f64::min);
    let least = operator.ns * smallest;
    // Faster than the device can: another operator's kernel. Slower is likely, the less the farther.
    let time =
        if kernel.ns < 0.8 * least { 1.5 } else { 0.05 * (kernel.ns / operator.ns).ln().abs().min(6.0) };
    Some(misfit + shape + if role.is_main() { time } else { 0.0 })
}

/// Shapes tell more than anything else: the weight's rows are the operator's, or padded a little.
fn shape_misfit(operator: &OperatorFloor, told: (u64, u64), seen: (u64, u64)) -> f64 {
    let near = |told: u64, seen: u64| seen >= told && seen - told <= told / 8;
    if !near(told.0, seen.0) {
        return 2.5;
    }
    let outputs = operator.parts.iter().map(|part| (part * told.1 as f64).round() as u64);
    if near(told.1, seen.1) || outputs.into_iter().any(|part| near(part, seen.1)) { -1.5 } else { 1.0 }
}

fn continues(operator: &OperatorFloor, role: Role, kernel: &StepKernel, open: usize) -> Option<f64> {
    use KernelClass as K;
    let misfit = match (role, kernel.class) {
        // Merges of split attention, and scores, softmax and values as kernels of their own.
        (Role::Attention, K::Reduction) => 0.3,
        (Role::Attention, K::Gemm | K::Gemv) => 0.3,
        _ => role.misfit(kernel.class)?,
    };
    let more = match role {
        Role::Experts => 0.0,
        Role::Attention | Role::State => 0.05,
        // Queries, then keys.
        Role::Norm if open < operator.parts.len() && kernel.class == K::Norm => 0.0,
        Role::Norm => 0.4,
        Role::Small | Role::Collective | Role::Router => 0.2,
        Role::Linear if open < operator.parts.len() => 0.0,
        // A short one behind it may add up split sums; one as long is another operator's.
        Role::Linear => 1.5 * (kernel.ns / operator.ns.max(1.0)).min(1.0),
    };
    let shape = match (role, operator.matrix, kernel.matrix) {
        (Role::Linear, Some(told), Some(seen)) => shape_misfit(operator, told, seen).max(0.0),
        _ => 0.0,
    };
    Some(misfit + more + shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operator(name: &'static str, class: &'static str, ns: f64, parts: usize) -> OperatorFloor {
        OperatorFloor {
            layer: None,
            name,
            class,
            matrix: None,
            parts: vec![1.0 / parts as f64; parts],
            ns,
            compute_ns: 0.0,
            memory_ns: ns,
            flops: 0.0,
            bytes: ns,
        }
    }

    fn layer() -> Vec<OperatorFloor> {
        vec![
            operator("input_norm", "norm", 1.0, 1),
            operator("qkv_proj", "attn.qkv", 30.0, 3),
            operator("attention", "attn.core", 40.0, 1),
            operator("o_proj", "attn.o", 20.0, 1),
            operator("post_norm", "norm", 1.0, 1),
            operator("gate_up_proj", "mlp", 60.0, 2),
            operator("down_proj", "mlp", 30.0, 1),
        ]
    }

    /// From `class ns class ns …`.
    fn kernels(text: &str) -> Vec<StepKernel> {
        let words: Vec<&str> = text.split(' ').collect();
        let kernel = |pair: &[&str]| StepKernel {
            class: KernelClass::named(pair[0]).unwrap(),
            ns: pair[1].parse().unwrap(),
            matrix: None,
        };
        words.chunks(2).map(kernel).collect()
    }

    fn named(groups: &[Group], operators: &[OperatorFloor]) -> Vec<(String, Vec<usize>)> {
        let names = |group: &Group| {
            group.operators.iter().map(|at| operators[*at].name).collect::<Vec<_>>().join("+")
        };
        groups.iter().map(|group| (names(group), group.kernels.clone())).collect()
    }

    #[test]
    fn an_engine_s_fused_layer() {
        let operators = vec![layer(); 3].concat();
        let one = kernels(
            "norm 3 gemm 60 rope 4 kv_cache 4 attention 90 attention 6 gemm 40 norm 3 gemm 100 activation 5 gemm 70",
        );
        let sequence = one.repeat(3);
        let groups = align(&operators, &sequence).unwrap();
        let found = named(&groups, &operators);
        let expected: Vec<(String, Vec<usize>)> = (0..3)
            .flat_map(|layer| {
                let at = layer * one.len();
                [
                    ("input_norm", vec![at]),
                    ("qkv_proj", vec![at + 1]),
                    ("attention", vec![at + 4, at + 5]),
                    ("o_proj", vec![at + 6]),
                    ("post_norm", vec![at + 7]),
                    ("gate_up_proj", vec![at + 8]),
                    ("down_proj", vec![at + 10]),
                ]
                .map(|(name, kernels)| (name.to_owned(), kernels))
            })
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn norms_of_queries_and_keys_are_one_operator() {
        let mut one = layer();
        one.insert(2, operator("qk_norm", "norm", 0.1, 2));
        let operators = vec![one; 2].concat();
        let of_layer =
            kernels("norm 3 gemm 60 norm 2 norm 1 rope 4 attention 90 gemm 40 norm 3 gemm 100 gemm 70");
        let sequence = of_layer.repeat(2);
        let groups = align(&operators, &sequence).unwrap();
        let found = named(&groups, &operators);
        for layer in 0..2 {
            let at = layer * of_layer.len();
            for (name, kernels) in
                [("input_norm", vec![at]), ("qk_norm", vec![at + 2, at + 3]), ("post_norm", vec![at + 7])]
            {
                assert!(found.contains(&(name.to_owned(), kernels.clone())), "{name} {kernels:?}: {found:?}");
            }
        }
        // Fused with the rotation, it has one kernel or none, and the norm behind attention keeps its own.
        let fused: Vec<_> = sequence
            .into_iter()
            .filter(|kernel| kernel.class != KernelClass::Norm || kernel.ns == 3.0)
            .collect();
        let groups = align(&operators, &fused).unwrap();
        let found = named(&groups, &operators);
        assert!(found.contains(&("post_norm".to_owned(), vec![5])), "{found:?}");
    }

    #[test]
    fn a_framework_s_layer_with_every_matrix_apart() {
        let operators = layer();
        let sequence = kernels(
            "elementwise 2 reduction 2 elementwise 2 gemm 20 gemm 9 gemm 9 attention 80 gemm 30 elementwise 2 reduction 2 gemm 50 gemm 50 elementwise 5 gemm 50",
        );
        let groups = align(&operators, &sequence).unwrap();
        let found = named(&groups, &operators);
        for (name, at) in [
            ("qkv_proj", vec![3, 4, 5]),
            ("attention", vec![6]),
            ("o_proj", vec![7]),
            ("gate_up_proj", vec![10, 11]),
            ("down_proj", vec![13]),
        ] {
            assert!(found.contains(&(name.to_owned(), at.clone())), "{name} {at:?}: {found:?}");
        }
    }

    #[test]
    fn a_layer_that_did_not_run_has_no_kernels() {
        let operators = vec![layer(); 4].concat();
        let one = kernels("norm 3 gemm 60 attention 90 gemm 40 norm 3 gemm 100 gemm 70");
        let sequence = one.repeat(2);
        let groups = align(&operators, &sequence).unwrap();
        let is_attention = |group: &&Group| {
            group.operators.iter().any(|at| operators[*at].class == "attn.core")
                && group.kernels.iter().any(|at| Role::Attention.is_proved_by(sequence[*at].class))
        };
        assert_eq!(groups.iter().filter(is_attention).count(), 2);
    }
}
