//! Copy from pinned memory, behind compute.

use crate::advice::{Case, Draft, Range, Rule};
use crate::analyses::Kernels;
use crate::ledger::Line;
use crate::sentence::{things, time};
use rooflens_schema::tables::ActivityKind;

/// The rule.
pub(super) struct PinnedCopies;

/// Of the time of pageable copies, what pinned memory surely saves. NVIDIA's "How to Optimize Data Transfers in CUDA
/// C/C++" has 2.3 GB/s from pageable and 5.8 GB/s from pinned memory.
const SURE: f64 = 0.5;

/// From this share of their time on, pageable copies are what there is to change.
const MOSTLY: f64 = 0.5;

impl Rule for PinnedCopies {
    fn name(&self) -> &'static str {
        "pinned_copies"
    }
    fn about(&self) -> &'static str {
        "Time in which a device only copies. Low: half of it where copies are pageable (pinned memory moves about \
         twice as fast, since nothing is staged), else nothing; high: all of it, behind compute."
    }
    fn judge(&self, case: &Case<'_>) -> Result<Option<Draft>, String> {
        let copies = case.on(Line::Copies);
        if !case.is_device() || copies <= 0.0 {
            return Ok(None);
        }
        let rows = case.findings.get::<Kernels>().map_or(&[][..], |found| &found.0);
        let moved: Vec<_> = rows.iter().filter(|row| row.kind == ActivityKind::Memcpy).collect();
        let pageable: i64 =
            moved.iter().filter(|row| row.name.contains("Pageable")).map(|row| row.total_ns).sum();
        let all: i64 = moved.iter().map(|row| row.total_ns).sum();
        let share = if all > 0 { pageable as f64 / all as f64 } else { 0.0 };
        let mut evidence = vec![case.row("copies with nothing else running", copies)];
        evidence.extend(moved.iter().take(3).map(|row| {
            format!(
                "`{}`: {}, {}",
                row.short_name,
                time(row.total_ns as f64),
                things(row.count as i64, "copy", "copies")
            )
        }));
        let (title, change) = if share >= MOSTLY {
            (
                "Copy from pinned memory, behind compute",
                "tensor.pin_memory() on the host's side, .to(device, non_blocking=True) on a stream of its own",
            )
        } else {
            // Memory is pinned already, or copies stay on the device.
            (
                "Overlap copies with compute",
                ".to(device, non_blocking=True) on a stream of its own, and fewer or smaller copies",
            )
        };
        Ok(Some(Draft {
            title: title.to_owned(),
            gain_ns: Range::new(copies * share * SURE, copies),
            evidence,
            computed: "half of the pageable copies, up to all exposed copies".to_owned(),
            change: change.to_owned(),
            risk: "Pinned memory cannot be paged out: keep it small. Copies that do not block need an event before use."
                .to_owned(),
        }))
    }
}
