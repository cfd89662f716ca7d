//! Runs the whole line on built-in traces, and says what works on this machine.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rooflens_analyze::analyses::{Ledger, Verdict};
use rooflens_schema::{Notes, RunDir};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cost::CostQuestion;
use crate::doctor::{CheckStatus, Diagnosis, DoctorCheck};
use crate::document::SchemaTag;
use crate::error::Error;
use crate::input::{ReadOptions, open_input};
use crate::model::ModelRequest;
use crate::observer::SharedObserver;
use crate::{analysis, compare, cost, read_sides, report, saved};

/// A built-in file.
pub struct Example {
    pub(crate) name: &'static str,
    /// What is in it.
    pub contents: &'static str,
}

/// Two traces of the same five decode steps, without and with CUDA graphs, and the config of their model.
pub const EXAMPLES: &[Example] = &[
    Example { name: "decode-eager.json", contents: include_str!("examples/decode-eager.json") },
    Example { name: "decode-graphs.json", contents: include_str!("examples/decode-graphs.json") },
    Example { name: "config.json", contents: include_str!("examples/config.json") },
];

/// Writes the built-in files into a folder, which is made where there is none. A file that is there is left alone where
/// it is the same, and else an error.
pub fn write_examples(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    saved::make(folder)?;
    let mut written = Vec::new();
    for example in EXAMPLES {
        let path = folder.join(example.name);
        if path.exists() && std::fs::read_to_string(&path).ok().as_deref() != Some(example.contents) {
            return Err(Error::not_ours(&path));
        }
        saved::write(path.clone(), example.contents.as_bytes())?;
        written.push(path);
    }
    Ok(written)
}

/// The JSON document: what works here.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SelfTest {
    /// `rooflens.self-test`.
    pub(crate) schema: SchemaTag,
    /// Each part of Rooflens, run on the built-in traces.
    pub parts: Vec<SelfTestPart>,
    /// What can be recorded on this machine, and what is missing for it.
    pub machine: Vec<DoctorCheck>,
}

/// A part, and whether it works.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SelfTestPart {
    /// What was done.
    pub name: Cow<'static, str>,
    /// Whether it gave what it must.
    pub works: bool,
    /// What it gave, or why it failed.
    pub found: String,
    /// How long it took.
    pub ms: f64,
}

impl SelfTest {
    /// Whether every part works.
    pub fn is_whole(&self) -> bool {
        self.parts.iter().all(|part| part.works)
    }
}

/// What the eager trace says of itself: 370 launches of kernels, five copies, and so much of its time waiting for launches.
const LAUNCH_BOUND_NS: i64 = 2_756_000;

/// Runs every part.
pub fn self_test(machine: Diagnosis, observer: &SharedObserver) -> Result<SelfTest, Error> {
    let scratch = saved::scratch()?;
    write_examples(scratch.path())?;
    let of = |name: &str| scratch.path().join(name);
    let parts = vec![
        part("read and analyse a trace", || analyzed(&of("decode-eager.json"), &of("config.json"), observer)),
        part("write tables and a report", || saved_run(&of("decode-graphs.json"), &of("run"), observer)),
        part("compare two traces", || {
            compared(&[of("decode-eager.json"), of("decode-graphs.json")], observer)
        }),
        part("compute the cost of a model", || costed(&of("config.json"))),
    ];
    let machine = machine.checks.into_iter().filter(|check| check.status != CheckStatus::NotApplicable);
    Ok(SelfTest { schema: SchemaTag::new("self-test"), parts, machine: machine.collect() })
}

/// Does something and takes the time. What is wrong is told, and ends nothing.
fn part(name: &'static str, work: impl FnOnce() -> Result<Result<String, String>, Error>) -> SelfTestPart {
    let begun = Instant::now();
    let outcome = work().unwrap_or_else(|error| Err(error.to_string()));
    let ms = begun.elapsed().as_secs_f64() * 1e3;
    let works = outcome.is_ok();
    SelfTestPart { name: name.into(), works, found: outcome.unwrap_or_else(|wrong| wrong), ms }
}

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Result<(), String> {
    match found == expected {
        true => Ok(()),
        false => Err(format!("{what} is {found:?}, and must be {expected:?}")),
    }
}

fn analyzed(trace: &Path, config: &Path, observer: &SharedObserver) -> Result<Result<String, String>, Error> {
    let notes = Notes::default();
    let input = open_input(&[trace.to_owned()], &ReadOptions::default(), &notes, observer)?;
    let model =
        ModelRequest { model: Some(config.to_owned()), context: Some(1024), ..ModelRequest::default() };
    let analysis = analysis::analyze(&input, &notes, &model, None, observer)?;
    let launch_bound = |ledger: &Ledger| {
        let line = ledger.lines.iter().find(|line| line.line.as_str() == "launch_bound");
        line.map_or(0, |line| line.ns)
    };
    let found = analysis.findings.get::<Ledger>().map_or(0, launch_bound);
    let verdict = analysis.findings.get::<Verdict>().map_or("", |verdict| &verdict.sentence).to_owned();
    Ok(expect("the time that the device waits for launches, in ns,", found, LAUNCH_BOUND_NS)
        .map(|()| verdict))
}

fn saved_run(
    trace: &Path,
    folder: &Path,
    observer: &SharedObserver,
) -> Result<Result<String, String>, Error> {
    let notes = Notes::default();
    let input = open_input(&[trace.to_owned()], &ReadOptions::default(), &notes, observer)?;
    let run: RunDir = saved::destination(folder)?;
    let mut analysis = analysis::analyze(&input, &notes, &ModelRequest::default(), Some(&run), observer)?;
    let page = report::save(&run, &mut analysis)?;
    let kernels = crate::kept::KeptTables::of_run(run).table("kernels")?;
    let rows = kernels.map_or(0, |table| table.batches.iter().map(|batch| batch.num_rows()).sum());
    let bytes = std::fs::metadata(page).map_or(0, |data| data.len());
    Ok(expect("the number of kernels and copies", rows, 375)
        .map(|()| format!("{rows} kernels and copies as Parquet, a page of {} kB", bytes / 1000)))
}

fn compared(paths: &[PathBuf], observer: &SharedObserver) -> Result<Result<String, String>, Error> {
    let comparison = compare(read_sides(paths, observer)?, &[])?;
    let accounts = comparison.pairs.iter().flat_map(|pair| &pair.accounts);
    let accounts = accounts.filter(|account| account.scope == "decode");
    let wall = accounts.flat_map(|account| &account.rows).find(|row| row.name == "wall time");
    let found = wall.map_or((0.0, 0.0), |row| (row.a_ns, row.b_ns));
    Ok(expect("a step before and after, in ns,", found, (842_100.0, 359_400.0))
        .map(|()| "a step takes 842.1 µs without and 359.4 µs with CUDA graphs".to_owned()))
}

fn costed(config: &Path) -> Result<Result<String, String>, Error> {
    let question = CostQuestion {
        configs: vec![config.to_owned()],
        hardware: vec!["h100".to_owned()],
        context: Some(vec![1024]),
        ..CostQuestion::default()
    };
    let document = serde_json::to_value(cost(&question)?.document()).unwrap_or_default();
    let parameters = document.pointer("/params/total").and_then(serde_json::Value::as_u64);
    Ok(expect("the number of parameters", parameters, Some(191_384_576))
        .map(|()| "191,384,576 parameters".to_owned()))
}
