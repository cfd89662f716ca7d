//! The resolvers a config may call.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use super::built_in;
use crate::clock::LocalTime;
use crate::host::Host;
use crate::value::Value;

/// Answers `${name:argument,…}`. The arguments are already resolved; an error is a message.
pub type Resolver = Arc<dyn Fn(&[Value]) -> Result<Value, String> + Send + Sync>;

/// The resolvers of a project, besides those that are built in: `oc.env`, `oc.select`,
/// `oc.decode`, `oc.create`, `oc.deprecated`, `oc.dict.keys`, `oc.dict.values`, `now`, `hydra`.
///
/// `python_version` is not built in, since no Python is run: a project that needs it registers it.
///
/// ```
/// use std::sync::Arc;
/// use rooflens_compose::resolve::Resolvers;
/// use rooflens_compose::value::Value;
///
/// let mut resolvers = Resolvers::default();
/// resolvers.register("answer", Arc::new(|_| Ok(Value::Str("42".into()))));
/// assert!(resolvers.names().any(|name| name == "answer"));
/// ```
#[derive(Clone, Default)]
pub struct Resolvers {
    custom: BTreeMap<String, Resolver>,
}

impl Resolvers {
    /// Adds a resolver, or replaces one, a built-in one too. A list or mapping it returns is part
    /// of the config, as if `oc.create` had made it.
    pub fn register(&mut self, name: &str, resolver: Resolver) {
        self.custom.insert(name.to_owned(), resolver);
    }

    /// The names of all resolvers.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let built_in = built_in::ALL.iter().map(|(name, _)| *name);
        built_in.chain(self.custom.keys().map(String::as_str))
    }

    pub(super) fn custom(&self, name: &str) -> Option<&Resolver> {
        self.custom.get(name)
    }
}

impl std::fmt::Debug for Resolvers {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_list().entries(self.names()).finish()
    }
}

/// What an evaluation may use.
#[derive(Debug, Clone)]
pub struct EvaluationSettings {
    /// The machine.
    pub host: Host,
    /// The resolvers.
    pub resolvers: Resolvers,
    /// The time of a run, once it was asked for. A run has one, and so have all its jobs.
    time: Arc<OnceLock<LocalTime>>,
}

impl EvaluationSettings {
    /// A machine and some resolvers.
    #[must_use]
    pub fn new(host: Host, resolvers: Resolvers) -> Self {
        Self { host, resolvers, time: Arc::default() }
    }

    /// The same, with a clock that has not been looked at: for a run of its own.
    #[must_use]
    pub fn renewed(&self) -> Self {
        Self { time: Arc::default(), ..self.clone() }
    }

    /// The time of the run.
    pub(super) fn now(&self) -> LocalTime {
        *self.time.get_or_init(|| (self.host.clock)())
    }
}
