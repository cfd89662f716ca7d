//! Variants of datasets: folders beside `source-data`, each with its `metadata.yaml`.
//!
//! | variant | holds | made by |
//! | --- | --- | --- |
//! | a subset | `files.txt`, paths of its parent's files | [`subset`](super::subset) |
//! | transformed data | its own files, in `data/` | [`write_variant`], by a command of the user's |
//!
//! [`locate_variant`] says where the samples of either are; [`verify_variants`] compares both with
//! what their metadata says.

mod locate;
mod make;
mod metadata;
mod verify;

pub use locate::{VariantFiles, locate_variant};
pub use make::{Transforming, VariantPlan, VariantRequest, plan_variant, write_variant};
pub use metadata::{VariantMetadata, VariantOrigin};
pub use verify::{VariantVerification, verify_variants};

/// Where a variant has data of its own.
pub(super) const DATA: &str = "data";
/// The dataset as others made it, which is no variant.
pub(super) const SOURCE: &str = "source-data";
