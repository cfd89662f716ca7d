//! Composes configs: what is asked for, and the whole way from a search path and overrides to one config or a sweep.

use crate::clock::Host;
use crate::composition::Composition;
use crate::error::ComposeError;
use crate::making::Making;
use crate::multirun::Multirun;
use crate::overrides::Override;
use crate::resolve::{EvaluationSettings, Resolvers};
use crate::sources::{Repository, SearchPath};
use crate::value::Value;

/// Whether one job is composed, or the plan of many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// One job: a sweep is an error.
    #[default]
    Run,
    /// The plan of a sweep: sweeps are left out, and so are groups that are still to be chosen.
    Multirun,
}

/// What to compose.
#[derive(Debug, Clone, Default)]
pub struct ComposeRequest {
    /// The primary config; none is an empty one.
    pub config_name: Option<String>,
    /// The overrides, as they were typed.
    pub overrides: Vec<String>,
    /// Whether one job is composed, or the plan of many.
    pub mode: Mode,
}

impl ComposeRequest {
    /// One job of a config.
    pub fn new<T: Into<String>>(config_name: &str, overrides: impl IntoIterator<Item = T>) -> Self {
        Self {
            config_name: Some(config_name.to_owned()),
            overrides: overrides.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }
}

/// The overrides of a composition, as they were typed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AppliedOverrides {
    /// Those of the job.
    pub task: Vec<String>,
    /// Those of the `hydra` node.
    pub hydra: Vec<String>,
}

impl AppliedOverrides {
    pub(crate) fn of(overrides: &[Override]) -> Self {
        let lines = |of_hydra: bool| {
            let wanted = overrides.iter().filter(|it| it.is_hydra() == of_hydra);
            wanted.map(|it| it.text.clone()).collect()
        };
        Self { task: lines(false), hydra: lines(true) }
    }
}

/// What a composition found odd but not wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ComposeWarning {
    /// The primary config has values and a defaults list without `_self_`.
    #[error("in '{config}': the defaults list has no _self_, so the config's own values come last and win")]
    NoSelf {
        /// The config.
        config: String,
    },
    /// A folder of the search path that is not there.
    #[error("the search path '{path}' ({provider}) is not available")]
    SourceUnavailable {
        /// Who named it.
        provider: String,
        /// The folder.
        path: String,
    },
    /// A key that `oc.deprecated` says is no longer to be used.
    #[error("{message}")]
    Deprecated {
        /// What the config says about it.
        message: String,
    },
}

/// Composes the configs of a search path.
#[derive(Debug, Clone)]
pub struct Composer {
    search_path: SearchPath,
    settings: EvaluationSettings,
}

impl Composer {
    /// A composer on this machine with the resolvers that are built in.
    #[must_use]
    pub fn new(search_path: SearchPath) -> Self {
        let settings = EvaluationSettings::new(Host::system(), Resolvers::default());
        Self { search_path, settings }
    }

    /// On another machine.
    #[must_use]
    pub fn with_host(mut self, host: Host) -> Self {
        self.settings.host = host;
        self
    }

    /// With resolvers of the project.
    #[must_use]
    pub fn with_resolvers(mut self, resolvers: Resolvers) -> Self {
        self.settings.resolvers = resolvers;
        self
    }

    /// Where configs are looked for, before `hydra.searchpath` is read.
    #[must_use]
    pub fn search_path(&self) -> &SearchPath {
        &self.search_path
    }

    /// Composes a config.
    ///
    /// # Errors
    /// [`ComposeError`] wherever Hydra would not compose it either.
    pub fn compose(&self, request: &ComposeRequest) -> Result<Composition, ComposeError> {
        self.compose_with(request, self.settings.renewed())
    }

    /// As [`compose`](Self::compose), at a moment that others may share.
    pub(crate) fn compose_with(
        &self,
        request: &ComposeRequest,
        settings: EvaluationSettings,
    ) -> Result<Composition, ComposeError> {
        let repository = Repository::new(self.search_path.clone(), &settings);
        let making = Making::new(&settings, &repository, request);
        let parts = making.compose().map_err(|error| repository.texts().show_place(error))?;
        let (search_path, texts) = (repository.search_path(), repository.texts());
        Ok(Composition::new(parts, search_path, texts, settings.clone()))
    }
}

/// What a command line asks to run.
#[derive(Debug, Clone)]
pub enum RunOrSweep {
    /// One job.
    Run(Box<Composition>),
    /// The jobs of a sweep.
    Sweep(Box<Multirun>),
}

impl Composer {
    /// Composes what is to be run. `hydra.mode` decides between a job and a sweep where the config
    /// or an override sets it; else [`ComposeRequest::mode`] does, and is then noted as an override.
    ///
    /// # Errors
    /// [`ComposeError`] wherever Hydra would not run it either.
    pub fn launch(&self, request: &ComposeRequest) -> Result<RunOrSweep, ComposeError> {
        let mut request = request.clone();
        let asked = request.mode;
        let set = self.configured_mode(&request);
        if set.is_none() || (asked, set) == (Mode::Multirun, Some(Mode::Run)) {
            request.overrides.push(format!("hydra.mode={}", name(asked)));
        }
        match (set, asked) {
            (Some(Mode::Multirun), _) | (_, Mode::Multirun) => {
                self.multirun(&request).map(Box::new).map(RunOrSweep::Sweep)
            }
            _ => self.compose(&request).map(Box::new).map(RunOrSweep::Run),
        }
    }

    /// `hydra.mode`. What cannot be composed yet says nothing of it.
    fn configured_mode(&self, request: &ComposeRequest) -> Option<Mode> {
        let plan = self.compose(&ComposeRequest { mode: Mode::Multirun, ..request.clone() }).ok()?;
        match plan.value_at("hydra.mode").ok()??.value {
            Value::Str(mode) if mode == name(Mode::Multirun) => Some(Mode::Multirun),
            Value::Str(_) => Some(Mode::Run),
            _ => None,
        }
    }
}

fn name(mode: Mode) -> &'static str {
    match mode {
        Mode::Run => "RUN",
        Mode::Multirun => "MULTIRUN",
    }
}
