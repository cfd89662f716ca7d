//! The sentences about devices: the largest group of the time ledger first, then every other one that matters.

use rooflens_schema::tables::{ActivityKind, PhaseKind};

use super::claim::{Amount, Said};
use super::{Evidence, MATTERS, WORTH_A_LOOK, class_word, step_word};
use crate::analyses::{GapExample, GapStat, Stragglers, Trace};
use crate::facts::SLOW_LAUNCH_NS;
use crate::host_kind::HostKind;
use crate::ledger::Line;
use crate::sentence::{code, things};
use crate::statistics::share;

/// A loss of this share comes first even where kernels take more.
const COMES_FIRST: f64 = 0.25;
/// Smaller parts of idle time are summed up.
const PART: f64 = 0.005;
/// From this share of idle time on, a cause is nearly all of it.
const NEARLY_ALL: f64 = 0.995;
/// Words in the names of GPUs.
const GPUS: &[&str] = &["NVIDIA", "Tesla", "GeForce", "Quadro", "AMD", "Instinct", "Radeon", "Intel"];
/// With fewer activities
const FEW: usize = 10;
/// in less than this part of the time recorded, devices did not do what was meant to be profiled.
const LITTLE: f64 = 0.01;
/// Parts of idle time that are named.
const PARTS: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loss {
    Idle,
    Communication,
    Waiting,
    Copies,
}

impl Evidence<'_> {
    pub(super) fn is_too_little(&self) -> bool {
        let recorded = self.earlier.get::<Trace>().map_or(0, |trace| trace.span_ns);
        self.activities < FEW && share(self.wall().ns, recorded) < LITTLE
    }

    pub(super) fn too_little(&self) -> Said {
        let busy = self.lines("busy", |line| !line.is_idle());
        let recorded = self.earlier.get::<Trace>().map_or(0, |trace| trace.span_ns);
        let what = things(self.activities as i64, "kernel or copy", "kernels and copies");
        Said::new(format!("Too little on the {} to judge: {what}, ", self.subject()))
            .share(&busy, &Amount::new("recorded", recorded, "trace.span_ns"))
            .say(" of the time that the trace covers.")
    }

    fn lines(&self, what: &str, wanted: impl Fn(Line) -> bool) -> Amount {
        let lines = self.ledger.map_or(&[][..], |ledger| &ledger.lines);
        let found: Vec<_> = lines.iter().filter(|line| wanted(line.line)).collect();
        Amount {
            what: what.to_owned(),
            ns: found.iter().map(|line| line.ns).fold(0, i64::saturating_add),
            from: found.iter().map(|line| format!("ledger.lines[line={}].ns", line.line.as_str())).collect(),
        }
    }

    fn wall(&self) -> Amount {
        Amount::new("wall", self.ledger.map_or(0, |ledger| ledger.wall_ns), "ledger.wall_ns")
    }

    fn idle(&self) -> Amount {
        self.lines("idle", Line::is_idle)
    }

    pub(super) fn of_devices(&self) -> Said {
        let wall = self.wall();
        let part = |loss: Loss| share(self.loss(loss).ns, wall.ns);
        let mut losses = vec![Loss::Idle, Loss::Waiting, Loss::Communication, Loss::Copies];
        losses.retain(|loss| part(*loss) >= MATTERS);
        // Stable: of equals, the one that is easier to win back comes first.
        losses.sort_by(|a, b| part(*b).total_cmp(&part(*a)));
        let work = share(self.lines("kernels", is_work).ns, wall.ns);
        let first = losses.first().copied().filter(|loss| part(*loss) >= COMES_FIRST.min(work));
        let mut said = match first {
            Some(loss) => self.head(loss),
            None => self.busy(),
        };
        for loss in losses.into_iter().filter(|loss| Some(*loss) != first) {
            said = said.say(" ").then(self.also(loss));
        }
        said
    }

    fn loss(&self, loss: Loss) -> Amount {
        match loss {
            Loss::Idle => self.idle(),
            Loss::Communication => self.lines("communication", |line| line == Line::Communication),
            Loss::Waiting => self.lines("waiting", |line| line == Line::CommWait),
            Loss::Copies => self.lines("copies", |line| line == Line::Copies),
        }
    }

    fn subject(&self) -> &'static str {
        match (self.is_gpu(), self.devices) {
            (true, 1) => "GPU",
            (true, _) => "GPUs",
            (false, 1) => "Device",
            (false, _) => "Devices",
        }
    }

    /// Whether the devices are GPUs: so they are unless the trace names others and has no call of CUDA or HIP.
    fn is_gpu(&self) -> bool {
        let hardware = self.earlier.get::<Trace>().map_or(&[][..], |trace| &trace.hardware);
        let is_known = |name: &String| GPUS.iter().any(|word| name.contains(word));
        let calls = self.launches.map_or(&[][..], |found| &found.calls);
        hardware.is_empty()
            || hardware.iter().any(is_known)
            || calls.iter().any(|call| call.name.starts_with("cu") || call.name.starts_with("hip"))
    }

    fn head(&self, loss: Loss) -> Said {
        let said = Said::new(self.subject());
        match loss {
            Loss::Idle => {
                let said = said.say(" idle ").share(&self.idle(), &self.wall());
                said.say(" of the time").then(self.idle_parts()).then(self.idle_detail())
            }
            Loss::Communication => {
                let said = said.say(" in exposed communication for ");
                let said = said.share(&self.loss(loss), &self.wall()).say(" of the time");
                said.then(self.communication_detail())
            }
            Loss::Waiting => {
                let said = said.say(" waiting for other ranks in collectives for ");
                said.share(&self.loss(loss), &self.wall()).say(" of the time").then(self.waiting_detail())
            }
            Loss::Copies => {
                let said = said.say(" only copying for ").share(&self.loss(loss), &self.wall());
                said.say(" of the time: ").then(self.copies_detail())
            }
        }
    }

    fn also(&self, loss: Loss) -> Said {
        match loss {
            Loss::Idle => Said::new("Idle ")
                .share(&self.idle(), &self.wall())
                .then(self.idle_parts())
                .then(self.idle_detail()),
            Loss::Communication => Said::new("Exposed communication ")
                .share(&self.loss(loss), &self.wall())
                .then(self.communication_detail()),
            Loss::Waiting => Said::new("Waiting for other ranks in collectives ")
                .share(&self.loss(loss), &self.wall())
                .then(self.waiting_detail()),
            Loss::Copies => {
                let said = Said::new("Exposed copies ").share(&self.loss(loss), &self.wall());
                said.say(": ").then(self.copies_detail())
            }
        }
    }

    /// `: 56.1% CPU-bound, 30.0% launch-bound, 0.2% of other causes.`
    fn idle_parts(&self) -> Said {
        let (idle, wall) = (self.idle(), self.wall());
        let mut causes: Vec<Line> = Line::ALL.iter().copied().filter(|line| line.is_idle()).collect();
        let on = |line: Line| self.lines(line.as_str(), |other| other == line);
        causes.retain(|line| on(*line).ns > 0);
        causes.sort_by_key(|line| std::cmp::Reverse(on(*line).ns));
        let Some(first) = causes.first().copied() else { return Said::new(".") };
        if share(on(first).ns, idle.ns) >= NEARLY_ALL {
            let all = if causes.len() == 1 { "all" } else { "nearly all" };
            return Said::new(format!(", {all} of it {}.", cause_word(first)));
        }
        let named = causes.iter().filter(|line| share(on(**line).ns, wall.ns) >= PART).take(PARTS).count();
        let (named, others) = causes.split_at(named.max(1));
        let mut said = Said::new(":");
        for (i, line) in named.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            said = said.say(format!("{comma} ")).part(&on(*line), &wall, Some(&idle.what));
            said = said.say(format!(" {}", cause_word(*line)));
        }
        if !others.is_empty() {
            let rest = self.lines("other causes", |line| others.contains(&line));
            let word = if let [only] = others { cause_word(*only) } else { "of other causes" };
            said = said.say(", ").part(&rest, &wall, Some(&idle.what)).say(format!(" {word}"));
        }
        said.say(".")
    }

    fn idle_detail(&self) -> Said {
        let Some((at, main)) = self.gaps.first() else { return Said::default() };
        let said = match Line::of_gap(main.cause) {
            Line::LaunchBound => self.launch_rate().say(self.graphs_help()).say("."),
            Line::CpuBound => self.host_detail(*at, main),
            Line::Sync => {
                let waited = main.examples.first().and_then(|gap| gap.waited_in.as_deref());
                let call = waited.map_or(String::new(), |name| format!(" in {}", code(name)));
                let said = Said::new(format!(" The host waits for the device{call} before it launches more"));
                said.then(longest(*at, main, "; the longest gap is ")).say(".")
            }
            Line::Dependency => {
                let found = longest(*at, main, "; the longest gap is ");
                match (self.has_unrecorded_work(), main.examples.first().and_then(waiting_call)) {
                    (true, Some(call)) => return unrecorded(call, found),
                    _ => queued(main.examples.first().and_then(|gap| gap.host.as_deref()), found),
                }
            }
            Line::Dispatch => {
                let count = things(main.count as i64, "gap", "gaps");
                Said::new(format!(" {count} between kernels that were launched in time, "))
                    .time("median gap", main.p50_ns as f64, format!("gaps[{at}].p50_ns"))
                    .say(" at the median: fewer, larger kernels would help.")
            }
            _ => Said::new(" The trace has no launches for these activities")
                .then(longest(*at, main, "; the longest gap is "))
                .say("."),
        };
        match self.has_unrecorded_work() {
            true => said.say(" Part of it may be work that was not recorded."),
            false => said,
        }
    }

    fn has_unrecorded_work(&self) -> bool {
        self.checks.iter().any(|check| check.name == "waits_without_work" && !check.ok)
    }

    fn host_detail(&self, at: usize, main: &GapStat) -> Said {
        let Some(gap) = main.examples.first() else { return Said::default() };
        let most = main.hosts.first().filter(|host| {
            // One gap that outweighs all others speaks for itself.
            gap.dur_ns.saturating_mul(2) < main.total_ns && host.kind.is_some() && host.count > 1
        });
        let mut said = Said::default();
        if let Some(host) = most.filter(|host| share(host.idle_ns, self.wall().ns) >= WORTH_A_LOOK) {
            let amount =
                Amount::new("gaps of one kind", host.idle_ns, format!("gaps[{at}].hosts[0].idle_ns"));
            let inside = match (&host.name, host.kind) {
                (Some(name), Some(HostKind::ManyCalls)) => {
                    format!("gaps of many short calls, most in {}", code(name))
                }
                (Some(name), _) => format!("gaps inside {}", code(name)),
                (None, _) => "gaps in which nothing was recorded on the launching thread".to_owned(),
            };
            said = said
                .say(if host.share >= 0.5 { " Most" } else { " The largest part" })
                .say(" of the CPU-bound time, ")
                .share(&amount, &self.wall())
                .say(format!(" of the wall time, is {inside}."));
        }
        said.then(covered(at, gap))
    }

    fn launch_rate(&self) -> Said {
        if let Some((at, step)) = self.step
            && let (Some(launches), Some(busy_ns)) = (step.launches, step.device_busy_ns())
        {
            let launches = things(launches.round() as i64, "launch", "launches");
            return Said::new(format!(" {launches} per {} for ", step_word(step.kind)))
                .time("device work per step", busy_ns, format!("phases[{at}].device_busy.mean_ns"))
                .say(" of device work");
        }
        let launches = self.launches.map_or(0, |found| (found.launches + found.graph_launches) as i64);
        Said::new(format!(" {} for ", things(launches, "launch", "launches")))
            .time("device work", self.busy_ns as f64, "devices[*].busy_ns")
            .say(" of device work")
    }

    /// What helps, where nothing takes more time than launching.
    fn graphs_help(&self) -> String {
        let lines = self.ledger.map_or(&[][..], |ledger| &ledger.lines);
        let largest = lines.iter().max_by_key(|line| line.ns).map(|line| line.line);
        let graphs = self.graph_word();
        if self.mostly_graphs() {
            format!("; most activities already come from {graphs}, so launches between graphs matter")
        } else if largest == Some(Line::LaunchBound) {
            format!("; {graphs} or compilation would help most")
        } else {
            String::new()
        }
    }

    fn communication_detail(&self) -> Said {
        let all = Amount::new("communication time", self.communication_ns, "devices[*].communication_ns");
        let waits = self.loss(Loss::Waiting).ns > 0;
        let exposed = self.lines("exposed communication", is_exchange);
        let which = if waits { " (transfer alone)" } else { "" };
        if exposed.ns >= all.ns {
            return Said::new(format!("{which}: none of it overlaps compute."));
        }
        let said = Said::new(format!("{which}: ")).share(&exposed, &all);
        let with = if waits { ", waiting included," } else { "" };
        said.say(format!(" of communication time{with} does not overlap compute."))
    }

    pub(super) fn tells_of_waiting(&self) -> bool {
        share(self.loss(Loss::Waiting).ns, self.wall().ns) >= MATTERS
    }

    fn waiting_detail(&self) -> Said {
        match self.straggler() {
            Some(said) => Said::new(". ").then(said),
            None => Said::new(": no rank is systematically late."),
        }
    }

    pub(super) fn straggler(&self) -> Option<Said> {
        let row = self.earlier.get::<Stragglers>()?.rows.first()?;
        let said = Said::new(&row.sentence)
            .cites("lost to a straggler", row.lost_ns, "stragglers.rows[0].lost_ns")
            .cites_ratio("lost to a straggler", row.lost_share, "stragglers.rows[0].lost_share");
        Some(match row.causes.first() {
            Some(cause) => said
                .cites("the straggler", cause.own_ns, "stragglers.rows[0].causes[0].own_ns")
                .cites("other ranks", cause.others_ns, "stragglers.rows[0].causes[0].others_ns"),
            None => said,
        })
    }

    fn copies_detail(&self) -> Said {
        let copies: Vec<_> =
            self.kernels.iter().enumerate().filter(|(_, row)| row.kind != ActivityKind::Kernel).collect();
        let Some((at, most)) = copies.first() else { return Said::new("nothing else runs.") };
        let total = |wanted: &dyn Fn(&str) -> bool| {
            copies.iter().filter(|(_, row)| wanted(&row.name)).map(|(_, row)| row.total_ns).sum::<i64>()
        };
        let pageable = total(&|name| name.contains("Pageable"));
        let pinned = total(&|name| name.contains("Pinned") && !name.contains("Pageable"));
        let help = if pageable.saturating_mul(2) > total(&|_| true) {
            "from or to pageable memory: pinned memory is faster and lets copies overlap compute"
        } else if pinned.saturating_mul(2) > total(&|_| true) {
            "host memory is pinned already: overlap copies with compute, or copy less"
        } else {
            "overlap copies with compute, or copy less"
        };
        Said::new(format!("most in {}, ", code(&most.short_name)))
            .time("copies of one kind", most.total_ns as f64, format!("kernels[{at}].total_ns"))
            .say(format!(" ({help})."))
    }

    fn busy(&self) -> Said {
        let limited = match self.step.map(|(_, step)| step.kind) {
            Some(PhaseKind::Prefill) => "prefill is limited",
            Some(PhaseKind::Decode) => "decode is limited",
            Some(PhaseKind::Mixed) => "mixed batches are limited",
            Some(PhaseKind::Vision) => "the encoder is limited",
            Some(PhaseKind::Diffusion) => "diffusion is limited",
            Some(PhaseKind::Step | PhaseKind::Range) | None => "limited",
        };
        let busy = self.lines("busy", |line| !line.is_idle());
        let said = Said::new(format!("{} ", self.subject())).share(&busy, &self.wall());
        said.say(format!(" busy: {limited} by kernels; ")).then(self.largest_classes()).say(".")
    }

    /// `42.0% of device time is MoE, 31.2% GEMM`.
    fn largest_classes(&self) -> Said {
        let parts = self.classes.iter().enumerate().take(2).filter(|(_, class)| class.share >= WORTH_A_LOOK);
        let mut said = Said::default();
        for (at, class) in parts {
            let amount = Amount::new(&class.name, class.total_ns, format!("classes.by_class[{at}].total_ns"));
            let all = self.classes.iter().map(|class| class.total_ns).fold(0, i64::saturating_add);
            let whole = Amount::new("device time", all, "classes.by_class[*].total_ns");
            let (comma, is) = if at > 0 { (", ", "") } else { ("", " of device time is") };
            said = said.say(comma).share(&amount, &whole).say(format!("{is} {}", class_word(&class.name)));
        }
        if said.text.is_empty() { Said::new("no single class of kernels dominates") } else { said }
    }
}

fn is_work(line: Line) -> bool {
    !line.is_idle() && !is_exchange(line) && line != Line::Copies
}

fn is_exchange(line: Line) -> bool {
    matches!(line, Line::Communication | Line::CommWait)
}

fn waiting_call(gap: &GapExample) -> Option<&str> {
    let host = gap.host.as_deref()?;
    (gap.host_kind == Some(HostKind::Synchronization) || host.contains("Memcpy")).then_some(host)
}

fn unrecorded(call: &str, longest: Said) -> Said {
    Said::new(format!(" The host waits for the device in {} while nothing recorded runs", code(call)))
        .then(longest)
        .say(". Most likely the device worked on what was launched before the recording.")
}

fn queued(host: Option<&str>, longest: Said) -> Said {
    let text = " Queued work does not start, and nothing recorded runs: it waits for an event of the host or \
                of another device, or for work that was not recorded";
    let said = Said::new(text).then(longest);
    match host {
        Some(host) => said.say(format!(", with the host in {}.", code(host))),
        None => said.say("."),
    }
}

fn longest(at: usize, main: &GapStat, words: &str) -> Said {
    main.examples.first().map_or(Said::default(), |gap| {
        Said::new(words).time("longest gap", gap.dur_ns as f64, format!("gaps[{at}].examples[0].dur_ns"))
    })
}

fn covered(at: usize, gap: &GapExample) -> Said {
    let path = format!("gaps[{at}].examples[0]");
    let length = Amount::new("longest gap", gap.dur_ns, format!("{path}.dur_ns"));
    let the_gap = |words: &str| Said::new(words).time("longest gap", gap.dur_ns as f64, &length.from[0]);
    let (Some(kind), Some(covered_ns)) = (gap.host_kind, gap.covered_ns) else {
        return the_gap(" The longest gap is ").say(".");
    };
    let part = Amount::new("covered", covered_ns, format!("{path}.covered_ns"));
    let covers = |said: Said| {
        let said = said.say(" covers ").time("covered", covered_ns as f64, &part.from[0]);
        said.say(" (").share(&part, &length).say(") of it.")
    };
    match (&gap.host, kind) {
        (Some(host), HostKind::ManyCalls) => {
            let said = the_gap(" In the longest gap, ")
                .say(", no single call covers half; many short calls, most in ");
            let said = said.say(format!("{}, cover ", code(host)));
            said.time("covered", covered_ns as f64, &part.from[0]).say(" of it.")
        }
        (Some(host), HostKind::RuntimeCall)
            if covered_ns > SLOW_LAUNCH_NS && host.to_ascii_lowercase().contains("launch") =>
        {
            let said =
                the_gap(" The longest gap, ").say(", is a slow launch (the first one loads its kernel): ");
            covers(said.say(code(host)))
        }
        (Some(host), kind) => {
            covers(the_gap(" The longest gap, ").say(format!(", is {}: {}", kind.word(), code(host))))
        }
        (None, _) => {
            let said = the_gap(" Nothing recorded on the launching thread covers half of the longest gap, ");
            said.say(": the calls in it cover ").time("covered", covered_ns as f64, &part.from[0]).say(".")
        }
    }
}

pub(super) fn cause_word(line: Line) -> &'static str {
    match line {
        Line::LaunchBound => "launch-bound",
        Line::CpuBound => "CPU-bound",
        Line::Sync => "after synchronization",
        Line::Dependency => "queued but not started",
        Line::Dispatch => "between back-to-back kernels",
        _ => "unexplained",
    }
}
