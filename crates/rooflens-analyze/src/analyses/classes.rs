//! Which kinds of kernels take the time?

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::analyses::{KernelStat, Kernels};
use crate::finding::{Analysis, Derived, Finding, FindingType, Findings};
use crate::role::UNKNOWN_CLASS;
use crate::statistics::share;

/// Device time by class and by library, most time first.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Classes {
    /// By class: gemm, attention, communication …
    pub by_class: Vec<ClassStat>,
    /// By library: cublas, triton, nccl …
    pub by_library: Vec<ClassStat>,
    /// Share of device time whose class is not known, 0 to 1.
    pub unclassified_share: f64,
}

/// The activities of one class or library.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ClassStat {
    /// Class or library.
    pub name: String,
    /// Distinct kernel names.
    pub names: usize,
    /// Activities.
    pub count: usize,
    /// Sum of durations.
    pub total_ns: i64,
    /// Share of all activities' durations, 0 to 1.
    pub share: f64,
}

pub(super) const ANALYSIS: Analysis = Analysis {
    name: "classes",
    question: "Which kinds of kernels take the time?",
    needs: "device activity",
    is_special: false,
    finding: FindingType::object::<Classes>(),
    start: || Box::new(Derived(find)),
    explain: "\
The rows of `kernels`, summed.

- `by_class`: by the kernel catalog's class.
- `by_library`: by library; `unknown` where the catalog names none.
- `names`: distinct kernel names.
- `count`: activities.
- `total_ns`: sum of durations, ns.
- `share`: total_ns / sum over all activities, 0 to 1.
- `unclassified_share`: the share of class `other`, kernels that the catalog does not know.
",
};

/// What stands for a library that the catalog does not name.
const UNKNOWN_LIBRARY: &str = "unknown";

fn find(earlier: &Findings) -> Option<Box<dyn Finding>> {
    let kernels = &earlier.get::<Kernels>()?.0;
    let by_class = by(kernels, |kernel| &kernel.class);
    let unclassified = by_class.iter().find(|class| class.name == UNKNOWN_CLASS);
    Some(Box::new(Classes {
        unclassified_share: unclassified.map_or(0.0, |class| class.share),
        by_library: by(kernels, |kernel| kernel.library.as_deref().unwrap_or(UNKNOWN_LIBRARY)),
        by_class,
    }))
}

fn by<'a>(kernels: &'a [KernelStat], key: impl Fn(&'a KernelStat) -> &'a str) -> Vec<ClassStat> {
    let mut groups: BTreeMap<&str, ClassStat> = BTreeMap::new();
    let mut all_ns = 0i64;
    for kernel in kernels {
        let name = key(kernel);
        let group = groups.entry(name).or_insert_with(|| ClassStat {
            name: name.to_owned(),
            names: 0,
            count: 0,
            total_ns: 0,
            share: 0.0,
        });
        group.names += 1;
        group.count += kernel.count;
        group.total_ns = group.total_ns.saturating_add(kernel.total_ns);
        all_ns = all_ns.saturating_add(kernel.total_ns);
    }
    let mut found: Vec<ClassStat> = groups.into_values().collect();
    for group in &mut found {
        group.share = share(group.total_ns, all_ns);
    }
    // Stable, and the map was in order of name: ties stay by name.
    found.sort_by_key(|group| std::cmp::Reverse(group.total_ns));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Sample;

    #[test]
    fn adds_up_classes() {
        // gemm 60 + 20 = 80 in two names, other 20: shares 0.8 and 0.2.
        let mut sample = Sample::new(0);
        sample.kernel(0, 7, 0, 60, "a", "gemm").kernel(0, 7, 60, 20, "b", "gemm");
        sample.kernel(0, 7, 80, 20, "c", "other");
        let classes = sample.find::<Classes>();
        let rows: Vec<_> =
            classes.by_class.iter().map(|row| (row.name.as_str(), row.names, row.share)).collect();
        assert_eq!(rows, [("gemm", 2, 0.8), ("other", 1, 0.2)]);
        assert_eq!(classes.unclassified_share, 0.2);
        assert_eq!(classes.by_library.len(), 1);
        assert_eq!(classes.by_library[0].name, "unknown");
    }
}
