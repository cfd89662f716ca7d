//! The Python environment that a workload runs in, by the tool that keeps it: pixi, uv, conda, or a plain
//! virtual environment. A run uses an environment as it is: it installs nothing and changes no lock file,
//! so that what was measured is what was there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::{ExecuteError, PlanError};
use crate::execute::named_program;
use crate::plan::{CommandWord, PlanRoot, RunFolders};
use crate::settings::ConfigSection;

/// The tool that keeps an environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnvironmentKind {
    /// `pixi run`.
    Pixi,
    /// `uv run`.
    Uv,
    /// `conda run`.
    Conda,
    /// The interpreter of a virtual environment, with its programs in front of `PATH`.
    Venv,
}

/// A Python environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkloadEnvironment {
    /// The tool that keeps it.
    pub kind: EnvironmentKind,
    /// Its name, or its folder where it has a `/`; none: the tool's default.
    pub name: Option<String>,
}

/// How a Python interpreter is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interpreter {
    /// The program and its arguments, up to those of Python itself.
    pub argv: Vec<CommandWord>,
    /// Environment variables that it needs.
    pub env: BTreeMap<String, CommandWord>,
    /// The words before the packages that shall be installed into it.
    pub install: Vec<CommandWord>,
}

struct Tool {
    kind: EnvironmentKind,
    name: &'static str,
    lock_file: Option<&'static str>,
    /// The project must have one of these files.
    manifests: &'static [&'static str],
    how_to_install: &'static str,
}

const TOOLS: &[Tool; 4] = &[
    Tool {
        kind: EnvironmentKind::Pixi,
        name: "pixi",
        lock_file: Some("pixi.lock"),
        manifests: &["pixi.toml", "pyproject.toml"],
        how_to_install: "curl -fsSL https://pixi.sh/install.sh | sh",
    },
    Tool {
        kind: EnvironmentKind::Uv,
        name: "uv",
        lock_file: Some("uv.lock"),
        manifests: &["pyproject.toml"],
        how_to_install: "pip install uv, or curl -LsSf https://astral.sh/uv/install.sh | sh",
    },
    Tool {
        kind: EnvironmentKind::Conda,
        name: "conda",
        lock_file: Some("conda-lock.yml"),
        manifests: &[],
        how_to_install: "install Miniforge: https://conda-forge.org/download",
    },
    Tool {
        kind: EnvironmentKind::Venv,
        name: "venv",
        lock_file: None,
        manifests: &[],
        how_to_install: "python3 -m venv",
    },
];

const USUAL_VENV: &str = ".venv";

impl WorkloadEnvironment {
    /// Reads `runtime.environment`; nothing if it is missing or has no kind.
    pub fn read(keys: Option<ConfigSection<'_>>) -> Result<Option<Self>, PlanError> {
        let Some(mut keys) = keys else { return Ok(None) };
        let name = keys.optional_text("name")?.filter(|name| !name.trim().is_empty());
        let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
        let word =
            if keys.optional_text("kind")?.is_some() { Some(keys.choice("kind", &names)?) } else { None };
        let kind = TOOLS.iter().find(|tool| word.as_deref() == Some(tool.name)).map(|tool| tool.kind);
        if kind.is_none() && name.is_some() {
            return Err(PlanError::open("runtime.environment.kind"));
        }
        // `conda run` without a name takes whichever environment happens to be active.
        if kind == Some(EnvironmentKind::Conda) && name.is_none() {
            return Err(PlanError::open("runtime.environment.name"));
        }
        keys.finish().map(|()| kind.map(|kind| WorkloadEnvironment { kind, name }))
    }

    fn tool(&self) -> &'static Tool {
        TOOLS.iter().find(|tool| tool.kind == self.kind).unwrap_or(&TOOLS[0])
    }

    /// The word of the setting.
    pub fn kind_name(&self) -> &'static str {
        self.tool().name
    }

    /// The file that pins its packages, from the project's folder.
    pub fn lock_file(&self) -> Option<&'static str> {
        self.tool().lock_file
    }

    pub(crate) fn interpreter(&self) -> Interpreter {
        let project = || CommandWord::In(PlanRoot::Project, String::new());
        let plain =
            |words: &[&str]| words.iter().map(|word| CommandWord::plain(*word)).collect::<Vec<CommandWord>>();
        let mut env = BTreeMap::new();
        let (mut argv, install) = match self.kind {
            EnvironmentKind::Pixi => {
                let manifest = [CommandWord::plain("--manifest-path"), project()];
                let mut argv = [plain(&["pixi", "run"]), manifest.to_vec()].concat();
                argv.extend(plain(&["--frozen", "--no-install"]));
                argv.extend(self.name.iter().flat_map(|name| plain(&["-e", name])));
                (argv, [plain(&["pixi", "add", "--pypi"]), manifest.to_vec()].concat())
            }
            EnvironmentKind::Uv => {
                // A folder for each name: environments of one project can then be compared.
                if let Some(folder) = self.folder().filter(|_| self.name.is_some()) {
                    env.insert("UV_PROJECT_ENVIRONMENT".to_owned(), folder);
                }
                let argv = [plain(&["uv", "run", "--project"]), vec![project()], plain(&["--no-sync"])];
                let mut install = plain(&["uv", "pip", "install", "--python"]);
                install.extend(self.folder());
                (argv.concat(), install)
            }
            EnvironmentKind::Conda => {
                let mut argv = plain(&["conda", "run", "--no-capture-output"]);
                let name = self.name.as_deref().unwrap_or_default();
                match name.contains('/') {
                    true => {
                        argv.extend([CommandWord::plain("-p"), CommandWord::path(PlanRoot::Project, name)])
                    }
                    false => argv.extend(plain(&["-n", name])),
                }
                let install = [argv.clone(), plain(&["python", "-m", "pip", "install"])].concat();
                (argv, install)
            }
            EnvironmentKind::Venv => {
                let python = self.within("bin/python");
                env.insert("PATH".to_owned(), CommandWord::SearchPath(Box::new(self.within("bin"))));
                env.insert("VIRTUAL_ENV".to_owned(), self.within(""));
                let install = [vec![python.clone()], plain(&["-m", "pip", "install"])].concat();
                return Interpreter { argv: vec![python], env, install };
            }
        };
        argv.push(CommandWord::plain("python"));
        Interpreter { argv, env, install }
    }

    fn folder(&self) -> Option<CommandWord> {
        match (self.kind, self.name.as_deref()) {
            (EnvironmentKind::Pixi, name) => {
                Some(CommandWord::In(PlanRoot::Project, format!(".pixi/envs/{}", name.unwrap_or("default"))))
            }
            (EnvironmentKind::Uv | EnvironmentKind::Venv, None) => {
                Some(CommandWord::path(PlanRoot::Project, USUAL_VENV))
            }
            (EnvironmentKind::Uv, Some(name)) if !name.contains('/') => {
                Some(CommandWord::In(PlanRoot::Project, format!(".venvs/{name}")))
            }
            (EnvironmentKind::Conda, Some(name)) if !name.contains('/') => None,
            (_, name) => name.map(|name| CommandWord::path(PlanRoot::Project, name.trim_end_matches('/'))),
        }
    }

    fn within(&self, path: &str) -> CommandWord {
        let join = |folder: &str| match (folder, path) {
            (folder, "") => folder.to_owned(),
            ("", path) => path.to_owned(),
            (folder, path) => format!("{folder}/{path}"),
        };
        match self.folder() {
            Some(CommandWord::In(root, folder)) => CommandWord::In(root, join(&folder)),
            Some(CommandWord::Plain(folder)) => CommandWord::Plain(join(&folder)),
            other => other.unwrap_or_else(|| CommandWord::plain(path)),
        }
    }

    /// Looks for the tool and the environment before anything is started.
    pub fn check(&self, places: &RunFolders) -> Result<(), ExecuteError> {
        let tool = self.kind_name();
        let missing = |what: String, hint: String| Err(ExecuteError::new(what, hint));
        if self.kind != EnvironmentKind::Venv && named_program(Path::new(tool)).is_none() {
            let how = self.tool().how_to_install;
            let hint =
                format!("{how}; or name an interpreter: runtime.environment.kind=null runtime.python=PATH");
            return missing(format!("there is no program '{tool}'"), hint);
        }
        // Without a manifest, uv would take any Python that it finds.
        let manifests = self.tool().manifests;
        if !manifests.is_empty() && !manifests.iter().any(|name| places.project.join(name).is_file()) {
            return missing(
                format!(
                    "{tool} manages environments of a project, and this one has no {}",
                    manifests.join(" or ")
                ),
                format!("{tool} init; or a plain virtual environment: runtime.environment.kind=venv"),
            );
        }
        // uv makes an empty environment where there is none; the others fail with words of their own.
        let Some(folder) = self.folder() else { return Ok(()) };
        let folder = PathBuf::from(folder.resolve(places));
        if folder.join("bin/python").exists() {
            return Ok(());
        }
        missing(format!("there is no {tool} environment at {}", folder.display()), self.how_to_make())
    }

    fn how_to_make(&self) -> String {
        let name = self.name.as_deref();
        match (self.kind, name) {
            (EnvironmentKind::Pixi, None) => "pixi install".to_owned(),
            (EnvironmentKind::Pixi, Some(name)) => format!("pixi install -e {name}"),
            (EnvironmentKind::Uv, None) => "uv sync".to_owned(),
            (EnvironmentKind::Uv, Some(name)) if name.contains('/') => {
                format!("UV_PROJECT_ENVIRONMENT={name} uv sync")
            }
            (EnvironmentKind::Uv, Some(name)) => {
                format!("UV_PROJECT_ENVIRONMENT=.venvs/{name} uv sync --extra {name}")
            }
            (EnvironmentKind::Conda, name) => format!("conda create -p {} python", name.unwrap_or("PATH")),
            (EnvironmentKind::Venv, name) => format!("python3 -m venv {}", name.unwrap_or(USUAL_VENV)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(kind: EnvironmentKind, name: Option<&str>) -> WorkloadEnvironment {
        WorkloadEnvironment { kind, name: name.map(str::to_owned) }
    }

    #[test]
    fn folders_follow_from_names() {
        use EnvironmentKind::{Conda, Pixi, Uv, Venv};
        let cases = [
            (Pixi, None, Some("$PROJECT/.pixi/envs/default")),
            (Pixi, Some("cu128"), Some("$PROJECT/.pixi/envs/cu128")),
            (Uv, None, Some("$PROJECT/.venv")),
            (Uv, Some("cpu"), Some("$PROJECT/.venvs/cpu")),
            (Uv, Some("/opt/envs/cpu/"), Some("/opt/envs/cpu")),
            (Venv, Some("envs/a"), Some("$PROJECT/envs/a")),
            (Venv, Some("env"), Some("$PROJECT/env")),
            (Conda, Some("base"), None),
            (Conda, Some("./envs/a"), Some("$PROJECT/envs/a")),
        ];
        for (kind, name, expected) in cases {
            let folder = environment(kind, name).folder();
            let text = folder.map(|word| serde_json::to_value(word).unwrap());
            assert_eq!(text.as_ref().map(|text| text.as_str().unwrap()), expected, "{kind:?} {name:?}");
        }
    }

    #[test]
    fn a_missing_environment_names_the_command_that_makes_it() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().to_owned();
        let places = RunFolders { run: project.clone(), project: project.clone(), package: project.clone() };
        let venv = environment(EnvironmentKind::Venv, Some("env"));
        let error = venv.check(&places).unwrap_err();
        assert_eq!(error.hint(), "python3 -m venv env");
        assert!(error.to_string().ends_with("/env"), "{error}");
        std::fs::create_dir_all(project.join("env/bin")).unwrap();
        std::fs::write(project.join("env/bin/python"), "").unwrap();
        assert!(venv.check(&places).is_ok());
        let uv = environment(EnvironmentKind::Uv, Some("cu128"));
        assert_eq!(uv.how_to_make(), "UV_PROJECT_ENVIRONMENT=.venvs/cu128 uv sync --extra cu128");
    }
}
