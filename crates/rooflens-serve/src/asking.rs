//! Questions to a store, answered by the engine: a separate process with limits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use rooflens_core::fleet::{
    AnswerHead, AnswerTaker, EngineLimits, FirstRows, QueryRequest, QueryText, QueryWatch, RecordBatch,
    has_engine, query,
};
use rooflens_core::{Error, Hint};
use rooflens_report::Part;
use rooflens_report::block::Block;

use crate::app::{App, Waited};
use crate::fault::PageFault;

/// Address space beyond the memory of a query: program, stacks and what the allocator reserves.
const BESIDE: u64 = 6 << 30;
/// Bytes of an answer: rows that are shown, with long texts in them.
const MOST_OF_AN_ANSWER: u64 = 32 << 20;

pub(crate) fn refusal(app: &App) -> Option<PageFault> {
    let not_here = |fact: &str| PageFault::of(StatusCode::OK, fact);
    if app.source.store().is_none() {
        let fault = not_here("Queries need a store, and this server shows a folder of runs.");
        return Some(
            fault.hint("`rooflens store add runs/* --store team-store`, then `rooflens serve team-store`"),
        );
    }
    if has_engine() {
        return None;
    }
    let error = Error::no_engine("rooflens-query");
    let hint = error.hint().as_ref().map(Hint::to_string).unwrap_or_default();
    Some(not_here(&format!("Queries need an engine: {error}.")).hint(hint))
}

enum Ended {
    Enough,
    Failed(Error),
}

impl From<Error> for Ended {
    fn from(error: Error) -> Self {
        Ended::Failed(error)
    }
}

struct Rows {
    limit: usize,
    taken: usize,
    first: Option<FirstRows>,
}

impl AnswerTaker<Ended> for Rows {
    fn begin(&mut self, head: AnswerHead) -> Result<(), Ended> {
        self.first = Some(FirstRows::new(head, self.limit));
        Ok(())
    }

    fn rows(&mut self, batch: &RecordBatch) -> Result<(), Ended> {
        if let Some(first) = &mut self.first {
            first.add(batch);
        }
        self.taken += batch.num_rows();
        if self.taken > self.limit { Err(Ended::Enough) } else { Ok(()) }
    }
}

struct Deadline {
    at: Instant,
    is_abandoned: Arc<AtomicBool>,
    is_late: AtomicBool,
}

impl QueryWatch for Deadline {
    fn progress(&self, _rows: u64, _bytes: u64) {}

    fn is_stopped(&self) -> bool {
        let is_late = Instant::now() >= self.at;
        self.is_late.fetch_or(is_late, Ordering::Relaxed);
        is_late || self.is_abandoned.load(Ordering::Relaxed)
    }
}

/// Asks, and gives the answer as parts of a page.
pub async fn ask(app: &App, text: QueryText) -> Result<Vec<Part>, PageFault> {
    if let Some(refusal) = refusal(app) {
        return Ok(refusal.parts());
    }
    let place = Arc::clone(&app.queries).try_acquire_owned().map_err(|_| {
        PageFault::of(StatusCode::TOO_MANY_REQUESTS, "Other queries are running.")
            .hint("Try again when they are done.")
    })?;
    let (limit, time) = (app.limits.query_rows, app.limits.query_time);
    let request = QueryRequest {
        text,
        store: app.source.store().unwrap_or_default().to_owned(),
        tenants: None,
        memory_bytes: Some(app.limits.query_bytes),
        limits: EngineLimits {
            process_bytes: Some(app.limits.query_bytes.saturating_add(BESIDE)),
            answer_bytes: Some(MOST_OF_AN_ANSWER),
        },
        spill_folder: None,
        engine: None,
    };
    let waited_for = Waited::default();
    let deadline = Deadline {
        at: Instant::now() + time,
        is_abandoned: Arc::clone(&waited_for.0),
        is_late: AtomicBool::new(false),
    };
    let done = tokio::task::spawn_blocking(move || {
        let mut rows = Rows { limit, taken: 0, first: None };
        let ended = query(&request, &deadline, &mut rows);
        drop(place);
        (ended.map(|_| request.notes(rows.taken).unwrap_or_default()), rows, deadline.is_late.into_inner())
    })
    .await;
    let (ended, rows, is_late) = done.map_err(|_| PageFault::bug())?;
    match ended {
        Ok(notes) => Ok(shown(rows, notes)),
        Err(Ended::Enough) => Ok(shown(
            rows,
            vec![format!("There are more rows: only the first {limit} were read. Add a LIMIT or sum up.")],
        )),
        Err(Ended::Failed(_)) if is_late => {
            app.metrics.queries_stopped.inc();
            Err(too_long(time))
        }
        Err(Ended::Failed(error)) => Err(PageFault::of_error(&error)),
    }
}

fn too_long(time: Duration) -> PageFault {
    let fact = format!("The query took longer than {} s and was ended.", time.as_secs_f64());
    let fault = PageFault::of(StatusCode::UNPROCESSABLE_ENTITY, fact);
    fault.hint("Ask for less, or ask without a limit of time: rooflens query 'SELECT …' --store STORE")
}

fn shown(rows: Rows, notes: Vec<String>) -> Vec<Part> {
    let mut parts = rows.first.map(FirstRows::parts).unwrap_or_default();
    if let Some(part) = parts.first_mut() {
        part.blocks.extend(notes.into_iter().map(Block::Text));
    }
    parts
}
