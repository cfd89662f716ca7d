//! A host that launches and a device that runs: the timelines of a rank.
//!
//! Activities are placed one after the other. Whether the host comes in time is decided by its own
//! clock: a launch that ends after the device has run dry makes a gap, and what the host did before it is
//! the cause. A launch that came in time makes a gap only where one is planted.

use anyhow::Result;
use serde_json::{Value, json};

use super::event::{HOST, event};
use super::names::Names;
use super::scenario::{Artefact, Habits, Nesting, Scenario, Step};
use super::truth::{Place, Planted, Truth};
use super::work::{Item, StepWork};
use crate::random::Random;

const COMPUTE: i64 = 7;
/// Streams beside that of the kernels.
const COMMUNICATION: i64 = 20;
const COPIES: i64 = 21;
const ASIDE: i64 = 22;
/// What belongs to no step.
const OUTSIDE: &str = "outside";

/// What the host did before a launch, where that is more than launching.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Before {
    Launching,
    Busy,
    Waiting,
}

/// Until when the device is taken.
#[derive(Debug, Clone, Copy)]
struct Reached {
    end: i64,
    stream: i64,
    /// How much of what ran last is a kernel that other work may run beside.
    beside: i64,
    /// Communication that nothing ran beside: the next kernel may hide some of it.
    exposed: Option<(Place, i64)>,
}

pub(crate) struct Rank<'a> {
    scenario: &'a Scenario,
    truth: &'a mut Truth,
    random: Random,
    device: u64,
    pub(crate) events: Vec<Value>,
    host: i64,
    before: Before,
    reached: Option<Reached>,
    correlation: i64,
    /// A wait for work that is not recorded: the gap around it is no time of a step.
    unrecorded: Option<(i64, i64)>,
    /// From the first to the last activity of the step at hand.
    on_device: Option<(i64, i64)>,
}

impl<'a> Rank<'a> {
    /// A rank before its first step.
    pub(crate) fn new(scenario: &'a Scenario, truth: &'a mut Truth, seed: u64, device: u64) -> Self {
        let mut random = Random::new(seed, device + 1);
        let host = random.between(10_000, 900_000);
        Rank {
            scenario,
            truth,
            random,
            device,
            events: Vec::new(),
            host,
            before: Before::Launching,
            reached: None,
            correlation: 1,
            unrecorded: None,
            on_device: None,
        }
    }

    pub(crate) fn run(&mut self, names: &Names) -> Result<()> {
        let begin = self.host;
        for (number, step) in self.scenario.steps.iter().enumerate() {
            self.step(number, step, names)?;
            self.between_steps();
        }
        if self.scenario.nesting == Nesting::OneProfilerStep {
            self.annotate("ProfilerStep#0", begin, self.host);
        }
        Ok(())
    }

    fn step(&mut self, number: usize, step: &Step, names: &Names) -> Result<()> {
        // Shapes are those of all ranks; so is the order of the kernels, but not how long lost ones take.
        let items = StepWork::items(self.scenario, names, step, &mut self.random)?;
        let phase = step.phase.as_str();
        let begin = self.host;
        self.host += 500;
        self.on_device = None;
        self.disturb(step.artefact);
        let inner = self.host;
        let mut layer: Option<(u64, i64)> = None;
        let mut graph = None;
        for item in &items {
            let place = Place { phase, layer: item.layer };
            if step.is_graph {
                let in_graph = !matches!(item.what, Planted::Copies);
                let call = if in_graph { graph } else { None };
                let call = self.place(item, place, call, in_graph);
                graph = graph.or(call.filter(|_| in_graph));
                continue;
            }
            if layer.map(|(open, _)| open) != item.layer {
                self.close_layer(layer);
                layer = item.layer.map(|layer| (layer, self.host));
                self.host += 200;
            }
            self.place(item, place, None, false);
        }
        self.close_layer(layer);
        let inner = (inner, self.host + 100);
        self.host += 500;
        let outer = (begin, self.host);
        match self.scenario.nesting {
            Nesting::Plain | Nesting::OneProfilerStep => self.annotate(&step.name, outer.0, outer.1),
            Nesting::Inside => {
                self.annotate(&step.name, outer.0, outer.1);
                self.annotate(&step.other_name, inner.0, inner.1);
            }
            Nesting::Around => {
                self.annotate(&step.other_name, outer.0, outer.1);
                self.annotate(&step.name, outer.0 + 100, outer.1 - 100);
            }
            Nesting::Twice => {
                self.annotate(&step.name, outer.0, outer.1);
                self.annotate(&step.name, outer.0 + 100, outer.1 + 100);
                self.host += 200;
                if let Some((first, last)) = self.on_device {
                    let place = (self.device as i64, COMPUTE);
                    let seen = event("gpu_user_annotation", &step.name, place, (first, last), json!({}));
                    self.events.push(seen);
                }
            }
            Nesting::ProfilerSteps => {
                self.annotate(&format!("ProfilerStep#{number}"), outer.0, outer.1);
                self.annotate(&step.name, outer.0 + 100, outer.1 - 100);
            }
        }
        Ok(())
    }

    fn annotate(&mut self, name: &str, begin: i64, end: i64) {
        self.host_event("user_annotation", name, begin, end, json!({}));
    }

    fn disturb(&mut self, artefact: Option<Artefact>) {
        match artefact {
            None => {}
            Some(Artefact::Profiler) => {
                self.call("cudaProfilerStop", self.host, self.host + 300, None);
                self.call("cudaProfilerStart", self.host + 400, self.host + 700, None);
                self.host += 1_000;
            }
            Some(Artefact::Unrecorded) => {
                // All that is recorded has run by then.
                let dry = self.reached.map_or(self.host, |reached| reached.end.max(self.host));
                self.call("cudaStreamSynchronize", self.host, dry, None);
                let begin = dry + 1_000;
                self.host = begin + self.random.between(1_500_000, 9_000_000);
                self.call("cudaStreamSynchronize", begin, self.host, None);
                self.unrecorded = Some((begin, self.host));
                self.before = Before::Waiting;
            }
        }
    }

    fn close_layer(&mut self, open: Option<(u64, i64)>) {
        if let Some((layer, begin)) = open {
            self.host += 200;
            self.annotate(&format!("module:model.layers.{layer}"), begin, self.host);
        }
    }

    fn between_steps(&mut self) {
        if self.random.happens(0.5) {
            self.wait();
        }
        if self.random.happens(0.4) {
            self.be_busy();
        } else {
            self.host += self.random.between(2_000, 40_000);
        }
    }

    /// Waits until the device has run dry, where it has not yet.
    fn wait(&mut self) {
        let Some(reached) = self.reached.filter(|reached| reached.end > self.host + 2_000) else { return };
        let begin = self.host + 1_000;
        self.host = reached.end + self.random.between(500, 4_000);
        self.call("cudaStreamSynchronize", begin, self.host, None);
        self.before = Before::Waiting;
    }

    /// Does something else than launching.
    fn be_busy(&mut self) {
        let begin = self.host;
        self.host += self.random.between(150_000, 700_000);
        self.host_event("cpu_op", "scheduler::schedule", begin, self.host, json!({}));
        self.before = Before::Busy;
    }

    /// Places an activity: `of_graph` is the launch whose graph it is part of, already made. Answers its
    /// launch.
    fn place(
        &mut self,
        item: &Item,
        place: Place,
        of_graph: Option<Call>,
        starts_graph: bool,
    ) -> Option<Call> {
        let call = match of_graph {
            Some(call) => call,
            None => self.launch(item, starts_graph),
        };
        let (stream, beside) = self.stream(item);
        let Some(reached) = self.reached else {
            // The device's time begins with its first activity.
            let start = call.end + 2_000;
            self.truth.add(place, item.what, item.dur_ns);
            self.emit(item, stream, start, call);
            self.reach(item, place, start, item.dur_ns, stream);
            return Some(call);
        };
        let dry = reached.end;
        if call.end < dry {
            if beside && let Some(start) = self.beside(item, reached, call) {
                self.aside(item, place, start, stream, reached);
                self.emit(item, stream, start, call);
                return Some(call);
            }
            if let Some((hidden, of)) = self.hides(item, reached, call) {
                self.truth.add(of, Planted::Communication, -hidden);
                self.truth.add(place, item.what, item.dur_ns);
                self.emit(item, stream, dry - hidden, call);
                self.reach(item, place, dry - hidden, item.dur_ns - hidden, stream);
                return Some(call);
            }
        }
        let (gap, cause) = if call.end >= dry {
            let cause = match call.before {
                Before::Launching => "launch_bound",
                Before::Busy => "cpu_bound",
                Before::Waiting => "sync",
            };
            (call.end + self.random.between(1_000, 5_000) - dry, cause)
        } else {
            self.queued(stream == reached.stream)
        };
        let waited = self.unrecorded.map_or(0, |(begin, end)| (end.min(dry + gap) - begin.max(dry)).max(0));
        // What covers most of a gap is its cause, whatever the host did in the rest of it.
        let cause = if waited * 2 > gap { "sync" } else { cause };
        if waited > 0 {
            self.unrecorded = None;
            self.truth.add(Place { phase: OUTSIDE, layer: None }, Planted::Idle(cause), waited);
        }
        self.truth.add(place, Planted::Idle(cause), gap - waited);
        self.truth.add(place, item.what, item.dur_ns);
        self.emit(item, stream, dry + gap, call);
        self.reach(item, place, dry + gap, item.dur_ns, stream);
        Some(call)
    }

    fn habits(&self) -> &'a Habits {
        &self.scenario.habits
    }

    /// The gap before an activity that was queued in time.
    fn queued(&mut self, is_same_stream: bool) -> (i64, &'static str) {
        if self.random.happens(self.habits().dependency) {
            return (self.random.between(25_000, 150_000), "dependency");
        }
        if self.random.happens(self.habits().dispatch) {
            // Between streams the device needs no time of its own: the one waits for the other.
            return (self.random.between(300, 8_000), if is_same_stream { "dispatch" } else { "dependency" });
        }
        (0, "dispatch")
    }

    /// The stream of an activity, and whether it may run beside what ran last.
    fn stream(&mut self, item: &Item) -> (i64, bool) {
        let overlaps = self.random.happens(self.habits().overlap);
        match item.what {
            Planted::Communication => (COMMUNICATION, overlaps),
            Planted::Copies => (if overlaps { COPIES } else { COMPUTE }, overlaps),
            Planted::Unneeded if overlaps => (ASIDE, true),
            _ => (COMPUTE, false),
        }
    }

    /// When an activity begins that runs beside the kernel that ran last, where there is room for it.
    fn beside(&mut self, item: &Item, reached: Reached, call: Call) -> Option<i64> {
        let earliest = (call.end + 1).max(reached.end - reached.beside);
        // Some end within the kernel: all of them is hidden.
        let latest = reached.end - 1;
        let start = (earliest <= latest).then(|| self.random.between(earliest, latest))?;
        // Where two streams end at once nobody can tell which of them ran last.
        (start + item.dur_ns != reached.end).then_some(start)
    }

    fn aside(&mut self, item: &Item, place: Place, start: i64, stream: i64, reached: Reached) {
        let exposed = (start + item.dur_ns - reached.end).max(0);
        self.truth.add(place, item.what, exposed);
        if exposed > 0 {
            self.reach(item, place, start, exposed, stream);
        } else if let Some(reached) = &mut self.reached {
            // The kernel is taken until then: what comes next runs beside its rest.
            reached.beside = reached.end - (start + item.dur_ns);
        }
    }

    /// How much of the communication that ran last a kernel hides, which starts before it ends.
    fn hides(&mut self, item: &Item, reached: Reached, call: Call) -> Option<(i64, Place)> {
        let (place, exposed) = reached.exposed.filter(|_| matches!(item.what, Planted::Needed(_)))?;
        if !self.random.happens(self.habits().overlap) {
            return None;
        }
        let most = (exposed - 1).min(item.dur_ns).min(reached.end - call.end - 1);
        (most > 0).then(|| (self.random.between(1, most), place))
    }

    fn reach(&mut self, item: &Item, place: Place, start: i64, own_ns: i64, stream: i64) {
        let end = start + item.dur_ns;
        let is_compute = matches!(item.what, Planted::Needed(_));
        let is_exchange = item.what == Planted::Communication;
        self.reached = Some(Reached {
            end,
            stream,
            beside: if is_compute { own_ns } else { 0 },
            exposed: is_exchange.then_some((place, own_ns)),
        });
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    end: i64,
    correlation: i64,
    before: Before,
}

impl Rank<'_> {
    fn launch(&mut self, item: &Item, is_graph: bool) -> Call {
        let habits = self.habits();
        // What goes wrong before a graph goes wrong once for all of its kernels.
        let often = if is_graph { 10.0 } else { 1.0 };
        if self.random.happens(habits.sync * often) {
            self.wait();
        }
        if self.random.happens(habits.busy * often) {
            self.be_busy();
            // So long that the device runs dry.
            if let Some(reached) = self.reached.filter(|reached| reached.end >= self.host) {
                self.host = reached.end + self.random.between(1_000, 300_000);
            }
        }
        self.host += self.random.between(1_000, habits.pace_ns);
        let begin = self.host;
        self.host +=
            if is_graph { self.random.between(8_000, 30_000) } else { self.random.between(2_000, 6_000) };
        let name = match item.what {
            _ if is_graph => "cudaGraphLaunch",
            Planted::Copies => "cudaMemcpyAsync",
            _ => "cudaLaunchKernel",
        };
        let correlation = self.correlation;
        self.correlation += 1;
        self.call(name, begin, self.host, Some(correlation));
        let before = std::mem::replace(&mut self.before, Before::Launching);
        Call { end: self.host, correlation, before }
    }

    fn call(&mut self, name: &str, begin: i64, end: i64, correlation: Option<i64>) {
        let args = correlation.map_or(json!({}), |id| json!({ "correlation": id }));
        self.host_event("cuda_runtime", name, begin, end, args);
    }

    fn host_event(&mut self, category: &str, name: &str, begin: i64, end: i64, args: Value) {
        self.events.push(event(category, name, HOST, (begin, end), args));
    }

    fn emit(&mut self, item: &Item, stream: i64, start: i64, call: Call) {
        let category = if item.what == Planted::Copies { "gpu_memcpy" } else { "kernel" };
        let (first, last) = self.on_device.unwrap_or((start, start));
        let end = start + item.dur_ns;
        self.on_device = Some((first.min(start), last.max(end)));
        let args = json!({"device": self.device, "stream": stream, "correlation": call.correlation});
        let place = (self.device as i64, stream);
        self.events.push(event(category, item.name, place, (start, end), args));
    }
}
