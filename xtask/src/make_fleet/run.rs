//! The tables of one run, and what its sums are.

use std::collections::BTreeMap;

use anyhow::Result;
use rooflens_schema::RunDir;
use rooflens_schema::cell::Opt;
use rooflens_schema::names::{Interner, NameId, stable_id};
use rooflens_schema::parquet_io::{RunWriter, write_table};
use rooflens_schema::run_id::RunId;
use rooflens_schema::tables::{
    ActivityKind, CounterRow, CounterSource, Counters, KernelDim, KernelDimRow, KernelRow, Kernels,
    PhaseKind, PhaseRow, PhaseSource, Phases, RankTables, RunRow, TraceMeta,
};

use super::kernels::{MadeKernel, UNFUSED, kernels};
use super::plan::{HARDWARE, MODELS, RANKS, RunPlan};
use super::requests::{RequestCounts, requests};
use super::{Draw, TIMED_KERNEL};

#[derive(Debug, Clone, Copy)]
pub(super) struct CallSums {
    pub(super) count: i64,
    pub(super) total_ns: i64,
    pub(super) min_ns: i64,
    pub(super) max_ns: i64,
}

impl CallSums {
    pub(super) fn of(ns: i64) -> Self {
        CallSums { count: 1, total_ns: ns, min_ns: ns, max_ns: ns }
    }

    pub(super) fn add(&mut self, other: CallSums) {
        self.count += other.count;
        self.total_ns += other.total_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

/// What was planted in a run, summed up while it was made.
#[derive(Debug)]
pub(super) struct RunSummary {
    pub(super) plan: RunPlan,
    pub(super) run_id: String,
    pub(super) kernels: BTreeMap<(i64, &'static str), CallSums>,
    pub(super) names: BTreeMap<i64, (String, &'static str)>,
    /// Time of each rank in kernels that are not communication.
    pub(super) compute_ns: Vec<i64>,
    pub(super) decode: [i64; 4],
    pub(super) metrics: BTreeMap<String, f64>,
    pub(super) timed_ns: Vec<i64>,
    pub(super) requests: Option<RequestCounts>,
    pub(super) samples: Vec<(i64, i64)>,
}

const PREFILL: &str = "prefill";
const DECODE: &str = "decode";
/// Samples of a device.
const SAMPLES: i64 = 40;

pub(super) fn make(plan: RunPlan, rows: usize, seed: u64, folder: &RunDir) -> Result<RunSummary> {
    let mut draw = Draw::new(seed, plan.number + 1);
    let (hardware, speed, architecture, _) = HARDWARE[plan.hardware];
    let (model, size) = MODELS[plan.model];
    let made = kernels(size, speed, architecture, plan.is_renamed);
    let random = u128::from(draw.bits()) << 64 | u128::from(draw.bits());
    let run_id = RunId::from_time((plan.start_unix_ns / 1_000_000) as u64, random);
    let mut summary = RunSummary {
        run_id: run_id.as_str().to_owned(),
        kernels: BTreeMap::new(),
        names: made.iter().map(|one| (stable_id(&one.name), (one.name.clone(), one.class))).collect(),
        compute_ns: Vec::new(),
        decode: [0; 4],
        metrics: BTreeMap::new(),
        timed_ns: Vec::new(),
        requests: None,
        samples: Vec::new(),
        plan,
    };
    // A run is a little faster or slower as a whole, and so is each kernel of it.
    let of_run = draw.log_normal(0.008);
    let pace: Vec<[f64; 2]> = made
        .iter()
        .map(|one| {
            let [prefill, decode] = [false, true].map(|is_decode| {
                let hot = if summary.plan.is_throttled { 1.25 } else { 1.0 };
                of_run * hot * summary.plan.change(&one.name, is_decode) * draw.log_normal(0.006)
            });
            [one.prefill_ns * prefill, one.decode_ns * decode]
        })
        .collect();
    let mut writer = RunWriter::create(folder)?;
    let mut span_ns = 0;
    let per_rank = rows / RANKS as usize;
    for rank in 0..RANKS {
        let rows = if rank == 0 { rows - per_rank * (RANKS as usize - 1) } else { per_rank };
        let tables =
            Rank { summary: &mut summary, draw: &mut draw, made: &made, pace: &pace, rank }.tables(rows);
        span_ns = span_ns.max(tables.meta.last_ns);
        writer.rank(&tables)?;
    }
    write_table(folder, &counters(&mut summary, &mut draw, span_ns))?;
    if summary.plan.is_load_test {
        let (table, counts) = requests(&mut draw, speed / size, summary.plan.is_throttled);
        write_table(folder, &table)?;
        summary.requests = Some(counts);
    }
    summary.metrics = metrics(&summary, &mut draw);
    let row = RunRow {
        run_id,
        source: "made".to_owned(),
        format: "kineto".to_owned(),
        base_unix_ns: Opt::some(summary.plan.start_unix_ns),
        span_ns,
        events: rows as i64,
        ranks: RANKS,
        world_size: Opt::some(RANKS),
        hardware: Some(hardware.to_owned()),
        status: "complete".to_owned(),
        start_unix_ns: Opt::some(summary.plan.start_unix_ns),
        model: Some(model.to_owned()),
        runtime: Some(summary.plan.runtime.to_owned()),
        runtime_version: Some(summary.plan.version.to_owned()),
        runtime_build: Some(summary.plan.build.to_owned()),
        driver: Some("580.95.05".to_owned()),
        dtype: Some("bf16".to_owned()),
        parallelism: Some(format!("{{\"tp\":{RANKS},\"pp\":1,\"dp\":1}}")),
        workload: Some("sharegpt".to_owned()),
        metrics: Some(serde_json::to_string(&summary.metrics)?),
        ..RunRow::new(if summary.plan.is_load_test { "bench" } else { "run" })
    };
    writer.finish(row, &[])?;
    Ok(summary)
}

/// Headline metrics: by hardware and model, with some noise, and worse on the throttled node.
fn metrics(summary: &RunSummary, draw: &mut Draw) -> BTreeMap<String, f64> {
    let (_, speed, _, _) = HARDWARE[summary.plan.hardware];
    let (_, size) = MODELS[summary.plan.model];
    let pace = speed / size / if summary.plan.is_throttled { 1.25 } else { 1.0 };
    let mbu = [0.61, 0.58, 0.47][summary.plan.hardware] * draw.log_normal(0.03);
    let mut all = BTreeMap::from([
        ("mbu_decode".to_owned(), mbu),
        ("mfu_prefill".to_owned(), 0.42 * draw.log_normal(0.03)),
        ("output_tokens_per_s".to_owned(), 4_200.0 * pace * draw.log_normal(0.02)),
        ("tpot_p50_ns".to_owned(), (19e6 / pace * draw.log_normal(0.02)).round()),
    ]);
    // Not every run has every metric.
    if summary.plan.number % 11 == 7 {
        all.remove("mbu_decode");
    }
    if summary.plan.is_load_test {
        all.insert("ttft_p50_ns".to_owned(), (180e6 / pace * draw.log_normal(0.02)).round());
    }
    all
}

fn counters(summary: &mut RunSummary, draw: &mut Draw, span_ns: i64) -> Counters {
    let (_, _, _, clock) = HARDWARE[summary.plan.hardware];
    let mut table = Counters::default();
    let mut throttled = vec![0; RANKS as usize];
    let mut energy = vec![0_i64; RANKS as usize];
    for sample in 0..SAMPLES {
        let ts_ns = span_ns * sample / SAMPLES;
        for device in 0..RANKS {
            let mut row =
                CounterRow::new(ts_ns, draw.between(0, 40_000), CounterSource::Device, Some(device));
            let is_held = summary.plan.is_throttled && sample % 5 != 0;
            // Idle clocks (bit 0) are no throttling.
            let reasons = if is_held { 0x4 | 0x40 } else { i64::from(sample == 0) };
            let mhz = if is_held { clock * 3 / 4 } else { clock } - draw.between(0, 15) as i32;
            let power = if is_held { 520_000 } else { 610_000 } + draw.between(-9_000, 9_000);
            energy[device as usize] += power * 100;
            throttled[device as usize] += i64::from(is_held);
            row.throttle_reasons = Opt::some(reasons);
            row.sm_clock_mhz = Opt::some(mhz);
            row.power_mw = Opt::some(power);
            row.energy_mj = Opt::some(energy[device as usize]);
            row.temperature_c = Opt::some(if is_held { 86 } else { 61 } + draw.between(0, 4) as i32);
            row.gpu_util_pct = Opt::some(draw.between(88, 100) as i32);
            table.push(row);
        }
    }
    summary.samples = throttled.into_iter().map(|held| (SAMPLES, held)).collect();
    table
}

struct Rank<'a> {
    summary: &'a mut RunSummary,
    draw: &'a mut Draw,
    made: &'a [MadeKernel],
    pace: &'a [[f64; 2]],
    rank: i32,
}

impl Rank<'_> {
    fn tables(mut self, rows: usize) -> RankTables {
        let interner = Interner::default();
        let names: Vec<NameId> = self.made.iter().map(|one| interner.intern(&one.name)).collect();
        let step_name = interner.intern("execute_context_0(0)_generation_32(32)");
        let mut tables = RankTables { kernel_dim: self.kernel_dim(), ..RankTables::default() };
        let (mut now_ns, mut compute_ns, mut step) = (self.draw.between(0, 90_000), 0, 0_i32);
        while tables.kernels.len() < rows {
            let room = rows - tables.kernels.len();
            let is_decode = step % 12 != 0;
            let (from_ns, activities) = (now_ns, self.calls(is_decode, room));
            let mut busy_ns = 0;
            for &kernel in &activities {
                let ns = self.duration(kernel, is_decode);
                busy_ns += ns;
                let is_transfer = ["communication", "memcpy", "memset"].contains(&self.made[kernel].class);
                compute_ns += if is_transfer { 0 } else { ns };
                self.kernel(&mut tables.kernels, kernel, names[kernel], now_ns, ns, step);
                now_ns += ns + self.draw.between(300, 1_900);
            }
            self.phase(
                &mut tables.phases,
                step,
                step_name,
                is_decode,
                [from_ns, now_ns, busy_ns],
                activities.len(),
            );
            now_ns += self.draw.between(5_000, 40_000);
            step += 1;
        }
        self.summary.compute_ns.push(compute_ns);
        tables.rank = self.rank;
        tables.names = interner.freeze();
        tables.meta = TraceMeta {
            source: format!("rank-{}.json", self.rank),
            format: "kineto".to_owned(),
            events: rows as i64,
            rank: Some(self.rank),
            world_size: Some(RANKS),
            backend: Some("nccl".to_owned()),
            base_unix_ns: Some(self.summary.plan.start_unix_ns),
            first_ns: 0,
            last_ns: now_ns,
            ..TraceMeta::default()
        };
        tables
    }

    /// The kernels of a step in their order; a step that the end of the trace cuts has fewer.
    fn calls(&self, is_decode: bool, room: usize) -> Vec<usize> {
        let mut calls = Vec::new();
        for (kernel, one) in self.made.iter().enumerate() {
            let usual = if is_decode { one.decode_ns } else { one.prefill_ns };
            let more = if is_decode && one.name == UNFUSED { self.summary.plan.more_launches } else { 0 };
            calls.extend(std::iter::repeat_n(kernel, if usual > 0.0 { 1 + more as usize } else { 0 }));
        }
        calls.truncate(room);
        calls
    }

    fn duration(&mut self, kernel: usize, is_decode: bool) -> i64 {
        let is_slow =
            self.summary.plan.slow_rank == Some(self.rank) && self.made[kernel].class != "communication";
        let usual = self.pace[kernel][usize::from(is_decode)] * if is_slow { 1.3 } else { 1.0 };
        (usual * self.draw.log_normal(0.035)).round().max(300.0) as i64
    }

    fn kernel(&mut self, table: &mut Kernels, kernel: usize, name: NameId, ts_ns: i64, ns: i64, step: i32) {
        let one = &self.made[kernel];
        let phase = if step % 12 == 0 { PREFILL } else { DECODE };
        let id = stable_id(&one.name);
        let sums = CallSums::of(ns);
        self.summary.kernels.entry((id, phase)).and_modify(|known| known.add(sums)).or_insert(sums);
        if one.short_name == TIMED_KERNEL {
            self.summary.timed_ns.push(ns);
        }
        let kind = match one.class {
            "memcpy" => ActivityKind::Memcpy,
            "memset" => ActivityKind::Memset,
            _ => ActivityKind::Kernel,
        };
        let stream = if one.class == "communication" { 20 } else { 7 };
        let mut row = KernelRow::new(self.rank, stream, ts_ns, ns, name, kind);
        row.corr_id = Opt::some(table.len() as i64 + 1_000);
        row.phase_id = Opt::some(step);
        if kind == ActivityKind::Kernel {
            row.grid_x = Opt::some(one.grid);
            row.block_x = Opt::some(256);
            row.registers = Opt::some(64 + (one.grid % 5) * 16);
        }
        row.launch_delay_ns = Opt::some(self.draw.between(4_000, 9_000));
        table.push(row);
    }

    fn phase(
        &mut self,
        table: &mut Phases,
        step: i32,
        name: NameId,
        is_decode: bool,
        [from_ns, to_ns, busy_ns]: [i64; 3],
        activities: usize,
    ) {
        let mut row = PhaseRow::new(PhaseSource::Engine, from_ns, to_ns - from_ns, name);
        let tokens = if is_decode { self.draw.between(24, 40) } else { self.draw.between(900, 4_000) };
        row.phase_id = step;
        row.step_id = Opt::some(step);
        row.kind = if is_decode { PhaseKind::Decode } else { PhaseKind::Prefill };
        row.step = Opt::some(i64::from(step));
        row.batch = Opt::some(if is_decode { tokens } else { 1 });
        row.prefill_tokens = Opt::some(if is_decode { 0 } else { tokens });
        row.decode_tokens = Opt::some(if is_decode { tokens } else { 0 });
        row.kv_tokens = Opt::some(tokens * 700);
        row.device_busy_ns = Opt::some(busy_ns);
        row.activities = Opt::some(activities as i64);
        row.launches = Opt::some(if is_decode { 4 } else { activities as i64 });
        table.push(row);
        if is_decode {
            for (sum, value) in self.summary.decode.iter_mut().zip([1, tokens, activities as i64, 4]) {
                *sum += value;
            }
        }
    }

    fn kernel_dim(&self) -> KernelDim {
        let mut table = KernelDim::default();
        for one in self.made {
            table.push(KernelDimRow {
                kernel_id: stable_id(&one.name),
                name: one.name.clone(),
                short_name: one.short_name.to_owned(),
                class: one.class.to_owned(),
                library: Some(one.library.to_owned()),
                dtype: None,
            });
        }
        table
    }
}
