//! The memory that operators of a query share.
//!
//! DataFusion's own `FairSpillPool` lets operators that can spill take everything. A sort that spills then finds
//! nothing left for the merge that would make room, and the query fails although it could go on. Here a share is kept
//! for those that cannot spill, merges among them.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};

/// The part that operators which can spill may use together. A sort counts each batch twice, and its merge needs the keys
/// of all of them besides: up to more than twice the rows where the keys are text.
const SPILLABLE_PERCENT: usize = 45;

/// A pool of fixed size, of which every operator that can spill gets an equal part.
#[derive(Debug)]
pub(crate) struct SpillPool {
    bytes: usize,
    used: Mutex<Used>,
}

#[derive(Debug, Default)]
struct Used {
    spillers: usize,
    spillable: usize,
    unspillable: usize,
}

impl SpillPool {
    /// A pool of so many bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        SpillPool { bytes, used: Mutex::default() }
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn allowed(&self, used: &Used, reservation: &MemoryReservation) -> usize {
        match reservation.consumer().can_spill() {
            true => {
                let part = self.bytes / 100 * SPILLABLE_PERCENT;
                part.min(self.bytes.saturating_sub(used.unspillable)) / used.spillers.max(1)
            }
            false => reservation.size() + self.bytes.saturating_sub(used.spillable + used.unspillable),
        }
    }
}

impl MemoryPool for SpillPool {
    fn name(&self) -> &str {
        "spill"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.used().spillers += usize::from(consumer.can_spill());
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        let mut used = self.used();
        used.spillers = used.spillers.saturating_sub(usize::from(consumer.can_spill()));
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        let mut used = self.used();
        match reservation.consumer().can_spill() {
            true => used.spillable += additional,
            false => used.unspillable += additional,
        }
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        let mut used = self.used();
        match reservation.consumer().can_spill() {
            true => used.spillable = used.spillable.saturating_sub(shrink),
            false => used.unspillable = used.unspillable.saturating_sub(shrink),
        }
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let mut used = self.used();
        let allowed = self.allowed(&used, reservation);
        if reservation.size().saturating_add(additional) > allowed {
            let name = reservation.consumer().name();
            return Err(DataFusionError::ResourcesExhausted(format!(
                "{name} has {} bytes, asks for {additional} more and may have {allowed} of {}",
                reservation.size(),
                self.bytes
            )));
        }
        match reservation.consumer().can_spill() {
            true => used.spillable += additional,
            false => used.unspillable += additional,
        }
        Ok(())
    }

    fn reserved(&self) -> usize {
        let used = self.used();
        used.spillable + used.unspillable
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.bytes)
    }
}

impl fmt::Display for SpillPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.bytes)
    }
}
