//! What all pages share, and which address leads to which page.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{get, post};
use rooflens_core::{Event, Observer, SharedObserver, Stop};
use tokio::sync::Semaphore;
use tower_http::limit::RequestBodyLimitLayer;
use tower_http::timeout::TimeoutLayer;

use crate::access::{HostNames, Tokens};
use crate::cache::PageCache;
use crate::fault::PageFault;
use crate::index::{RunIndex, RunSource};
use crate::listening::Ending;
use crate::self_metrics::SelfMetrics;
use crate::settings::DashboardLimits;
use crate::{assets, guard, pages};

/// What all pages share.
pub(crate) struct App {
    /// Where the runs come from.
    pub(crate) source: RunSource,
    /// Bounds.
    pub(crate) limits: DashboardLimits,
    /// Names that the server answers to.
    pub(crate) hosts: HostNames,
    /// Token and cookies.
    pub(crate) tokens: Tokens,
    /// Pages that are kept.
    pub(crate) cache: PageCache,
    /// What the server counts.
    pub(crate) metrics: Arc<SelfMetrics>,
    /// Places for who follows a run.
    pub(crate) subscribers: Arc<Semaphore>,
    /// Places for queries.
    pub(crate) queries: Arc<Semaphore>,
    /// Told when the server is to end.
    pub(crate) ending: Ending,
    renders: Arc<Semaphore>,
    index: RwLock<Arc<RunIndex>>,
}

/// What an [`App`] is made of.
pub(crate) struct AppParts {
    /// Where the runs come from.
    pub(crate) source: RunSource,
    /// The runs.
    pub(crate) index: RunIndex,
    /// Bounds.
    pub(crate) limits: DashboardLimits,
    /// Names that the server answers to.
    pub(crate) hosts: HostNames,
    /// Token and cookies.
    pub(crate) tokens: Tokens,
    /// What the server counts.
    pub(crate) metrics: Arc<SelfMetrics>,
    /// Told when the server is to end.
    pub(crate) ending: Ending,
}

impl App {
    /// With these parts.
    pub(crate) fn new(parts: AppParts) -> Self {
        let AppParts { source, index, limits, hosts, tokens, metrics, ending } = parts;
        metrics.runs.set(i64::try_from(index.runs.len()).unwrap_or(i64::MAX));
        App {
            cache: PageCache::new(limits.cache_bytes),
            subscribers: Arc::new(Semaphore::new(limits.subscribers)),
            queries: Arc::new(Semaphore::new(limits.queries)),
            renders: Arc::new(Semaphore::new(limits.renders)),
            index: RwLock::new(Arc::new(index)),
            source,
            limits,
            hosts,
            tokens,
            metrics,
            ending,
        }
    }

    /// The runs as they are now.
    pub(crate) fn index(&self) -> Arc<RunIndex> {
        Arc::clone(&self.index.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Looks for runs again.
    fn refresh(&self) {
        // A folder that cannot be read for a moment leaves the list as it was.
        if let Ok(Some(index)) = self.source.refresh(&self.index()) {
            self.metrics.refreshes.inc();
            self.metrics.runs.set(i64::try_from(index.runs.len()).unwrap_or(i64::MAX));
            *self.index.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(index);
        }
    }

    /// Computes something on another thread, only so many at once, and ends it when nobody waits any more.
    pub(crate) async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce(&SharedObserver) -> Result<T, PageFault> + Send + 'static,
    ) -> Result<T, PageFault> {
        let place = Arc::clone(&self.renders).acquire_owned().await.map_err(|_| PageFault::ending())?;
        let waited_for = Waited::default();
        let observer: SharedObserver = Arc::new(Abandoned(Arc::clone(&waited_for.0)));
        let done = tokio::task::spawn_blocking(move || {
            let done = work(&observer);
            drop(place);
            done
        })
        .await;
        done.unwrap_or_else(|_| Err(PageFault::bug()))
    }
}

/// Whoever waits for work; tells it when that ends.
#[derive(Default)]
pub(crate) struct Waited(pub Arc<AtomicBool>);

impl Drop for Waited {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct Abandoned(Arc<AtomicBool>);

impl Observer for Abandoned {
    fn event(&self, _: &Event<'_>) {}

    fn stop(&self) -> Stop {
        if self.0.load(Ordering::Relaxed) { Stop::Kill } else { Stop::No }
    }
}

/// Looks for runs on a beat, until the server ends.
pub(crate) async fn keep_fresh(app: Arc<App>, every: Duration) {
    let mut ending = app.ending.clone();
    loop {
        tokio::select! {
            () = tokio::time::sleep(every) => {}
            _ = ending.wait_for(|is_ending| *is_ending) => return,
        }
        let looking = Arc::clone(&app);
        drop(tokio::task::spawn_blocking(move || looking.refresh()).await);
    }
}

/// Which address leads to which page.
pub(crate) fn router(app: Arc<App>) -> Router {
    let limits = &app.limits;
    Router::new()
        .route("/", get(pages::runs::get))
        .route("/runs/{id}", get(pages::run::get))
        .route("/compare", get(pages::compare::get))
        .route("/trend", get(pages::trend::get))
        .route("/queries", get(pages::queries::list))
        .route("/queries/{name}", get(pages::queries::get))
        .route("/sql", get(pages::sql::get).post(pages::sql::ask))
        .route("/live", get(pages::live::list))
        .route("/live/{id}", get(pages::live::get))
        .route("/live/{id}/events", get(pages::live::events))
        .route("/login", get(pages::login::get).post(pages::login::enter))
        .route("/logout", post(pages::login::leave))
        .route("/assets/{name}", get(assets::get))
        .route("/metrics", get(pages::own_metrics))
        .route("/healthz", get(pages::health))
        .fallback(pages::nowhere)
        .method_not_allowed_fallback(pages::not_so)
        .layer(DefaultBodyLimit::max(limits.body_bytes))
        .layer(RequestBodyLimitLayer::new(limits.body_bytes))
        .layer(TimeoutLayer::with_status_code(StatusCode::REQUEST_TIMEOUT, limits.request_time))
        .layer(from_fn_with_state(Arc::clone(&app), guard::admit))
        .layer(from_fn(guard::protect))
        .layer(from_fn_with_state(Arc::clone(&app), guard::count))
        .with_state(app)
}
