//! What `rooflens assets` prints as JSON.

use rooflens_collect::project::assets::readme::{DatasetTree, Readme};
use rooflens_collect::project::assets::variants::{
    Subset, VariantMetadata, VariantPlan, VariantVerification,
};
use rooflens_collect::project::assets::{AssetOutcome, AssetStatus, AssetStep, AssetVerification};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SchemaTag;

/// Status of each asset of a project.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AssetsStatusDocument {
    /// `rooflens.assets-status`.
    pub schema: SchemaTag,
    /// The assets, in order.
    pub assets: Vec<AssetStatus>,
}

/// What linking the assets of a project would do.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AssetsPlanDocument {
    /// `rooflens.assets-plan`.
    pub schema: SchemaTag,
    /// The steps, in order.
    pub steps: Vec<AssetStep>,
}

/// What linking the assets of a project did.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AssetsLinkDocument {
    /// `rooflens.assets-link`.
    pub schema: SchemaTag,
    /// How many steps changed something.
    pub changes: usize,
    /// The steps, in order, with their results.
    pub steps: Vec<AssetOutcome>,
    /// Status of each asset now.
    pub assets: Vec<AssetStatus>,
}

/// Whether the assets and variants of a project are what they should be.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AssetsVerifyDocument {
    /// `rooflens.assets-verify`.
    pub schema: SchemaTag,
    /// Whether nothing is wrong.
    pub sound: bool,
    /// The assets, in order.
    pub assets: Vec<AssetVerification>,
    /// The variants of datasets.
    #[serde(default)]
    pub variants: Vec<VariantVerification>,
}

/// A reproducible sample of a dataset's files.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AssetsSubsetDocument {
    /// `rooflens.assets-subset`.
    pub schema: SchemaTag,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// The sample.
    #[serde(flatten)]
    pub subset: Subset,
}

/// Transformed data of a dataset.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AssetsVariantDocument {
    /// `rooflens.assets-variant`.
    pub schema: SchemaTag,
    /// Whether nothing was made.
    pub dry_run: bool,
    /// Where it is made, and from what.
    #[serde(flatten)]
    pub plan: VariantPlan,
    /// What was made; null for a dry run.
    pub metadata: Option<VariantMetadata>,
}

/// The top level of a dataset's source data, and the README that lists it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AssetsReadmeDocument {
    /// `rooflens.assets-readme`.
    pub schema: SchemaTag,
    /// Whether it was only compared, not written.
    pub check: bool,
    /// The README.
    #[serde(flatten)]
    pub readme: Readme,
    /// What it lists.
    pub tree: DatasetTree,
}
