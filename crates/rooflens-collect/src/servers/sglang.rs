//! `python -m sglang.launch_server`.

use std::path::Path;

use super::plan::{
    HOST, ServerPlan, ServerPlanError, ServerProfile, ServerSpec, Spelling, text, whole, words,
};

const SPELLING: Spelling = Spelling {
    separator: '-',
    has_no: false,
    own: &[
        ("host", "the plan"),
        ("port", "port"),
        ("model", "model"),
        ("model_path", "model"),
        ("served_model_name", "served_name"),
        ("enable_metrics", "the plan"),
    ],
};

pub(super) fn plan(spec: &ServerSpec, folder: &Path) -> Result<ServerPlan, ServerPlanError> {
    let python = spec.python.as_deref().map_or_else(|| "python3".to_owned(), text);
    let mut argv = vec![python];
    argv.extend(["-m", "sglang.launch_server", "--model-path", &spec.model].map(str::to_owned));
    argv.extend(["--host", HOST, "--port", &spec.port.to_string(), "--enable-metrics"].map(str::to_owned));
    if let Some(name) = &spec.served_name {
        argv.extend(["--served-model-name".to_owned(), name.clone()]);
    }
    argv.extend(words(spec, &SPELLING)?);
    let mut plan = ServerPlan::started(spec, folder, argv);
    plan.running_limit = whole(spec, &["max_running_requests"]);
    if spec.profile {
        let traces = folder.join("traces");
        plan.env.insert("SGLANG_TORCH_PROFILER_DIR".to_owned(), text(&traces));
        plan.profile = ServerProfile::StartStopWithFolder { traces };
    }
    Ok(plan)
}
