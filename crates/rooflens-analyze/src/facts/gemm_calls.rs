//! Which kernel ran which call of a library's log.

use std::collections::HashMap;

use rooflens_schema::tables::ActivityKind;
use rooflens_schema::{NameId, Opt, RankTables};

/// Libraries whose kernels a call may launch; cuBLAS has kernels of CUTLASS inside.
fn launches(library: &str) -> &'static [&'static str] {
    match library {
        "hipblaslt" | "rocblas" => &["hipblaslt", "rocblas"],
        _ => &["cublas", "cublaslt", "cutlass"],
    }
}

/// Kernels that a call launches beside the one that multiplies.
const BESIDE: &[&str] =
    &["splitKreduce", "cublasSplitKParams", "cublasTransposeParams", "reduce_1Block_kernel", "PostGSU"];

pub(crate) fn is_beside(name: &str) -> bool {
    BESIDE.iter().any(|word| name.contains(word))
}

/// Longer patterns are not looked for: each start of the pattern is tried.
const LONGEST_PATTERN: usize = 4096;

/// Fills `gemms.kernel_row`, where it can be told without doubt.
pub(super) fn link(tables: &mut RankTables) {
    if tables.gemms.is_empty() {
        return;
    }
    for (call, kernel) in join(tables).unwrap_or_default() {
        tables.gemms.kernel_row[call] = i32::try_from(kernel).ok().into();
    }
}

/// Rows of `gemms` and of `kernels` that belong together, or why that cannot be told.
///
/// Calls and kernels meet by order. As many of each are the same; else both must repeat one pattern of
/// the same length, and only one way to lay one over the other may give equal shapes equal kernels.
pub(crate) fn join(tables: &RankTables) -> Result<Vec<(usize, usize)>, String> {
    let (gemms, kernels) = (&tables.gemms, &tables.kernels);
    if kernels.is_empty() {
        return Err("the log holds no times, and no timeline was given with it".to_owned());
    }
    if gemms.process.iter().any(|process| *process != 0) {
        return Err("the log has calls of several processes, the timeline is of one".to_owned());
    }
    let mut libraries: Vec<&str> = gemms.library_id.iter().map(|id| tables.names.get(*id)).collect();
    libraries.sort_unstable();
    libraries.dedup();
    if let [first, second, ..] = libraries[..] {
        return Err(format!("the log has calls of {first} and {second}, which may be the same GEMMs"));
    }
    let rows = multiplying(tables, launches(libraries.first().copied().unwrap_or_default()))?;
    let (calls, launched) = (gemms.len(), rows.len());
    if calls == launched {
        return Ok((0..calls).zip(rows).collect());
    }
    let differ =
        |why: &str| format!("the log has {calls} calls, the timeline {launched} kernels of them: {why}");
    if launched > calls {
        return Err(differ("some calls are not in the log, or were replayed from a graph"));
    }
    let shapes: Vec<usize> = numbered((0..calls).map(|call| shape(tables, call)));
    let names: Vec<usize> = numbered(rows.iter().map(|row| kernels.kernel_id[*row]));
    let period = period(&shapes);
    // A pattern that is seen once is none.
    if period > LONGEST_PATTERN || calls < 2 * period || launched % period != 0 {
        return Err(differ("they do not repeat one pattern"));
    }
    let fits = |start: &usize| {
        let mut of_shape: HashMap<usize, usize> = HashMap::new();
        let mut pairs = names.iter().enumerate().map(|(at, name)| (shapes[(start + at) % period], *name));
        pairs.all(|(shape, name)| *of_shape.entry(shape).or_insert(name) == name)
    };
    let mut starts = (0..period).filter(fits);
    match (starts.next(), starts.next()) {
        // What is recorded is the end of what ran: before it there was a warm-up.
        (Some(0), None) => Ok((calls - launched..calls).zip(rows).collect()),
        (Some(_), None) => Err(differ("the timeline begins inside the pattern of the calls")),
        (Some(_), Some(_)) => Err(differ("there is more than one way to match them")),
        (None, _) => Err(differ("equal calls would have different kernels")),
    }
}

fn shape(tables: &RankTables, call: usize) -> impl std::hash::Hash + Eq + use<> {
    let gemms = &tables.gemms;
    let sizes = [gemms.m[call], gemms.n[call], gemms.k[call], gemms.batch[call]];
    let types: [Opt<NameId>; 5] = [
        gemms.a_dtype_id[call],
        gemms.b_dtype_id[call],
        gemms.d_dtype_id[call],
        gemms.epilogue_id[call],
        gemms.algorithm_id[call],
    ];
    (sizes, gemms.trans_a[call] as u8, gemms.trans_b[call] as u8, types)
}

fn multiplying(tables: &RankTables, libraries: &[&str]) -> Result<Vec<usize>, String> {
    let (kernels, dim) = (&tables.kernels, &tables.kernel_dim);
    let dim_rows = tables.kernel_dim_rows();
    let multiplies: Vec<bool> = dim_rows
        .iter()
        .map(|&row| {
            dim.row(row as usize).is_some_and(|row| {
                matches!(row.class.as_str(), "gemm" | "gemv")
                    && row.library.as_deref().is_some_and(|library| libraries.contains(&library))
                    && !is_beside(&row.name)
            })
        })
        .collect();
    let is_one = |row: &usize| {
        kernels.kind[*row] == ActivityKind::Kernel
            && multiplies.get(kernels.kernel_id[*row].index()).is_some_and(|it| *it)
    };
    let mut rows: Vec<usize> = (0..kernels.len()).filter(is_one).collect();
    if rows.is_empty() {
        return Err("the timeline has no kernel that this library launches".to_owned());
    }
    let launch =
        |row: usize| kernels.launch_delay_ns[row].get().map(|ns| kernels.ts_ns[row].saturating_sub(ns));
    let place = |row: usize| (kernels.device[row], kernels.stream[row]);
    if rows.iter().all(|row| launch(*row).is_some()) {
        rows.sort_by_key(|row| (launch(*row), kernels.ts_ns[*row]));
    } else if rows.iter().any(|row| place(*row) != place(rows[0])) {
        return Err(
            "the kernels are on several streams, and the timeline has no launches to order them".to_owned()
        );
    }
    Ok(rows)
}

fn numbered<T: std::hash::Hash + Eq>(items: impl Iterator<Item = T>) -> Vec<usize> {
    let mut known = HashMap::new();
    items
        .map(|item| {
            let next = known.len();
            *known.entry(item).or_insert(next)
        })
        .collect()
}

/// The length of the shortest pattern whose whole repetitions are the sequence: its own, where it
/// repeats none. By the prefix function of Knuth, Morris and Pratt.
fn period(items: &[usize]) -> usize {
    let mut borders = vec![0usize; items.len()];
    for at in 1..items.len() {
        let mut border = borders[at - 1];
        while border > 0 && items[at] != items[border] {
            border = borders[border - 1];
        }
        borders[at] = border + usize::from(items[at] == items[border]);
    }
    let period = items.len() - borders.last().copied().unwrap_or(0);
    if period > 0 && items.len().is_multiple_of(period) { period } else { items.len() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Sample;

    /// Calls by their `m`, kernels by name, in order on one stream.
    fn tables(calls: &[i64], kernels: &[&str]) -> RankTables {
        let mut sample = Sample::new(0);
        for (at, name) in kernels.iter().enumerate() {
            sample.kernel(0, 7, at as i64 * 10, 5, name, "gemm");
        }
        calls.iter().for_each(|m| sample.gemm(*m, 8, 4));
        let mut tables = sample.tables;
        tables.kernel_dim.library.fill(Some("cublas".to_owned()));
        tables
    }

    #[test]
    fn periods() {
        for (items, length) in [
            (&[1usize, 2, 1, 2][..], 2),
            (&[1, 1, 1], 1),
            (&[1, 2, 1], 3),
            (&[1, 2, 3, 1, 2, 3], 3),
            (&[], 0),
        ] {
            assert_eq!(period(items), length, "{items:?}");
        }
    }

    #[test]
    fn as_many_of_each_are_joined_in_order() {
        assert_eq!(join(&tables(&[1, 2], &["a", "b"])), Ok(vec![(0, 0), (1, 1)]));
        // A reduction after a product is no product.
        assert_eq!(join(&tables(&[1, 2], &["a", "splitKreduce_kernel<", "b"])), Ok(vec![(0, 0), (1, 2)]));
    }

    #[test]
    fn a_pattern_is_joined_at_its_end() {
        let found = join(&tables(&[1, 2, 2, 1, 2, 2, 1, 2, 2], &["a", "b", "b"]));
        assert_eq!(found, Ok(vec![(6, 0), (7, 1), (8, 2)]));
        for (calls, kernels, why) in [
            (&[1, 2, 1, 2][..], &["a", "a"][..], "more than one way"),
            (&[1, 2, 3, 4], &["a", "b"], "do not repeat"),
            (&[1, 2, 2, 1, 2, 2], &["b", "b", "a"], "begins inside"),
            (&[1, 1, 1], &["a", "b"], "different kernels"),
            (&[1], &["a", "b"], "graph"),
            (&[1], &[], "no timeline"),
        ] {
            let said = join(&tables(calls, kernels)).expect_err(why);
            assert!(said.contains(why), "{said}");
        }
    }

    #[test]
    fn kernels_of_another_maker_are_not_meant() {
        let mut tables = tables(&[1, 2], &["a", "b"]);
        tables.kernel_dim.library.fill(Some("rocblas".to_owned()));
        assert!(join(&tables).is_err_and(|why| why.contains("no kernel that this library launches")));
    }

    #[test]
    fn launches_order_streams() {
        let mut sample = Sample::new(0);
        sample.kernel(0, 7, 100, 5, "a", "gemm").launched(1, 10, 0);
        sample.kernel(0, 9, 95, 5, "b", "gemm").launched(2, 90, 0);
        sample.gemm(1, 8, 4);
        sample.gemm(2, 8, 4);
        let mut tables = sample.tables;
        tables.kernel_dim.library.fill(Some("cublas".to_owned()));
        // Launched at 90 and at 5.
        assert_eq!(join(&tables), Ok(vec![(0, 1), (1, 0)]));
        tables.kernels.launch_delay_ns[0] = Opt::NONE;
        assert!(join(&tables).is_err_and(|why| why.contains("several streams")));
    }
}
