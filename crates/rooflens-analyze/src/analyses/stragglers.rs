//! Which rank do the others wait for, and why is it late?

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::analyses::{Communication, Ledger};
use crate::collectives::{Lateness, Spent};
use crate::finding::{Analysis, Derived, Finding, FindingType, Findings};
use crate::kernel_catalog::KernelClass;
use crate::ledger::Line;
use crate::sentence::{count, percent, time};
use crate::statistics::share;

/// Ranks that the others wait for.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Stragglers {
    /// Devices whose collectives could be matched.
    pub(crate) devices: usize,
    /// Their collectives.
    pub(crate) collectives: usize,
    /// All waiting in them, added up.
    pub(crate) wait_ns: i64,
    /// Ranks that are systematically late, the one with the most time lost to it first.
    pub rows: Vec<Straggler>,
    /// What is empty, and why.
    pub(crate) not_computed: BTreeMap<Cow<'static, str>, String>,
}

/// A rank that the others wait for.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Straggler {
    /// Its rank.
    pub(crate) rank: i32,
    /// Its device, as the rank's trace numbers it.
    pub(crate) device: i32,
    /// Collectives that it shares with others.
    pub(crate) collectives: usize,
    /// Those in which it was the last to arrive.
    pub(crate) last_to_arrive: usize,
    /// Time that the others waited for it, added up.
    pub(crate) lost_ns: i64,
    /// The same as a share of all devices' time, 0 to 1.
    pub(crate) lost_share: f64,
    /// Time that the job would save if it arrived with the last of the others: each of its collectives would be
    /// over so much earlier, less what it waited itself.
    pub(crate) gain_low_ns: i64,
    /// The same if it arrived with the mean of the others.
    pub(crate) gain_high_ns: i64,
    /// What it spent more time on than the others, most first.
    pub(crate) causes: Vec<Excess>,
    /// All of it in two sentences.
    pub sentence: String,
}

/// What a straggler spent more time on than the others, between the first and the last collective.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Excess {
    /// `kernels`, `all_kernels` where every class is slower by the same factor, or `idle`.
    pub(crate) what: Cow<'static, str>,
    /// The class of kernels.
    pub(crate) class: Option<KernelClass>,
    /// The ledger line that idle time is counted on: its cause.
    pub(crate) idle: Option<Line>,
    /// Its time.
    pub(crate) own_ns: i64,
    /// The mean time of the other devices.
    pub(crate) others_ns: i64,
    /// Its activities; null for idle time.
    pub(crate) own_count: Option<usize>,
    /// The mean of the other devices.
    pub(crate) others_count: Option<usize>,
    /// Its part of everything that took longer than on the others, 0 to 1.
    pub(crate) share: f64,
}

pub(super) const ANALYSIS: Analysis = Analysis {
    name: "stragglers",
    question: "Which rank do the others wait for, and why is it late?",
    needs: "communication kernels",
    is_special: true,
    finding: FindingType::object::<Stragglers>(),
    start: || Box::new(Derived(find)),
    explain: "\
Ranks that are systematically late at collectives. Matching and waiting are those of `communication`: a rank is late
by how much shorter its kernel is than the mean of the ranks; clocks are not used.

- `rows`: ranks whose total lateness exceeds 3.7 standard deviations of what random lateness would give, over enough
  collectives that chance would select the same rank with a probability below 0.001, and that cost the others at
  least 1 % of all devices' time. With random jitter, no rank is named.
- `last_to_arrive` of `collectives`; `lost_ns`: the sum of the others' waiting in those; `lost_share`: / wall_ns of
  the ledger.
- `gain_low_ns`: the sum of how much the last rank is behind the second-to-last, minus its own waiting;
  `gain_high_ns`: the mean waiting of the others. Time of the job, not summed over devices.
- `causes`: between its first and last collective, the time by class of kernels and by cause of idle time, beyond
  the mean of the other devices; collectives themselves are left out. `share`: / all of these.
  Classes that all take longer by about the same factor are one row `all_kernels`: lower clocks or a shared device.
",
};

fn find(earlier: &Findings) -> Option<Box<dyn Finding>> {
    let communication = earlier.get::<Communication>()?;
    let ledger = earlier.get::<Ledger>()?;
    let known = &communication.waiting.lateness;
    let late = |row: &&Lateness| row.is_systematic() && share(row.lost_ns, ledger.wall_ns) >= WORTH_NAMING;
    let mut rows: Vec<Straggler> =
        known.iter().filter(late).map(|row| straggler(row, known, ledger)).collect();
    rows.sort_by_key(|row| (Reverse(row.lost_ns), row.rank, row.device));
    let reason = communication.not_computed.get("waits").map(|reason| ("rows".into(), reason.clone()));
    Some(Box::new(Stragglers {
        devices: known.len(),
        collectives: communication.matched,
        wait_ns: known.iter().fold(0, |sum: i64, row| sum.saturating_add(row.wait_ns)),
        rows,
        not_computed: reason.into_iter().collect(),
    }))
}

/// From this share of all devices' time on, a rank that others wait for is named.
const WORTH_NAMING: f64 = 0.01;
/// Causes below this part of the lateness are left out.
const WORTH_A_CAUSE: f64 = 0.05;
/// From this part of what takes longer on, what holds of it holds of all.
const NEARLY_ALL: f64 = 0.8;

fn straggler(own: &Lateness, all: &[Lateness], ledger: &Ledger) -> Straggler {
    let several_devices =
        all.iter().any(|row| row.device.rank == own.device.rank && row.device != own.device);
    let spent = |row: &Lateness| ledger.spent.get(row.index);
    let others: Vec<&Spent> = all.iter().filter(|row| row.device != own.device).filter_map(spent).collect();
    let causes = spent(own).map_or_else(Vec::new, |own| causes(own, &others));
    let mut found = Straggler {
        rank: own.device.rank,
        device: own.device.device,
        collectives: own.collectives,
        last_to_arrive: own.last,
        lost_ns: own.lost_ns,
        lost_share: share(own.lost_ns, ledger.wall_ns),
        gain_low_ns: own.behind_ns.saturating_sub(own.wait_ns).max(0),
        gain_high_ns: own.mean_lost_ns.round() as i64,
        causes,
        sentence: String::new(),
    };
    found.sentence = sentence(&found, several_devices);
    found
}

fn causes(own: &Spent, others: &[&Spent]) -> Vec<Excess> {
    let devices = others.len().max(1) as i64;
    let mean = |part: &dyn Fn(&Spent) -> i64| {
        others.iter().fold(0i64, |sum, other| sum.saturating_add(part(other))) / devices
    };
    let of_class = |class: KernelClass| {
        let (own_ns, own_count) = own.kernels.get(&class).copied().unwrap_or_default();
        let of = move |spent: &Spent| spent.kernels.get(&class).copied().unwrap_or_default();
        Excess {
            what: "kernels".into(),
            class: Some(class),
            idle: None,
            own_ns,
            others_ns: mean(&move |spent| of(spent).0),
            own_count: Some(own_count),
            others_count: Some(mean(&move |spent| of(spent).1 as i64) as usize),
            share: 0.0,
        }
    };
    let of_idle = |(line, ns): (&Line, &i64)| {
        let line = *line;
        Excess {
            what: "idle".into(),
            class: None,
            idle: Some(line),
            own_ns: *ns,
            others_ns: mean(&move |spent| spent.idle.get(&line).copied().unwrap_or(0)),
            own_count: None,
            others_count: None,
            share: 0.0,
        }
    };
    let mut kernels: Vec<Excess> = own.kernels.keys().map(|class| of_class(*class)).collect();
    join_alike(&mut kernels);
    let mut found: Vec<Excess> = kernels.into_iter().chain(own.idle.iter().map(of_idle)).collect();
    found.retain(|row| row.own_ns > row.others_ns);
    let whole = found.iter().fold(0i64, |sum, row| sum.saturating_add(row.own_ns - row.others_ns));
    found.iter_mut().for_each(|row| row.share = share(row.own_ns - row.others_ns, whole));
    found.retain(|row| row.share >= WORTH_A_CAUSE);
    found.sort_by_key(|row| Reverse(row.own_ns - row.others_ns));
    found
}

/// Puts classes that take longer by about the factor of the largest into one row, where they are nearly all of what
/// takes longer: then it is no single class that is slow.
fn join_alike(kernels: &mut Vec<Excess>) {
    let above = |row: &Excess| share(row.own_ns, row.others_ns) - 1.0;
    let Some(usual) = kernels.iter().max_by_key(|row| row.others_ns).map(above) else { return };
    let is_alike = |row: &Excess| {
        let own = above(row);
        row.own_count == row.others_count && own > 0.5 * usual && own < 1.5 * usual
    };
    let (alike, others): (Vec<Excess>, Vec<Excess>) = kernels.iter().cloned().partition(is_alike);
    let sum = |rows: &[Excess], part: fn(&Excess) -> i64| rows.iter().map(part).fold(0, i64::saturating_add);
    let excess = |row: &Excess| (row.own_ns - row.others_ns).max(0);
    let covered = share(sum(&alike, excess), sum(kernels, excess));
    if alike.len() < 2 || usual < 0.02 || covered < NEARLY_ALL {
        return;
    }
    let all = Excess {
        what: "all_kernels".into(),
        class: None,
        idle: None,
        own_ns: sum(&alike, |row| row.own_ns),
        others_ns: sum(&alike, |row| row.others_ns),
        own_count: Some(alike.iter().filter_map(|row| row.own_count).sum()),
        others_count: Some(alike.iter().filter_map(|row| row.others_count).sum()),
        share: 0.0,
    };
    // A class with hardly any time is as fast as it likes.
    let most_of_alike = alike.iter().map(|row| row.others_ns).max().unwrap_or(0);
    if share(all.others_ns - most_of_alike, all.others_ns) >= WORTH_A_CAUSE {
        *kernels = others;
        kernels.push(all);
    }
}

impl Straggler {
    /// What makes it late, in words: `its GEMM kernels take 1.25 times as long, 10.2 ms against 8.16 ms`.
    pub(crate) fn cause(&self) -> Option<String> {
        let main = self.causes.first()?;
        let times = format!(
            "{} against {} on the other ranks",
            time(main.own_ns as f64),
            time(main.others_ns as f64)
        );
        let factor = share(main.own_ns, main.others_ns);
        let counts = main.own_count.zip(main.others_count).unwrap_or_default();
        let class = main.class.map_or_else(String::new, class_word);
        Some(match &*main.what {
            "idle" => {
                let cause = main.idle.map_or("idle", idle_words);
                format!("its device idles longer, {times}: {cause}")
            }
            "all_kernels" => format!(
                "all of its kernels take {factor:.2} times as long, {times}: lower clocks or a shared device"
            ),
            _ if share(counts.0 as i64, counts.1 as i64) >= 1.02 || counts.1 == 0 => format!(
                "it runs more {class} kernels, {} against {}, {times}",
                count(counts.0 as i64),
                count(counts.1 as i64)
            ),
            _ => format!("its {class} kernels take {factor:.2} times as long, {times}"),
        })
    }
}

fn sentence(found: &Straggler, several_devices: bool) -> String {
    let who = match several_devices {
        true => format!("Rank {} device {}", found.rank, found.device),
        false => format!("Rank {}", found.rank),
    };
    let cause = found.cause().map_or_else(
        || " The trace does not show why it is late.".to_owned(),
        |cause| format!(" Cause: {cause}."),
    );
    format!(
        "{who} is the last to arrive at {} of {} collectives; the others lose {} waiting for it, {} of all device \
         time.{cause}",
        count(found.last_to_arrive as i64),
        count(found.collectives as i64),
        time(found.lost_ns as f64),
        percent(found.lost_share)
    )
}

fn class_word(class: KernelClass) -> String {
    match class {
        KernelClass::Gemm | KernelClass::Gemv => class.as_str().to_ascii_uppercase(),
        KernelClass::Moe => "MoE".to_owned(),
        _ => class.as_str().replace('_', " "),
    }
}

fn idle_words(line: Line) -> &'static str {
    match line {
        Line::LaunchBound => "its host launches slower than the device runs",
        Line::CpuBound => "its host is busy with something else",
        Line::Sync => "its host waits for the device before it launches more",
        Line::Dependency => "queued work waits for other work",
        Line::Dispatch => "between activities that were launched in time",
        _ => "the trace does not show why",
    }
}

#[cfg(test)]
mod tests {
    use rooflens_schema::tables::GapCause;

    use super::*;
    use crate::sample::{Random, Sample, findings};

    /// Ranks in lockstep: in each round each rank has a product and a norm, idles, and meets the others in an
    /// all-reduce of 10 µs. `own` gives product, norm and gap of a rank, in ns. Each clock is off by a second.
    fn job(ranks: i32, rounds: i64, mut own: impl FnMut(i32) -> (i64, i64, i64)) -> Stragglers {
        let mut samples: Vec<Sample> = (0..ranks).map(Sample::new).collect();
        let mut now = 0;
        for round in 0..rounds {
            let work: Vec<_> = (0..ranks).map(&mut own).collect();
            let slowest = work.iter().map(|(gemm, norm, gap)| gemm + norm + gap).max().expect("ranks");
            for ((sample, rank), (gemm, norm, gap)) in samples.iter_mut().zip(0..).zip(work) {
                let at = now + rank * 1_000_000_000;
                sample.kernel(0, 7, at, gemm, "mm", "gemm");
                sample.kernel(0, 7, at + gemm + gap, norm, "rms", "norm");
                if gap > 0 {
                    sample.idle(gap, GapCause::CpuBound);
                }
                let arrival = at + gemm + gap + norm;
                let dur = slowest + 10_000 - (gemm + gap + norm);
                sample.kernel(0, 7, arrival, dur, "ncclDevKernel_AllReduce", "communication");
                sample.launched(round, 0, 0).collective("allreduce", "BFloat16", (8, 8), ("tp", ranks));
            }
            now += slowest + 10_000;
        }
        let tables: Vec<_> = samples.into_iter().map(|sample| sample.tables).collect();
        findings(&tables).get::<Stragglers>().expect("collectives").clone()
    }

    #[test]
    fn a_slow_class_is_named() {
        // Rank 2 of four has products of 50 instead of 40 µs: the others lose 3 * 10 µs in each of 40 rounds.
        let found = job(4, 40, |rank| (if rank == 2 { 50_000 } else { 40_000 }, 5_000, 0));
        let [row] = &found.rows[..] else { panic!("one straggler: {found:?}") };
        assert_eq!((row.rank, row.last_to_arrive, row.collectives), (2, 40, 40));
        assert_eq!((row.lost_ns, found.wait_ns), (1_200_000, 1_200_000));
        assert_eq!((row.gain_low_ns, row.gain_high_ns), (400_000, 400_000));
        assert_eq!((&*row.causes[0].what, row.causes[0].class), ("kernels", Some(KernelClass::Gemm)));
        // 39 of the 40 products are between the first and the last collective.
        assert_eq!((row.causes[0].own_ns, row.causes[0].others_ns), (39 * 50_000, 39 * 40_000));
        // 1.2 ms of 4 * 40 * 65 µs.
        assert_eq!(
            row.sentence,
            "Rank 2 is the last to arrive at 40 of 40 collectives; the others lose 1.20 ms waiting for it, 11.5% of \
             all device time. Cause: its GEMM kernels take 1.25 times as long, 1.95 ms against 1.56 ms \
             on the other ranks."
        );
    }

    #[test]
    fn gaps_and_slow_clocks_are_named() {
        let found = job(2, 30, |rank| (40_000, 5_000, if rank == 0 { 20_000 } else { 0 }));
        assert_eq!((found.rows[0].rank, found.rows[0].causes[0].idle), (0, Some(Line::CpuBound)));
        assert!(
            found.rows[0].sentence.ends_with("on the other ranks: its host is busy with something else.")
        );
        let found = job(2, 30, |rank| if rank == 1 { (48_000, 12_000, 0) } else { (40_000, 10_000, 0) });
        assert_eq!((found.rows[0].rank, &*found.rows[0].causes[0].what), (1, "all_kernels"));
    }

    #[test]
    fn random_jitter_names_nobody() {
        let mut random = Random(3);
        for ranks in [2, 4, 8] {
            for _ in 0..15 {
                let found = job(ranks, 60, |_| (40_000 + random.below(8_000), 5_000, 0));
                assert!(found.wait_ns > 0 && found.rows.is_empty(), "{found:?}");
            }
        }
        // One rank that is late once, by much, is an event and no straggler.
        let mut first = true;
        let found = job(8, 60, |rank| {
            let late = std::mem::take(&mut first) && rank == 0;
            (if late { 900_000 } else { 40_000 + random.below(100) }, 5_000, 0)
        });
        assert!(found.rows.is_empty(), "{found:?}");
    }

    #[test]
    fn one_rank_says_why_nobody_is_named() {
        let found = job(1, 3, |_| (40_000, 5_000, 0));
        assert!(found.rows.is_empty() && found.not_computed["rows"].starts_with("only one rank"));
    }
}
