//! What `rooflens assets` prints as JSON.

use std::borrow::Cow;

use rooflens_project::assets::readme::{DatasetTree, Readme};
use rooflens_project::assets::subset::Subset;
use rooflens_project::assets::variant::{VariantMetadata, VariantPlan, VariantVerification};
use rooflens_project::assets::{AssetOutcome, AssetStatus, AssetStep, AssetVerification};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SchemaTag;

/// How each asset of a project stands.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AssetsStatusDocument<'a> {
    /// `rooflens.assets-status`.
    pub schema: SchemaTag,
    /// One for each asset, in order.
    pub assets: Cow<'a, [AssetStatus]>,
}

impl<'a> AssetsStatusDocument<'a> {
    /// Of these assets.
    pub fn new(assets: &'a [AssetStatus]) -> Self {
        AssetsStatusDocument { schema: SchemaTag::new("assets-status"), assets: assets.into() }
    }
}

/// What linking the assets of a project would do.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AssetsPlanDocument<'a> {
    /// `rooflens.assets-plan`.
    pub schema: SchemaTag,
    /// The steps, in order.
    pub steps: Cow<'a, [AssetStep]>,
}

impl<'a> AssetsPlanDocument<'a> {
    /// Of these steps.
    pub fn new(steps: &'a [AssetStep]) -> Self {
        AssetsPlanDocument { schema: SchemaTag::new("assets-plan"), steps: steps.into() }
    }
}

/// What linking the assets of a project did.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AssetsLinkDocument<'a> {
    /// `rooflens.assets-link`.
    pub schema: SchemaTag,
    /// How many steps changed something.
    pub changes: usize,
    /// The steps, in order, with what became of each.
    pub steps: Cow<'a, [AssetOutcome]>,
    /// How each asset stands now.
    pub assets: Cow<'a, [AssetStatus]>,
}

impl<'a> AssetsLinkDocument<'a> {
    /// Of what was done and how all stands now.
    pub fn new(changes: usize, steps: &'a [AssetOutcome], assets: &'a [AssetStatus]) -> Self {
        let schema = SchemaTag::new("assets-link");
        AssetsLinkDocument { schema, changes, steps: steps.into(), assets: assets.into() }
    }
}

/// Whether the assets and variants of a project are what they should be.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AssetsVerifyDocument<'a> {
    /// `rooflens.assets-verify`.
    pub schema: SchemaTag,
    /// Whether nothing is wrong.
    pub sound: bool,
    /// One for each asset, in order.
    pub assets: Cow<'a, [AssetVerification]>,
    /// One for each variant of a dataset.
    #[serde(default)]
    pub variants: Cow<'a, [VariantVerification]>,
}

impl<'a> AssetsVerifyDocument<'a> {
    /// Of these checks.
    pub fn new(sound: bool, assets: &'a [AssetVerification], variants: &'a [VariantVerification]) -> Self {
        let schema = SchemaTag::new("assets-verify");
        AssetsVerifyDocument { schema, sound, assets: assets.into(), variants: variants.into() }
    }
}

/// A reproducible sample of a dataset's files.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AssetsSubsetDocument<'a> {
    /// `rooflens.assets-subset`.
    pub schema: SchemaTag,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// The sample.
    #[serde(flatten)]
    pub subset: Cow<'a, Subset>,
}

impl<'a> AssetsSubsetDocument<'a> {
    /// Of this sample.
    pub fn new(dry_run: bool, subset: &'a Subset) -> Self {
        AssetsSubsetDocument {
            schema: SchemaTag::new("assets-subset"),
            dry_run,
            subset: Cow::Borrowed(subset),
        }
    }
}

/// Transformed data of a dataset.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AssetsVariantDocument<'a> {
    /// `rooflens.assets-variant`.
    pub schema: SchemaTag,
    /// Whether nothing was made.
    pub dry_run: bool,
    /// Where it is made, and from what.
    #[serde(flatten)]
    pub plan: Cow<'a, VariantPlan>,
    /// What was made; null where nothing was.
    pub metadata: Option<Cow<'a, VariantMetadata>>,
}

impl<'a> AssetsVariantDocument<'a> {
    /// Of what was planned, and of what was made.
    pub fn new(dry_run: bool, plan: &'a VariantPlan, metadata: Option<&'a VariantMetadata>) -> Self {
        AssetsVariantDocument {
            schema: SchemaTag::new("assets-variant"),
            dry_run,
            plan: Cow::Borrowed(plan),
            metadata: metadata.map(Cow::Borrowed),
        }
    }
}

/// The first level of a dataset's source data, and the README that lists it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AssetsReadmeDocument<'a> {
    /// `rooflens.assets-readme`.
    pub schema: SchemaTag,
    /// Whether it was only compared, not written.
    pub check: bool,
    /// The README.
    #[serde(flatten)]
    pub readme: Cow<'a, Readme>,
    /// What it lists.
    pub tree: Cow<'a, DatasetTree>,
}

impl<'a> AssetsReadmeDocument<'a> {
    /// Of this README.
    pub fn new(check: bool, readme: &'a Readme, tree: &'a DatasetTree) -> Self {
        AssetsReadmeDocument {
            schema: SchemaTag::new("assets-readme"),
            check,
            readme: Cow::Borrowed(readme),
            tree: Cow::Borrowed(tree),
        }
    }
}
