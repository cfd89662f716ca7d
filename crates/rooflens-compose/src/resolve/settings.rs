//! What an evaluation may use: the machine, and the resolvers of a project.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use crate::clock::{Host, LocalTime};
use crate::value::Value;

/// Answers `${name:argument,…}`. The arguments are already resolved; an error is a message. A list or mapping it returns
/// is part of the config, as if `oc.create` had made it.
pub type Resolver = Arc<dyn Fn(&[Value]) -> Result<Value, String> + Send + Sync>;

/// What an evaluation may use.
#[derive(Clone)]
pub struct EvaluationSettings {
    pub(crate) host: Host,
    /// The resolvers of a project, by name. They go before those that are built in.
    pub(crate) resolvers: BTreeMap<String, Resolver>,
    /// The time of a run, once it was asked for. A run has one, and so have all its jobs.
    time: Arc<OnceLock<LocalTime>>,
}

impl EvaluationSettings {
    pub(crate) fn new(host: Host) -> Self {
        Self { host, resolvers: BTreeMap::new(), time: Arc::default() }
    }

    pub(crate) fn renewed(&self) -> Self {
        Self { time: Arc::default(), ..self.clone() }
    }

    pub(super) fn now(&self) -> LocalTime {
        *self.time.get_or_init(|| (self.host.clock)())
    }
}

impl std::fmt::Debug for EvaluationSettings {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("EvaluationSettings").field("host", &self.host).finish_non_exhaustive()
    }
}
