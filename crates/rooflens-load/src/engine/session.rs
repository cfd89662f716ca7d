//! The requests of a session, one after the other.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use rooflens_schema::tables::RequestStatus;

use super::answer::AnswerReader;
use super::exchange::{Broken, ExchangeTimes, Line};
use super::feed::Job;
use super::rest;
use super::signals::Phase;
use super::worker::{Slot, Worker, record};
use crate::clock::nanoseconds;
use crate::delta::StreamedAnswer;
use crate::errors::failed;
use crate::plan::{Body, LoadSession, Turn};
use crate::record::{RequestError, RequestRecord};

const MAX_CHUNKS_AHEAD: usize = 4096;

pub(super) struct Start {
    pub(crate) scheduled_ns: i64,
    pub(crate) ready_ns: i64,
    pub(crate) slot: Slot,
}

pub(super) struct SessionEnd {
    pub(crate) end_ns: i64,
    pub(crate) is_unreachable: bool,
}

struct Outgoing {
    number: u64,
    turn: u32,
    session: Option<Arc<str>>,
    lora: Option<Arc<str>>,
    sample: Option<Arc<str>>,
    prompt_tokens: Option<u32>,
    max_output_tokens: Option<u32>,
    needs_reply: bool,
}

pub(super) async fn run_session(worker: &Rc<Worker>, job: Job, start: Start) -> SessionEnd {
    let LoadSession { id, lora, turns, .. } = job.session;
    let mut left = turns.len();
    let last_with_replies = turns.iter().rposition(|turn| matches!(turn.body, Body::FromReplies(_)));
    let mut replies = Vec::new();
    let mut end = SessionEnd { end_ns: start.scheduled_ns, is_unreachable: false };
    let mut start = Some(start);
    for (index, turn) in turns.into_iter().enumerate() {
        let Turn { body, prompt_tokens, max_output_tokens, delay, sample } = turn;
        let body = match body {
            Body::Ready(bytes) => bytes,
            Body::FromReplies(make) => make(&replies),
        };
        let now = match start.take() {
            Some(start) => start,
            None => match later(worker, end.end_ns.saturating_add(nanoseconds(delay))).await {
                Some(start) => start,
                None => break,
            },
        };
        left -= 1;
        worker.abandon(1);
        let outgoing = Outgoing {
            number: job.first_number + index as u64,
            turn: u32::try_from(index).unwrap_or(u32::MAX),
            session: id.clone(),
            lora: lora.clone(),
            sample,
            prompt_tokens,
            max_output_tokens,
            needs_reply: last_with_replies.is_some_and(|last| index < last),
        };
        let (done, reply) = request(worker, outgoing, body, now).await;
        end.end_ns = done.end_ns;
        end.is_unreachable = done.status == RequestStatus::Failed && done.first_byte_ns.is_none();
        let is_completed = done.status == RequestStatus::Completed;
        // The recorder ends only after all workers.
        if let Some(sent_ns) = done.sent_ns {
            rest::note_request(done.end_ns.saturating_sub(sent_ns));
        }
        let _ = worker.records.send(done);
        if !is_completed {
            break;
        }
        replies.push(reply.unwrap_or_default());
    }
    worker.abandon(left);
    end
}

async fn later(worker: &Worker, scheduled_ns: i64) -> Option<Start> {
    if scheduled_ns >= worker.send_until_ns {
        return None;
    }
    worker.signals.unless(Phase::Draining, worker.alarm.sleep_until(scheduled_ns)).await?;
    let slot = worker.slot().await?;
    Some(Start { scheduled_ns, ready_ns: scheduled_ns.max(slot.ready_ns), slot })
}

async fn request(
    worker: &Worker,
    outgoing: Outgoing,
    body: Bytes,
    start: Start,
) -> (RequestRecord, Option<String>) {
    worker.shared.sent.fetch_add(1, Ordering::Relaxed);
    worker.shared.in_flight.fetch_add(1, Ordering::Relaxed);
    let ahead = outgoing.max_output_tokens.map_or(16, |most| most as usize).min(MAX_CHUNKS_AHEAD);
    let api = worker.plan.target.api;
    let chunks = if api.is_streamed() { ahead } else { 0 };
    let mut answer = AnswerReader::new(StreamedAnswer::with_capacity(chunks), api.is_streamed());
    answer.streamed.reply = outgoing.needs_reply.then(String::new);
    let mut times = ExchangeTimes::default();
    let now = || worker.clock.now_ns();
    let line = Line {
        pool: &worker.pool,
        head: &worker.head,
        signals: &worker.signals,
        timeout: worker.plan.target.timeout,
        now: &now,
        chunks: &worker.chunks,
    };
    worker.note_streams(1);
    let outcome = line.exchange(body, &mut answer, &mut times).await;
    worker.note_streams(-1);
    drop(start.slot);
    if let (Some(sent), false) = (times.sent_ns, times.is_repeated) {
        record(&worker.send_lag, sent - start.scheduled_ns.max(start.ready_ns) - times.connecting_ns);
    }
    let (status, error) = judge(outcome, worker);
    count(worker, status);
    let end_ns = match (status, times.last_byte_ns) {
        (RequestStatus::Completed, Some(last)) => last,
        _ => worker.clock.now_ns(),
    };
    finished(
        worker,
        outgoing,
        answer,
        &times,
        Ending { scheduled_ns: start.scheduled_ns, end_ns, status, error },
    )
}

fn judge(outcome: Result<(), Broken>, worker: &Worker) -> (RequestStatus, Option<RequestError>) {
    match outcome {
        Ok(()) => (RequestStatus::Completed, None),
        Err(Broken::Failed(error)) => (RequestStatus::Failed, Some(error)),
        Err(Broken::TimedOut) => {
            let limit = worker.plan.target.timeout;
            (RequestStatus::TimedOut, Some(failed("timeout", format!("no complete answer within {limit:?}"))))
        }
        Err(Broken::Cancelled) => (RequestStatus::Cancelled, None),
    }
}

fn count(worker: &Worker, status: RequestStatus) {
    worker.shared.in_flight.fetch_sub(1, Ordering::Relaxed);
    match status {
        RequestStatus::Completed => worker.shared.completed.fetch_add(1, Ordering::Relaxed),
        RequestStatus::Failed | RequestStatus::TimedOut => {
            worker.shared.failed.fetch_add(1, Ordering::Relaxed)
        }
        _ => 0,
    };
}

struct Ending {
    scheduled_ns: i64,
    end_ns: i64,
    status: RequestStatus,
    error: Option<RequestError>,
}

fn finished(
    worker: &Worker,
    outgoing: Outgoing,
    answer: AnswerReader,
    times: &ExchangeTimes,
    ending: Ending,
) -> (RequestRecord, Option<String>) {
    let http_status = answer.http_status;
    let streamed = answer.streamed;
    let is_counted = streamed.usage.is_some_and(|usage| usage.output.is_some());
    let is_kept = outgoing.number < worker.plan.keep_texts || !is_counted;
    let record = RequestRecord {
        number: outgoing.number,
        session: outgoing.session,
        turn: outgoing.turn,
        lora: outgoing.lora,
        sample: outgoing.sample,
        scheduled_ns: ending.scheduled_ns,
        sent_ns: times.sent_ns,
        first_byte_ns: times.first_byte_ns,
        end_ns: ending.end_ns,
        chunks: streamed.chunks,
        usage: streamed.usage,
        prompt_tokens: outgoing.prompt_tokens,
        max_output_tokens: outgoing.max_output_tokens,
        finish: streamed.finish,
        status: ending.status,
        http_status,
        error: ending.error,
        external_id: streamed.id,
        text: (is_kept && !streamed.text.is_empty()).then_some(streamed.text),
        is_new_connection: times.is_new_connection,
    };
    (record, streamed.reply)
}
