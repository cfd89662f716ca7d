//! What each path answers.

use std::rc::Rc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::{Instant, SystemTime};

use bytes::Bytes;
use http_body_util::{BodyExt, Either, Full};
use hyper::body::Incoming;
use hyper::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER};
use hyper::{Method, Request, Response, StatusCode};
use rand::RngExt;
use serde_json::json;

use super::AnyError;
use super::connection::ConnectionContext;
use crate::answer::{AnswerApi, AnswerBody, AnswerPlan, AnswerSetup, ServingSlot, UsageWish};
use crate::fault::{PlantedFault, drawn};
use crate::journal::{OpenRequest, ServedRequest, unix_ns};
use crate::options::UsagePolicy;
use crate::prompt::AskedBody;
use crate::schedule::{TokenSchedule, draws_of};

pub(super) type Reply = Response<Either<Full<Bytes>, AnswerBody>>;

const JSON: &str = "application/json";

fn full(status: StatusCode, kind: &'static str, text: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(Either::Left(Full::new(text.into())));
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static(kind));
    reply
}

fn error(status: StatusCode, message: &str) -> Reply {
    let kind = status.canonical_reason().unwrap_or("error").replace(' ', "");
    let body = json!({"error": {"message": message, "type": kind, "param": null, "code": status.as_u16()}});
    full(status, JSON, body.to_string())
}

pub(super) async fn respond(
    request: Request<Incoming>,
    context: ConnectionContext,
) -> Result<Reply, AnyError> {
    let shared = context.shared.clone();
    let metrics = &shared.metrics;
    let ok = |text: String| Ok(full(StatusCode::OK, JSON, text));
    let model = &shared.options.model;
    let path = request.uri().path().to_owned();
    match (request.method(), path.as_str()) {
        (&Method::GET, "/health" | "/ping") => ok(String::new()),
        (&Method::GET, "/version") => ok(json!({"version": env!("CARGO_PKG_VERSION")}).to_string()),
        (&Method::GET, "/v1/models") => {
            ok(json!({"object": "list", "data": [{"id": model, "object": "model", "created": 0, "owned_by": "mock"}]})
                .to_string())
        }
        (&Method::GET, "/metrics") => {
            let text = metrics.text(model, shared.options.kv_capacity);
            Ok(full(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text))
        }
        (&Method::POST, "/start_profile") => {
            metrics.profiles_started.fetch_add(1, Relaxed);
            ok(String::new())
        }
        (&Method::POST, "/stop_profile") => {
            metrics.profiles_stopped.fetch_add(1, Relaxed);
            ok(String::new())
        }
        (&Method::POST, "/quit") => {
            // The main thread may be on its way out already.
            let _ = shared.quit.send(());
            ok(String::new())
        }
        (&Method::POST, "/v1/completions") => serve(request, context, Task::Text(AnswerApi::Completions)).await,
        (&Method::POST, "/v1/chat/completions") => serve(request, context, Task::Text(AnswerApi::Chat)).await,
        (&Method::POST, "/v1/responses") => serve(request, context, Task::Text(AnswerApi::Responses)).await,
        (&Method::POST, "/v1/embeddings") => serve(request, context, Task::Embed).await,
        (&Method::POST, "/v1/rerank" | "/rerank") => serve(request, context, Task::Rerank).await,
        _ => Ok(error(StatusCode::NOT_FOUND, "no such path")),
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Task {
    Text(AnswerApi),
    Embed,
    Rerank,
}

struct Alive<'a>(&'a AtomicI64);

impl<'a> Alive<'a> {
    fn new(gauge: &'a AtomicI64) -> Self {
        gauge.fetch_add(1, Relaxed);
        Alive(gauge)
    }
}

impl Drop for Alive<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

struct Received {
    number: u64,
    arrival: Instant,
    complete: SystemTime,
    body: AskedBody,
    accepts_gzip: bool,
    fault: Option<PlantedFault>,
    open: Rc<OpenRequest>,
}

async fn serve(
    request: Request<Incoming>,
    context: ConnectionContext,
    task: Task,
) -> Result<Reply, AnyError> {
    let shared = context.shared.clone();
    let arrival_time = context.state.received();
    let arrival = instant_of(arrival_time);
    shared.first_request.get_or_init(|| arrival);
    let number = shared.next_number();
    let mut draws = draws_of(shared.options.seed, number);
    let fault = drawn(&shared.options.fail, draws.random());
    let entry = ServedRequest {
        number,
        path: request.uri().path().to_owned(),
        arrival_ns: unix_ns(arrival_time),
        fault: fault.map(PlantedFault::name),
        ..ServedRequest::default()
    };
    let open = OpenRequest::new(shared.journal.clone(), entry);
    let accepts = request.headers().get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    let accepts_gzip = accepts.is_some_and(|value| value.contains("gzip"));
    let bytes = request.into_body().collect().await?.to_bytes();
    let body: AskedBody = match serde_json::from_slice(&bytes) {
        Ok(body) => body,
        Err(problem) => {
            open.update(|entry| entry.status = Some(400));
            return Ok(error(StatusCode::BAD_REQUEST, &problem.to_string()));
        }
    };
    let complete = context.state.received();
    open.update(|entry| {
        entry.received_ns = Some(unix_ns(complete));
        entry.stream = body.stream.unwrap_or(false);
        entry.prompt_tokens = body.prompt_tokens();
        entry.max_tokens = body.max_tokens();
    });
    let received = Received { number, arrival, complete, body, accepts_gzip, fault, open };
    if let Some(reply) = refusal(&received).await? {
        received.open.update(|entry| entry.status = Some(reply.status().as_u16()));
        return Ok(reply);
    }
    if received.fault == Some(PlantedFault::Goaway) {
        context.state.go_away(false);
    }
    let status = received.open.clone();
    let reply = match task {
        Task::Text(api) => answer(received, context, api, draws).await?,
        Task::Embed | Task::Rerank => vectors(received, context, task, draws).await?,
    };
    status.update(|entry| entry.status = Some(reply.status().as_u16()));
    Ok(reply)
}

async fn refusal(received: &Received) -> Result<Option<Reply>, AnyError> {
    let streams = received.body.stream.unwrap_or(false);
    Ok(match received.fault {
        Some(PlantedFault::Refuse429) => {
            let mut reply = error(StatusCode::TOO_MANY_REQUESTS, "planted refusal");
            reply.headers_mut().insert(RETRY_AFTER, hyper::header::HeaderValue::from_static("1"));
            Some(reply)
        }
        Some(PlantedFault::Error500) => Some(error(StatusCode::INTERNAL_SERVER_ERROR, "planted error")),
        Some(PlantedFault::ErrorEvent) if !streams => {
            Some(error(StatusCode::INTERNAL_SERVER_ERROR, "planted error"))
        }
        Some(PlantedFault::WrongType) => {
            Some(full(StatusCode::OK, "text/html", "<!doctype html><title>welcome</title><p>It works!"))
        }
        Some(PlantedFault::Close) => return Err("planted end".into()),
        Some(PlantedFault::Hang) => std::future::pending().await,
        _ => None,
    })
}

fn instant_of(time: SystemTime) -> Instant {
    let now = Instant::now();
    let ago = SystemTime::now().duration_since(time).unwrap_or_default();
    now.checked_sub(ago).unwrap_or(now)
}

/// Waits for a slot; with the time when work begins: when the request was complete, if a slot was free.
async fn slot(received: &Received, context: &ConnectionContext) -> Result<(ServingSlot, Instant), AnyError> {
    let shared = &context.shared;
    let mut begin = received.complete;
    let permit = match shared.slots.clone() {
        None => None,
        Some(slots) => Some(match slots.clone().try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                let _waiting = Alive::new(&shared.metrics.waiting);
                let permit = slots.acquire_owned().await?;
                begin = SystemTime::now();
                permit
            }
        }),
    };
    let started = instant_of(begin);
    shared.metrics.queue_time.observe(started.saturating_duration_since(received.arrival));
    received.open.update(|entry| entry.started_ns = Some(unix_ns(begin)));
    Ok((ServingSlot::new(shared.metrics.clone(), permit, received.body.prompt_tokens()), started))
}

async fn answer(
    received: Received,
    context: ConnectionContext,
    api: AnswerApi,
    draws: rand_chacha::ChaCha8Rng,
) -> Result<Reply, AnyError> {
    let (slot, started) = slot(&received, &context).await?;
    let options = &context.shared.options;
    let streams = received.body.stream.unwrap_or(false);
    let gzip = options.gzip && received.accepts_gzip;
    let first_request = *context.shared.first_request.get().unwrap_or(&started);
    let prompt_tokens = received.body.prompt_tokens();
    let setup = AnswerSetup {
        plan: plan(&received, &context, api),
        schedule: TokenSchedule::new(options.timing(), started, first_request, prompt_tokens, draws),
        timer: context.timer.clone(),
        request: received.open,
        connection: context.state.clone(),
        slot,
        fault: received.fault,
        streams,
        gzip,
        arrival: received.arrival,
        started,
    };
    let mut body = AnswerBody::new(setup);
    if !streams {
        body.first_piece().await?;
    }
    let kind = if streams { "text/event-stream; charset=utf-8" } else { JSON };
    let mut reply = full(StatusCode::OK, kind, Bytes::new()).map(|_| Either::Right(body));
    if gzip {
        reply.headers_mut().insert(CONTENT_ENCODING, hyper::header::HeaderValue::from_static("gzip"));
    }
    Ok(reply)
}

fn plan(received: &Received, context: &ConnectionContext, api: AnswerApi) -> AnswerPlan {
    let options = &context.shared.options;
    let (at_end, in_each) = received.body.wants_usage();
    let usage = match options.usage {
        UsagePolicy::Always => UsageWish { at_end: true, in_each },
        // The last event of a response has it without being asked.
        UsagePolicy::Asked => UsageWish { at_end: at_end || api == AnswerApi::Responses, in_each },
        UsagePolicy::Never => UsageWish::default(),
        UsagePolicy::Continuous => UsageWish { at_end: true, in_each: true },
    };
    let model = received.body.model.as_deref().unwrap_or(&options.model);
    AnswerPlan {
        api,
        number: received.number,
        model: model.chars().filter(|letter| !letter.is_control() && !"\"\\".contains(*letter)).collect(),
        created: unix_ns(SystemTime::now()) / 1_000_000_000,
        prompt_tokens: received.body.prompt_tokens(),
        output_tokens: received.body.max_tokens().max(1),
        usage,
        token_ids: received.body.return_token_ids.unwrap_or(false),
        options: options.clone(),
    }
}

/// Embeddings and ranks: a document when the first token would be due.
async fn vectors(
    received: Received,
    context: ConnectionContext,
    task: Task,
    draws: rand_chacha::ChaCha8Rng,
) -> Result<Reply, AnyError> {
    let (_slot, started) = slot(&received, &context).await?;
    let shared = &context.shared;
    let first_request = *shared.first_request.get().unwrap_or(&started);
    let tokens = received.body.prompt_tokens();
    let mut schedule = TokenSchedule::new(shared.options.timing(), started, first_request, tokens, draws);
    context.timer.sleep_until(schedule.due(0)).await?;
    if received.fault == Some(PlantedFault::Reset) && !shared.options.http2 {
        context.state.reset();
        return Err("planted reset".into());
    }
    let usage = json!({"prompt_tokens": tokens, "total_tokens": tokens});
    let items = 0..received.body.items();
    let document = if task == Task::Embed {
        let data: Vec<_> = items
            .map(|index| json!({"object": "embedding", "index": index, "embedding": [0.5, 0.25]}))
            .collect();
        json!({"object": "list", "model": shared.options.model, "data": data, "usage": usage})
    } else {
        let results: Vec<_> =
            items.map(|index| json!({"index": index, "relevance_score": 1.0 / (index + 1) as f64})).collect();
        json!({"id": format!("rerank-{}", received.number), "model": shared.options.model, "results": results, "usage": usage})
    };
    shared.metrics.finished.fetch_add(1, Relaxed);
    shared.metrics.e2e.observe(received.arrival.elapsed());
    received.open.update(|entry| entry.complete = true);
    Ok(full(StatusCode::OK, JSON, document.to_string()))
}
