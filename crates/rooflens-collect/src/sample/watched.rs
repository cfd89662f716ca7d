//! The processes that somebody wants to know about: one, and all that it started.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A process and its descendants. Which process it is may be said while sampling runs.
#[derive(Debug, Clone, Default)]
pub struct Watched(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// 0 for nobody.
    root: AtomicU32,
    pids: Mutex<Vec<u32>>,
}

impl Watched {
    /// Watches `pid` and what it starts from now on.
    pub fn watch(&self, pid: u32) {
        self.0.root.store(pid, Ordering::Relaxed);
        self.with_pids(|pids| {
            pids.clear();
            pids.push(pid);
        });
    }

    pub(crate) fn root(&self) -> Option<u32> {
        Some(self.0.root.load(Ordering::Relaxed)).filter(|&pid| pid != 0)
    }

    pub(crate) fn with_pids<T>(&self, with: impl FnOnce(&mut Vec<u32>) -> T) -> T {
        with(&mut self.0.pids.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
