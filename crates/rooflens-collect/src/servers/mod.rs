//! Servers as runtimes: what is asked for ([`ServerSpec`]) → how it is started, found ready, measured and profiled
//! ([`ServerPlan`], pure) → a process ([`ServerProcess`]). One file per server.

mod llamacpp;
mod plan;
mod process;
mod sglang;
mod trtllm;
mod vllm;

use std::path::Path;

pub use self::plan::{ServerPlan, ServerPlanError, ServerProfile, ServerProgram, ServerSpec};
pub use self::process::{ServerError, ServerExit, ServerProcess};

impl ServerPlan {
    /// The plan of a spec. Logs and traces go to a folder, which must be absolute.
    pub fn new(spec: &ServerSpec, folder: &Path) -> Result<Self, ServerPlanError> {
        if !folder.is_absolute() {
            return Err(ServerPlanError(format!("the folder {} must be absolute", folder.display())));
        }
        match spec.program {
            ServerProgram::VllmServer => vllm::plan(spec, folder),
            ServerProgram::SglangServer => sglang::plan(spec, folder),
            ServerProgram::LlamacppServer => llamacpp::plan(spec, folder),
            ServerProgram::TrtllmServer => trtllm::plan(spec, folder),
            ServerProgram::Url => running(spec, folder),
        }
    }
}

fn running(spec: &ServerSpec, folder: &Path) -> Result<ServerPlan, ServerPlanError> {
    let base = spec.model.trim_end_matches('/');
    let base = base.strip_suffix("/v1").unwrap_or(base);
    let host = base.strip_prefix("http://").or(base.strip_prefix("https://")).unwrap_or_default();
    if host.is_empty() || host.contains(char::is_whitespace) {
        return Err(ServerPlanError(format!("'{}' is no address of a server", spec.model)));
    }
    if let Some(flag) = spec.flags.keys().next() {
        return Err(ServerPlanError::own_flag(flag, "whoever started the server"));
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
