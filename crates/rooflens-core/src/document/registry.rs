//! Every document: its name, its type, and where it is printed or saved.

use std::collections::BTreeMap;

use rooflens_schema::DocumentSchema;
use rooflens_schema::document::rewrite;

use super::{assets, externals, samples, timeline};
use crate::config::document as config;
use crate::{
    advise, bench, compare, cost, doctor, fleet, glossary, hardware, kernels, model, plot, project, run,
    run_index, self_test, trend,
};

macro_rules! documents {
    ($($name:literal: $type:ty, $found:literal $(, $rewrite:ident)?;)*) => {
        &[$(document!($type, $name, $found $(, $rewrite)?)),*]
    };
}

macro_rules! document {
    ($type:ty, $name:literal, $found:literal) => {
        DocumentSchema::of::<$type>($name, $found)
    };
    ($type:ty, $name:literal, $found:literal, $rewrite:ident) => {
        DocumentSchema::read_by::<$type>($name, $found, $rewrite)
    };
}

const DOCUMENTS: &[DocumentSchema] = documents! {
    "advice": advise::AdviceDocument<'_>, "`rooflens advise --format json`";
    "assets-link": assets::AssetsLinkDocument, "`rooflens assets link --format json`";
    "assets-plan": assets::AssetsPlanDocument, "`rooflens assets link --dry-run --format json`";
    "assets-readme": assets::AssetsReadmeDocument, "`rooflens assets readme --format json`";
    "assets-status": assets::AssetsStatusDocument, "`rooflens assets status --format json`";
    "assets-subset": assets::AssetsSubsetDocument, "`rooflens assets subset --format json`";
    "assets-variant": assets::AssetsVariantDocument, "`rooflens assets variant --format json`";
    "assets-verify": assets::AssetsVerifyDocument, "`rooflens assets verify --format json`";
    "bench": bench::BenchDocument, "`rooflens bench --format json`, `report/metrics.json` of a load test";
    "bench-import": bench::ImportedBench, "`report/metrics.json` of a result of another client, by `rooflens import`";
    "charts": plot::ChartsDocument, "`rooflens plot --format json`";
    "comparison": compare::ComparisonDocument<'_>, "`rooflens compare --format json`";
    "config": config::ConfigDocument, "`rooflens config show --format json`";
    "config-groups": config::ConfigGroupsDocument<'_>, "`rooflens config groups --format json`";
    "config-migrated": config::ConfigMigratedDocument<'_>, "`rooflens config migrate --format json`";
    "config-sweep": config::ConfigSweepDocument, "`rooflens config show --multirun --format json`";
    "config-written": config::ConfigWrittenDocument, "`rooflens config write --format json`";
    "cost": cost::CostDocument<'_>, "`rooflens cost --format json` of one design, `report/static_compute.json` of a run";
    "cost-sweep": cost::CostSweepDocument<'_>, "`rooflens cost --format json` of many points, `report/cost_sweep.json` of a run";
    "doctor": doctor::Diagnosis, "`rooflens doctor --format json`";
    "env": run::RunEnvironment, "`report/env.json` of a run";
    "explanation": glossary::Explanation, "`rooflens explain --format json`";
    "externals-add": externals::ExternalsAddDocument, "`rooflens externals add --format json`";
    "externals-guard": externals::ExternalsGuardDocument, "`rooflens externals guard --format json`";
    "externals-staged": externals::ExternalsStagedDocument, "`rooflens externals status --staged --format json`";
    "externals-status": externals::ExternalsStatusDocument, "`rooflens externals status --format json`";
    "externals-sync": externals::ExternalsSyncDocument, "`rooflens externals sync --format json`";
    "externals-update": externals::ExternalsUpdateDocument, "`rooflens externals update --format json`";
    "queries": fleet::QueriesDocument, "`rooflens query --list --format json`";
    "query": fleet::QueryDocument, "`rooflens query --format json`";
    "store-added": fleet::StoreAddedDocument, "`rooflens store add --format json`";
    "store-changed": fleet::StoreChangedDocument, "`rooflens store compact --format json`";
    "store-removed": fleet::StoreRemovedDocument, "`rooflens store rm --format json`";
    "store-runs": fleet::StoreRunsDocument, "`rooflens runs --format json`";
    "store-vacuumed": fleet::StoreVacuumedDocument, "`rooflens store vacuum --format json`";
    "store-verified": fleet::StoreVerifiedDocument, "`rooflens store verify --format json`";
    "hardware": hardware::MeasuredDocument<'_>, "`rooflens hardware measure --format json`";
    "init": project::InitDocument, "`rooflens init --format json`";
    "kernel_profile": kernels::ProfiledDocument<'_>, "`rooflens kernels analyze --format json`, `kernels.json` that it saves";
    "list": glossary::Listing, "`rooflens list --format json`";
    "model": model::ModelRecord, "`model.json` of a run, or of `rooflens analyze --model CONFIG -o DIR`";
    "range_kernels": kernels::RangeDocument<'_>, "`rooflens kernels top --by range --format json`";
    "run": run::RunMetrics, "`rooflens run --format json`, `report/metrics.json` of a run", rewrite_run;
    "run-sweep": run::RunSweep, "`rooflens run --multirun --format json`, `sweep.json` of a sweep";
    "runs-deleted": run_index::RunsDeletedDocument, "`rooflens runs delete --format json`";
    "self-test": self_test::SelfTest, "`rooflens self-test --format json`";
    "sample": samples::SampleDocument, "`rooflens monitor --once --format json`";
    "sampler": run::SamplerRecord, "`raw/sampler/sampler.json` of a run";
    "samples": samples::SamplesHead<'_>, "the first line of `rooflens monitor --format json`";
    "samples-line": samples::SampleRow, "each further line of `rooflens monitor --format json`";
    "tags": run_index::TagsDocument, "`.rooflens/tags.json` of a run";
    "timeline": timeline::TimelineDocument<'_>, "`report/timeline.json` of a run";
    "top_kernels": kernels::TopDocument<'_>, "`rooflens kernels top --format json`";
    "trend": trend::Trend, "`rooflens trend --format json`";
};

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
        true => rewrite::<run::RunMetrics>(json),
        false => rewrite::<run::RunDocument>(json),
    }
}
