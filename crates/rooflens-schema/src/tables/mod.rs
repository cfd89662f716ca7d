//! The tables, one file each. Adding one: a file here, a `mod` line, an entry in [`specs`], and, if
//! its rows belong to a rank, a field of [`RankTables`] and a line in `parquet_io`.

mod api;
mod collectives;
mod comm_calls;
mod counters;
mod devices;
mod dims;
mod engine_layers;
mod frames;
mod gemms;
mod inferences;
mod kernels;
mod memory;
mod memory_blocks;
mod metric_samples;
mod model_ops;
mod notes;
mod ops;
mod phases;
mod profiled_launches;
mod profiled_metrics;
mod ranges;
mod ranks;
mod runs;

pub use api::{Api, ApiKind, ApiRow};
pub use collectives::{CollectiveRow, Collectives};
pub use comm_calls::{CommCallRow, CommCalls};
pub use counters::{CounterRow, CounterSource, CounterStep, Counters};
pub use devices::{DeviceRow, Devices};
pub use dims::{KernelDim, KernelDimRow, NameDim, NameDimRow};
pub use engine_layers::{EngineLayerRow, EngineLayers};
pub use frames::{FrameRow, Frames};
pub use gemms::{GemmRow, Gemms, Transpose};
pub use inferences::{InferenceRow, Inferences};
pub use kernels::{ActivityKind, GapCause, KernelRow, Kernels};
pub use memory::{Memory, MemoryRow};
pub use memory_blocks::{BlockState, MemoryBlockRow, MemoryBlocks};
pub use metric_samples::{MetricSampleRow, MetricSamples};
pub use model_ops::{ModelOpRow, ModelOps};
pub use notes::{NoteRow, NotesTable};
pub use ops::{OpRow, Ops};
pub use phases::{PhaseKind, PhaseRow, PhaseSource, Phases};
pub use profiled_launches::{ProfiledLaunchRow, ProfiledLaunches};
pub use profiled_metrics::{ProfiledMetricRow, ProfiledMetrics};
pub use ranges::{RangeRow, RangeStyle, Ranges};
pub use ranks::{RankRow, Ranks};
pub use runs::{RunRow, Runs};

use crate::cell::{Opt, Rewording};
use crate::names::Names;
use crate::table::TableSpec;

/// Every table, in the order of the reference documentation.
pub fn specs() -> Vec<TableSpec> {
    vec![
        Runs::spec(),
        Ranks::spec(),
        Devices::spec(),
        Kernels::spec(),
        KernelDim::spec(),
        Ops::spec(),
        Api::spec(),
        Frames::spec(),
        Phases::spec(),
        Ranges::spec(),
        Memory::spec(),
        MemoryBlocks::spec(),
        Collectives::spec(),
        CommCalls::spec(),
        Gemms::spec(),
        EngineLayers::spec(),
        Inferences::spec(),
        MetricSamples::spec(),
        Counters::spec(),
        ModelOps::spec(),
        ProfiledLaunches::spec(),
        ProfiledMetrics::spec(),
        NameDim::spec(),
        NotesTable::spec(),
    ]
}

/// Everything read from one rank of a job, and, once the passes have run, what they derived.
///
/// A job of a thousand ranks is a thousand of these, one after another: memory grows with the
/// largest rank, not with the job.
#[derive(Debug, Clone, Default)]
pub struct RankTables {
    /// Which rank.
    pub rank: i32,
    /// What the trace says about itself.
    pub meta: TraceMeta,
    /// The names that the ids in the columns stand for.
    pub names: Names,
    /// What the kernels' names tell; filled by a pass.
    pub kernel_dim: KernelDim,
    /// Device properties.
    pub devices: Devices,
    /// Device activities.
    pub kernels: Kernels,
    /// Framework operators.
    pub ops: Ops,
    /// Driver and runtime calls.
    pub api: Api,
    /// Python frames.
    pub frames: Frames,
    /// Steps, annotations and phases.
    pub phases: Phases,
    /// Ranges as the program named them.
    pub ranges: Ranges,
    /// Allocator events.
    pub memory: Memory,
    /// What the allocator holds at the end.
    pub memory_blocks: MemoryBlocks,
    /// What is known of collectives beyond their kernel.
    pub collectives: Collectives,
    /// Matrix products as a library was asked for them.
    pub gemms: Gemms,
    /// Layers of a compiled engine.
    pub engine_layers: EngineLayers,
    /// Runs of a compiled engine.
    pub inferences: Inferences,
    /// Collectives as NCCL was asked for them.
    pub comm_calls: CommCalls,
    /// Metrics of servers and devices.
    pub metric_samples: MetricSamples,
}

impl RankTables {
    /// Moves every time by `delta_ns`: onto the clock of the job's first rank.
    pub fn shift(&mut self, delta_ns: i64) {
        let moved = |ts: &mut i64| *ts = ts.saturating_add(delta_ns);
        for column in [
            &mut self.kernels.ts_ns,
            &mut self.ops.ts_ns,
            &mut self.api.ts_ns,
            &mut self.frames.ts_ns,
            &mut self.phases.ts_ns,
            &mut self.ranges.ts_ns,
            &mut self.memory.ts_ns,
            &mut self.collectives.ts_ns,
            &mut self.inferences.ts_ns,
            &mut self.inferences.compute_ts_ns,
            &mut self.inferences.end_ns,
        ] {
            column.iter_mut().for_each(moved);
        }
        for column in [&mut self.phases.device_first_ns, &mut self.phases.device_last_ns] {
            for ts in column.iter_mut() {
                *ts = ts.get().map(|ts| ts.saturating_add(delta_ns)).into();
            }
        }
        moved(&mut self.meta.first_ns);
        moved(&mut self.meta.last_ns);
        if let Some(base) = &mut self.meta.base_unix_ns {
            *base = base.saturating_sub(delta_ns);
        }
    }

    /// Puts other words in place of those that `text` answers for, wherever they stand. Names that
    /// become the same are one name from then on.
    pub fn reword(&mut self, text: &dyn Fn(&str) -> Option<String>) {
        let mut rewording = Rewording { names: Vec::new(), text };
        if let Some((names, ids)) = self.names.reworded(text) {
            (self.names, rewording.names) = (names, ids);
        }
        // Every field by name: a table that is added cannot be forgotten here.
        let RankTables {
            rank: _,
            names: _,
            meta,
            kernel_dim,
            devices,
            kernels,
            ops,
            api,
            frames,
            phases,
            ranges,
            memory,
            memory_blocks,
            collectives,
            gemms,
            engine_layers,
            inferences,
            comm_calls,
            metric_samples,
        } = self;
        kernel_dim.reword(&rewording);
        devices.reword(&rewording);
        kernels.reword(&rewording);
        ops.reword(&rewording);
        api.reword(&rewording);
        frames.reword(&rewording);
        phases.reword(&rewording);
        ranges.reword(&rewording);
        memory.reword(&rewording);
        memory_blocks.reword(&rewording);
        collectives.reword(&rewording);
        gemms.reword(&rewording);
        engine_layers.reword(&rewording);
        inferences.reword(&rewording);
        comm_calls.reword(&rewording);
        metric_samples.reword(&rewording);
        for (_, value) in &mut meta.properties {
            if let Some(other) = text(value) {
                *value = other;
            }
        }
    }

    /// What the phase of that id does; `None` for none, or one that is not there.
    pub fn phase_kind(&self, phase: Option<i32>) -> Option<PhaseKind> {
        self.phases.kind.get(usize::try_from(phase?).ok()?).copied()
    }

    /// For each name, by its index, the row of `kernel_dim` that describes it; `u32::MAX` for none.
    pub fn kernel_dim_rows(&self) -> Vec<u32> {
        let mut rows = vec![u32::MAX; self.names.len()];
        for (row, name) in self.kernel_dim.name.iter().enumerate() {
            if let Some(id) = self.names.find(name) {
                rows[id.index()] = row as u32;
            }
        }
        rows
    }
}

/// What a trace says about itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TraceMeta {
    /// The file's name, without its folder.
    pub source: String,
    /// The format that read it.
    pub format: String,
    /// How many records the file held, read or not.
    pub events: i64,
    /// The rank the file claims.
    pub rank: Option<i32>,
    /// How many ranks the job claims to have.
    pub world_size: Option<i32>,
    /// Communication backend.
    pub backend: Option<String>,
    /// What `ts_ns` 0 is on the wall clock, in nanoseconds since 1970; `None` where unknown.
    pub base_unix_ns: Option<i64>,
    /// Start of the earliest record, in the table's clock.
    pub first_ns: i64,
    /// End of the latest record, in the table's clock.
    pub last_ns: i64,
    /// Whether times were recorded in whole microseconds.
    pub microsecond_clock: bool,
    /// Versions and switches worth showing (`cuda_driver_version`, `with_stack` …), by name.
    pub properties: Vec<(String, String)>,
}

impl TraceMeta {
    /// As the one row of this rank in `ranks`.
    pub fn to_row(&self) -> RankRow {
        RankRow {
            source: self.source.clone(),
            format: self.format.clone(),
            events: self.events,
            world_size: self.world_size.into(),
            backend: self.backend.clone(),
            base_unix_ns: self.base_unix_ns.into(),
            first_ns: self.first_ns,
            last_ns: self.last_ns,
            microsecond_clock: self.microsecond_clock,
            properties: serde_json::to_string(&self.properties).unwrap_or_default(),
        }
    }

    /// From the row of rank `rank`.
    pub fn from_row(rank: i32, row: RankRow) -> Self {
        TraceMeta {
            source: row.source,
            format: row.format,
            events: row.events,
            rank: Some(rank),
            world_size: Opt::get(row.world_size),
            backend: row.backend,
            base_unix_ns: Opt::get(row.base_unix_ns),
            first_ns: row.first_ns,
            last_ns: row.last_ns,
            microsecond_clock: row.microsecond_clock,
            properties: serde_json::from_str(&row.properties).unwrap_or_default(),
        }
    }
}
