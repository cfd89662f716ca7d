//! A body that sends every token on time.

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;

use super::events::AnswerPlan;
use crate::fault::PlantedFault;
use crate::io::ConnectionState;
use crate::journal::{OpenRequest, PartWritten};
use crate::metrics::MockMetrics;
use crate::options::MockOptions;
use crate::schedule::TokenSchedule;
use crate::timer::{PreciseSleep, PreciseTimer};

pub(crate) struct ServingSlot {
    metrics: Arc<MockMetrics>,
    kv_tokens: i64,
    _permit: Option<OwnedSemaphorePermit>,
}

impl ServingSlot {
    pub(crate) fn new(
        metrics: Arc<MockMetrics>,
        permit: Option<OwnedSemaphorePermit>,
        prompt_tokens: u64,
    ) -> Self {
        metrics.running.fetch_add(1, Relaxed);
        metrics.prompt_tokens.fetch_add(prompt_tokens, Relaxed);
        let mut slot = ServingSlot { metrics, kv_tokens: 0, _permit: permit };
        slot.grow(prompt_tokens as i64);
        slot
    }

    fn grow(&mut self, tokens: i64) {
        self.kv_tokens += tokens;
        self.metrics.kv_tokens.fetch_add(tokens, Relaxed);
    }
}

impl Drop for ServingSlot {
    fn drop(&mut self) {
        self.metrics.running.fetch_sub(1, Relaxed);
        self.metrics.kv_tokens.fetch_sub(self.kv_tokens, Relaxed);
    }
}

pub(crate) struct AnswerSetup {
    pub(crate) plan: AnswerPlan,
    pub(crate) schedule: TokenSchedule,
    pub(crate) timer: PreciseTimer,
    pub(crate) request: Rc<OpenRequest>,
    pub(crate) connection: Rc<ConnectionState>,
    pub(crate) slot: ServingSlot,
    pub(crate) fault: Option<PlantedFault>,
    pub(crate) streams: bool,
    pub(crate) gzip: bool,
    pub(crate) arrival: Instant,
    pub(crate) started: Instant,
}

struct Piece {
    bytes: Bytes,
    upto: u64,
}

pub(crate) struct AnswerBody {
    setup: AnswerSetup,
    is_finished: bool,
    next_token: u64,
    handed_over: u64,
    pieces: VecDeque<Piece>,
    sleep: Option<PreciseSleep>,
    drip: Option<PreciseSleep>,
    /// A frame was given since hyper last wrote: it has to write before the next, or both become one write.
    is_unflushed: bool,
    is_ended: bool,
    encoder: Option<GzEncoder<Vec<u8>>>,
    first_token: Option<Instant>,
    last_token: Option<Instant>,
}

impl AnswerBody {
    pub(crate) fn new(setup: AnswerSetup) -> Self {
        let encoder = setup.gzip.then(|| GzEncoder::new(Vec::new(), Compression::fast()));
        AnswerBody {
            setup,
            is_finished: false,
            next_token: 0,
            handed_over: 0,
            pieces: VecDeque::new(),
            sleep: None,
            drip: None,
            is_unflushed: false,
            is_ended: false,
            encoder,
            first_token: None,
            last_token: None,
        }
    }

    fn options(&self) -> &MockOptions {
        &self.setup.plan.options
    }

    pub(crate) async fn first_piece(&mut self) -> io::Result<()> {
        std::future::poll_fn(|context| self.poll_pieces(context)).await
    }

    fn poll_pieces(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.pieces.is_empty() && !self.is_ended {
            let half = (self.setup.plan.output_tokens / 2).max(1);
            if let Some(fault) = self.setup.fault.filter(|fault| fault.is_midway() && self.next_token >= half)
            {
                if self.is_unflushed {
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                match fault {
                    PlantedFault::Stall => return Poll::Pending,
                    fault => self.fail(fault)?,
                }
                continue;
            }
            let due = self.next_token;
            let sleep = self.sleep.get_or_insert_with(|| {
                let due = self.setup.schedule.due(due);
                self.setup.timer.sleep_until(due)
            });
            ready!(sleep.poll_elapsed(context))?;
            self.sleep = None;
            self.make_chunk()?;
        }
        Poll::Ready(Ok(()))
    }

    fn fail(&mut self, fault: PlantedFault) -> io::Result<()> {
        match fault {
            PlantedFault::ErrorEvent => {
                let event = self.setup.plan.error_event();
                self.push(&event, self.next_token)?;
                self.end()
            }
            PlantedFault::Cut => self.end(),
            PlantedFault::GoawayClose => {
                self.setup.connection.go_away(true);
                Err(io::ErrorKind::ConnectionAborted.into())
            }
            _ => {
                if !self.options().http2 {
                    self.setup.connection.reset();
                }
                Err(io::ErrorKind::ConnectionReset.into())
            }
        }
    }

    fn make_chunk(&mut self) -> io::Result<()> {
        let from = self.next_token;
        let total = self.setup.plan.output_tokens;
        let upto = (from + u64::from(self.options().tokens_per_chunk.max(1))).min(total);
        self.observe(upto - from);
        self.next_token = upto;
        if self.setup.streams {
            let mut text = if from == 0 { self.setup.plan.prologue() } else { String::new() };
            text.push_str(&self.setup.plan.chunk(from, upto));
            self.push(&text, upto)?;
        } else if upto == total {
            let text = self.setup.plan.whole();
            self.push(&text, upto)?;
        }
        if upto == total {
            if self.setup.streams {
                let text = self.setup.plan.epilogue();
                self.push(&text, upto)?;
            }
            self.end()?;
            self.finish();
        }
        Ok(())
    }

    fn observe(&mut self, tokens: u64) {
        let (setup, now) = (&mut self.setup, Instant::now());
        setup.slot.metrics.generation_tokens.fetch_add(tokens, Relaxed);
        setup.slot.grow(tokens as i64);
        match self.last_token {
            Some(last) => setup.slot.metrics.itl.observe(now - last),
            None => {
                setup.slot.metrics.ttft.observe(now - setup.arrival);
                setup.slot.metrics.prefill_time.observe(now - setup.started);
                self.first_token = Some(now);
            }
        }
        self.last_token = Some(now);
    }

    fn finish(&mut self) {
        let (setup, now) = (&self.setup, Instant::now());
        setup.slot.metrics.finished.fetch_add(1, Relaxed);
        setup.slot.metrics.e2e.observe(now - setup.arrival);
        setup.slot.metrics.inference_time.observe(now - setup.started);
        setup.slot.metrics.decode_time.observe(now - self.first_token.unwrap_or(now));
        self.is_finished = true;
    }

    fn end(&mut self) -> io::Result<()> {
        self.is_ended = true;
        if let Some(mut encoder) = self.encoder.take() {
            encoder.try_finish()?;
            let bytes = std::mem::take(encoder.get_mut());
            self.push_bytes(bytes, self.next_token);
        }
        Ok(())
    }

    fn push(&mut self, text: &str, upto: u64) -> io::Result<()> {
        let bytes = match &mut self.encoder {
            Some(encoder) => {
                encoder.write_all(text.as_bytes())?;
                encoder.flush()?;
                std::mem::take(encoder.get_mut())
            }
            None => text.as_bytes().to_vec(),
        };
        self.push_bytes(bytes, upto);
        Ok(())
    }

    fn push_bytes(&mut self, bytes: Vec<u8>, upto: u64) {
        let bytes = Bytes::from(bytes);
        let cuts: Vec<usize> = if self.options().byte_frames || self.setup.fault == Some(PlantedFault::Drip) {
            (1..bytes.len()).collect()
        } else if self.options().split_utf8 {
            split_within_characters(&bytes)
        } else {
            Vec::new()
        };
        let mut begin = 0;
        for end in cuts.into_iter().chain([bytes.len()]).filter(|end| *end > 0) {
            let upto = if end == bytes.len() { upto } else { 0 };
            self.pieces.push_back(Piece { bytes: bytes.slice(begin..end), upto });
            begin = end;
        }
    }

    fn poll_drip(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.setup.fault != Some(PlantedFault::Drip) {
            return Poll::Ready(Ok(()));
        }
        let timer = &self.setup.timer;
        let drip =
            self.drip.get_or_insert_with(|| timer.sleep_until(Instant::now() + Duration::from_secs(1)));
        ready!(drip.poll_elapsed(context))?;
        self.drip = None;
        Poll::Ready(Ok(()))
    }

    fn hand_over(&mut self, piece: Piece) -> Bytes {
        if piece.upto > self.handed_over {
            let reasoning = |upto| self.setup.plan.reasoning_upto(upto);
            self.setup.connection.handed_over(PartWritten {
                request: self.setup.request.clone(),
                tokens: (piece.upto - self.handed_over) as u32,
                reasoning: (reasoning(piece.upto) - reasoning(self.handed_over)) as u32,
            });
            self.handed_over = piece.upto;
        }
        let is_complete = self.pieces.is_empty() && self.is_finished;
        if is_complete {
            self.setup.request.update(|entry| entry.complete = true);
        }
        self.is_unflushed = true;
        piece.bytes
    }
}

fn split_within_characters(bytes: &[u8]) -> Vec<usize> {
    bytes.iter().enumerate().filter(|(_, byte)| **byte >= 0xC0).map(|(index, _)| index + 1).collect()
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = self.get_mut();
        let waits = match this.poll_pieces(context) {
            Poll::Pending => true,
            Poll::Ready(Err(error)) => return Poll::Ready(Some(Err(error))),
            Poll::Ready(Ok(())) if this.pieces.is_empty() => return Poll::Ready(None),
            Poll::Ready(Ok(())) => this.poll_drip(context)?.is_pending(),
        };
        let was_unflushed = std::mem::take(&mut this.is_unflushed);
        if waits {
            return Poll::Pending;
        }
        if was_unflushed {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let piece = this.pieces.pop_front();
        Poll::Ready(piece.map(|piece| Ok(Frame::data(this.hand_over(piece)))))
    }

    fn is_end_stream(&self) -> bool {
        self.is_ended && self.pieces.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        if !self.is_ended {
            return SizeHint::default();
        }
        SizeHint::with_exact(self.pieces.iter().map(|piece| piece.bytes.len() as u64).sum())
    }
}

impl Drop for AnswerBody {
    fn drop(&mut self) {
        if !self.is_finished {
            self.setup.slot.metrics.aborted.fetch_add(1, Relaxed);
        }
    }
}
