//! `trtllm-serve`.

use std::path::Path;

use super::plan::{
    HOST, ServerPlan, ServerPlanError, ServerProfile, ServerSpec, Spelling, text, whole, words,
};

const SPELLING: Spelling = Spelling {
    separator: '_',
    has_no: false,
    own: &[("host", "the plan"), ("port", "port"), ("model", "model"), ("served_model_name", "served_name")],
};

/// Without it, there are no metrics of requests.
const CONFIG: &str = "return_perf_metrics: true\n";

pub(super) fn plan(spec: &ServerSpec, folder: &Path) -> Result<ServerPlan, ServerPlanError> {
    let mut argv = match &spec.python {
        Some(python) => vec![text(python), "-m".to_owned(), "tensorrt_llm.commands.serve".to_owned()],
        None => vec!["trtllm-serve".to_owned()],
    };
    argv.extend(["serve", &spec.model, "--host", HOST, "--port", &spec.port.to_string()].map(str::to_owned));
    if let Some(name) = &spec.served_name {
        argv.extend(["--served_model_name".to_owned(), name.clone()]);
    }
    let is_config = |flag: &String| {
        ["config", "extra_llm_api_options"].contains(&flag.trim_start_matches('-').replace('-', "_").as_str())
    };
    let own_config = !spec.flags.keys().any(is_config);
    let config = folder.join("config.yaml");
    if own_config {
        argv.extend(["--extra_llm_api_options".to_owned(), text(&config)]);
    }
    argv.extend(words(spec, &SPELLING)?);
    let mut plan = ServerPlan::started(spec, folder, argv);
    if own_config {
        plan.writes.insert(config, CONFIG.to_owned());
    }
    plan.metrics_url = format!("{}/prometheus/metrics", plan.base_url);
    plan.running_limit = whole(spec, &["max_batch_size"]);
    if spec.profile {
        let why = "trtllm-serve profiles by iteration numbers that are set when it starts \
                   (TLLM_PROFILE_START_STOP), not on request";
        plan.profile = ServerProfile::Nothing { why: why.to_owned() };
    }
    Ok(plan)
}
