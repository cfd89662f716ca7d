//! The server of a load test: one that runs, or one that is started for it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rooflens_collect::servers::{ServerError, ServerPlan, ServerProcess, ServerProgram, ServerSpec};
use rooflens_load::scrape::{HttpError, PlainClient, PlainUrl};
use serde_json::Value as Json;

use super::request::BenchServer;
use crate::error::{BenchError, Error};
use crate::observer::{Event, SharedObserver};

/// How long a server may take to become ready: large models are loaded from slow disks.
const READY_WITHIN: Duration = Duration::from_secs(1800);
const GRACE: Duration = Duration::from_secs(20);

#[derive(Default)]
pub(crate) struct RunningServer {
    pub(crate) url: String,
    pub(crate) served_name: Option<String>,
    pub(crate) running_limit: Option<f64>,
    pub(crate) traces: Option<PathBuf>,
    pub(crate) swept: Vec<(String, String)>,
    pub(crate) flags: BTreeMap<String, String>,
    process: Option<ServerProcess>,
}

pub(crate) fn combinations(server: &BenchServer) -> Vec<Vec<(String, String)>> {
    let BenchServer::Start { flags, .. } = server else { return vec![Vec::new()] };
    let mut all = vec![Vec::new()];
    for (flag, values) in flags {
        all = all
            .into_iter()
            .flat_map(|begin: Vec<(String, String)>| {
                values.iter().map(move |value| {
                    let mut one = begin.clone();
                    one.push((flag.clone(), value.clone()));
                    one
                })
            })
            .collect();
    }
    all
}

pub(crate) fn first_model(url: &str, client: &PlainClient) -> Result<String, BenchError> {
    let path = format!("{url}/v1/models");
    let unreachable =
        |error: HttpError| BenchError::Unreachable { url: url.to_owned(), why: error.to_string() };
    let answer = PlainUrl::parse(&path).and_then(|address| client.get(&address)).map_err(unreachable)?;
    let none = |why: &str| BenchError::NoModel { url: path.clone(), why: why.to_owned() };
    if answer.status != 200 {
        return Err(none(&format!("status {}", answer.status)));
    }
    let list: Json = serde_json::from_str(&answer.text()).map_err(|_| none("the answer is not JSON"))?;
    let first = list["data"][0]["id"].as_str();
    first.map(str::to_owned).ok_or_else(|| none("the list is empty"))
}

impl RunningServer {
    /// The one that runs, or a new one with these flags. Logs and traces go to a folder.
    pub fn start(
        server: &BenchServer,
        flags: &[(String, String)],
        folder: &Path,
        wants_profile: bool,
        observer: &SharedObserver,
    ) -> Result<Self, Error> {
        let (kind, model, python, all) = match server {
            BenchServer::Url(url) => {
                return Ok(RunningServer { url: url.clone(), ..RunningServer::default() });
            }
            BenchServer::Start { kind, model, python, flags } => (kind, model, python, flags),
        };
        let program = ServerProgram::find(kind).filter(|program| *program != ServerProgram::Url);
        let program = program.ok_or_else(|| {
            let known: Vec<&str> = ServerProgram::ALL
                .iter()
                .map(|program| program.name())
                .filter(|name| *name != "url")
                .collect();
            BenchError::Target(format!("runtime={kind} is not known: {}", known.join(", ")))
        })?;
        let folder = std::path::absolute(folder).map_err(|source| Error::unwritable(folder, source))?;
        let spec = ServerSpec {
            program,
            model: model.clone(),
            served_name: Some(served_name(model)),
            port: 0,
            python: python.clone(),
            flags: flags.iter().map(|(flag, value)| (flag.clone(), parsed(value))).collect(),
            env: BTreeMap::new(),
            profile: wants_profile,
        };
        let failed = |error: &ServerError| failure(error, &folder);
        let spec = spec.with_free_port().map_err(|error| failed(&error))?;
        let plan = ServerPlan::new(&spec, &folder).map_err(|error| BenchError::Target(error.to_string()))?;
        observer.event(&Event::Working { what: &format!("starting {}", program.about()) });
        let started = ServerProcess::start(&plan).and_then(|mut process| {
            process.wait_until_ready(READY_WITHIN, &|| observer.is_stopped()).map(|took| (process, took))
        });
        observer.event(&Event::Finished);
        let (process, took) = started.map_err(|error| failed(&error))?;
        observer.info(&format!("{kind} is ready at {} after {:.0} s", plan.base_url, took.as_secs_f64()));
        let is_swept = |flag: &String| all.get(flag).is_some_and(|values| values.len() > 1);
        Ok(RunningServer {
            url: plan.base_url.clone(),
            served_name: plan.served_name.clone(),
            running_limit: plan.running_limit.map(|limit| limit as f64),
            traces: plan.profile.traces().map(Path::to_owned),
            swept: flags.iter().filter(|(flag, _)| is_swept(flag)).cloned().collect(),
            flags: flags.iter().cloned().collect(),
            process: Some(process),
        })
    }

    pub(crate) fn stop(self, observer: &SharedObserver) {
        if let Some(exit) = self.process.and_then(|process| process.stop(GRACE))
            && !exit.left_behind.is_empty()
        {
            observer.warn(&format!("processes of the server could not be ended: {:?}", exit.left_behind));
        }
    }

    pub(crate) fn check(&mut self, folder: &Path) -> Result<(), Error> {
        let Some(process) = &mut self.process else { return Ok(()) };
        process.still_running().map_err(|error| failure(&error, folder))
    }
}

fn served_name(model: &str) -> String {
    let path = Path::new(model);
    let name = path.file_name().filter(|_| path.exists()).map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| model.to_owned())
}

/// `true`, `8` and `{"a": 1}` as they are; everything else is text.
fn parsed(value: &str) -> Json {
    serde_json::from_str(value).unwrap_or_else(|_| Json::String(value.to_owned()))
}

fn failure(error: &ServerError, folder: &Path) -> Error {
    let tail = error.tail();
    let hint = match error {
        ServerError::NoProgram { .. } => {
            Some("--server-python PATH names the interpreter or the program".to_owned())
        }
        _ if !tail.is_empty() => {
            let last: Vec<&str> = tail.iter().rev().take(3).rev().map(String::as_str).collect();
            Some(format!(
                "its last lines: {} (all of them: {})",
                last.join(" | "),
                folder.join("server.log").display()
            ))
        }
        _ => None,
    };
    match error {
        ServerError::Stopped => Error::interrupted(),
        _ => BenchError::Server { fact: error.to_string(), hint }.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_swept_in_order() {
        let flags = BTreeMap::from([
            ("a".to_owned(), vec!["1".to_owned(), "2".to_owned()]),
            ("b".to_owned(), vec!["x".to_owned()]),
        ]);
        let server =
            BenchServer::Start { kind: "vllm_server".into(), model: "m".into(), python: None, flags };
        let words: Vec<String> = combinations(&server)
            .iter()
            .map(|one| {
                one.iter().map(|(flag, value)| format!("{flag}={value}")).collect::<Vec<_>>().join(" ")
            })
            .collect();
        assert_eq!(words, ["a=1 b=x", "a=2 b=x"]);
        assert_eq!(combinations(&BenchServer::Url("http://h".into())).len(), 1);
        assert_eq!(parsed("8"), Json::from(8));
        assert_eq!(parsed("float32"), Json::from("float32"));
        assert_eq!(parsed("true"), Json::from(true));
    }
}
