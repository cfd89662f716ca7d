//! One request and its answer on a connection.

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body as _, Incoming};
use hyper::header::{ACCEPT_ENCODING, CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use hyper::{HeaderMap, Method, Request, Response, Version};

use super::answer::AnswerReader;
use super::gate::Gate;
use super::signals::{Phase, Signals};
use crate::errors::http_failure;
use crate::plan::LoadTarget;
use crate::record::RequestError;
use crate::transport::Endpoint;
use crate::transport::connect::{Http1, Http2, OpenedConnection, RequestBody};
use crate::transport::pool::{Leased, Pool};
use crate::transport::timed::Stamps;

pub(super) struct RequestHead {
    headers: HeaderMap,
    endpoint: std::sync::Arc<Endpoint>,
}

impl RequestHead {
    pub(crate) fn new(target: &LoadTarget, endpoint: std::sync::Arc<Endpoint>) -> Result<Self, String> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if target.gzip {
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        }
        for (name, value) in &target.headers {
            let bad = |error: &dyn std::fmt::Display| format!("header {name}: {error}");
            let header = HeaderName::from_bytes(name.as_bytes()).map_err(|error| bad(&error))?;
            headers.insert(header, HeaderValue::from_str(value).map_err(|error| bad(&error))?);
        }
        Ok(RequestHead { headers, endpoint })
    }

    fn request(&self, body: Bytes, is_http2: bool) -> Request<RequestBody> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.headers_mut() = self.headers.clone();
        if is_http2 {
            *request.uri_mut() = self.endpoint.uri.clone();
            *request.version_mut() = Version::HTTP_2;
        } else {
            *request.uri_mut() = self.endpoint.path.clone();
            if let Ok(host) = HeaderValue::from_str(&self.endpoint.authority) {
                request.headers_mut().entry(HOST).or_insert(host);
            }
        }
        request
    }
}

#[derive(Debug, Default)]
pub(super) struct ExchangeTimes {
    pub(crate) sent_ns: Option<i64>,
    pub(crate) first_byte_ns: Option<i64>,
    pub(crate) connecting_ns: i64,
    pub(crate) last_byte_ns: Option<i64>,
    pub(crate) is_new_connection: bool,
    /// It was sent a second time, as an idle connection had been closed by the server.
    pub(crate) is_repeated: bool,
    pub(crate) is_http2: bool,
}

pub(super) enum Broken {
    Failed(RequestError),
    TimedOut,
    Cancelled,
}

pub(super) struct Line<'a> {
    pub(crate) pool: &'a Pool,
    pub(crate) head: &'a RequestHead,
    pub(crate) signals: &'a Signals,
    pub(crate) timeout: Duration,
    pub(crate) now: &'a dyn Fn() -> i64,
    pub(crate) chunks: &'a Cell<u64>,
}

impl Line<'_> {
    /// Sends a request and reads its answer. One that an idle connection lost before any answer came, as the server
    /// had closed it meanwhile, is sent once more on a new connection.
    pub(crate) async fn exchange(
        &self,
        body: Bytes,
        answer: &mut AnswerReader,
        times: &mut ExchangeTimes,
    ) -> Result<(), Broken> {
        if let Some(leased) = self.pool.idle().await {
            let outcome = self.on(leased, body.clone(), answer, times).await;
            if !is_lost(&outcome, times, answer) {
                return outcome;
            }
            *times = ExchangeTimes { is_repeated: true, ..ExchangeTimes::default() };
        }
        let outcome = self.on_new(body.clone(), answer, times).await;
        if times.is_repeated || !is_refused(&outcome, times, answer) {
            return outcome;
        }
        *times = ExchangeTimes { is_repeated: true, ..ExchangeTimes::default() };
        self.on_new(body, answer, times).await
    }

    async fn on_new(
        &self,
        body: Bytes,
        answer: &mut AnswerReader,
        times: &mut ExchangeTimes,
    ) -> Result<(), Broken> {
        let begin = (self.now)();
        let opened =
            self.signals.unless(Phase::Cancelled, self.pool.open()).await.ok_or(Broken::Cancelled)?;
        let leased = opened.map_err(Broken::Failed)?;
        times.connecting_ns = (self.now)() - begin;
        times.is_new_connection = leased.is_new;
        self.on(leased, body, answer, times).await
    }

    async fn on(
        &self,
        leased: Leased,
        body: Bytes,
        answer: &mut AnswerReader,
        times: &mut ExchangeTimes,
    ) -> Result<(), Broken> {
        match leased.connection {
            OpenedConnection::Http1(connection) => self.on_http1(connection, body, answer, times).await,
            OpenedConnection::Http2(connection) => self.on_http2(connection, body, answer, times).await,
        }
    }

    async fn on_http1(
        &self,
        mut connection: Http1,
        body: Bytes,
        answer: &mut AnswerReader,
        times: &mut ExchangeTimes,
    ) -> Result<(), Broken> {
        let stamps = std::rc::Rc::clone(&connection.stamps);
        stamps.begin();
        let request = self.head.request(body, false);
        let mut is_open = true;
        let outcome = {
            let (sender, driver) = (&mut connection.sender, &mut connection.connection);
            let talk = async {
                sender.ready().await.map_err(|error| http_failure(&error))?;
                let response = sender.send_request(request).await.map_err(|error| http_failure(&error))?;
                read(response, answer, &stamps, self.chunks).await
            };
            let mut talk = pin!(talk);
            let gate = Gate::new();
            // The connection is polled in this task, before the answer: no task hop per chunk.
            let both = poll_fn(|task| {
                gate.poll(task, |context| {
                    if is_open && driver.as_mut().poll(context).is_ready() {
                        is_open = false;
                    }
                    talk.as_mut().poll(context)
                })
            });
            self.limited(both).await
        };
        times.sent_ns = stamps.first_write();
        times.first_byte_ns = stamps.first_arrival();
        times.last_byte_ns = times.first_byte_ns.map(|_| stamps.last_arrival());
        if is_open && outcome.as_ref().is_ok_and(|is_whole| *is_whole) {
            self.pool.give_back(connection);
        }
        settle(outcome, answer, stamps.last_arrival())
    }

    async fn on_http2(
        &self,
        mut connection: Http2,
        body: Bytes,
        answer: &mut AnswerReader,
        times: &mut ExchangeTimes,
    ) -> Result<(), Broken> {
        let stamps = std::rc::Rc::clone(&connection.stamps);
        let request = self.head.request(body, true);
        let active = std::rc::Rc::clone(&connection.active);
        active.set(active.get() + 1);
        let sent = (self.now)();
        let mut first = None;
        let talk = async {
            connection.sender.ready().await.map_err(|error| http_failure(&error))?;
            let response =
                connection.sender.send_request(request).await.map_err(|error| http_failure(&error))?;
            first = Some(stamps.last_arrival());
            read(response, answer, &stamps, self.chunks).await
        };
        let outcome = self.limited(talk).await;
        active.set(active.get().saturating_sub(1));
        times.is_http2 = true;
        if outcome.is_err() {
            self.pool.forget(&stamps);
        }
        times.sent_ns = Some(sent);
        times.first_byte_ns = first;
        times.last_byte_ns = first.map(|_| stamps.last_arrival());
        settle(outcome, answer, stamps.last_arrival())
    }

    async fn limited<T>(&self, future: impl Future<Output = Result<T, RequestError>>) -> Result<T, Broken> {
        let mut future = pin!(future);
        let mut deadline = pin!(tokio::time::sleep(self.timeout));
        let listener = self.signals.listen();
        let mut is_armed = false;
        poll_fn(|context| {
            if self.signals.phase() == Phase::Cancelled {
                return Poll::Ready(Err(Broken::Cancelled));
            }
            if let Poll::Ready(outcome) = future.as_mut().poll(context) {
                return Poll::Ready(outcome.map_err(Broken::Failed));
            }
            // Polled once, so that it wakes the task; then asking is enough.
            if deadline.is_elapsed() || (!is_armed && deadline.as_mut().poll(context).is_ready()) {
                return Poll::Ready(Err(Broken::TimedOut));
            }
            is_armed = true;
            listener.register(context);
            Poll::Pending
        })
        .await
    }
}

async fn read(
    response: Response<Incoming>,
    answer: &mut AnswerReader,
    stamps: &Stamps,
    chunks: &Cell<u64>,
) -> Result<bool, RequestError> {
    answer.head(response.status(), response.headers())?;
    let mut body = response.into_body();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let frame = frame.map_err(|error| http_failure(&error))?;
        if let Some(data) = frame.data_ref() {
            let before = answer.streamed.chunks.len();
            answer.frame(data, stamps.last_arrival())?;
            chunks.set(chunks.get() + (answer.streamed.chunks.len() - before) as u64);
        }
    }
    Ok(true)
}

fn settle(outcome: Result<bool, Broken>, answer: &mut AnswerReader, end_ns: i64) -> Result<(), Broken> {
    match outcome {
        Ok(_) => answer.end(end_ns).map_err(Broken::Failed),
        Err(Broken::Failed(error)) => answer.broken(error).map_or(Ok(()), |error| Err(Broken::Failed(error))),
        Err(other) => Err(other),
    }
}

/// Whether a request met an idle connection that the server had closed meanwhile: it may be sent again. The server's
/// end may cross the request on its way, so that one which was sent counts, too, as long as nothing came back.
fn is_lost(outcome: &Result<(), Broken>, times: &ExchangeTimes, answer: &AnswerReader) -> bool {
    let Err(Broken::Failed(error)) = outcome else { return false };
    let is_silent = answer.http_status.is_none() && times.first_byte_ns.is_none();
    is_silent && error.kind == "connection_reset" || is_refused(outcome, times, answer)
}

/// Whether the server says that it did not look at a request: a refused stream of HTTP/2, or one after those that a
/// connection which ends in good order still serves.
fn is_refused(outcome: &Result<(), Broken>, times: &ExchangeTimes, answer: &AnswerReader) -> bool {
    let Err(Broken::Failed(error)) = outcome else { return false };
    answer.http_status.is_none()
        && times.is_http2
        && (error.message.contains("refused stream") || error.message.contains("not a result of an error"))
}
