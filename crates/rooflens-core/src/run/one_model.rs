//! `--model`: a model by its folder or by its name in the Hugging Face cache, with no project around it.

use std::path::{Path, PathBuf};

use rooflens_collect::execute::named_program;
use rooflens_collect::package;
use rooflens_collect::project::hub::HubName;
use rooflens_collect::project::skeleton::{self, SkeletonOptions};

use super::RunRequest;
use super::launch::{escaped, sets_folder};
use crate::error::{CostError, Error};
use crate::input::files_near;
use crate::model::files::{located, name_of};
use crate::project;

const PROMPTS: &str = "datasets/starter/source-data";

impl RunRequest {
    /// The same for one model. What was typed comes later and wins. Without a project around here, the configs are those
    /// of a new one, and everything else is relative to this folder.
    pub fn of_model(mut self, model: &Path) -> Result<Self, Error> {
        let folder = folder(model)?;
        let has_override = |keys: &[&str]| self.overrides.iter().any(|text| sets(text, keys));
        let is_random = self.overrides.iter().any(|text| text.ends_with("model.weights=random"));
        if !is_random && !has_weights(&folder) {
            let name = model.to_str().filter(|_| !model.exists()).and_then(HubName::parse);
            return Err(CostError::NoWeights { folder, name }.into());
        }
        let mut overrides = vec![
            format!("model.path={}", quoted(&folder.to_string_lossy())),
            format!("model.name={}", quoted(&name_of(model))),
            "model.weights=auto".to_owned(),
        ];
        if has_chat_template(&folder) {
            overrides.push("++infer.chat_template=true".to_owned());
        }
        if self.config_dir.is_none() && project::around(Path::new(".")).is_none() {
            let unpacked = unpack()?;
            self.project = std::path::absolute(".").ok();
            self.config_dir = Some(unpacked.join("conf"));
            if !has_override(&["dataset", "dataset.root"]) {
                let prompts = unpacked.join(PROMPTS);
                overrides.push(format!("dataset.root={}", quoted(&prompts.to_string_lossy())));
            }
            if !has_override(&["runtime.python", "runtime.environment"]) {
                overrides.push(format!("runtime.python={}", quoted(&interpreter())));
            }
            for key in ["run", "sweep"] {
                if !self.overrides.iter().any(|text| sets_folder(text, key)) {
                    let place = if key == "run" { "" } else { "sweeps/" };
                    overrides.push(format!(
                        "hydra.{key}.dir='runs/${{runtime.label}}/{place}${{now:%Y%m%d-%H%M%S}}'"
                    ));
                }
            }
        }
        overrides.append(&mut self.overrides);
        Ok(RunRequest { overrides, ..self })
    }
}

fn folder(model: &Path) -> Result<PathBuf, CostError> {
    let found = located(model)?;
    let is_config = found.is_file() && found.ends_with("config.json");
    let folder = if is_config { found.parent().map(Path::to_owned).unwrap_or_default() } else { found };
    let folder = std::path::absolute(&folder).unwrap_or(folder);
    let config = folder.join("config.json");
    if config.is_file() {
        return Ok(folder);
    }
    let path = if folder.is_dir() { config } else { folder };
    let near = files_near(&path);
    Err(CostError::NoConfig { path, near })
}

/// Whether there is a checkpoint, or a file that asks for random weights.
fn has_weights(folder: &Path) -> bool {
    let is_weights = |name: &str| {
        let is_named = ["model", "pytorch_model", "consolidated"].iter().any(|start| name.starts_with(start));
        is_named && (name.ends_with(".safetensors") || name.ends_with(".bin")) || name == "weights.random"
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| is_weights(&entry.file_name().to_string_lossy()))
}

fn has_chat_template(folder: &Path) -> bool {
    let settings = std::fs::read(folder.join("tokenizer_config.json")).unwrap_or_default();
    let settings: serde_json::Value = serde_json::from_slice(&settings).unwrap_or_default();
    folder.join("chat_template.jinja").is_file()
        || settings.get("chat_template").is_some_and(|template| !template.is_null())
}

/// The configs and prompts of a new project, as they come with this version.
fn unpack() -> Result<PathBuf, Error> {
    let files = skeleton::files(&SkeletonOptions::default());
    let wanted = files.iter().filter(|file| file.path.starts_with("conf/") || file.path.starts_with(PROMPTS));
    let files: Vec<(&str, &str)> = wanted.map(|file| (file.path, file.contents)).collect();
    Ok(package::unpack_files(&package::cache_folder().join("built-in-configs"), &files)?)
}

/// The Python of the environment that is active, that of the environment in which Rooflens is installed, or any.
fn interpreter() -> String {
    let is_active = ["VIRTUAL_ENV", "CONDA_PREFIX"].iter().any(|name| std::env::var_os(name).is_some());
    if !is_active {
        let program = std::env::current_exe().ok();
        let beside = program.as_deref().and_then(Path::parent).and_then(with_torch);
        if let Some(python) = beside {
            return python.to_string_lossy().into_owned();
        }
    }
    let has = |name: &str| named_program(Path::new(name)).is_some();
    if has("python") || !has("python3") { "python".to_owned() } else { "python3".to_owned() }
}

fn with_torch(programs: &Path) -> Option<PathBuf> {
    let python = Some(programs.join("python")).filter(|python| python.is_file())?;
    let versions = std::fs::read_dir(programs.parent()?.join("lib")).ok()?.flatten();
    let has_torch = |folder: PathBuf| folder.join("site-packages/torch").is_dir();
    versions.into_iter().any(|version| has_torch(version.path())).then_some(python)
}

/// Whether an override sets one of these keys, or something in it.
fn sets(text: &str, keys: &[&str]) -> bool {
    let key = text.trim_start_matches('+').split('=').next().unwrap_or_default();
    keys.iter().any(|wanted| {
        key == *wanted
            || key.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('.') && wanted.contains('.'))
    })
}

fn quoted(value: &str) -> String {
    format!("'{}'", escaped(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_sets_a_key() {
        assert!(sets("dataset=mine", &["dataset"]) && sets("++dataset.root=x", &["dataset", "dataset.root"]));
        assert!(sets("runtime.environment.kind=uv", &["runtime.environment"]));
        assert!(!sets("dataset.field=x", &["dataset", "dataset.root"]) && !sets("datasets=x", &["dataset"]));
    }

    #[test]
    fn a_checkpoint_is_told_from_a_config() {
        let folder = tempfile::tempdir().expect("a folder");
        let add = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("a file");
        add("config.json", "{}");
        add("training_args.bin", "");
        assert!(!has_weights(folder.path()) && !has_chat_template(folder.path()));
        let typed = |overrides: &[&str]| RunRequest {
            config_dir: Some("conf".into()),
            overrides: overrides.iter().map(|&text| text.to_owned()).collect(),
            ..RunRequest::default()
        };
        let error = typed(&[]).of_model(folder.path()).expect_err("no weights");
        assert!(error.to_string().contains("no weights"), "{error}");
        let random = typed(&["model.weights=random"]).of_model(folder.path()).expect("asked for");
        assert_eq!(random.overrides.last().map(String::as_str), Some("model.weights=random"));
        add("model-00001-of-00002.safetensors", "");
        add("tokenizer_config.json", r#"{"chat_template": "x"}"#);
        let whole = typed(&[]).of_model(folder.path()).expect("a checkpoint");
        assert!(whole.overrides.contains(&"++infer.chat_template=true".to_owned()));
    }
}
