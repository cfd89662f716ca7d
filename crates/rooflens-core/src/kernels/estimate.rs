//! How long Nsight Compute will take: an estimate, and how it is made.

use super::list::Listed;

/// Metrics that one pass collects. Real reports: 9 passes of the set basic (144 metrics by
/// `ncu --list-sets`), 42 to 49 of the set full (613).
const METRICS_A_PASS: f64 = 15.0;
/// What a pass costs beside the kernel: memory is saved and written back, caches are flushed. Assumed.
const PASS_OVERHEAD_NS: f64 = 20e6;

/// An estimate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ProfilingEstimate {
    /// Replays of each launch; nothing where it is not known what is collected.
    pub(crate) passes: Option<u64>,
    /// The time of all, without loading the model.
    pub(crate) time_ns: Option<f64>,
}

/// The estimate for launches by the numbers that were chosen.
pub(crate) fn estimate(kernels: &[Listed], numbers: &[u64], metrics: Option<u64>) -> ProfilingEstimate {
    let passes = metrics.map(|metrics| (metrics as f64 / METRICS_A_PASS).ceil().max(1.0));
    let of = |kernel: &Listed| {
        let launches = numbers.iter().filter(|number| **number < kernel.launches).count() as f64;
        Some(launches * passes? * (kernel.median_ns? + PASS_OVERHEAD_NS))
    };
    ProfilingEstimate { passes: passes.map(|passes| passes as u64), time_ns: kernels.iter().map(of).sum() }
}

/// How many metrics a set has, by what `ncu --list-sets` printed; and the name that this version has for it.
pub(crate) fn set_in(listing: &str, wished: &str) -> Option<(String, u64)> {
    let row = |name: &str| {
        let line = listing.lines().find(|line| line.split_whitespace().next() == Some(name))?;
        Some((name.to_owned(), line.split_whitespace().last()?.parse().ok()?))
    };
    // Older versions call the smallest one `default`.
    row(wished).or_else(|| row("default").filter(|_| wished == "basic"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTING: &str = "\
Identifier Sections                              Enabled Estimated Metrics
---------- ------------------------------------- ------- -----------------
basic      LaunchStats, Occupancy, SpeedOfLight  yes     144
detailed   ComputeWorkloadAnalysis, LaunchStats, no      459
           Occupancy
";

    #[test]
    fn passes_and_time_by_hand() {
        let kernel = |launches, median| Listed {
            name: "k".into(),
            regex: None,
            launches,
            median_ns: median,
            typical: vec![],
        };
        // 144 / 15 = 9.6: 10 passes. Two launches of 1 ms, one of 3 ms: 10 × (2 × 21 + 23) ms.
        let kernels = [kernel(9, Some(1e6)), kernel(1, Some(3e6))];
        let found = estimate(&kernels, &[0, 4], Some(144));
        assert_eq!(found, ProfilingEstimate { passes: Some(10), time_ns: Some(650e6) });
        assert_eq!(estimate(&kernels, &[0], None), ProfilingEstimate { passes: None, time_ns: None });
        assert_eq!(estimate(&[kernel(1, None)], &[0], Some(15)).time_ns, None);
    }

    #[test]
    fn a_set_by_the_name_of_the_version() {
        assert_eq!(set_in(LISTING, "basic"), Some(("basic".to_owned(), 144)));
        assert_eq!(set_in(LISTING, "detailed"), Some(("detailed".to_owned(), 459)));
        assert_eq!(
            set_in(&LISTING.replace("basic ", "default "), "basic"),
            Some(("default".to_owned(), 144))
        );
        assert_eq!(set_in(LISTING, "full"), None);
        assert_eq!(set_in("", "basic"), None);
    }
}
