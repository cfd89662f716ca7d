//! Launches under rocprof-compute: counters of AMD's shader engines (`SQ_*`), first-level (`TCP_*`) and
//! second-level caches (`TCC_*`).
//!
//! The formulas are those of rocprof-compute itself: operations and bytes of its roofline
//! (`src/utils/roofline_calc.py`), hit rates, busy shares and the bytes of the second-level cache of its panels
//! (`src/rocprof_compute_soc/analysis_configs/*/0200_system-speed-of-light.yaml`, `1700_L2_cache.yaml`), in
//! github.com/ROCm/rocprofiler-compute. Two differ on purpose.
//! * Busy shares are of the launch's time at the highest clock, not of `GRBM_GUI_ACTIVE`: that counter is of
//!   another pass, and on MI300 holds what lies between launches too.
//! * On gfx950 `TCC_BUBBLE` is 0, and reads of 128 bytes have a counter of their own (rocprof-compute 3.5.0).
//!
//! Other names than these come from files beside the counters: `sysinfo.*` and `roofline.*`.

use super::counters::Counters;
use super::counts::{MeasuredBytes, MeasuredFlops, Missing};
use super::kernel::Measured;
use super::launch::ProfiledLaunch;
use super::occupancy::{Occupancy, Stall, by_share};
use super::peaks::{ProfiledPeaks, SourcedPeak, highest};

/// Lanes of a wavefront: the counters are of wavefront instructions.
const LANES: f64 = 64.0;
/// Operations that one step of `SQ_INSTS_VALU_MFMA_MOPS_*` stands for.
const MATRIX_OPERATIONS: f64 = 512.0;
/// Bytes of an access to the first-level cache, as the tool's roofline takes them for every device. Its panels
/// take 128 for gfx942 and later, of accesses and of the peak alike.
const L1_BYTES: f64 = 64.0;
/// Bytes of a bank of local memory.
const BANK_BYTES: f64 = 4.0;
/// Numbers of architectures, as in gfx90a.
const GFX_MI50: f64 = 0x906 as f64;
const GFX_MI100: f64 = 0x908 as f64;
const GFX_MI350: f64 = 0x950 as f64;
/// Bytes that a channel of the second-level cache gives in a cycle, at the highest clock.
const L2_CHANNEL_BYTES: f64 = 128.0;

/// Ordinary precisions: our name, the counters' suffix, and the key of the reason.
const ORDINARY: [(&str, &str, &str); 3] =
    [("fp16", "F16", "flops.fp16"), ("fp32", "F32", "flops.fp32"), ("fp64", "F64", "flops.fp64")];
/// Matrix units: our name, the counters' suffix, and the name in `roofline.csv`.
const MATRIX: [(&str, &str, &str); 6] = [
    ("tensor_fp8", "F8", "MFMAF8Flops"),
    ("tensor_fp16", "F16", "MFMAF16Flops"),
    ("tensor_bf16", "BF16", "MFMABF16Flops"),
    ("tensor_fp32", "F32", "MFMAF32Flops"),
    ("tensor_fp64", "F64", "MFMAF64Flops"),
    ("tensor_int8", "I8", "MFMAI8Ops"),
];

pub(crate) fn measured(launch: &ProfiledLaunch, device: &ProfiledPeaks, missing: &mut Missing) -> Measured {
    let time_ns = launch.number("time_ns").filter(|time| *time > 0.0);
    let seconds = time_ns.map(|ns| ns / 1e9);
    let flops = flops(launch, missing);
    let bytes = bytes(launch, missing);
    let of_peak =
        |amount: Option<f64>, peak: Option<&SourcedPeak>| Some(100.0 * amount? / seconds? / peak?.per_s);
    let highest = |shares: Vec<Option<f64>>| shares.into_iter().flatten().max_by(f64::total_cmp);
    let mut compute = busy(launch, seconds);
    for (precision, count) in &flops.by_precision {
        compute.push(of_peak(Some(*count), device.flops_per_s.get(precision)));
    }
    let dram_pct = of_peak(bytes.dram, device.dram.as_ref());
    let memory = vec![
        dram_pct,
        of_peak(bytes.l2, device.l2.as_ref()),
        of_peak(bytes.l1, device.l1.as_ref()),
        of_peak(bytes.shared, device.shared.as_ref()),
    ];
    let why =
        "the launch's time, or a peak of roofline.csv, sysinfo.csv or the catalog (--hardware), is missing";
    let compute_pct = highest(compute);
    // Without the share of device memory the busiest part would be a guess.
    let memory_pct = dram_pct.and_then(|_| highest(memory));
    for (key, value) in [("compute_pct", compute_pct), ("memory_pct", memory_pct), ("dram_pct", dram_pct)] {
        if value.is_none() {
            missing.insert(key, format!("counters, {why}"));
        }
    }
    for (key, why) in [
        ("time_ns", "Start_Timestamp and End_Timestamp are missing, or not in order"),
        ("registers", "Arch_VGPR is missing"),
        ("stalls", "SQ_WAIT_ANY, SQ_WAIT_INST_ANY or SQ_ACTIVE_INST_ANY was not collected"),
        ("occupancy", "SQ_LEVEL_WAVES.csv, GRBM_GUI_ACTIVE in it, or the device's limits are missing"),
        ("blocks_per_multiprocessor", "not counted under rocprof-compute"),
        ("waves", "rocprof-compute does not report how many workgroups fit on a compute unit"),
        (
            "l1_hit_pct",
            "TCP_TOTAL_CACHE_ACCESSES_sum or TCP_TCC_*_REQ_sum was not collected, or there was no access",
        ),
        ("l2_hit_pct", "TCC_HIT_sum or TCC_MISS_sum was not collected, or there was no request"),
    ] {
        missing.insert(key, why.to_owned());
    }
    Measured {
        time_ns,
        flops,
        bytes,
        registers: launch.number("Arch_VGPR").map(|own| own + launch.number("Accum_VGPR").unwrap_or(0.0)),
        compute_pct,
        memory_pct,
        dram_pct,
        l1_hit_pct: l1_hit_pct(launch),
        l2_hit_pct: l2_hit_pct(launch),
        occupancy: Occupancy { achieved_pct: occupancy_pct(launch), ..Occupancy::default() },
        waves: None,
        blocks_per_multiprocessor: None,
        stalls: stalls(launch),
        counters: Counters::default(),
    }
}

/// Operations: additions, multiplications and transcendental ones once, fused ones twice.
fn flops(launch: &ProfiledLaunch, missing: &mut Missing) -> MeasuredFlops {
    let mut flops = MeasuredFlops::default();
    for (precision, suffix, key) in ORDINARY {
        let count = |operation: &str| launch.number(&format!("SQ_INSTS_VALU_{operation}_{suffix}"));
        let all = || Some(count("ADD")? + count("MUL")? + count("TRANS")? + 2.0 * count("FMA")?);
        match all() {
            Some(instructions) => {
                flops.by_precision.insert(precision.to_owned(), LANES * instructions);
            }
            None => {
                let why = format!("SQ_INSTS_VALU_{{ADD,MUL,FMA,TRANS}}_{suffix} was not collected");
                missing.insert(key, why);
            }
        }
    }
    let mut matrix = false;
    for (precision, suffix, _) in MATRIX {
        if let Some(steps) = launch.number(&format!("SQ_INSTS_VALU_MFMA_MOPS_{suffix}")) {
            flops.by_precision.insert(precision.to_owned(), MATRIX_OPERATIONS * steps);
            matrix = true;
        }
    }
    if !matrix {
        missing.insert("flops.tensor", "no SQ_INSTS_VALU_MFMA_MOPS_* was collected".to_owned());
    }
    let ordinary = ORDINARY.iter().all(|(precision, ..)| flops.by_precision.contains_key(*precision));
    // MI100 counts none of them; some are no total.
    if !matrix || !ordinary {
        missing.insert("flops.total", "not every kind of operation was counted".to_owned());
        return flops;
    }
    flops.summed()
}

/// Bytes at each level. Those of device memory are all that the second-level cache asked of the fabric: memory of
/// other devices and of the host is among them.
fn bytes(launch: &ProfiledLaunch, missing: &mut Missing) -> MeasuredBytes {
    let line = l2_line_bytes(launch);
    let bytes = MeasuredBytes {
        dram: read_bytes(launch).zip(written_bytes(launch)).map(|(read, written)| read + written),
        // Whole lines: a request of half a line counts as one.
        l2: launch.number("TCC_REQ_sum").zip(line).map(|(requests, line)| requests * line),
        l1: launch.number("TCP_TOTAL_CACHE_ACCESSES_sum").map(|accesses| accesses * L1_BYTES),
        shared: shared_bytes(launch),
    };
    let l2 = if line.is_none() { "gpu_arch in sysinfo.csv is missing" } else { "TCC_REQ was not collected" };
    for (key, level, why) in [
        (
            "bytes.dram",
            bytes.dram,
            "requests of the second-level cache by size (TCC_EA*_RDREQ, _32B, _128B or TCC_BUBBLE, WRREQ, _64B) were not all collected",
        ),
        ("bytes.l2", bytes.l2, l2),
        ("bytes.l1", bytes.l1, "TCP_TOTAL_CACHE_ACCESSES_sum was not collected"),
        (
            "bytes.shared",
            bytes.shared,
            "SQ_LDS_IDX_ACTIVE, SQ_LDS_BANK_CONFLICT or lds_banks_per_cu in sysinfo.csv is missing",
        ),
    ] {
        if level.is_none() {
            missing.insert(key, why.to_owned());
        }
    }
    bytes
}

fn l2_line_bytes(launch: &ProfiledLaunch) -> Option<f64> {
    let half = [GFX_MI50, GFX_MI100].contains(&launch.number("sysinfo.gfx")?);
    Some(if half { 64.0 } else { 128.0 })
}

/// MI200 and before have one interface to the fabric, without a number.
fn fabric(launch: &ProfiledLaunch, counter: &str) -> Option<f64> {
    launch.first(&[&format!("TCC_EA0_{counter}_sum"), &format!("TCC_EA_{counter}_sum")])
}

fn read_bytes(launch: &ProfiledLaunch) -> Option<f64> {
    let (all, small) = (fabric(launch, "RDREQ")?, fabric(launch, "RDREQ_32B")?);
    let large = match fabric(launch, "RDREQ_128B") {
        Some(large) => large,
        None if launch.number("TCC_EA_RDREQ_sum").is_some() => 0.0,
        // gfx950, whose requests of 128 bytes only the counter of their own tells.
        None if launch.number("sysinfo.gfx") == Some(GFX_MI350) => return None,
        None => launch.number("TCC_BUBBLE_sum")?,
    };
    Some(32.0 * small + 64.0 * (all - small - large).max(0.0) + 128.0 * large)
}

fn written_bytes(launch: &ProfiledLaunch) -> Option<f64> {
    let (all, large) = (fabric(launch, "WRREQ")?, fabric(launch, "WRREQ_64B")?);
    Some(64.0 * large + 32.0 * (all - large).max(0.0))
}

fn shared_bytes(launch: &ProfiledLaunch) -> Option<f64> {
    let active = launch.number("SQ_LDS_IDX_ACTIVE")? - launch.number("SQ_LDS_BANK_CONFLICT")?;
    Some(active.max(0.0) * BANK_BYTES * launch.number("sysinfo.lds_banks_per_cu")?)
}

/// Percent of the cycles of all compute units in which ordinary and matrix instructions ran.
fn busy(launch: &ProfiledLaunch, seconds: Option<f64>) -> Vec<Option<f64>> {
    let cycles = || Some(seconds? * clock(launch)? * launch.number("sysinfo.cu_per_gpu")?);
    let of = |counter: &str, units: f64| Some(100.0 * launch.number(counter)? / (cycles()? * units));
    vec![of("SQ_ACTIVE_INST_VALU", 1.0), of("SQ_VALU_MFMA_BUSY_CYCLES", 4.0)]
}

fn clock(launch: &ProfiledLaunch) -> Option<f64> {
    launch.number("sysinfo.max_sclk").map(|mhz| mhz * 1e6).filter(|clock| *clock > 0.0)
}

fn l1_hit_pct(launch: &ProfiledLaunch) -> Option<f64> {
    let accesses = launch.number("TCP_TOTAL_CACHE_ACCESSES_sum").filter(|count| *count > 0.0)?;
    let missed: Option<f64> = ["READ", "WRITE", "ATOMIC_WITH_RET", "ATOMIC_WITHOUT_RET"]
        .iter()
        .map(|kind| launch.number(&format!("TCP_TCC_{kind}_REQ_sum")))
        .sum();
    Some(100.0 * (1.0 - missed? / accesses)).filter(|share| *share >= 0.0)
}

fn l2_hit_pct(launch: &ProfiledLaunch) -> Option<f64> {
    let (hits, misses) = (launch.number("TCC_HIT_sum")?, launch.number("TCC_MISS_sum")?);
    (hits + misses > 0.0).then(|| 100.0 * hits / (hits + misses))
}

/// Wavefronts in flight, of the most that the device holds; of a pass of its own.
fn occupancy_pct(launch: &ProfiledLaunch) -> Option<f64> {
    let waves = launch.number("level_waves.SQ_ACCUM_PREV_HIRES")?;
    let partitions = launch.number("sysinfo.num_xcd").filter(|count| *count > 0.0).unwrap_or(1.0);
    let cycles = launch.number("level_waves.GRBM_GUI_ACTIVE").filter(|cycles| *cycles > 0.0)? / partitions;
    let most = launch.number("sysinfo.max_waves_per_cu")? * launch.number("sysinfo.cu_per_gpu")?;
    (most > 0.0).then(|| 100.0 * waves / cycles / most)
}

/// A wavefront waits for what it depends on, waits for its turn, or issues.
fn stalls(launch: &ProfiledLaunch) -> Vec<Stall> {
    let waits = || {
        let dependency = launch.number("SQ_WAIT_ANY")?;
        let turn = launch.number("SQ_WAIT_INST_ANY")?;
        Some((dependency, turn, dependency + turn + launch.number("SQ_ACTIVE_INST_ANY")?))
    };
    let Some((dependency, turn, all)) = waits().filter(|(.., all)| *all > 0.0) else { return Vec::new() };
    let named = [("dependency_wait", dependency), ("issue_wait", turn)];
    let waiting = named.into_iter().filter(|(_, cycles)| *cycles > 0.0);
    by_share(waiting.map(|(reason, cycles)| Stall { reason: reason.to_owned(), share: cycles / all }))
}

/// What the device can do: as `roofline.csv` measured it, else as `sysinfo.csv` has it.
pub(crate) fn peaks(launches: &[ProfiledLaunch]) -> ProfiledPeaks {
    // GB/s and GFLOP/s.
    let benchmark = |name: &str| {
        let name = format!("roofline.{name}");
        highest(launches, "benchmark", &|launch| Some(1e9 * launch.number(&name)?))
    };
    let told = |of: &dyn Fn(&ProfiledLaunch) -> Option<f64>| highest(launches, "sysinfo", of);
    let units = |launch: &ProfiledLaunch| Some(clock(launch)? * launch.number("sysinfo.cu_per_gpu")?);
    let mut peaks = ProfiledPeaks {
        multiprocessors: launches.iter().find_map(|launch| launch.number("sysinfo.cu_per_gpu")),
        dram: benchmark("HBMBw").or_else(|| told(&|launch| Some(1e9 * launch.number("sysinfo.hbm_bw")?))),
        l2: benchmark("L2Bw").or_else(|| {
            told(&|launch| Some(clock(launch)? * L2_CHANNEL_BYTES * launch.number("sysinfo.total_l2_chan")?))
        }),
        l1: benchmark("L1Bw").or_else(|| told(&|launch| Some(units(launch)? * L1_BYTES))),
        shared: benchmark("LDSBw").or_else(|| {
            told(&|launch| Some(units(launch)? * BANK_BYTES * launch.number("sysinfo.lds_banks_per_cu")?))
        }),
        ..ProfiledPeaks::default()
    };
    let ordinary = [("fp32", "", "FP32Flops"), ("fp64", "", "FP64Flops")];
    for (precision, _, name) in ordinary.into_iter().chain(MATRIX) {
        peaks.flops_per_s.extend(benchmark(name).map(|peak| (precision.to_owned(), peak)));
    }
    for (key, peak) in
        [("dram", &peaks.dram), ("l2", &peaks.l2), ("l1", &peaks.l1), ("shared", &peaks.shared)]
    {
        if peak.is_none() {
            let why = "neither roofline.csv nor sysinfo.csv has it";
            peaks.not_computed.insert(key.into(), why.to_owned());
        }
    }
    peaks
}
