//! Composes configs: what is asked for, and the whole way from a search path and overrides to one config or a sweep.

use crate::clock::Host;
use crate::composition::Composition;
use crate::error::ComposeError;
use crate::making::Making;
use crate::request::ComposeRequest;
use crate::resolve::{EvaluationSettings, Resolver};
use crate::sources::{Repository, SearchPath};

/// Composes the configs of a search path.
#[derive(Debug, Clone)]
pub struct Composer {
    search_path: SearchPath,
    settings: EvaluationSettings,
}

impl Composer {
    /// A composer on this machine with the resolvers that are built in.
    pub fn new(search_path: SearchPath) -> Self {
        Self { search_path, settings: EvaluationSettings::new(Host::system()) }
    }

    /// On another machine.
    pub fn with_host(mut self, host: Host) -> Self {
        self.settings.host = host;
        self
    }

    /// With a resolver of the project. `python_version` is not built in, since no Python is run.
    pub fn with_resolver(mut self, name: &str, resolver: Resolver) -> Self {
        self.settings.resolvers.insert(name.to_owned(), resolver);
        self
    }

    /// Where configs are looked for, before `hydra.searchpath` is read.
    pub fn search_path(&self) -> &SearchPath {
        &self.search_path
    }

    /// Composes a config.
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
