//! Which kernels are worth a closer look? The kernels of a timeline by device time, with the statistics
//! that `nsys stats --report cuda_gpu_kern_sum` has, and which launch of each is a typical one.

use rooflens_schema::RankTables;
use rooflens_schema::tables::{ActivityKind, ApiKind, PhaseKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::by_name::ByName;
use crate::kernel_catalog::{self, ActivityHint};
use crate::percentile::median_of;
use crate::short_names;
use crate::statistics::sample_deviation;

/// A kernel by name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TopKernel {
    /// Full name.
    pub name: String,
    /// Readable short form.
    pub short_name: String,
    /// What it does.
    pub class: String,
    /// How often it ran.
    pub count: u64,
    /// Sum of durations.
    pub total_ns: f64,
    /// Mean duration.
    pub mean_ns: f64,
    /// Median duration: of an even number, the mean of the two in the middle.
    pub median_ns: f64,
    /// Shortest.
    pub min_ns: f64,
    /// Longest.
    pub max_ns: f64,
    /// Standard deviation of the sample; null of a single launch.
    pub stddev_ns: Option<f64>,
    /// Share of the durations of all device activities that were looked at, copies and fills too, 0 to 1: as in
    /// `analyze`.
    pub share: f64,
    /// How many launches of this name precede the one whose duration is nearest the median; null
    /// where the input has no single launches.
    pub typical_skip: Option<u64>,
    /// Numbers of launches, from 0, whose duration is within [`TYPICAL_WITHIN`] of the median, the nearest
    /// first; that of `typical_skip` always.
    #[serde(skip)]
    pub typical: Vec<u64>,
}

/// Part of the median by which a typical launch may differ from it.
pub(crate) const TYPICAL_WITHIN: f64 = 0.05;
/// Typical launches that are kept.
const MOST_TYPICAL: usize = 256;

/// Durations of the launches of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LaunchDurations {
    /// Sum.
    pub total_ns: f64,
    /// Mean.
    pub mean_ns: f64,
    /// Median: of an even number, the mean of the two in the middle.
    pub median_ns: f64,
    /// Shortest.
    pub min_ns: f64,
    /// Longest.
    pub max_ns: f64,
    /// Standard deviation of the sample; null of a single launch.
    pub stddev_ns: Option<f64>,
}

impl LaunchDurations {
    pub(crate) fn of(durations: &mut [i64]) -> Option<Self> {
        durations.sort_unstable();
        let (min, max) = (*durations.first()?, *durations.last()?);
        let count = durations.len();
        // Whole sums, so that a mean is right to its last digit.
        let total: i128 = durations.iter().map(|duration| i128::from(*duration)).sum();
        let mean = total as f64 / count as f64;
        Some(LaunchDurations {
            total_ns: total as f64,
            mean_ns: mean,
            median_ns: median_of(durations[(count - 1) / 2], durations[count / 2]),
            min_ns: min as f64,
            max_ns: max as f64,
            stddev_ns: sample_deviation(durations.iter().map(|duration| *duration as f64), mean),
        })
    }
}

pub(crate) fn phase_of(tables: &RankTables, kernel: usize) -> Option<PhaseKind> {
    tables.phase_kind(tables.kernels.phase_id[kernel].get())
}

/// Gathers kernels over ranks.
#[derive(Default)]
pub struct KernelTotals {
    rows: ByName<Vec<(i64, i64)>>,
    left_out: u64,
    copies_ns: i64,
    launches: u64,
}

impl KernelTotals {
    /// Adds the kernels of a rank: those of a phase, where one is asked for.
    pub fn rank(&mut self, tables: &RankTables, phase: Option<PhaseKind>) {
        let kernels = &tables.kernels;
        let mut rows = self.rows.rank(&tables.names);
        let launching = |kind: &&ApiKind| matches!(kind, ApiKind::Launch | ApiKind::GraphLaunch);
        self.launches += tables.api.kind.iter().filter(launching).count() as u64;
        for i in 0..kernels.len() {
            if kernels.kind[i] != ActivityKind::Kernel {
                if phase.is_none() || phase_of(tables, i) == phase {
                    self.copies_ns = self.copies_ns.saturating_add(kernels.dur_ns[i]);
                }
                continue;
            }
            if phase.is_some() && phase_of(tables, i) != phase {
                self.left_out += 1;
                continue;
            }
            rows.at(kernels.kernel_id[i]).push((kernels.ts_ns[i], kernels.dur_ns[i]));
        }
    }

    /// How many kernels were not of the phase asked for.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// How many calls launch kernels or graphs.
    pub fn launches(&self) -> u64 {
        self.launches
    }

    /// Every kernel, most time first.
    pub fn finish(self) -> Vec<TopKernel> {
        let rows = self.rows.into_rows();
        let kernels = rows.filter_map(|(name, launches)| kernel(name, launches)).collect();
        with_shares_of(kernels, self.copies_ns as f64)
    }
}

/// A kernel whose numbers are known already, as from a table that a tool printed; its share follows.
pub fn described(name: String, fill: impl FnOnce(&mut TopKernel)) -> TopKernel {
    let info = kernel_catalog::describe(&name, ActivityHint::Kernel);
    let class = info.class.as_str().to_owned();
    let mut kernel = TopKernel { name, short_name: info.short_name, class, ..TopKernel::default() };
    fill(&mut kernel);
    kernel
}

/// Sorts by time and gives each its share, where nothing else is known to have run.
pub fn with_shares(kernels: Vec<TopKernel>) -> Vec<TopKernel> {
    with_shares_of(kernels, 0.0)
}

fn with_shares_of(mut kernels: Vec<TopKernel>, copies_ns: f64) -> Vec<TopKernel> {
    let all = kernels.iter().map(|kernel| kernel.total_ns).sum::<f64>() + copies_ns;
    short_names::tell_apart(kernels.iter_mut().map(|kernel| (kernel.name.as_str(), &mut kernel.short_name)));
    for kernel in kernels.iter_mut().filter(|_| all > 0.0) {
        kernel.share = kernel.total_ns / all;
    }
    kernels.sort_by(|a, b| b.total_ns.total_cmp(&a.total_ns).then_with(|| a.name.cmp(&b.name)));
    kernels
}

fn kernel(name: String, mut launches: Vec<(i64, i64)>) -> Option<TopKernel> {
    launches.sort_unstable();
    let mut sorted: Vec<i64> = launches.iter().map(|(_, duration)| *duration).collect();
    let times = LaunchDurations::of(&mut sorted)?;
    let off = |duration: i64| (duration as f64 - times.median_ns).abs();
    let mut near: Vec<(f64, u64)> =
        launches.iter().enumerate().map(|(at, launch)| (off(launch.1), at as u64)).collect();
    near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let is_typical = |place: usize, off: f64| place == 0 || off <= TYPICAL_WITHIN * times.median_ns;
    let typical: Vec<u64> = near
        .iter()
        .enumerate()
        .filter(|(place, near)| is_typical(*place, near.0))
        .map(|(_, near)| near.1)
        .collect();
    Some(described(name, |kernel| {
        kernel.count = launches.len() as u64;
        kernel.total_ns = times.total_ns;
        kernel.mean_ns = times.mean_ns;
        kernel.median_ns = times.median_ns;
        (kernel.min_ns, kernel.max_ns) = (times.min_ns, times.max_ns);
        kernel.stddev_ns = times.stddev_ns;
        kernel.typical_skip = typical.first().copied();
        kernel.typical = typical.into_iter().take(MOST_TYPICAL).collect();
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Sample;

    #[test]
    fn statistics_by_hand() {
        let mut sample = Sample::new(0);
        // In order of time: 40, 10, 20, 30. Mean 25, middles 20 and 30, squares 225 + 225 + 25 + 25 = 500.
        sample.kernel(0, 7, 300, 30, "gemm", "gemm").kernel(0, 7, 0, 40, "gemm", "gemm");
        sample.kernel(0, 7, 100, 10, "gemm", "gemm").kernel(0, 7, 200, 20, "gemm", "gemm");
        sample.kernel(0, 7, 400, 100, "once", "other").memcpy(0, 7, 500, 1000, "Memcpy HtoD");
        let mut top = KernelTotals::default();
        top.rank(&sample.tables, None);
        let rows = top.finish();
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["gemm", "once"], "copies are no kernels; a tie goes by name");
        let gemm = &rows[0];
        assert_eq!((gemm.count, gemm.total_ns, gemm.mean_ns, gemm.median_ns), (4, 100.0, 25.0, 25.0));
        // 100 of kernels twice, 1000 of a copy.
        assert_eq!((gemm.min_ns, gemm.max_ns, gemm.share), (10.0, 40.0, 100.0 / 1200.0));
        assert_eq!(gemm.stddev_ns, Some((500.0_f64 / 3.0).sqrt()));
        assert_eq!(gemm.typical_skip, Some(2), "20, the third in time");
        assert_eq!(rows[1].stddev_ns, None);
    }

    #[test]
    fn a_phase_that_is_not_there_has_no_kernels() {
        let mut sample = Sample::new(0);
        sample.kernel(0, 7, 0, 10, "gemm", "gemm");
        let mut top = KernelTotals::default();
        top.rank(&sample.tables, Some(PhaseKind::Decode));
        assert_eq!(top.left_out(), 1);
        assert!(top.finish().is_empty());
    }
}
