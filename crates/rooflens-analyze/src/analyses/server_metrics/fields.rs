//! Metrics of devices: what they are called here, and in which unit.

/// What a metric is.
pub(crate) enum MetricField {
    /// A value of its moment: our name, and the factor to the unit in it.
    Gauge(&'static str, f64),
    /// Energy that adds up: the factor to joules.
    Energy(f64),
    /// A value whose unit is not sure.
    Unknown,
}

const MIB: f64 = 1_048_576.0;

/// Units of Triton: docs/user_guide/metrics.md of triton-inference-server. Units of DCGM: the comments of
/// `dcgm_fields.h`, and `etc/default-counters.csv` of dcgm-exporter.
pub(crate) fn field(metric: &str) -> MetricField {
    let (name, factor) = match metric {
        "nv_energy_consumption" => return MetricField::Energy(1.0),
        "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION" => return MetricField::Energy(1e-3),
        "nv_gpu_utilization" => ("utilization_share", 1.0),
        "nv_gpu_power_usage" | "DCGM_FI_DEV_POWER_USAGE" => ("power_w", 1.0),
        "nv_gpu_power_limit" => ("power_limit_w", 1.0),
        "nv_gpu_memory_total_bytes" => ("memory_total_bytes", 1.0),
        "nv_gpu_memory_used_bytes" => ("memory_used_bytes", 1.0),
        "DCGM_FI_DEV_GPU_UTIL" => ("utilization_share", 0.01),
        "DCGM_FI_DEV_MEM_COPY_UTIL" => ("memory_copy_share", 0.01),
        "DCGM_FI_DEV_FB_TOTAL" => ("memory_total_bytes", MIB),
        "DCGM_FI_DEV_FB_USED" => ("memory_used_bytes", MIB),
        "DCGM_FI_DEV_FB_FREE" => ("memory_free_bytes", MIB),
        "DCGM_FI_DEV_FB_RESERVED" => ("memory_reserved_bytes", MIB),
        "DCGM_FI_DEV_SM_CLOCK" => ("sm_clock_hz", 1e6),
        "DCGM_FI_DEV_MEM_CLOCK" => ("memory_clock_hz", 1e6),
        "DCGM_FI_DEV_GPU_TEMP" => ("temperature_c", 1.0),
        "DCGM_FI_DEV_MEMORY_TEMP" => ("memory_temperature_c", 1.0),
        "DCGM_FI_PROF_GR_ENGINE_ACTIVE" => ("engine_active_share", 1.0),
        "DCGM_FI_PROF_SM_ACTIVE" => ("sm_active_share", 1.0),
        "DCGM_FI_PROF_SM_OCCUPANCY" => ("sm_occupancy_share", 1.0),
        "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE" => ("tensor_active_share", 1.0),
        "DCGM_FI_PROF_DRAM_ACTIVE" => ("dram_active_share", 1.0),
        "DCGM_FI_PROF_PIPE_FP64_ACTIVE" => ("fp64_active_share", 1.0),
        "DCGM_FI_PROF_PIPE_FP32_ACTIVE" => ("fp32_active_share", 1.0),
        "DCGM_FI_PROF_PIPE_FP16_ACTIVE" => ("fp16_active_share", 1.0),
        _ => return MetricField::Unknown,
    };
    MetricField::Gauge(name, factor)
}
