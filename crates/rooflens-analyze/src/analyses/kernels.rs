//! Which kernels take the time?

use rooflens_schema::tables::{ActivityKind, KernelDimRow};
use rooflens_schema::{RankTables, stable_id};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::by_name::{ByName, compact_if_many};
use crate::finding::{Analysis, Finding, FindingType, Findings, Fold};
use crate::role::UNKNOWN_CLASS;
use crate::short_names;
use crate::statistics::{DurationSummary, Durations, share};

/// Device activities by name, most time first. Every name is here: nothing is cut.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Kernels(pub Vec<KernelStat>);

/// All activities of one name.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct KernelStat {
    /// Full name.
    pub name: String,
    /// Readable short form.
    pub short_name: String,
    /// `kernel`, `memcpy` or `memset`.
    pub kind: ActivityKind,
    /// What it computes.
    pub class: String,
    /// Where it comes from.
    pub library: Option<String>,
    /// Data type, from the kernel's name.
    pub dtype: Option<String>,
    /// How often it ran.
    pub count: usize,
    /// Sum of durations.
    pub total_ns: i64,
    /// Mean duration.
    pub mean_ns: f64,
    /// Shortest.
    pub min_ns: i64,
    /// Median duration: of an even number, the mean of the two in the middle.
    pub p50_ns: f64,
    /// 99th percentile.
    pub p99_ns: i64,
    /// Longest.
    pub max_ns: i64,
    /// Share of all activities' durations, 0 to 1.
    pub share: f64,
}

pub(super) const ANALYSIS: Analysis = Analysis {
    name: "kernels",
    question: "Which kernels take the time?",
    needs: "device activity",
    is_special: false,
    finding: FindingType::list::<Kernels>(),
    start: || Box::new(State::default()),
    explain: "\
One row per name and kind, summed over ranks and devices. Every name is listed, most time first.

- `count`: how often it ran.
- `total_ns`: sum of durations, ns. Kernels that run at the same time each count in full.
- `mean_ns`: total_ns / count.
- `p50_ns`: the median (for an even count, the mean of the two middle values), as in `nsys stats` and `rooflens
  kernels top`.
- `p99_ns`: nearest rank, exact: the value at position ceil(99 n / 100) of the sorted durations.
- `share`: total_ns / sum of all rows' total_ns, 0 to 1.
- `class`, `library`, `dtype`, `short_name`: what the kernel catalog reads from the name. If several names have the
  same short form, the difference is added in brackets.
",
};

#[derive(Default)]
struct State {
    /// One set of rows for each kind: a name means another thing as a copy than as a kernel.
    kinds: [ByName<Row>; 3],
}

#[derive(Default)]
struct Row {
    durations: Durations,
    described: Option<KernelDimRow>,
}

impl Fold for State {
    fn rank(&mut self, tables: &RankTables) {
        let kernels = &tables.kernels;
        let dim_rows = tables.kernel_dim_rows();
        for (kind, all) in ActivityKind::ALL.iter().zip(&mut self.kinds) {
            let mut rows = all.rank(&tables.names);
            for i in (0..kernels.len()).filter(|&i| kernels.kind[i] == *kind) {
                let row = rows.at(kernels.kernel_id[i]);
                row.durations.push(kernels.dur_ns[i]);
                if row.described.is_none() {
                    row.described = Some(describe(tables, &dim_rows, i));
                }
            }
            compact_if_many(all.rows_mut().map(|row| &mut row.durations));
        }
    }

    fn finish(self: Box<Self>, _earlier: &Findings) -> Option<Box<dyn Finding>> {
        let mut found: Vec<KernelStat> = Vec::new();
        for (&kind, rows) in ActivityKind::ALL.iter().zip(self.kinds) {
            found.extend(rows.into_rows().filter_map(|(name, row)| stat(name, kind, row)));
        }
        let all_ns = found.iter().fold(0i64, |sum, row| sum.saturating_add(row.total_ns));
        for row in &mut found {
            row.share = share(row.total_ns, all_ns);
        }
        short_names::tell_apart(found.iter_mut().map(|row| (row.name.as_str(), &mut row.short_name)));
        found.sort_by(|a, b| {
            b.total_ns.cmp(&a.total_ns).then_with(|| a.name.cmp(&b.name)).then_with(|| a.kind.cmp(&b.kind))
        });
        (!found.is_empty()).then(|| Box::new(Kernels(found)) as Box<dyn Finding>)
    }
}

fn describe(tables: &RankTables, dim_rows: &[u32], i: usize) -> KernelDimRow {
    let id = tables.kernels.kernel_id[i];
    let row = dim_rows.get(id.index()).and_then(|&row| tables.kernel_dim.row(row as usize));
    row.unwrap_or_else(|| {
        let name = tables.names.get(id);
        let class = match tables.kernels.kind[i] {
            ActivityKind::Kernel => UNKNOWN_CLASS,
            copy => copy.as_str(),
        };
        KernelDimRow {
            kernel_id: stable_id(name),
            name: name.to_owned(),
            short_name: name.to_owned(),
            class: class.to_owned(),
            library: None,
            dtype: None,
        }
    })
}

fn stat(name: String, kind: ActivityKind, mut row: Row) -> Option<KernelStat> {
    let p50_ns = row.durations.median()?;
    let (count, total_ns, mean_ns) = (row.durations.count, row.durations.total_ns, row.durations.mean());
    let KernelDimRow { short_name, class, library, dtype, .. } = row.described?;
    let DurationSummary { min, percentiles: [p99_ns], max } = row.durations.summary([99])?;
    Some(KernelStat {
        name,
        short_name,
        kind,
        class,
        library,
        dtype,
        count,
        total_ns,
        mean_ns,
        min_ns: min,
        p50_ns,
        p99_ns,
        max_ns: max,
        share: 0.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Sample, findings};

    #[test]
    fn sums_by_name_over_ranks() {
        // gemm: 10, 30 on rank 0 and 20, 20 on rank 1: 80 in all; add: 5; copy: 15. Together 100.
        // The second rank meets its names in another order, so its ids differ.
        let mut first = Sample::new(0);
        first.kernel(0, 7, 0, 10, "gemm", "gemm").kernel(0, 7, 10, 30, "gemm", "gemm");
        first.kernel(0, 7, 40, 5, "add", "elementwise");
        let mut second = Sample::new(1);
        second.memcpy(0, 7, 0, 15, "Memcpy HtoD");
        second.kernel(0, 7, 15, 20, "gemm", "gemm").kernel(0, 7, 35, 20, "gemm", "gemm");
        let found = findings(&[first.tables, second.tables]);
        let rows = &found.get::<Kernels>().expect("activity").0;
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["gemm", "Memcpy HtoD", "add"]);
        let gemm = &rows[0];
        assert_eq!((gemm.count, gemm.total_ns, gemm.mean_ns, gemm.share), (4, 80, 20.0, 0.8));
        assert_eq!((gemm.min_ns, gemm.p50_ns, gemm.p99_ns, gemm.max_ns), (10, 20.0, 30, 30));
        assert_eq!((rows[1].kind, rows[1].class.as_str()), (ActivityKind::Memcpy, "memcpy"));
    }

    #[test]
    fn ties_go_by_name_and_a_name_of_two_kinds_has_two_rows() {
        let mut sample = Sample::new(0);
        sample.kernel(0, 7, 0, 10, "b", "gemm").kernel(0, 7, 10, 10, "a", "gemm").memcpy(0, 7, 20, 10, "a");
        let rows = sample.find::<Kernels>().0;
        let names: Vec<(&str, ActivityKind)> = rows.iter().map(|row| (row.name.as_str(), row.kind)).collect();
        let expected =
            [("a", ActivityKind::Kernel), ("a", ActivityKind::Memcpy), ("b", ActivityKind::Kernel)];
        assert_eq!(names, expected);
    }
}
