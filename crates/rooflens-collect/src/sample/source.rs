//! What can be sampled: a source that is there, or what is missing and what helps.

use std::borrow::Cow;

use rooflens_schema::Notes;
use rooflens_schema::tables::{CounterRow, CounterSource, Counters};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::sample::clock::{Anchor, monotonic_ns, thread_cpu_ns};

/// The missing part of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Lack {
    /// The library through which the driver is queried.
    Library,
    /// The driver itself, or one that fits the library.
    Driver,
    /// A device.
    Device,
    /// A system that tells.
    System,
}

/// Why a source cannot be sampled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{fact}")]
pub struct Missing {
    /// The part that is missing.
    pub lack: Lack,
    /// What was found.
    pub fact: String,
    /// What helps.
    pub hint: Cow<'static, str>,
}

/// A subject that a source gives rows of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Subject {
    /// The machine, or a device of it.
    pub source: Cow<'static, str>,
    /// Device index; `None` for the machine.
    pub device: Option<i32>,
    /// What it is called.
    pub name: String,
    /// The device's own id, the same after a restart.
    pub uuid: Option<String>,
}

/// A column that stays null, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// Device index; `None` for the machine.
    pub device: Option<i32>,
    /// The column of `counters`.
    pub column: Cow<'static, str>,
    /// What the driver or the system said.
    pub reason: String,
}

/// A process that computes on a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceProcess {
    /// Device index.
    pub device: i32,
    /// The process, as the driver counts; in a container it may be known by another number.
    pub pid: u32,
    /// Device memory it has.
    pub mem_bytes: Option<i64>,
    /// Part of the driver's last period in which it ran a kernel.
    pub gpu_util_pct: Option<i32>,
}

/// Something that is asked on every beat.
pub trait Source: Send {
    /// A word for it, as `nvml`.
    fn name(&self) -> &'static str;
    /// Which version of what is asked, for people.
    fn about(&self) -> String;
    /// What it gives rows of.
    fn subjects(&self) -> Vec<Subject>;
    /// Adds a row for each of them that can still be asked. It reads and changes nothing; it must not
    /// wait, write files, or allocate where nothing is wrong.
    fn sample(&mut self, moment: &Moment, rows: &mut Counters, notes: &Notes);
    /// Columns that it would know of but cannot tell, so far.
    fn reasons(&self) -> Vec<Reason>;
    /// Who computes on its devices now; asked off the beat.
    fn processes(&mut self) -> Vec<DeviceProcess> {
        Vec::new()
    }
}

/// The clock that rows are written in.
#[derive(Debug, Clone, Copy)]
pub struct SampleClock {
    /// How the clock of the beat stands to the time of day.
    pub anchor: Anchor,
    /// The time of day that is 0 in `ts_ns`.
    pub(crate) base_unix_ns: i64,
}

impl SampleClock {
    /// Begins now, with times since `base_unix_ns`.
    pub fn from(base_unix_ns: i64) -> Self {
        SampleClock { anchor: Anchor::take(), base_unix_ns }
    }

    /// A moment on the clock that only goes forward, as a `ts_ns`.
    pub(crate) fn ts_ns(&self, monotonic_ns: i64) -> i64 {
        self.anchor.unix_at(monotonic_ns) - self.base_unix_ns
    }
}

/// One beat, as a source sees it.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// When the sample was due, on the clock that only goes forward.
    pub due_ns: i64,
    /// The clock of the rows.
    pub timeline: SampleClock,
}

impl Moment {
    /// A sample out of turn, due now.
    pub fn now(timeline: SampleClock) -> Self {
        Moment { due_ns: monotonic_ns(), timeline }
    }

    pub(crate) fn begin(&self, source: CounterSource, device: Option<i32>) -> CounterRow {
        let now_ns = monotonic_ns();
        CounterRow::new(self.timeline.ts_ns(now_ns), (now_ns - self.due_ns).max(0), source, device)
    }

    pub(crate) fn end(&self, mut row: CounterRow, rows: &mut Counters) {
        row.took_ns = self.timeline.ts_ns(monotonic_ns()) - row.ts_ns;
        rows.push(row);
    }
}

/// Asks of something costly only now and then: not before a while, and not before a hundred times the
/// processor time that asking took, so that it never costs more than a hundredth of a core.
#[derive(Debug, Clone)]
pub(crate) struct Ration {
    least_ns: i64,
    next_ns: i64,
}

impl Ration {
    pub(crate) fn new(least_ns: i64) -> Self {
        Ration { least_ns, next_ns: i64::MIN }
    }

    /// Does it if its time has come, by when the sample was due: how late a busy machine takes it does not
    /// matter. Beats of others may jitter, so a tenth of the while is let off.
    pub fn ask<T>(&mut self, moment: &Moment, call: impl FnOnce() -> Option<T>) -> Option<T> {
        if moment.due_ns < self.next_ns {
            return None;
        }
        let begin_cpu_ns = thread_cpu_ns();
        let answer = call();
        let took_ns = thread_cpu_ns() - begin_cpu_ns;
        self.next_ns = moment.due_ns + (self.least_ns - self.least_ns / 10).max(took_ns.saturating_mul(100));
        answer
    }
}
