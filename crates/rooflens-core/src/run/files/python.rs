//! The Python environment that a run used: which, by which interpreter, pinned by what.

use std::borrow::Cow;
use std::path::Path;

use rooflens_collect::RunSettings;
use rooflens_collect::environment::{EnvironmentKind, WorkloadEnvironment};
use rooflens_collect::execute::digest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The Python environment of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct PythonEnvironment {
    /// `pixi`, `uv`, `conda` or `venv`.
    pub(crate) kind: Cow<'static, str>,
    /// Its name, where it has one.
    pub(crate) name: Option<String>,
    /// What pins its packages, where the project has such a file.
    pub(crate) lock: Option<LockFile>,
}

/// A lock file of the project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LockFile {
    /// The file, from the project's folder.
    pub(crate) path: Cow<'static, str>,
    /// Its SHA-256.
    pub(crate) sha256: String,
}

/// The environment of the settings; or the one of the project that the interpreter belongs to, as where
/// `pixi run` started Rooflens itself.
pub(crate) fn python_environment(
    settings: &RunSettings,
    interpreter: Option<&Path>,
    project: &Path,
) -> Option<PythonEnvironment> {
    let found = settings.runtime.environment.clone().or_else(|| around(interpreter?, project))?;
    let lock = found.lock_file().and_then(|path| {
        let (_, sha256) = digest(&project.join(path)).ok()?;
        Some(LockFile { path: path.into(), sha256 })
    });
    Some(PythonEnvironment { kind: found.kind_name().into(), name: found.name, lock })
}

/// The environment of the project that an interpreter stands in.
fn around(interpreter: &Path, project: &Path) -> Option<WorkloadEnvironment> {
    let inside = interpreter.strip_prefix(project).ok()?.to_str()?;
    let name = |rest: &str| rest.split('/').next().map(str::to_owned);
    if let Some(rest) = inside.strip_prefix(".pixi/envs/") {
        return Some(WorkloadEnvironment { kind: EnvironmentKind::Pixi, name: name(rest) });
    }
    let kind = if project.join("uv.lock").is_file() { EnvironmentKind::Uv } else { EnvironmentKind::Venv };
    match (inside.strip_prefix(".venvs/"), inside.strip_prefix(".venv/")) {
        (Some(rest), _) => Some(WorkloadEnvironment { kind, name: name(rest) }),
        (None, Some(_)) => Some(WorkloadEnvironment { kind, name: None }),
        (None, None) => None,
    }
}

/// A path that names no person: from the project's folder, or from the user's own.
pub(crate) fn shown(path: &Path, project: &Path) -> String {
    if let Ok(inside) = path.strip_prefix(project) {
        return format!("$PROJECT/{}", inside.display());
    }
    let home = std::env::var_os("HOME").filter(|home| home.len() > 1);
    match home.and_then(|home| path.strip_prefix(home).ok().map(|inside| inside.display().to_string())) {
        Some(inside) => format!("~/{inside}"),
        None => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interpreter_of_the_project_tells_its_environment() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path();
        let of = |path: &str| around(&project.join(path), project).map(|it| (it.kind_name(), it.name));
        assert_eq!(of(".pixi/envs/cu128/bin/python"), Some(("pixi", Some("cu128".to_owned()))));
        assert_eq!(of(".venv/bin/python"), Some(("venv", None)));
        std::fs::write(project.join("uv.lock"), "").unwrap();
        assert_eq!(of(".venvs/cpu/bin/python"), Some(("uv", Some("cpu".to_owned()))));
        assert_eq!(of("tools/python"), None);
        assert_eq!(around(Path::new("/usr/bin/python3"), project), None);
        assert_eq!(shown(&project.join(".venv/bin/python"), project), "$PROJECT/.venv/bin/python");
        assert_eq!(shown(Path::new("/usr/bin/python3"), project), "/usr/bin/python3");
    }
}
