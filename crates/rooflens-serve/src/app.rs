//! What all pages share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::http::HeaderMap;
use axum::response::Response;
use rooflens_core::{Event, Observer, SharedObserver, Stop};
use tokio::sync::Semaphore;

use crate::access::{HostNames, Tokens};
use crate::cache::{KeptPage, PageCache};
use crate::fault::PageFault;
use crate::index::{RunIndex, RunSource};
use crate::listening::Ending;
use crate::self_metrics::SelfMetrics;
use crate::settings::DashboardLimits;

pub(crate) struct App {
    pub(crate) source: RunSource,
    pub(crate) limits: DashboardLimits,
    pub(crate) hosts: HostNames,
    pub(crate) tokens: Tokens,
    pub(crate) cache: PageCache,
    pub(crate) metrics: Arc<SelfMetrics>,
    pub(crate) subscribers: Arc<Semaphore>,
    pub(crate) queries: Arc<Semaphore>,
    pub(crate) ending: Ending,
    pub(crate) renders: Arc<Semaphore>,
    pub(crate) index: RwLock<Arc<RunIndex>>,
}

impl App {
    pub(crate) fn index(&self) -> Arc<RunIndex> {
        Arc::clone(&self.index.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn refresh(&self) {
        // A folder that cannot be read for a moment leaves the list as it was.
        if let Ok(Some(index)) = self.source.refresh(&self.index()) {
            self.metrics.refreshes.inc();
            self.metrics.runs.set(index.runs.len() as i64);
            *self.index.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(index);
        }
    }

    /// Computes something on another thread, only so many at once, and ends it when no one waits any more.
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

    /// The page of a key, computed where it is not kept.
    pub(crate) async fn page(
        self: &Arc<Self>,
        key: &str,
        headers: &HeaderMap,
        draw: impl FnOnce(&App, &SharedObserver) -> Result<String, PageFault> + Send + 'static,
    ) -> Result<Response, PageFault> {
        let app = Arc::clone(self);
        let make = async { self.compute(move |observer| draw(&app, observer)).await.map(KeptPage::new) };
        Ok(self.cache.get_or_make(key, &self.metrics, make).await?.response(headers))
    }
}

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
