//! A thread that sends and receives, with a runtime of its own.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};

use hdrhistogram::Histogram;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::{LocalSet, spawn_local};

use super::alarm::Alarm;
use super::exchange::RequestHead;
use super::feed::Feed;
use super::rest;
use super::session::{Start, run_session};
use super::signals::{Phase, Signals};
use crate::clock::RunClock;
use crate::health::{ThreadHealth, lag_histogram, thread_cpu_ns};
use crate::plan::{LoadPlan, Pace};
use crate::record::RequestRecord;
use crate::transport::connect::{Connector, Route};
use crate::transport::pool::Pool;
use crate::transport::timed::Receiving;

const LOOP_TICK_NS: i64 = 20_000_000;
/// A user whose connection failed waits this long: a server that is gone is not asked a hundred thousand times a
/// second.
const PAUSE_AFTER_FAILURE_NS: i64 = 100_000_000;

#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(crate) sent: AtomicU64,
    pub(crate) in_flight: AtomicU64,
    pub(crate) completed: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) chunks: AtomicU64,
    pub(crate) to_send: AtomicI64,
    pub(crate) not_sent: AtomicU64,
}

pub(super) struct WorkerSetup {
    pub(crate) plan: Arc<LoadPlan>,
    pub(crate) route: Route,
    pub(crate) clock: RunClock,
    pub(crate) feed: Arc<Feed>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) slots: Option<Arc<Semaphore>>,
    pub(crate) records: mpsc::Sender<RequestRecord>,
    pub(crate) phases: watch::Receiver<Phase>,
    pub(crate) place: (usize, usize),
}

pub(super) struct Worker {
    pub(crate) plan: Arc<LoadPlan>,
    pub(crate) clock: RunClock,
    pub(crate) alarm: Rc<Alarm>,
    pub(crate) signals: Signals,
    pub(crate) pool: Pool,
    pub(crate) head: RequestHead,
    pub(crate) feed: Arc<Feed>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) slots: Option<Arc<Semaphore>>,
    pub(crate) records: mpsc::Sender<RequestRecord>,
    pub(crate) send_until_ns: i64,
    pub(crate) send_lag: RefCell<Histogram<u64>>,
    loop_lag: RefCell<Histogram<u64>>,
    pub(crate) chunks: Cell<u64>,
    streams: Cell<usize>,
    active: Cell<usize>,
    all_ended: Notify,
}

pub(super) fn run(setup: WorkerSetup) -> Result<ThreadHealth, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .on_thread_park(rest::rest)
        .build()
        .map_err(|error| error.to_string())?;
    rest::allow(setup.clock);
    let local = LocalSet::new();
    let health = local.block_on(&runtime, work(setup));
    drop(local);
    runtime.shutdown_background();
    health
}

async fn work(setup: WorkerSetup) -> Result<ThreadHealth, String> {
    let (begin, cpu) = (setup.clock.now_ns(), thread_cpu_ns());
    let (place, phases) = (setup.place, setup.phases.clone());
    let receiving = Rc::new(Receiving::new(setup.clock, lag_histogram()));
    let worker = Rc::new(Worker::new(setup, &receiving)?);
    spawn_local({
        let alarm = Rc::clone(&worker.alarm);
        async move { alarm.ring().await }
    });
    spawn_local(follow(Rc::clone(&worker), phases));
    spawn_local(tick(Rc::clone(&worker)));
    match &worker.plan.pace {
        Pace::Open { .. } | Pace::Replay { .. } => dispatch(&worker).await,
        Pace::Closed { concurrency, ramp } => {
            let ramp_ns = crate::clock::nanoseconds(*ramp);
            for user in (place.0..*concurrency).step_by(place.1) {
                let begin = i128::from(ramp_ns) * user as i128 / *concurrency as i128;
                let begin = i64::try_from(begin).unwrap_or(i64::MAX);
                worker.spawn(use_up(Rc::clone(&worker), begin));
            }
        }
    }
    while worker.active.get() > 0 {
        worker.all_ended.notified().await;
    }
    worker.flush_chunks();
    Ok(ThreadHealth {
        send_lag: worker.send_lag.borrow().clone(),
        loop_lag: worker.loop_lag.borrow().clone(),
        receive_delay: receiving.delay.borrow().clone(),
        cpu_ns: thread_cpu_ns() - cpu,
        span_ns: worker.clock.now_ns() - begin,
        has_kernel_times: receiving.has_kernel_times.get(),
    })
}

async fn follow(worker: Rc<Worker>, mut phases: watch::Receiver<Phase>) {
    loop {
        let phase = *phases.borrow_and_update();
        worker.signals.advance(phase);
        if phases.changed().await.is_err() {
            return;
        }
    }
}

async fn tick(worker: Rc<Worker>) {
    let mut next = worker.clock.now_ns().max(0) + LOOP_TICK_NS;
    loop {
        worker.alarm.sleep_until(next).await;
        let now = worker.clock.now_ns();
        record(&worker.loop_lag, now - next);
        worker.flush_chunks();
        next = now + LOOP_TICK_NS;
    }
}

async fn dispatch(worker: &Rc<Worker>) {
    while let Some(Some(job)) = worker.signals.unless(Phase::Draining, worker.feed.next()).await {
        let due_ns = job.due_ns.unwrap_or(0);
        let turns = job.session.turns.len();
        let is_in_time = due_ns < worker.send_until_ns
            && worker.signals.unless(Phase::Draining, worker.alarm.sleep_until(due_ns)).await.is_some();
        let slot = if is_in_time { worker.slot().await } else { None };
        let Some(slot) = slot else {
            worker.abandon(turns);
            if due_ns <= worker.clock.now_ns() && due_ns < worker.send_until_ns {
                worker.shared.not_sent.fetch_add(1, Ordering::Relaxed);
            }
            continue;
        };
        let start = Start { scheduled_ns: due_ns, ready_ns: slot.ready_ns, slot };
        let own = Rc::clone(worker);
        worker.spawn(async move {
            run_session(&own, job, start).await;
        });
    }
}

async fn use_up(worker: Rc<Worker>, begin_ns: i64) {
    if worker.signals.unless(Phase::Draining, worker.alarm.sleep_until(begin_ns)).await.is_none() {
        return;
    }
    let mut free_ns = begin_ns;
    while free_ns < worker.send_until_ns && worker.clock.now_ns() < worker.send_until_ns {
        let Some(Some(job)) = worker.signals.unless(Phase::Draining, worker.feed.next()).await else {
            return;
        };
        let slot = Slot { ready_ns: free_ns, _permit: None };
        let end = run_session(&worker, job, Start { scheduled_ns: free_ns, ready_ns: free_ns, slot }).await;
        free_ns = end.end_ns;
        if end.is_unreachable {
            let pause = worker.clock.now_ns() + PAUSE_AFTER_FAILURE_NS;
            worker.signals.unless(Phase::Draining, worker.alarm.sleep_until(pause)).await;
            free_ns = pause;
        }
    }
}

pub(super) struct Slot {
    pub(crate) ready_ns: i64,
    pub(crate) _permit: Option<OwnedSemaphorePermit>,
}

impl Worker {
    fn new(setup: WorkerSetup, receiving: &Rc<Receiving>) -> Result<Self, String> {
        let limit = setup.plan.limits.duration;
        let endpoint = Arc::clone(&setup.route.endpoint);
        Ok(Worker {
            alarm: Alarm::new(setup.clock).map_err(|error| error.to_string())?,
            signals: Signals::default(),
            pool: Pool::new(Connector::new(setup.route, Rc::clone(receiving))),
            head: RequestHead::new(&setup.plan.target, endpoint)?,
            send_until_ns: limit.map_or(i64::MAX, crate::clock::nanoseconds),
            plan: setup.plan,
            clock: setup.clock,
            feed: setup.feed,
            shared: setup.shared,
            slots: setup.slots,
            records: setup.records,
            send_lag: RefCell::new(lag_histogram()),
            loop_lag: RefCell::new(lag_histogram()),
            chunks: Cell::new(0),
            streams: Cell::new(0),
            active: Cell::new(0),
            all_ended: Notify::new(),
        })
    }

    fn spawn(self: &Rc<Self>, task: impl Future<Output = ()> + 'static) {
        self.active.set(self.active.get() + 1);
        let worker = Rc::clone(self);
        spawn_local(async move {
            task.await;
            worker.active.set(worker.active.get() - 1);
            if worker.active.get() == 0 {
                worker.all_ended.notify_one();
            }
        });
    }

    pub(crate) async fn slot(&self) -> Option<Slot> {
        let permit = match &self.slots {
            None => None,
            Some(slots) => {
                let wait = Arc::clone(slots).acquire_owned();
                Some(self.signals.unless(Phase::Draining, wait).await?.ok()?)
            }
        };
        // Without a limit nobody waits: what passed since the scheduled time is the client's own delay.
        let ready_ns = if permit.is_some() { self.clock.now_ns() } else { i64::MIN };
        (self.signals.phase() == Phase::Sending).then_some(Slot { ready_ns, _permit: permit })
    }

    pub(crate) fn abandon(&self, requests: usize) {
        self.shared.to_send.fetch_sub(i64::try_from(requests).unwrap_or(0), Ordering::Relaxed);
    }

    pub(crate) fn note_streams(&self, more: isize) {
        self.streams.set(self.streams.get().saturating_add_signed(more));
        rest::note_streams(self.streams.get());
    }

    fn flush_chunks(&self) {
        self.shared.chunks.fetch_add(self.chunks.take(), Ordering::Relaxed);
    }
}

pub(super) fn record(histogram: &RefCell<Histogram<u64>>, lag_ns: i64) {
    histogram.borrow_mut().saturating_record(u64::try_from(lag_ns).unwrap_or(0));
}
