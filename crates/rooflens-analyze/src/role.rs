//! What an activity means for the device: compute, communication or copy.

use rooflens_schema::RankTables;
use rooflens_schema::tables::ActivityKind;

use crate::kernel_catalog::KernelClass;

/// The class of kernels that exchange data between devices.
pub(crate) const COMMUNICATION: &str = KernelClass::Communication.as_str();
/// The class of kernels that the catalog does not know.
pub(crate) const UNKNOWN_CLASS: &str = KernelClass::Other.as_str();

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Compute,
    Communication,
    Copy,
}

pub(crate) struct Roles<'a> {
    kernels: &'a rooflens_schema::tables::Kernels,
    communication: Vec<bool>,
}

impl<'a> Roles<'a> {
    pub(crate) fn new(tables: &'a RankTables) -> Self {
        let mut communication = vec![false; tables.names.len()];
        for (name, class) in tables.kernel_dim.name.iter().zip(&tables.kernel_dim.class) {
            if class == COMMUNICATION
                && let Some(id) = tables.names.find(name)
            {
                communication[id.index()] = true;
            }
        }
        Roles { kernels: &tables.kernels, communication }
    }

    pub(crate) fn at(&self, i: usize) -> Role {
        if self.kernels.kind[i] != ActivityKind::Kernel {
            return Role::Copy;
        }
        match self.communication.get(self.kernels.kernel_id[i].index()) {
            Some(true) => Role::Communication,
            _ => Role::Compute,
        }
    }
}
