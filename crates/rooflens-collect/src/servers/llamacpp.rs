//! The server of llama.cpp: `llama-server`, or the same in the Python package `xllamacpp`.

use std::path::Path;

use serde_json::{Map, Value, json};

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
        ("m", "model"),
        ("alias", "served_name"),
        ("metrics", "the plan"),
    ],
};

/// `xllamacpp` has no command line: its parameters are attributes, a dot leads into one that has its own.
const SERVE: &str = "\
import json, sys, threading, xllamacpp
params = xllamacpp.CommonParams()
if hasattr(params, 'hostnames'):
    params.hostnames = ['127.0.0.1']
else:
    params.hostname = '127.0.0.1'
for name, value in json.loads(sys.argv[1]).items():
    *path, last = name.split('.')
    place = params
    for part in path:
        place = getattr(place, part)
    if not hasattr(place, last):
        sys.exit(f'xllamacpp has no parameter {name}')
    setattr(place, last, value)
server = xllamacpp.Server(params)
threading.Event().wait()
";

const OWN: &[(&str, &str)] = &[
    ("hostname", "the plan"),
    ("hostnames", "the plan"),
    ("port", "port"),
    ("model.path", "model"),
    ("model_alias", "served_name"),
    ("endpoint_metrics", "the plan"),
];

pub(super) fn plan(spec: &ServerSpec, folder: &Path) -> Result<ServerPlan, ServerPlanError> {
    let argv = match &spec.python {
        Some(python) => {
            vec![text(python), "-c".to_owned(), SERVE.to_owned(), Value::Object(params(spec)?).to_string()]
        }
        None => program(spec)?,
    };
    let mut plan = ServerPlan::started(spec, folder, argv);
    plan.running_limit = whole(spec, &["n_parallel", "parallel", "np"]);
    if spec.profile {
        plan.profile = ServerProfile::Nothing { why: "llama.cpp has no profiler".to_owned() };
    }
    Ok(plan)
}

fn program(spec: &ServerSpec) -> Result<Vec<String>, ServerPlanError> {
    let port = spec.port.to_string();
    let mut argv: Vec<String> =
        ["llama-server", "-m", &spec.model, "--host", HOST, "--port", &port, "--metrics"]
            .map(str::to_owned)
            .to_vec();
    if let Some(name) = &spec.served_name {
        argv.extend(["--alias".to_owned(), name.clone()]);
    }
    argv.extend(words(spec, &SPELLING)?);
    Ok(argv)
}

fn params(spec: &ServerSpec) -> Result<Map<String, Value>, ServerPlanError> {
    let mut params = Map::new();
    params.insert("model.path".to_owned(), json!(spec.model));
    params.insert("port".to_owned(), json!(spec.port));
    params.insert("endpoint_metrics".to_owned(), json!(true));
    if let Some(name) = &spec.served_name {
        params.insert("model_alias".to_owned(), json!([name]));
    }
    for (flag, value) in spec.flags.iter().filter(|(_, value)| !value.is_null()) {
        if let Some((_, instead)) = OWN.iter().find(|(own, _)| own == flag) {
            return Err(ServerPlanError::own_flag(flag, instead));
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        if flag.is_empty() || !flag.chars().all(is_name) {
            return Err(ServerPlanError::no_flag(flag));
        }
        params.insert(flag.clone(), value.clone());
    }
    Ok(params)
}
