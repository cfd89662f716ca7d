//! What a composition found odd but not wrong.

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
    /// A config of the user has the name of one of Hydra's classes.
    #[error("'{config}' has the name of a config built into Hydra and is checked against it")]
    ShadowsBuiltIn {
        /// The config.
        config: String,
    },
    /// A key that `oc.deprecated` says is no longer to be used.
    #[error("{message}")]
    Deprecated {
        /// What the config says about it.
        message: String,
    },
}
