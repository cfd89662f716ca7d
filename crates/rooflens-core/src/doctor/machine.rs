//! The machine as checks see it. Tests give another root.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rooflens_collect::plan::CommandWord;
use rooflens_report::TerminalOptions;

use crate::environment::nvml_library;
use crate::{project, run};

/// The machine, and what is asked of it.
pub struct Machine {
    /// What stands before `/proc`, `/sys` and the like.
    pub(crate) root: PathBuf,
    pub(crate) path: Vec<PathBuf>,
    pub(crate) python: Python,
    /// Where runs go, or the nearest folder above it that is there.
    pub(crate) folder: PathBuf,
    /// The NVML library instead of the driver's own.
    pub(crate) nvml: Option<PathBuf>,
    pub(crate) screen: TerminalOptions,
    pub(crate) is_terminal: bool,
    /// Whether to ask what takes seconds.
    pub(crate) deep: bool,
}

/// The interpreter that runs would use.
pub struct Python {
    pub(crate) argv: Vec<String>,
    pub(crate) env: Vec<(String, OsString)>,
    pub(crate) by: String,
    /// The words before a package that shall be installed into it; none: those of pip.
    pub(crate) install: Option<String>,
    /// Why its environment cannot be used, and what helps.
    pub(crate) problem: Option<(String, String)>,
}

impl Python {
    fn named(program: &str, by: &str) -> Self {
        let argv = vec![program.to_owned()];
        Python { argv, env: Vec::new(), by: by.to_owned(), install: None, problem: None }
    }

    fn of_project() -> Option<Self> {
        let (settings, places) = run::project_settings()?;
        let interpreter = settings.runtime.interpreter();
        let text = |word: &CommandWord| word.resolve(&places).to_string_lossy().into_owned();
        let environment = settings.runtime.environment.as_ref();
        let by = match environment {
            None => "the project's config".to_owned(),
            Some(environment) => {
                let name = environment.name.as_ref().map_or(String::new(), |name| format!(" {name}"));
                format!("the project's config: the {} environment{name}", environment.kind_name())
            }
        };
        let problem = environment.and_then(|environment| environment.check(&places).err());
        Some(Python {
            argv: interpreter.argv.iter().map(text).collect(),
            env: interpreter.env.iter().map(|(name, word)| (name.clone(), word.resolve(&places))).collect(),
            by,
            install: environment
                .map(|_| interpreter.install.iter().map(text).collect::<Vec<String>>().join(" ")),
            problem: problem.map(|error| (error.to_string(), error.hint())),
        })
    }
}

impl Machine {
    /// This one. `python` is the interpreter that the user names.
    pub fn here(screen: TerminalOptions, is_terminal: bool, python: Option<&str>, deep: bool) -> Self {
        let told = python.map(|python| Python::named(python, "--python"));
        let python = told.or_else(Python::of_project).unwrap_or_else(|| Python::named("python3", "default"));
        let project = project::around(Path::new("."));
        let runs = project.as_ref().map(|project| project.join("runs")).filter(|runs| runs.is_dir());
        Machine {
            root: PathBuf::from("/"),
            path: std::env::var_os("PATH")
                .map(|path| std::env::split_paths(&path).collect())
                .unwrap_or_default(),
            python,
            folder: runs
                .or(project)
                .or_else(|| std::env::current_dir().ok())
                .unwrap_or_else(|| PathBuf::from(".")),
            nvml: nvml_library(),
            screen,
            is_terminal,
            deep,
        }
    }

    pub(crate) fn text(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.at_root(path)).ok().map(|text| text.trim().to_owned())
    }

    pub(crate) fn at_root(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// Where a program is: on `PATH`, or in one of the usual folders, whose `*` is any version, the last
    /// first.
    pub(crate) fn program(&self, name: &str, usual: &[&str]) -> Option<PathBuf> {
        let on_path = self.path.iter().map(|folder| folder.join(name));
        let mut others =
            usual.iter().flat_map(|pattern| self.folders(pattern)).map(|folder| folder.join(name));
        on_path.into_iter().find(|file| is_program(file)).or_else(|| others.find(|file| is_program(file)))
    }

    fn folders(&self, pattern: &str) -> Vec<PathBuf> {
        let Some((before, after)) = pattern.split_once("/*") else { return vec![self.at_root(pattern)] };
        let entries = std::fs::read_dir(self.at_root(before)).into_iter().flatten().flatten();
        let mut versions: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        versions.sort();
        versions.reverse();
        versions.into_iter().map(|version| version.join(after.trim_start_matches('/'))).collect()
    }

    #[cfg(test)]
    pub(crate) fn at(root: &Path) -> Self {
        Machine {
            root: root.to_owned(),
            path: vec![root.join("bin")],
            python: Python::named("python3", "nobody"),
            folder: root.to_owned(),
            nvml: Some(root.join("libnvidia-ml.so.1")),
            screen: TerminalOptions::default(),
            is_terminal: false,
            deep: false,
        }
    }

    /// Makes a file of the system.
    #[cfg(test)]
    pub fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.at_root(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    #[cfg(test)]
    pub(crate) fn script(&self, path: &str, text: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.write(path, &format!("#!/bin/sh\n{text}\n"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        // Another test that starts a process at this moment may hold the file open for an instant.
        let is_busy = |error: std::io::Error| error.kind() == std::io::ErrorKind::ExecutableFileBusy;
        while std::process::Command::new(&path).output().is_err_and(is_busy) {
            std::thread::yield_now();
        }
        path
    }
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}
