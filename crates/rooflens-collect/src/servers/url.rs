//! A server that runs already: nothing is started.

use std::path::Path;

use super::{ServerPlan, ServerPlanError, ServerProfile, ServerSpec};

pub(super) fn plan(spec: &ServerSpec, folder: &Path) -> Result<ServerPlan, ServerPlanError> {
    let base = spec.model.trim_end_matches('/');
    let base = base.strip_suffix("/v1").unwrap_or(base);
    let host = base.strip_prefix("http://").or(base.strip_prefix("https://")).unwrap_or_default();
    if host.is_empty() || host.contains(char::is_whitespace) {
        return Err(ServerPlanError::NoAddress { url: spec.model.clone() });
    }
    if let Some(flag) = spec.flags.keys().next() {
        return Err(ServerPlanError::OwnFlag { flag: flag.clone(), instead: "whoever started the server" });
    }
    let mut plan = ServerPlan::started(spec, folder, Vec::new());
    plan.base_url = base.to_owned();
    plan.ready_url = format!("{base}/v1/models");
    plan.metrics_url = format!("{base}/metrics");
    plan.served_name = spec.served_name.clone();
    if spec.profile {
        // What it was started with is not known; one without a profiler answers 404.
        plan.profile = ServerProfile::Nothing {
            why: "the server runs already: where its traces land is not known".to_owned(),
        };
    }
    Ok(plan)
}
