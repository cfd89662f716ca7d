//! Samples of devices and of the host.

use crate::cell::Opt;
use crate::table::{column_enum, table};

column_enum! {
    /// What a sample is of.
    CounterSource {
        /// The machine: its processors, memory, disks and networks.
        Host = "host",
        /// A device of it.
        Device = "device",
    }
}

column_enum! {
    /// The step of a run that was in progress when a sample was taken.
    CounterStep {
        /// None: a sample of `rooflens monitor`.
        None = "none",
        /// The pass without profilers.
        Measure = "measure",
        /// The pass under `torch.profiler`.
        TorchProfiler = "torch_profiler",
        /// The pass under Nsight Systems.
        Nsys = "nsys",
        /// The pass under Nsight Compute.
        Ncu = "ncu",
        /// The pass in which the matrix library writes its log.
        CublasLog = "cublas_log",
        /// The pass that gives answers.
        DirectInference = "direct_inference",
    }
}

table! {
    /// A sample of a device or the host, taken at a fixed interval while something ran. What a device does
    /// not report, or was not queried for this time, is null.
    Counters(CounterRow) = "counters", per_rank: false {
        /// When the sample was begun, since the run's clock base, so before 0 in the steps before the one that was traced; since 1970 in a file of `rooflens monitor`.
        ts_ns: i64 => "ns" Delta Time,
        /// Delay after its scheduled time.
        late_ns: i64 => "ns" Delta,
        /// How long it took.
        took_ns: i64 => "ns" Delta,
        /// What it is of.
        source: CounterSource => "word" Dictionary,
        /// Device index as the driver counts, which need not be CUDA's; null for the host.
        device: Opt<i32> => "id" Dictionary,
        /// Step of the run that was in progress.
        step: CounterStep => "word" Dictionary,
        /// Part of the driver's last period (1/6 s to 1 s) in which a kernel ran on the device.
        gpu_util_pct: Opt<i32> => "percent" Dictionary,
        /// Part of the driver's last period in which the device's memory was read or written.
        mem_util_pct: Opt<i32> => "percent" Dictionary,
        /// Clock of the multiprocessors.
        sm_clock_mhz: Opt<i32> => "MHz" Dictionary,
        /// Clock of the device's memory.
        mem_clock_mhz: Opt<i32> => "MHz" Dictionary,
        /// Power of the device: over the last second on some, at this moment on others.
        power_mw: Opt<i64> => "mW" Dictionary,
        /// Power that the driver will not exceed; queried once per second.
        power_limit_mw: Opt<i64> => "mW" Dictionary,
        /// Energy since the driver was loaded: differences are exact where power is an average.
        energy_mj: Opt<i64> => "mJ" Delta,
        /// Temperature of the device.
        temperature_c: Opt<i32> => "°C" Dictionary,
        /// Memory in use: on a device by all processes, on the host without reclaimable cache.
        mem_used_bytes: Opt<i64> => "bytes" Dictionary,
        /// Memory that there is.
        mem_total_bytes: Opt<i64> => "bytes" Dictionary,
        /// Why clocks are below their highest, as bits of NVML's clock event reasons; 0 for no reason.
        throttle_reasons: Opt<i64> => "bits" Dictionary,
        /// Performance state, as P0 in NVML's words: 0 is the fastest, 15 the slowest; null where the driver calls it unknown.
        pstate: Opt<i32> => "state" Dictionary,
        /// Processes that compute on the device; queried once per second.
        processes: Opt<i32> => "count" Dictionary,
        /// Memory of the watched processes: on the device, queried once per second, or resident on the host.
        watched_mem_bytes: Opt<i64> => "bytes" Dictionary,
        /// Part of the time in which a multiprocessor had work, since the last value (GPM).
        sm_active_pct: Option<f64> => "percent" Dictionary,
        /// Resident warps / maximum resident warps, since the last value (GPM).
        sm_occupancy_pct: Option<f64> => "percent" Dictionary,
        /// Part of the time in which tensor cores had work, since the last value (GPM).
        tensor_active_pct: Option<f64> => "percent" Dictionary,
        /// Bandwidth of the device's memory that was used, since the last value (GPM).
        dram_active_pct: Option<f64> => "percent" Dictionary,
        /// Bytes that the device sent over PCIe, a second, since the last value (GPM).
        pcie_tx_bytes_per_s: Option<f64> => "bytes/s" Dictionary,
        /// Bytes that the device got over PCIe, a second, since the last value (GPM).
        pcie_rx_bytes_per_s: Option<f64> => "bytes/s" Dictionary,
        /// Bytes that the device sent over NVLink, a second, since the last value (GPM).
        nvlink_tx_bytes_per_s: Option<f64> => "bytes/s" Dictionary,
        /// Bytes that the device got over NVLink, a second, since the last value (GPM).
        nvlink_rx_bytes_per_s: Option<f64> => "bytes/s" Dictionary,
        /// Part of all processors' time that was not idle, since the sample before.
        cpu_busy_pct: Option<f64> => "percent" Dictionary,
        /// Time of all processors together that was not idle, since the machine started.
        cpu_busy_ns: Opt<i64> => "ns" Delta,
        /// Processor time of the watched processes and of those that ended under them.
        watched_cpu_ns: Opt<i64> => "ns" Delta,
        /// Swap in use.
        swap_used_bytes: Opt<i64> => "bytes" Dictionary,
        /// Bytes read from disks since the machine started.
        disk_read_bytes: Opt<i64> => "bytes" Delta,
        /// Bytes written to disks since the machine started.
        disk_write_bytes: Opt<i64> => "bytes" Delta,
        /// Bytes received from networks since the machine started.
        net_rx_bytes: Opt<i64> => "bytes" Delta,
        /// Bytes sent to networks since the machine started.
        net_tx_bytes: Opt<i64> => "bytes" Delta,
    }
}

impl CounterRow {
    /// A sample of which nothing is known yet but when it was begun and of what it is.
    pub fn new(ts_ns: i64, late_ns: i64, source: CounterSource, device: Option<i32>) -> Self {
        CounterRow { ts_ns, late_ns, source, device: device.into(), ..CounterRow::default() }
    }
}
