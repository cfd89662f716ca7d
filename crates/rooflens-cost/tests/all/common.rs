//! What the tests share: files, models, and one device with plain formats.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rooflens_cost::ConfigError;
use rooflens_cost::config::parse;
use rooflens_cost::families;
use rooflens_cost::hardware::{Catalog, Device};
use rooflens_cost::model::Model;
use rooflens_cost::operator::Work;
use rooflens_cost::parallel::Parallel;
use rooflens_cost::pass::Pass;
use rooflens_cost::precision::Dtype;
use rooflens_cost::routing::Touch;
use rooflens_cost::setup::Setup;
use rooflens_cost::step::Step;
use rooflens_cost::tally::Tally;
use serde_json::Value;

pub fn read(path: &Path) -> Result<Model, ConfigError> {
    Ok(families::read(&parse(&std::fs::read(path).unwrap())?, None, None)?.model)
}

pub fn model(config: &str) -> Model {
    Model::from_json(config.as_bytes()).unwrap()
}

pub fn device(name: &str) -> &'static Device {
    Catalog::embedded().find(name).unwrap()
}

/// The folder that `ROOFLENS_CORPUS` names.
pub fn corpus() -> PathBuf {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("ROOFLENS_CORPUS").map_or_else(beside, PathBuf::from);
    assert!(folder.is_dir(), "no corpus at {}: ROOFLENS_CORPUS names it", folder.display());
    folder
}

/// The files of `fixtures/cost` by name.
pub fn goldens() -> Vec<(String, Value)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/cost");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        (name, serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap())
    };
    paths.into_iter().map(read).collect()
}

/// Those of language models: a vision tower alone is none.
pub fn language_goldens() -> impl Iterator<Item = (String, Value)> {
    goldens().into_iter().filter(|(_, golden)| golden.get("workloads").is_some())
}

/// Reports all that differs, not only the first.
pub fn assert_none(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// A step on device `rank`, in plain formats whatever the model.
pub fn pass(step: Step, parallel: Parallel, rank: u64) -> Pass<'static> {
    static ANY: OnceLock<Model> = OnceLock::new();
    let any = ANY.get_or_init(|| model(r#"{"model_type": "llama", "vocab_size": 8}"#));
    let (activation, kv, state) = (Some(Dtype::Bf16), Some(Dtype::Bf16), Some(Dtype::Fp32));
    let setup: &Setup = Box::leak(Box::new(Setup { parallel, activation, kv, state, ..Setup::default() }));
    setup.pass(any, step, rank, Touch::Expected)
}

pub fn tally(model: &Model, step: Step) -> Tally {
    let mut tally = Tally::default();
    tally.add(model, &pass(step, Parallel::NONE, 0), None, &mut Vec::new());
    tally
}

/// The work of a class in all layers.
pub fn of_class(tally: &Tally, class: &str) -> Work {
    let rows = tally.rows.iter().filter(|row| row.operator.class == class);
    rows.fold(Work::default(), |sum, row| sum + row.operator.work * u128::from(row.layers))
}
