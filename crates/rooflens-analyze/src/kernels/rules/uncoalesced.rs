//! Global accesses that touch more sectors than their bytes need.

use super::{KernelRemark, KernelRule};
use crate::kernels::Kernel;

/// 10 % of the sectors of global accesses are beyond what their bytes need (Source Counters); or threads use at most 24 of the 32 bytes of a sector; or a request touches more than 16 sectors, which no coalesced access needs.
pub(super) struct Uncoalesced;

/// Sectors beyond what is needed, from this share on.
const EXCESS_FROM_PCT: f64 = 10.0;
/// Bytes of a sector.
const SECTOR: f64 = 32.0;
/// Bytes of a sector that are used, up to this many.
const USED_UP_TO: f64 = 24.0;
/// Sectors that 32 threads need at the most: 16 bytes each, side by side. Fewer may be as many as needed.
const NEEDED_AT_MOST: f64 = 16.0;

impl KernelRule for Uncoalesced {
    fn name(&self) -> &'static str {
        "uncoalesced_access"
    }
    fn judge(&self, kernel: &Kernel) -> Option<KernelRemark> {
        let counters = &kernel.counters;
        let measured = match counters.excess_sectors_pct {
            Some(excess) if excess >= EXCESS_FROM_PCT => {
                format!(
                    "{excess:.0} % of the sectors of global accesses are beyond what their bytes need (from {EXCESS_FROM_PCT:.0} %)"
                )
            }
            // Counted exactly, and fine.
            Some(_) => return None,
            None => by_operation(
                ("load", counters.load_bytes_per_sector, counters.load_sectors_per_request),
                ("store", counters.store_bytes_per_sector, counters.store_sectors_per_request),
            )?,
        };
        Some(KernelRemark {
            measured,
            change: "let neighbouring threads access neighbouring addresses: layout, transposed tiles through shared memory, vector loads"
                .to_owned(),
        })
    }
}

type Operation = (&'static str, Option<f64>, Option<f64>);

/// What the averages show of loads, else of stores.
fn by_operation(loads: Operation, stores: Operation) -> Option<String> {
    let of = |(operation, bytes, sectors): Operation| match (bytes, sectors) {
        (Some(bytes), _) if bytes <= USED_UP_TO => Some(format!(
            "global {operation}s use {bytes:.1} of the {SECTOR:.0} bytes of a sector (up to {USED_UP_TO:.0})"
        )),
        (None, Some(sectors)) if sectors > NEEDED_AT_MOST => Some(format!(
            "a global {operation} touches {sectors:.1} sectors (more than {NEEDED_AT_MOST:.0}, the most that 32 threads with 16 bytes each need)"
        )),
        _ => None,
    };
    of(loads).or_else(|| of(stores))
}
