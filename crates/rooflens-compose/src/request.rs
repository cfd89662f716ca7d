//! What is asked of a composition, and what it found odd.

use crate::overrides::Override;

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
}
