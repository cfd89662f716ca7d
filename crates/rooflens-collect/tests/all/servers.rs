//! Servers as runtimes: how each is started, and that a process ends with all that it started.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use rooflens_collect::servers::{
    ServerError, ServerPlan, ServerProcess, ServerProfile, ServerProgram, ServerSpec,
};
use serde_json::{Value, json};

fn spec(program: ServerProgram, flags: Value) -> ServerSpec {
    ServerSpec {
        program,
        model: "/models/tiny".to_owned(),
        served_name: Some("tiny".to_owned()),
        port: 8000,
        python: None,
        flags: serde_json::from_value(flags).unwrap(),
        env: BTreeMap::new(),
        profile: true,
    }
}

fn plan(spec: &ServerSpec) -> ServerPlan {
    ServerPlan::new(spec, Path::new("/run/server")).unwrap()
}

/// The plan as a document, its words in lines.
fn told(spec: &ServerSpec) -> String {
    serde_json::to_string_pretty(&plan(spec)).unwrap()
}

#[test]
fn vllm() {
    let flags = json!({
        "max_num_seqs": 64, "enforce_eager": true, "enable-prefix-caching": false, "dtype": "float32",
        "speculative_config": {"method": "ngram"}, "middleware": ["a", "b"], "quantization": null
    });
    insta::assert_snapshot!(told(&spec(ServerProgram::VllmServer, flags)));
    let mut with_python = spec(ServerProgram::VllmServer, json!({}));
    (with_python.python, with_python.profile) = (Some("/venv/bin/python".into()), false);
    let plan = plan(&with_python);
    assert_eq!(plan.argv[..4], ["/venv/bin/python", "-m", "vllm.entrypoints.cli.main", "serve"]);
    assert!(!plan.argv.contains(&"--profiler-config".to_owned()));
    assert_eq!(plan.profile.traces(), None);
}

#[test]
fn sglang() {
    let flags =
        json!({ "max_running_requests": 32, "disable_radix_cache": true, "enable_mixed_chunk": false });
    insta::assert_snapshot!(told(&spec(ServerProgram::SglangServer, flags)));
}

#[test]
fn trtllm() {
    let flags = json!({ "max_batch_size": 8, "enable-chunked-prefill": true, "backend": "pytorch" });
    insta::assert_snapshot!(told(&spec(ServerProgram::TrtllmServer, flags)));
    let own = plan(&spec(ServerProgram::TrtllmServer, json!({ "config": "/my.yaml" })));
    assert!(own.writes.is_empty());
    assert!(own.argv.ends_with(&["--config".to_owned(), "/my.yaml".to_owned()]), "{:?}", own.argv);
}

#[test]
fn llamacpp() {
    let flags = json!({ "parallel": 4, "ctx-size": 4096, "-ngl": 0 });
    insta::assert_snapshot!(told(&spec(ServerProgram::LlamacppServer, flags)));
    let mut with_python =
        spec(ServerProgram::LlamacppServer, json!({ "n_parallel": 4, "cpuparams.n_threads": 2 }));
    with_python.python = Some("python3".into());
    let plan = plan(&with_python);
    assert_eq!(plan.argv[..2], ["python3", "-c"]);
    let params: Value = serde_json::from_str(&plan.argv[3]).unwrap();
    assert_eq!(
        params,
        json!({
            "model.path": "/models/tiny", "port": 8000, "endpoint_metrics": true,
            "model_alias": ["tiny"], "n_parallel": 4, "cpuparams.n_threads": 2
        })
    );
    assert_eq!(plan.running_limit, Some(4));
}

#[test]
fn url() {
    let mut there = spec(ServerProgram::Url, json!({}));
    there.model = "http://127.0.0.1:8000/v1/".to_owned();
    insta::assert_snapshot!(told(&there));
}

#[test]
fn what_a_plan_sets_cannot_be_a_flag() {
    for (program, flag) in [
        (ServerProgram::VllmServer, "port"),
        (ServerProgram::VllmServer, "--profiler-config"),
        (ServerProgram::SglangServer, "model-path"),
        (ServerProgram::TrtllmServer, "host"),
        (ServerProgram::LlamacppServer, "-m"),
        (ServerProgram::LlamacppServer, "metrics"),
    ] {
        let refused = ServerPlan::new(&spec(program, json!({ flag: 1 })), Path::new("/run"));
        assert!(refused.unwrap_err().to_string().contains("cannot be set"), "{flag}");
    }
    for flag in ["", "--", "a b", "a=b", "ä"] {
        let refused =
            ServerPlan::new(&spec(ServerProgram::VllmServer, json!({ flag: 1 })), Path::new("/run"));
        assert!(refused.unwrap_err().to_string().contains("no name of a flag"), "{flag}");
    }
    let nested = spec(ServerProgram::VllmServer, json!({ "x": [[1]] }));
    let refused = ServerPlan::new(&nested, Path::new("/run")).unwrap_err();
    assert_eq!(refused.to_string(), "the flag x cannot be [1]");
    let fine = spec(ServerProgram::VllmServer, json!({}));
    let relative = ServerPlan::new(&fine, Path::new("run"));
    assert_eq!(relative.unwrap_err().to_string(), "the folder run must be absolute");
    let mut nowhere = spec(ServerProgram::Url, json!({}));
    for model in ["tiny", "http://", "ftp://a", "http://a b"] {
        nowhere.model = model.to_owned();
        let refused = ServerPlan::new(&nowhere, Path::new("/run"));
        assert!(refused.unwrap_err().to_string().contains("no address of a server"), "{model}");
    }
}

#[test]
fn names_find_their_program() {
    for program in ServerProgram::ALL {
        assert_eq!(ServerProgram::find(program.name()), Some(program));
        assert_eq!(serde_json::to_value(program).unwrap(), program.name());
    }
    assert_eq!(ServerProgram::find("vllm"), None);
}

/// A plan that runs a script of Python.
fn scripted(folder: &Path, script: &str) -> ServerPlan {
    let any = spec(ServerProgram::VllmServer, json!({})).with_free_port().unwrap();
    let mut plan = ServerPlan::new(&ServerSpec { port: 0, ..any }.with_free_port().unwrap(), folder).unwrap();
    let port = plan.base_url.rsplit(':').next().unwrap().to_owned();
    plan.argv = vec!["python3".to_owned(), "-c".to_owned(), script.to_owned(), port];
    plan
}

/// Answers 503 twice, then 200. Has a child in its group, and does as told when it is asked to end.
const SERVER: &str = "
import http.server, os, signal, subprocess, sys, time
child = subprocess.Popen(['sleep', '3600'])
print('child', child.pid, flush=True)
asked = 0
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        global asked
        asked += 1
        self.send_response(200 if asked > 2 else 503)
        self.end_headers()
    def log_message(self, *words):
        pass
STOP
http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), Handler).serve_forever()
";

const LONG: Duration = Duration::from_secs(600);

fn child_of(folder: &Path) -> i32 {
    let log = std::fs::read_to_string(folder.join("server.log")).unwrap();
    log.lines().find_map(|line| line.strip_prefix("child ")).unwrap().parse().unwrap()
}

fn lives(process: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

#[test]
fn a_server_is_waited_for_and_ends_with_its_children() {
    let folder = tempfile::tempdir().unwrap();
    let plan = scripted(folder.path(), &SERVER.replace("STOP", ""));
    let mut server = ServerProcess::start(&plan).unwrap();
    server.wait_until_ready(LONG, &|| false).unwrap();
    server.still_running().unwrap();
    let (leader, child) = (i32::try_from(server.id().unwrap()).unwrap(), child_of(folder.path()));
    assert!(lives(leader) && lives(child));
    let exit = server.stop(LONG).unwrap();
    assert_eq!((exit.signal, exit.killed, exit.left_behind.len()), (Some(15), false, 0));
    assert!(!lives(leader) && !lives(child));
}

#[test]
fn one_that_does_not_stop_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let deaf = SERVER.replace("STOP", "signal.signal(signal.SIGTERM, signal.SIG_IGN)");
    let mut server = ServerProcess::start(&scripted(folder.path(), &deaf)).unwrap();
    server.wait_until_ready(LONG, &|| false).unwrap();
    let exit = server.stop(Duration::from_millis(200)).unwrap();
    assert_eq!((exit.signal, exit.killed), (Some(9), true));
    assert!(!lives(child_of(folder.path())));
}

#[test]
fn one_that_is_dropped_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = ServerProcess::start(&scripted(folder.path(), &SERVER.replace("STOP", ""))).unwrap();
    server.wait_until_ready(LONG, &|| false).unwrap();
    drop(server);
    assert!(!lives(child_of(folder.path())));
}

#[test]
fn one_that_ends_early_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let plan = scripted(folder.path(), "import sys; print('no such model'); sys.exit(3)");
    let mut server = ServerProcess::start(&plan).unwrap();
    let error = server.wait_until_ready(LONG, &|| false).unwrap_err();
    assert_eq!(error.to_string(), "the server ended before it was ready (exit code 3)");
    assert_eq!(error.tail(), ["no such model"]);
}

#[test]
fn waiting_has_an_end() {
    let folder = tempfile::tempdir().unwrap();
    let plan = scripted(folder.path(), "import time; time.sleep(3600)");
    let mut server = ServerProcess::start(&plan).unwrap();
    let late = server.wait_until_ready(Duration::ZERO, &|| false);
    assert!(matches!(late, Err(ServerError::NotReady { .. })), "{late:?}");
    assert!(matches!(server.wait_until_ready(LONG, &|| true), Err(ServerError::Stopped)));
}

#[test]
fn what_is_not_there_is_not_started() {
    let folder = tempfile::tempdir().unwrap();
    let mut plan = scripted(folder.path(), "");
    plan.argv[0] = "no-such-server".to_owned();
    assert!(matches!(ServerProcess::start(&plan), Err(ServerError::NoProgram { .. })));
    // A server that runs already is neither started nor stopped.
    plan.argv.clear();
    let server = ServerProcess::start(&plan).unwrap();
    assert_eq!((server.id(), server.stop(LONG)), (None, None));
    assert!(matches!(plan.profile, ServerProfile::StartStop { .. }));
}
