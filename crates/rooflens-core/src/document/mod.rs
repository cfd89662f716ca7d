//! JSON documents: one for programs, the same on standard output and in a run directory.

pub mod assets;
pub mod externals;
pub mod samples;
pub(crate) mod timeline;

use std::collections::BTreeMap;

use rooflens_schema::document::rewrite;
use serde::de::{DeserializeOwned, Deserializer, Error as _};
use serde_json::value::RawValue;

use crate::config::document as config;

pub use rooflens_analyze::document::{AnalysisDocument, FindingDocument};
pub use rooflens_schema::{DocumentSchema, SchemaTag};

/// The documents whose types this crate defines.
pub(crate) const DOCUMENTS: &[DocumentSchema] = &[
    DocumentSchema::of::<crate::advise::AdviceDocument<'_>>("advice", "`rooflens advise --format json`"),
    DocumentSchema::of::<assets::AssetsLinkDocument>("assets-link", "`rooflens assets link --format json`"),
    DocumentSchema::of::<assets::AssetsPlanDocument>(
        "assets-plan",
        "`rooflens assets link --dry-run --format json`",
    ),
    DocumentSchema::of::<assets::AssetsReadmeDocument>(
        "assets-readme",
        "`rooflens assets readme --format json`",
    ),
    DocumentSchema::of::<assets::AssetsStatusDocument>(
        "assets-status",
        "`rooflens assets status --format json`",
    ),
    DocumentSchema::of::<assets::AssetsSubsetDocument>(
        "assets-subset",
        "`rooflens assets subset --format json`",
    ),
    DocumentSchema::of::<assets::AssetsVariantDocument>(
        "assets-variant",
        "`rooflens assets variant --format json`",
    ),
    DocumentSchema::of::<assets::AssetsVerifyDocument>(
        "assets-verify",
        "`rooflens assets verify --format json`",
    ),
    DocumentSchema::of::<crate::bench::BenchDocument>(
        "bench",
        "`rooflens bench --format json`, `report/metrics.json` of a load test",
    ),
    DocumentSchema::of::<crate::bench::ImportedBench>(
        "bench-import",
        "`report/metrics.json` of a result of another client, by `rooflens import`",
    ),
    DocumentSchema::of::<crate::plot::ChartsDocument>("charts", "`rooflens plot --format json`"),
    DocumentSchema::of::<crate::compare::ComparisonDocument<'_>>(
        "comparison",
        "`rooflens compare --format json`",
    ),
    DocumentSchema::of::<config::ConfigDocument>("config", "`rooflens config show --format json`"),
    DocumentSchema::of::<config::ConfigGroupsDocument<'_>>(
        "config-groups",
        "`rooflens config groups --format json`",
    ),
    DocumentSchema::of::<config::ConfigMigratedDocument<'_>>(
        "config-migrated",
        "`rooflens config migrate --format json`",
    ),
    DocumentSchema::of::<config::ConfigSweepDocument>(
        "config-sweep",
        "`rooflens config show --multirun --format json`",
    ),
    DocumentSchema::of::<config::ConfigWrittenDocument>(
        "config-written",
        "`rooflens config write --format json`",
    ),
    DocumentSchema::of::<crate::cost::CostDocument<'_>>(
        "cost",
        "`rooflens cost --format json` of one design, `report/static_compute.json` of a run",
    ),
    DocumentSchema::of::<crate::cost::CostSweepDocument<'_>>(
        "cost-sweep",
        "`rooflens cost --format json` of many points, `report/cost_sweep.json` of a run",
    ),
    DocumentSchema::of::<crate::doctor::Diagnosis>("doctor", "`rooflens doctor --format json`"),
    DocumentSchema::of::<crate::run::RunEnvironment>("env", "`report/env.json` of a run"),
    DocumentSchema::of::<crate::glossary::Explanation>("explanation", "`rooflens explain --format json`"),
    DocumentSchema::of::<externals::ExternalsAddDocument>(
        "externals-add",
        "`rooflens externals add --format json`",
    ),
    DocumentSchema::of::<externals::ExternalsGuardDocument>(
        "externals-guard",
        "`rooflens externals guard --format json`",
    ),
    DocumentSchema::of::<externals::ExternalsStagedDocument>(
        "externals-staged",
        "`rooflens externals status --staged --format json`",
    ),
    DocumentSchema::of::<externals::ExternalsStatusDocument>(
        "externals-status",
        "`rooflens externals status --format json`",
    ),
    DocumentSchema::of::<externals::ExternalsSyncDocument>(
        "externals-sync",
        "`rooflens externals sync --format json`",
    ),
    DocumentSchema::of::<externals::ExternalsUpdateDocument>(
        "externals-update",
        "`rooflens externals update --format json`",
    ),
    DocumentSchema::of::<crate::fleet::QueriesDocument>("queries", "`rooflens query --list --format json`"),
    DocumentSchema::of::<crate::fleet::QueryDocument>("query", "`rooflens query --format json`"),
    DocumentSchema::of::<crate::fleet::StoreAddedDocument>(
        "store-added",
        "`rooflens store add --format json`",
    ),
    DocumentSchema::of::<crate::fleet::StoreChangedDocument>(
        "store-changed",
        "`rooflens store compact --format json`",
    ),
    DocumentSchema::of::<crate::fleet::StoreRemovedDocument>(
        "store-removed",
        "`rooflens store rm --format json`",
    ),
    DocumentSchema::of::<crate::fleet::StoreRunsDocument>("store-runs", "`rooflens runs --format json`"),
    DocumentSchema::of::<crate::fleet::StoreVacuumedDocument>(
        "store-vacuumed",
        "`rooflens store vacuum --format json`",
    ),
    DocumentSchema::of::<crate::fleet::StoreVerifiedDocument>(
        "store-verified",
        "`rooflens store verify --format json`",
    ),
    DocumentSchema::of::<crate::hardware::MeasuredDocument<'_>>(
        "hardware",
        "`rooflens hardware measure --format json`",
    ),
    DocumentSchema::of::<crate::project::InitDocument>("init", "`rooflens init --format json`"),
    DocumentSchema::of::<crate::kernels::ProfiledDocument<'_>>(
        "kernel_profile",
        "`rooflens kernels analyze --format json`, `kernels.json` that it saves",
    ),
    DocumentSchema::of::<crate::glossary::Listing>("list", "`rooflens list --format json`"),
    DocumentSchema::of::<crate::model::ModelRecord>(
        "model",
        "`model.json` of a run, or of `rooflens analyze --model CONFIG -o DIR`",
    ),
    DocumentSchema::of::<crate::kernels::RangeDocument<'_>>(
        "range_kernels",
        "`rooflens kernels top --by range --format json`",
    ),
    DocumentSchema::read_by::<crate::run::RunMetrics>(
        "run",
        "`rooflens run --format json`, `report/metrics.json` of a run",
        rewrite_run,
    ),
    DocumentSchema::of::<crate::run::RunSweep>(
        "run-sweep",
        "`rooflens run --multirun --format json`, `sweep.json` of a sweep",
    ),
    DocumentSchema::of::<crate::run_index::RunsDeletedDocument>(
        "runs-deleted",
        "`rooflens runs delete --format json`",
    ),
    DocumentSchema::of::<crate::self_test::SelfTest>("self-test", "`rooflens self-test --format json`"),
    DocumentSchema::of::<samples::SampleDocument>("sample", "`rooflens monitor --once --format json`"),
    DocumentSchema::of::<crate::run::SamplerRecord>("sampler", "`raw/sampler/sampler.json` of a run"),
    DocumentSchema::of::<samples::SamplesHead<'_>>(
        "samples",
        "the first line of `rooflens monitor --format json`",
    ),
    DocumentSchema::of::<samples::SampleRow>(
        "samples-line",
        "each further line of `rooflens monitor --format json`",
    ),
    DocumentSchema::of::<crate::run_index::TagsDocument>("tags", "`.rooflens/tags.json` of a run"),
    DocumentSchema::of::<timeline::TimelineDocument<'_>>("timeline", "`report/timeline.json` of a run"),
    DocumentSchema::of::<crate::kernels::TopDocument<'_>>(
        "top_kernels",
        "`rooflens kernels top --format json`",
    ),
    DocumentSchema::of::<crate::trend::Trend>("trend", "`rooflens trend --format json`"),
];

/// Every document that is printed or saved.
pub fn all() -> impl Iterator<Item = &'static DocumentSchema> {
    let others = [rooflens_analyze::document::DOCUMENTS, rooflens_report::block::DOCUMENTS];
    let others = others.into_iter().chain([rooflens_collect::DOCUMENTS]).flatten();
    DOCUMENTS.iter().chain(others)
}

/// `metrics.json` has the findings beside the numbers of the run, which are printed alone.
fn rewrite_run(json: &str) -> Result<String, serde_json::Error> {
    let keys: BTreeMap<String, serde::de::IgnoredAny> = serde_json::from_str(json)?;
    match keys.contains_key("analysis") {
        true => rewrite::<crate::run::RunMetrics>(json),
        false => rewrite::<crate::run::RunDocument>(json),
    }
}

/// Reads two types from one JSON object, where the fields of one are written among those of the other. Serde
/// reads `flatten` by way of a value that has no 128-bit numbers; this reads the text twice instead.
pub(crate) fn read_both<'de, A: DeserializeOwned, B: DeserializeOwned, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<(A, B), D::Error> {
    let object: Box<RawValue> = serde::Deserialize::deserialize(deserializer)?;
    let first = serde_json::from_str(object.get()).map_err(D::Error::custom)?;
    let second = serde_json::from_str(object.get()).map_err(D::Error::custom)?;
    Ok((first, second))
}

/// The entry that every document has, read alone.
#[derive(serde::Deserialize)]
pub(crate) struct Tagged {
    pub(crate) schema: SchemaTag,
}
