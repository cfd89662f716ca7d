//! The tables.
//!
//! To add one: declare it in a file of this folder with `table!`, and list it below in `tables!`.
//! Everything else follows from the two: its file in a run, reading and writing, the reference page, moving its
//! times onto another clock (columns declared as `Time`), removing private text from its names. A table whose rows
//! belong to a rank has a field in [`RankTables`], which its entry names after `as`.

mod api;
mod collectives;
mod counters;
mod dims;
mod engines;
mod gemms;
mod kernels;
mod memory;
mod metric_samples;
mod model_ops;
mod ops;
mod phases;
mod profiled;
mod requests;
mod runs;

use crate::cell::{Opt, Rewording};
use crate::error::SchemaError;
use crate::names::Names;
use crate::parquet_io::Columnar;
use crate::table::TableSpec;

pub use self::{
    api::*, collectives::*, counters::*, dims::*, engines::*, gemms::*, kernels::*, memory::*,
    metric_samples::*, model_ops::*, ops::*, phases::*, profiled::*, requests::*, runs::*,
};

/// Sees each table of a rank, whatever its type.
pub trait TableVisitor {
    /// Takes the next table.
    fn table<T: Columnar>(&mut self, table: &T) -> Result<(), SchemaError>;
}

/// Changes each table of a rank, whatever its type.
pub trait TableVisitorMut {
    /// Takes the next table.
    fn table<T: Columnar>(&mut self, table: &mut T) -> Result<(), SchemaError>;
}

macro_rules! tables {
    ($($table:ident $(as $field:ident)?,)+) => {
        /// Every table, in the order of the reference documentation.
        pub fn specs() -> Vec<TableSpec> {
            vec![$($table::spec(),)+]
        }

        /// Everything read from one rank of a job, and, once the passes have run, what they derived.
        ///
        /// A job of a thousand ranks is a thousand of these, a few at a time: memory grows with the largest
        /// ranks, not with the job.
        #[derive(Debug, Clone, Default)]
        pub struct RankTables {
            /// Which rank.
            pub rank: i32,
            /// What the trace says about itself; its row in [`Ranks`].
            pub meta: TraceMeta,
            /// The names that the ids in the columns stand for.
            pub names: Names,
            /// What the kernels' names tell; filled by a pass. On disk all ranks share it.
            pub kernel_dim: KernelDim,
            $($(
                #[doc = concat!("Its rows of [`", stringify!($table), "`].")]
                pub $field: $table,
            )?)+
        }

        impl RankTables {
            /// Shows each table whose rows belong to the rank alone, until one fails.
            pub fn visit(&self, visitor: &mut impl TableVisitor) -> Result<(), SchemaError> {
                $($(visitor.table(&self.$field)?;)?)+
                Ok(())
            }

            /// The same, to change them.
            pub fn visit_mut(&mut self, visitor: &mut impl TableVisitorMut) -> Result<(), SchemaError> {
                $($(visitor.table(&mut self.$field)?;)?)+
                Ok(())
            }

            /// Moves every time by `delta_ns`: onto the clock of the job's first rank.
            pub fn shift(&mut self, delta_ns: i64) {
                $($(self.$field.shift(delta_ns);)?)+
                self.meta.shift(delta_ns);
            }

            /// Moves the rows of each table of `other` behind these. Ids in both are of the same names.
            pub fn append(&mut self, other: &mut Self) {
                $($(self.$field.append(&mut other.$field);)?)+
            }

            /// Puts other words in place of those that `text` answers for, wherever they stand. Names that
            /// become the same are one name from then on.
            pub fn reword(&mut self, text: &dyn Fn(&str) -> Option<String>) {
                let mut rewording = Rewording { names: Vec::new(), text };
                if let Some((names, ids)) = self.names.reworded(text) {
                    (self.names, rewording.names) = (names, ids);
                }
                self.kernel_dim.reword(&rewording);
                $($(self.$field.reword(&rewording);)?)+
                self.meta.reword(text);
            }
        }
    };
}

tables! {
    Runs,
    Ranks,
    Devices as devices,
    Kernels as kernels,
    KernelDim,
    Ops as ops,
    Api as api,
    Frames as frames,
    Phases as phases,
    Ranges as ranges,
    Memory as memory,
    MemoryBlocks as memory_blocks,
    Collectives as collectives,
    CommCalls as comm_calls,
    Gemms as gemms,
    EngineLayers as engine_layers,
    Inferences as inferences,
    MetricSamples as metric_samples,
    Requests,
    Tokens,
    Steps,
    Counters,
    ModelOps,
    ProfiledLaunches,
    ProfiledMetrics,
    NameDim,
    NotesTable,
}

impl RankTables {
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
    fn shift(&mut self, delta_ns: i64) {
        self.first_ns = self.first_ns.saturating_add(delta_ns);
        self.last_ns = self.last_ns.saturating_add(delta_ns);
        if let Some(base) = &mut self.base_unix_ns {
            *base = base.saturating_sub(delta_ns);
        }
    }

    fn reword(&mut self, text: &dyn Fn(&str) -> Option<String>) {
        for (_, value) in &mut self.properties {
            if let Some(other) = text(value) {
                *value = other;
            }
        }
    }

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
