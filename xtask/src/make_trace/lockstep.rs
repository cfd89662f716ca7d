//! Ranks that meet in collectives: a job in lockstep with a straggler, or with jitter alone.
//!
//! All ranks are simulated together, from one collective to the next: each runs its kernels, arrives, and waits for
//! the last; then the data moves, at a planted share of the device's link rate. Every rank's clock is off. Who was
//! last, what was waiting and what was transfer is written down while it is planted.

use anyhow::{Context, Result};
use rooflens_cost::hardware::{Catalog, Device};
use serde::Serialize;
use serde_json::{Value, json};

use super::event::{HOST, event};
use super::names::{self, Names};
use crate::random::Random;

const COMPUTE: i64 = 7;
const COMMUNICATION: i64 = 20;
const ASIDE: i64 = 22;
/// Longest difference of two clocks.
const SKEW_NS: i64 = 20_000_000;
const DEVICES: &[&str] = &["H100 SXM", "H200 SXM", "B200", "A100 SXM 80GB", "L40S", "MI300X"];

#[derive(Debug, Serialize)]
pub(crate) struct Truth {
    seed: u64,
    hardware: String,
    tp: u64,
    straggler: Option<Straggler>,
    wall_ns: i64,
    ranks: Vec<RankTruth>,
    collectives: Collectives,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct Straggler {
    rank: u64,
    what: &'static str,
    class: Option<&'static str>,
    idle: Option<&'static str>,
    #[serde(skip)]
    factor: f64,
}

#[derive(Debug, Default, Serialize)]
struct RankTruth {
    last_to_arrive: usize,
    wait_ns: i64,
    /// The part of it in which nothing else ran.
    exposed_wait_ns: i64,
    /// From the last arrivals to the ends, where nothing else ran.
    exposed_transfer_ns: i64,
}

#[derive(Debug, Serialize)]
struct Collectives {
    calls: usize,
    bytes: i64,
    algorithm: Option<&'static str>,
    transfer_ns: i64,
    /// Null where the trace does not tell the size.
    bus_gb_per_s: Option<f64>,
    link_share: Option<f64>,
}

/// How the data moves: the kernel's name, the algorithm that it tells, and whether the trace has details.
struct Way {
    kernel: &'static str,
    algorithm: Option<&'static str>,
    has_details: bool,
}

#[rustfmt::skip] // One way per line.
const WAYS: &[Way] = &[
    Way { kernel: "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", algorithm: None, has_details: true },
    Way { kernel: "ncclDevKernel_AllReduce_Sum_bf16_TREE_LL(ncclDevKernelArgsStorage<4096ul>)", algorithm: Some("tree"), has_details: true },
    Way { kernel: "ncclSymkDevKernel_AllReduce_RSxLDMC_AGxSTMC_sum_bf16(ncclSymkDevWorkArgs4K)", algorithm: Some("nvls"), has_details: true },
    Way { kernel: "ncclSymkDevKernel_AllReduce_AGxLL_R_sum_bf16(ncclSymkDevWorkArgs4K)", algorithm: Some("one_shot"), has_details: true },
    Way { kernel: "void vllm::cross_device_reduce_2stage<__nv_bfloat16, 8>(vllm::RankData*, vllm::RankSignals, vllm::Signal*, __nv_bfloat16*, int, int)", algorithm: Some("two_shot"), has_details: false },
];

/// A kernel of a layer: class, name, usual duration.
type Kernel = (&'static str, &'static str, i64);

struct Job {
    device: &'static Device,
    ranks: u64,
    steps: u64,
    layers: u64,
    /// Kernels before each of a layer's two collectives.
    parts: [Vec<Kernel>; 2],
    /// A kernel's time is up to this part longer or shorter, each time anew.
    jitter: f64,
    overlap: f64,
    way: &'static Way,
    bytes: i64,
    tokens: u64,
    transfer_ns: i64,
    straggler: Option<Straggler>,
    aside: &'static str,
}

struct Rank {
    number: u64,
    random: Random,
    skew_ns: i64,
    host: i64,
    free: i64,
    first: Option<i64>,
    correlation: i64,
    events: Vec<Value>,
    truth: RankTruth,
}

pub(crate) fn plant(seed: u64, ranks: Option<u64>) -> Result<(Truth, Vec<Value>)> {
    let job = Job::new(seed, ranks)?;
    let mut ranks: Vec<Rank> = (0..job.ranks).map(|number| Rank::new(seed, number)).collect();
    for step in 0..job.steps {
        job.step(step, &mut ranks);
    }
    let wall_ns = ranks.iter().map(|rank| rank.free - rank.first.unwrap_or(0)).sum();
    let traces = ranks.iter_mut().map(|rank| job.trace(rank)).collect();
    let truth = Truth {
        seed,
        hardware: job.device.name.clone(),
        tp: job.ranks,
        straggler: job.straggler,
        wall_ns,
        ranks: ranks.into_iter().map(|rank| rank.truth).collect(),
        collectives: job.collectives()?,
    };
    Ok((truth, traces))
}

impl Job {
    fn new(seed: u64, ranks: Option<u64>) -> Result<Self> {
        let random = &mut Random::new(seed, 1 << 32);
        let ranks = ranks.unwrap_or_else(|| *random.pick(&[2, 4, 8])).max(2);
        let name: &&str = random.pick(DEVICES);
        let device = Catalog::embedded().find(name)?;
        let names: &Names = random.pick(names::ALL);
        let way = random.pick(WAYS);
        let us = |random: &mut Random, low: i64, high: i64| random.between(low * 1_000, high * 1_000);
        let gemm = us(random, 15, 60);
        let parts = [
            vec![
                ("norm", names.norm, us(random, 3, 6)),
                ("gemm", names.gemm, gemm),
                ("attention", names.attention, us(random, 20, 80)),
                ("gemm", names.gemm, gemm / 2),
            ],
            vec![
                ("norm", names.norm, us(random, 3, 6)),
                ("gemm", names.gemm, 2 * gemm),
                ("elementwise", names.unneeded[0], us(random, 3, 6)),
                ("gemm", names.gemm, gemm),
            ],
        ];
        let hidden = *random.pick(&[4096_u64, 8192]);
        let tokens = random.between(16, 2048) as u64;
        let mut job = Job {
            device,
            ranks,
            steps: random.between(20, 28) as u64,
            layers: random.between(3, 6) as u64,
            parts,
            jitter: 0.01 + 0.05 * random.fraction(),
            overlap: *random.pick(&[0.0, 0.0, 0.5]),
            way,
            bytes: (tokens * hidden * 2) as i64,
            tokens,
            transfer_ns: 0,
            straggler: None,
            aside: names.unneeded[0],
        };
        let share = 0.1 + 0.8 * random.fraction();
        // On a slow link fewer tokens: transfers that are all of the time would leave nothing to find.
        let per_byte = job.link_factor() / job.link_gb_per_s()? / share;
        let most = random.between(4_000, 150_000);
        job.tokens = job.tokens.min((most as f64 / per_byte) as u64 / (2 * hidden)).max(1);
        job.bytes = (job.tokens * hidden * 2) as i64;
        job.transfer_ns = ((job.bytes as f64 * per_byte) as i64).max(4_000);
        let rank = random.between(0, ranks as i64 - 1) as u64;
        let class = *random.pick(&["gemm", "attention"]);
        let factor = 1.3 + 0.5 * random.fraction();
        let late = |what, class, idle| Some(Straggler { rank, what, class, idle, factor });
        // A quarter of the jobs has jitter alone.
        job.straggler = match random.between(0, 7) {
            0 | 1 => None,
            2 | 3 => late("kernels", Some(class), None),
            4 => late("all_kernels", None, None),
            5 => late("launches", Some("elementwise"), None),
            _ => late("idle", None, Some("cpu_bound")),
        };
        Ok(job)
    }

    /// Gigabytes per second of the links that a device has to the others of the job, one direction.
    fn link_gb_per_s(&self) -> Result<f64> {
        let rate = self.device.link_bytes_per_s.or(self.device.host_link_bytes_per_s);
        let all = rate.context("a device without links")? / 1e9;
        // Without a switch, one link to each other device.
        Ok(self.device.direct_links.map_or(all, |links| all / f64::from(links) * (self.ranks - 1) as f64))
    }

    fn bus_factor(&self) -> f64 {
        2.0 * (self.ranks - 1) as f64 / self.ranks as f64
    }

    fn link_factor(&self) -> f64 {
        match self.way.algorithm {
            Some("nvls") => 1.0,
            Some("one_shot") => (self.ranks - 1) as f64,
            _ => self.bus_factor(),
        }
    }

    fn collectives(&self) -> Result<Collectives> {
        let rate = self.bytes as f64 / self.transfer_ns as f64;
        let link_share = rate * self.link_factor() / self.link_gb_per_s()?;
        Ok(Collectives {
            calls: (2 * self.steps * self.layers) as usize,
            bytes: self.bytes,
            algorithm: self.way.algorithm,
            transfer_ns: self.transfer_ns,
            bus_gb_per_s: self.way.has_details.then_some(rate * self.bus_factor()),
            link_share: self.way.has_details.then_some(link_share),
        })
    }

    fn step(&self, step: u64, ranks: &mut [Rank]) {
        let begins: Vec<i64> = ranks.iter().map(|rank| rank.host).collect();
        for layer in 0..self.layers {
            for (number, part) in self.parts.iter().enumerate() {
                for rank in &mut *ranks {
                    let own = self.straggler.filter(|late| late.rank == rank.number);
                    // Once in a step, before its first kernel.
                    if own.is_some_and(|late| late.what == "idle") && layer == 0 && number == 0 && step > 0 {
                        rank.be_busy();
                    }
                    for (class, name, usual_ns) in part {
                        let slower = own.filter(|late| {
                            late.what == "all_kernels"
                                || (late.what == "kernels" && late.class == Some(class))
                        });
                        let factor = slower.map_or(1.0, |late| late.factor);
                        let jitter = 1.0 + self.jitter * (2.0 * rank.random.fraction() - 1.0);
                        rank.kernel(name, (*usual_ns as f64 * factor * jitter) as i64);
                    }
                    if own.is_some_and(|late| late.what == "launches") {
                        rank.kernel(self.aside, 12_000);
                        rank.kernel(self.aside, 9_000);
                    }
                }
                self.meet(ranks);
            }
        }
        for (rank, begin) in ranks.iter_mut().zip(begins) {
            rank.host += 500;
            let name = format!("step[DECODE bs={}]", self.tokens);
            rank.host_event("user_annotation", &name, begin, json!({}));
        }
    }

    fn meet(&self, ranks: &mut [Rank]) {
        let arrivals: Vec<i64> = ranks.iter_mut().map(Rank::launch).collect();
        let Some(last) = arrivals.iter().copied().max() else { return };
        let overlaps = ranks[0].random.happens(self.overlap);
        let mut is_first = true;
        for (rank, arrival) in ranks.iter_mut().zip(arrivals) {
            // Ranks do not leave in the same nanosecond.
            let end = last + self.transfer_ns + rank.random.between(0, 200);
            rank.emit(self.way.kernel, COMMUNICATION, arrival, end - arrival, self.details());
            let beside = if overlaps { rank.aside(self.aside, arrival, end) } else { (end, end) };
            let hidden = |from: i64, to: i64| (beside.1.min(to) - beside.0.max(from)).max(0);
            let truth = &mut rank.truth;
            truth.last_to_arrive += usize::from(arrival == last && std::mem::take(&mut is_first));
            truth.wait_ns += last - arrival;
            truth.exposed_wait_ns += last - arrival - hidden(arrival, last);
            truth.exposed_transfer_ns += end - last - hidden(last, end);
            rank.free = end;
        }
    }

    fn details(&self) -> Value {
        if !self.way.has_details {
            return json!({});
        }
        let elements = self.bytes / 2;
        json!({
            "Collective name": "allreduce", "dtype": "BFloat16", "In msg nelems": elements,
            "Out msg nelems": elements, "Group size": self.ranks, "Process Group Name": "2",
        })
    }

    fn trace(&self, rank: &mut Rank) -> Value {
        json!({
            "schemaVersion": 1,
            "deviceProperties": [{"id": 0, "name": self.device.name}],
            "distributedInfo": {"backend": "nccl", "rank": rank.number, "world_size": self.ranks},
            "baseTimeNanoseconds": 1_760_000_000_000_000_000_i64,
            "traceEvents": std::mem::take(&mut rank.events),
        })
    }
}

impl Rank {
    fn new(seed: u64, number: u64) -> Self {
        let mut random = Random::new(seed, number + (1 << 33));
        let skew_ns = random.between(0, SKEW_NS);
        Rank {
            number,
            random,
            skew_ns,
            host: 100_000,
            free: 0,
            first: None,
            correlation: 0,
            events: Vec::new(),
            truth: RankTruth::default(),
        }
    }

    /// Does something else until the device has run dry, and for a while longer.
    fn be_busy(&mut self) {
        let begin = self.host;
        self.host = self.host.max(self.free) + self.random.between(200_000, 500_000);
        self.host_event("cpu_op", "scheduler::schedule", begin, json!({}));
    }

    /// Launches something; answers when the device can begin with it.
    fn launch(&mut self) -> i64 {
        self.correlation += 1;
        self.host += self.random.between(500, 1_500);
        let begin = self.host;
        self.host += 1_500;
        let args = json!({ "correlation": self.correlation });
        self.host_event("cuda_runtime", "cudaLaunchKernel", begin, args);
        self.free.max(self.host + 1_000)
    }

    fn kernel(&mut self, name: &str, dur_ns: i64) {
        let start = self.launch();
        self.emit(name, COMPUTE, start, dur_ns, json!({}));
        self.free = start + dur_ns;
    }

    /// A kernel beside a collective that takes until `end`: some part of it is not exposed.
    fn aside(&mut self, name: &str, arrival: i64, end: i64) -> (i64, i64) {
        self.launch();
        let start = self.random.between(arrival, end - 2);
        let until = self.random.between(start + 1, end - 1);
        self.emit(name, ASIDE, start, until - start, json!({}));
        (start, until)
    }

    fn emit(&mut self, name: &str, stream: i64, start: i64, dur_ns: i64, details: Value) {
        self.first.get_or_insert(start);
        let mut args = json!({"device": 0, "stream": stream, "correlation": self.correlation});
        if let (Value::Object(args), Value::Object(details)) = (&mut args, details) {
            args.extend(details);
        }
        let start = start + self.skew_ns;
        self.events.push(event("kernel", name, (0, stream), (start, start + dur_ns), args));
    }

    fn host_event(&mut self, category: &str, name: &str, begin: i64, args: Value) {
        let times = (begin + self.skew_ns, self.host + self.skew_ns);
        self.events.push(event(category, name, HOST, times, args));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_planted_and_the_same_seed_makes_the_same_job() {
        let mut kinds = std::collections::BTreeSet::new();
        for seed in 0..40 {
            let (truth, traces) = plant(seed, None).unwrap();
            assert_eq!(traces.len(), truth.tp as usize);
            let last: usize = truth.ranks.iter().map(|rank| rank.last_to_arrive).sum();
            assert_eq!(last, truth.collectives.calls);
            kinds.insert(truth.straggler.map_or("none", |late| late.what));
            if seed < 3 {
                let again = plant(seed, None).unwrap();
                assert_eq!(serde_json::to_string(&truth).unwrap(), serde_json::to_string(&again.0).unwrap());
                assert_eq!(traces, again.1);
            }
        }
        assert_eq!(
            kinds.into_iter().collect::<Vec<_>>(),
            ["all_kernels", "idle", "kernels", "launches", "none"]
        );
    }
}
