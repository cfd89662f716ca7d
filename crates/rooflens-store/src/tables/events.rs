//! The tables of events: what is taken over from a run, column by column.
//!
//! This is the list of what may leave the machine. Numbers, words of closed sets and names of kernels may; texts that
//! can name people, files, machines or prompts may not. A column that is in neither list fails a test, so that
//! whoever adds one decides.

use rooflens_schema::table::{ColumnSchema, Encoding, TableSpec};

use super::{ColumnValue, StoreColumn, StoreTable};
use crate::layout::StoreArea;

/// A table that is taken over: its name, the columns that its files are sorted by, the columns that go.
type Taken = (&'static str, &'static [&'static str], &'static [&'static str]);

/// What goes.
#[rustfmt::skip] // One table per line.
const TAKEN: &[Taken] = &[
    ("kernels", &["kernel_id", "run_id", "rank", "ts_ns"], &[
        "device", "stream", "ts_ns", "dur_ns", "kernel_id", "kind", "corr_id", "graph_id", "graph_node_id",
        "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "registers", "shared_memory_bytes", "bytes",
        "phase_id", "layer", "gap_before_ns", "idle_before_ns", "gap_cause", "launch_delay_ns", "queue_depth",
    ]),
    ("phases", &["run_id", "rank", "ts_ns"], &[
        "phase_id", "step_id", "kind", "source", "name_id", "tid", "device", "ts_ns", "dur_ns", "step", "batch",
        "prefill_tokens", "decode_tokens", "kv_tokens", "device_busy_ns", "device_first_ns", "device_last_ns",
        "activities", "launches", "confidence",
    ]),
    ("steps", &["run_id", "step_id"], &[
        "step_id", "stage", "round", "round_kind", "batch_index", "number", "phase", "ts_ns", "dur_ns", "batch_size",
        "prefill_tokens", "decode_tokens", "computed_tokens", "context_tokens", "cache_length", "kv_usage", "waiting",
    ]),
    ("requests", &["run_id", "request_id"], &[
        "request_id", "stage", "round", "round_kind", "batch_index", "turn", "scheduled_ts_ns", "sent_ts_ns",
        "first_byte_ts_ns", "first_token_ts_ns", "last_token_ts_ns", "end_ts_ns", "queued_ns", "prompt_tokens",
        "cached_tokens", "output_tokens", "max_output_tokens", "finish", "status", "http_status", "error_kind",
    ]),
    ("counters", &["run_id", "ts_ns"], &[
        "ts_ns", "late_ns", "took_ns", "source", "device", "step", "gpu_util_pct", "mem_util_pct", "sm_clock_mhz",
        "mem_clock_mhz", "power_mw", "power_limit_mw", "energy_mj", "temperature_c", "mem_used_bytes",
        "mem_total_bytes", "throttle_reasons", "pstate", "processes", "watched_mem_bytes", "sm_active_pct",
        "sm_occupancy_pct", "tensor_active_pct", "dram_active_pct", "pcie_tx_bytes_per_s", "pcie_rx_bytes_per_s",
        "nvlink_tx_bytes_per_s", "nvlink_rx_bytes_per_s", "cpu_busy_pct", "cpu_busy_ns", "watched_cpu_ns",
        "swap_used_bytes", "disk_read_bytes", "disk_write_bytes", "net_rx_bytes", "net_tx_bytes",
    ]),
    ("devices", &["run_id", "rank", "device"], &["device", "name", "memory_bytes", "units", "architecture"]),
    ("ranks", &["run_id", "rank"], &[
        "format", "events", "world_size", "backend", "base_unix_ns", "first_ns", "last_ns", "microsecond_clock",
    ]),
    ("collectives", &["run_id", "rank", "ts_ns"], &[
        "device", "ts_ns", "dur_ns", "corr_id", "collective_id", "dtype_id", "in_elements", "out_elements", "group_size",
        "group_id",
    ]),
    ("model_ops", &["run_id"], &[
        "phase", "layer", "part", "name", "class", "flops_as_counted", "flops_useful", "flops_issued", "vector_flops",
        "weight_bytes", "kv_read_bytes", "kv_write_bytes", "activation_bytes", "link_bytes", "floor_ns", "dtype", "storage",
        "formula",
    ]),
    ("notes", &["run_id"], &["stage", "severity", "code", "count"]),
];

/// What stays, and with `*` the tables that stay as a whole: they are large, or hold texts of the user's own.
#[rustfmt::skip] // One table per line.
pub const KEPT_AT_HOME: &[(&str, &[&str])] = &[
    // What they join stays as well.
    ("kernels", &["ext_id", "op_id", "module_id"]),
    ("phases", &["excluded"]),
    ("steps", &["prompts", "pictures"]),
    ("requests", &["external_id", "sample", "session", "model", "lora", "error"]),
    ("ranks", &["source", "properties"]),
    ("notes", &["source", "message"]),
    // Summed up in roll-ups of their own.
    ("runs", &["*"]),
    ("kernel_dim", &["*"]),
    ("ops", &["*"]),
    ("api", &["*"]),
    ("frames", &["*"]),
    ("ranges", &["*"]),
    ("memory", &["*"]),
    ("memory_blocks", &["*"]),
    ("comm_calls", &["*"]),
    ("gemms", &["*"]),
    ("engine_layers", &["*"]),
    ("inferences", &["*"]),
    ("metric_samples", &["*"]),
    ("tokens", &["*"]),
    ("profiled_launches", &["*"]),
    ("profiled_metrics", &["*"]),
    ("name_dim", &["*"]),
];

pub fn tables() -> Vec<StoreTable> {
    let specs = rooflens_schema::tables::specs();
    let table = |(name, sort, columns): &Taken| {
        let spec = specs.iter().find(|spec| spec.name == *name)?;
        Some(StoreTable {
            name: spec.name,
            doc: spec.doc,
            area: StoreArea::Events,
            columns: taken(spec, columns),
            sort,
        })
    };
    TAKEN.iter().filter_map(table).collect()
}

fn taken(spec: &TableSpec, names: &[&str]) -> Vec<StoreColumn> {
    let own =
        |name, value, nullable, unit, doc| StoreColumn { name, value, nullable, unit, doc, is_delta: false };
    let mut columns =
        vec![own("run_id", ColumnValue::Text, false, "id", "Run that the row is of: joins `runs.run_id`.")];
    if spec.per_rank {
        columns.push(own("rank", ColumnValue::Int, false, "id", "Rank of the job that the row is of."));
    }
    for column in spec.columns.iter().filter(|column| names.contains(&column.name)) {
        columns.push(stored(column));
        if spec.name == "kernels" && column.name == "kind" {
            columns.push(own("phase", ColumnValue::Text, false, "word", PHASE));
        }
    }
    columns
}

/// What the column `phase` says, which no table of a run has.
pub(super) const PHASE: &str = "What the model did: `prefill`, `decode`, `mixed`, `vision`, `diffusion`; `step` for a \
                                step of unknown content, `none` outside of steps.";

fn stored(column: &ColumnSchema) -> StoreColumn {
    use arrow_schema::DataType;
    let value = match &column.data_type {
        DataType::Int32 => ColumnValue::Int,
        DataType::Int64 => ColumnValue::BigInt,
        DataType::Float64 => ColumnValue::Double,
        DataType::Boolean => ColumnValue::Bool,
        _ => ColumnValue::Text,
    };
    StoreColumn {
        name: column.name,
        value,
        // A later version may no longer have it, and an older file may not have had it yet.
        nullable: column.nullable,
        unit: column.unit,
        doc: column.doc,
        is_delta: column.encoding == Encoding::Delta || column.name == "queue_depth",
    }
}
