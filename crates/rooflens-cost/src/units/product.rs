//! Products of activations with activations: nothing is stored.

use super::Part;
use crate::operator::{Bytes, Flops, Operator, Work};
use crate::pass::Pass;
use crate::precision::Storage;

/// A product without weights that every device makes for every token: the mixing of residual streams,
/// tables of rotations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Product {
    /// Name of the operator.
    pub(crate) name: &'static str,
    /// Class of the operator.
    pub(crate) class: &'static str,
    /// Operations for each token as the framework's counter sees them.
    pub(crate) counted: u64,
    /// Operations for each token that the result needs: 0 where engines read a table instead.
    pub(crate) useful: u64,
    /// Elements read and written for each token.
    pub(crate) moved: u64,
    /// How its operations are counted.
    pub(crate) formula: &'static str,
}

impl Part for Product {
    fn operators(&self, pass: &Pass, into: &mut Vec<Operator>) {
        let tokens = pass.replicated_rows(pass.step.tokens());
        let useful = tokens * u128::from(self.useful);
        into.push(Operator {
            name: self.name,
            class: self.class,
            work: Work {
                flops: Flops { as_counted: tokens * u128::from(self.counted), useful, issued: useful },
                bytes: Bytes {
                    activations: pass.activation_bytes(tokens * u128::from(self.moved)),
                    ..Bytes::default()
                },
                copied_flops: if pass.tp.rank > 0 && !pass.sequence_parallel { useful } else { 0 },
                ..Work::default()
            },
            storage: Storage::plain(pass.activation),
            formula: self.formula,
        });
    }
}
