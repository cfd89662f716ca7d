//! `/live`: runs in progress, as they go.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{Html, IntoResponse, Response};
use futures_util::Stream;
use futures_util::stream::unfold;
use prometheus_client::metrics::gauge::Gauge;
use rooflens_report::linked_fragment;
use tokio::sync::OwnedSemaphorePermit;

use super::run::check;
use crate::app::App;
use crate::fault::PageFault;
use crate::frame::{page, section, text};
use crate::index::RunPlace;
use crate::listening::Ending;
use crate::live::{LiveRun, LiveState};

/// A sign of life, so that both ends notice when the other is gone.
const HEARTBEAT: Duration = Duration::from_secs(5);

pub(crate) async fn list(State(app): State<Arc<App>>) -> Response {
    let index = app.index();
    let item = |run: &&Arc<crate::index::ListedRun>| {
        format!("<li><a href=\"/live/{}\">{}</a></li>\n", text(&run.id), text(&run.name))
    };
    let items: String =
        index.runs.iter().filter(|run| run.is_live).collect::<Vec<_>>().iter().map(item).collect();
    let html = match (items.is_empty(), app.source.store()) {
        (true, Some(_)) => "<p>A store holds runs that have ended. To follow one in progress, serve the folder that it is \
                            written to: <code>rooflens serve DIR</code>.</p>\n"
            .to_owned(),
        (true, None) => "<p>Nothing is in progress. A run of <code>rooflens run</code> or <code>rooflens bench -o</code> below the folder \
                 that is served appears here some seconds after its start.</p>\n"
            .to_owned(),
        (false, _) => format!("<ul class=\"plain\">\n{items}</ul>\n"),
    };
    Html(page("Live", "/live", &section("runs", "Runs in progress", &html), &[], "")).into_response()
}

fn folder(app: &App, id: &str) -> Result<(String, PathBuf), PageFault> {
    let index = app.index();
    let run = index.find(id).ok_or_else(PageFault::no_run)?;
    match &run.place {
        RunPlace::Folder(folder) => {
            check(&app.source, folder)?;
            Ok((run.name.clone(), folder.clone()))
        }
        RunPlace::Stored { .. } => {
            let fault =
                PageFault::of(StatusCode::NOT_FOUND, "A run of a store has ended before it was added.");
            Err(fault.hint("The page of the run has its numbers."))
        }
    }
}

pub(crate) async fn get(State(app): State<Arc<App>>, Path(id): Path<String>) -> Result<Response, PageFault> {
    let (name, folder) = folder(&app, &id)?;
    let state = app.compute(move |_| Ok(LiveRun::new(&folder).look().clone())).await?;
    let id = text(&id);
    let hidden = if state.is_finished { "" } else { " hidden" };
    let html = format!(
        "<noscript><meta http-equiv=\"refresh\" content=\"2\"></noscript>\n\
         <p class=\"pages\"><span id=\"live-state\">This page shows the run as it was when it was opened.</span>\
         <a id=\"live-report\" href=\"/runs/{id}\"{hidden}>Report of the run</a></p>\n\
         <div id=\"live-parts\" data-events=\"/live/{id}/events\">{}</div>\n",
        linked_fragment(&state.parts())
    );
    Ok(Html(page(&format!("{name} · in progress"), "/live", &html, &[], "")).into_response())
}

struct Follower {
    run: Option<LiveRun>,
    sent: Option<LiveState>,
    is_over: bool,
    beat: Duration,
    ending: Ending,
    count: Gauge,
    _place: OwnedSemaphorePermit,
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.count.dec();
    }
}

pub(crate) async fn events(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Response, PageFault> {
    let (_, folder) = folder(&app, &id)?;
    let Ok(place) = Arc::clone(&app.subscribers).try_acquire_owned() else {
        let retry = [("retry-after", "10")];
        return Ok((StatusCode::SERVICE_UNAVAILABLE, retry, "too many follow runs already\n").into_response());
    };
    app.metrics.subscribers.inc();
    let follower = Follower {
        run: Some(LiveRun::new(&folder)),
        sent: None,
        is_over: false,
        beat: app.limits.live_beat,
        ending: app.ending.clone(),
        count: app.metrics.subscribers.clone(),
        _place: place,
    };
    let alive = KeepAlive::new().interval(HEARTBEAT);
    Ok(Sse::new(stream(follower)).keep_alive(alive).into_response())
}

fn stream(follower: Follower) -> impl Stream<Item = Result<Event, Infallible>> {
    unfold(follower, |mut follower| async move {
        loop {
            if follower.is_over {
                return None;
            }
            let event = follower.next().await?;
            if let Some(event) = event {
                return Some((Ok(event), follower));
            }
        }
    })
}

impl Follower {
    /// What there is to send after a beat, if anything; nothing at all where it is over.
    async fn next(&mut self) -> Option<Option<Event>> {
        if let Some(sent) = &self.sent {
            if sent.is_finished {
                self.is_over = true;
                return Some(Some(Event::default().event("end").data("done")));
            }
            tokio::select! {
                () = tokio::time::sleep(self.beat) => {}
                _ = self.ending.wait_for(|is_ending| *is_ending) => return None,
            }
        }
        let mut run = self.run.take()?;
        let looked = tokio::task::spawn_blocking(move || {
            let state = run.look().clone();
            (run, state)
        });
        let (run, state) = looked.await.ok()?;
        self.run = Some(run);
        if self.sent.as_ref() == Some(&state) {
            return Some(None);
        }
        let html = linked_fragment(&state.parts());
        self.sent = Some(state);
        Some(Some(Event::default().event("parts").data(html)))
    }
}
