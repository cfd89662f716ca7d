//! Rows of a table.

use super::dim::Dim;
use super::{Parameters, Part};
use crate::operator::{Bytes, Operator, Work};
use crate::pass::Pass;
use crate::precision::Storage;

/// A table of which each token reads one row: never a matmul, and never read whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Embedding {
    /// Name of the operator.
    pub(crate) name: &'static str,
    /// Rows, dealt out over devices.
    pub(crate) rows: Dim,
    /// Elements of a row.
    pub(crate) width: u64,
    /// Whether a head reads the same table: then it is no mere input embedding.
    pub(crate) tied: bool,
    /// Whether the table is another's, as an encoder's that is also the decoder's: read, not stored.
    pub(crate) shared: bool,
    /// How it is stored.
    pub(crate) storage: Storage,
}

impl Part for Embedding {
    fn parameters(&self) -> Parameters {
        if self.shared {
            return Parameters::default();
        }
        let stored = self.rows.elements() * u128::from(self.width);
        Parameters { stored, input_embedding: if self.tied { 0 } else { stored }, ..Parameters::default() }
    }

    fn weight_bytes(&self, pass: &Pass) -> u128 {
        if self.shared {
            return 0;
        }
        self.storage.bytes(self.rows.local(pass.tp) * u128::from(self.width))
    }

    fn operators(&self, pass: &Pass, into: &mut Vec<Operator>) {
        let elements = pass.tp.part_of(pass.step.tokens()) * u128::from(self.width);
        into.push(Operator {
            name: self.name,
            class: "embed",
            work: Work {
                bytes: Bytes {
                    weights: self.storage.bytes(elements),
                    activations: pass.activation_bytes(elements),
                    ..Bytes::default()
                },
                ..Work::default()
            },
            storage: self.storage,
            formula: "0 (T rows are copied)",
        });
    }
}
