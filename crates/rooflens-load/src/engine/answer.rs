//! The answer to one request, as its bytes arrive.

use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE};
use hyper::{HeaderMap, StatusCode};

use crate::delta::{StreamedAnswer, UnreadableEvent};
use crate::errors::{failed, http_kind};
use crate::record::RequestError;
use crate::sse::{EventTooLong, SseSplitter};
use crate::transport::gzip::Inflater;

const MAX_ERROR_BYTES: usize = 2048;
/// A whole answer that is no stream may be this long: embeddings of large batches are.
const MAX_WHOLE_BYTES: usize = 1 << 30;

pub(super) struct AnswerReader {
    pub(crate) streamed: StreamedAnswer,
    pub(crate) http_status: Option<u16>,
    is_streamed_api: bool,
    form: Form,
    inflater: Option<Inflater>,
}

enum Form {
    Unknown,
    Events(Box<SseSplitter>),
    Whole(Vec<u8>, i64),
    Error { kind: &'static str, head: String, body: Vec<u8> },
}

impl AnswerReader {
    pub(crate) fn new(streamed: StreamedAnswer, is_streamed_api: bool) -> Self {
        AnswerReader { streamed, http_status: None, is_streamed_api, form: Form::Unknown, inflater: None }
    }

    pub(crate) fn head(&mut self, status: StatusCode, headers: &HeaderMap) -> Result<(), RequestError> {
        self.http_status = Some(status.as_u16());
        let header = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let encoding = header(CONTENT_ENCODING).trim().to_ascii_lowercase();
        match encoding.as_str() {
            "" | "identity" => {}
            "gzip" | "x-gzip" => self.inflater = Some(Inflater::default()),
            other => return Err(failed("protocol", format!("the body is encoded as {other}"))),
        }
        let content_type = header(CONTENT_TYPE);
        let media = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        if !status.is_success() {
            let retry = headers.get("retry-after").and_then(|value| value.to_str().ok());
            let retry = retry.map_or_else(String::new, |after| format!(", retry after {after}"));
            let head = format!("{status}{retry}");
            self.form = Form::Error { kind: http_kind(status.as_u16()), head, body: Vec::new() };
        } else if media == "text/event-stream" && self.is_streamed_api {
            self.form = Form::Events(Box::default());
        } else if media == "application/json" {
            self.form = Form::Whole(Vec::new(), 0);
        } else {
            let message = if media.is_empty() { "none".to_owned() } else { content_type.to_owned() };
            return Err(failed("wrong_content_type", format!("content type: {message}")));
        }
        Ok(())
    }

    pub(crate) fn frame(&mut self, frame: &[u8], ts_ns: i64) -> Result<(), RequestError> {
        let bytes = match &mut self.inflater {
            None => frame,
            Some(inflater) => {
                inflater.inflate(frame).map_err(|error| failed("protocol", format!("gzip: {error}")))?
            }
        };
        match &mut self.form {
            Form::Unknown => Err(failed("protocol", "a body without a head")),
            Form::Events(splitter) => {
                let mut result = Ok(());
                let fed = splitter.feed(bytes, |event| {
                    if result.is_ok() {
                        result = self.streamed.event(event, ts_ns);
                    }
                });
                checked(fed, result, &self.streamed)
            }
            Form::Whole(body, last_ns) => {
                if body.len() + bytes.len() > MAX_WHOLE_BYTES {
                    return Err(failed("protocol", "the answer is too long"));
                }
                body.extend_from_slice(bytes);
                *last_ns = ts_ns;
                Ok(())
            }
            Form::Error { body, .. } => {
                let room = MAX_ERROR_BYTES.saturating_sub(body.len()).min(bytes.len());
                body.extend_from_slice(&bytes[..room]);
                Ok(())
            }
        }
    }

    pub(crate) fn end(&mut self, ts_ns: i64) -> Result<(), RequestError> {
        match &mut self.form {
            Form::Unknown => Err(failed("protocol", "no head")),
            Form::Events(splitter) => {
                let mut result = Ok(());
                let fed = splitter.finish(|event| {
                    if result.is_ok() {
                        result = self.streamed.event(event, ts_ns);
                    }
                });
                checked(fed, result, &self.streamed)?;
                if self.streamed.is_complete() {
                    return Ok(());
                }
                Err(failed("incomplete_stream", "the stream ended without a finish reason, usage or [DONE]"))
            }
            Form::Whole(body, last_ns) => {
                let result = self.streamed.whole(body, *last_ns);
                checked(Ok(()), result, &self.streamed)
            }
            Form::Error { kind, head, body } => {
                let text = String::from_utf8_lossy(body);
                Err(failed(kind, format!("{head}: {}", text.trim()).trim_end_matches([':', ' ']).to_owned()))
            }
        }
    }

    /// The message of an answer that broke off: what is known of an error status counts for more than how it broke.
    pub(crate) fn broken(&mut self, error: RequestError) -> Option<RequestError> {
        match &self.form {
            Form::Error { .. } => self.end(0).err(),
            Form::Events(_) if self.streamed.is_complete() && self.streamed.error.is_none() => None,
            _ => Some(error),
        }
    }
}

fn checked(
    fed: Result<(), EventTooLong>,
    read: Result<(), UnreadableEvent>,
    streamed: &StreamedAnswer,
) -> Result<(), RequestError> {
    fed.map_err(|error| failed("protocol", error.to_string()))?;
    read.map_err(|error| failed("protocol", error.to_string()))?;
    match &streamed.error {
        Some(message) => Err(failed("server_error", message.clone())),
        None => Ok(()),
    }
}
