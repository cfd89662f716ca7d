//! `vllm serve`.

use std::path::Path;

use serde_json::json;

use super::plan::{
    HOST, ServerPlan, ServerPlanError, ServerProfile, ServerSpec, Spelling, text, whole, words,
};

const SPELLING: Spelling = Spelling {
    separator: '-',
    has_no: true,
    own: &[
        ("host", "the plan"),
        ("port", "port"),
        ("model", "model"),
        ("served_model_name", "served_name"),
        ("profiler_config", "profile"),
    ],
};

pub(super) fn plan(spec: &ServerSpec, folder: &Path) -> Result<ServerPlan, ServerPlanError> {
    let mut argv = match &spec.python {
        Some(python) => vec![text(python), "-m".to_owned(), "vllm.entrypoints.cli.main".to_owned()],
        None => vec!["vllm".to_owned()],
    };
    argv.extend(["serve", &spec.model, "--host", HOST, "--port", &spec.port.to_string()].map(str::to_owned));
    if let Some(name) = &spec.served_name {
        argv.extend(["--served-model-name".to_owned(), name.clone()]);
    }
    let mut profile = ServerProfile::not_asked();
    if spec.profile {
        let traces = folder.join("traces");
        // Stacks cost more than what they are to explain.
        let config = json!({
            "profiler": "torch",
            "torch_profiler_dir": text(&traces),
            "torch_profiler_with_stack": false,
            "torch_profiler_record_shapes": true,
        });
        argv.extend(["--profiler-config".to_owned(), config.to_string()]);
        profile = ServerProfile::StartStop { traces };
    }
    argv.extend(words(spec, &SPELLING)?);
    let mut plan = ServerPlan::started(spec, folder, argv);
    plan.env.entry("VLLM_NO_USAGE_STATS".to_owned()).or_insert_with(|| "1".to_owned());
    plan.running_limit = whole(spec, &["max_num_seqs"]);
    plan.profile = profile;
    Ok(plan)
}
