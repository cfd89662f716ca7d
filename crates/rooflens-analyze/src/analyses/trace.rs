//! What was read?

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use rooflens_schema::RankTables;
use rooflens_schema::tables::ApiKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::{Analysis, Finding, FindingType, Findings, Fold};
use crate::interval::{length, runs};

/// What was read.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Trace {
    /// File names, without folders; at most ten.
    pub sources: Vec<String>,
    /// Format, as `kineto`.
    pub format: String,
    /// Records in the files, read or not.
    pub events: i64,
    /// Ranks read.
    pub ranks: usize,
    /// Ranks the job claims to have.
    pub world_size: Option<i32>,
    /// Devices with activity.
    pub devices: usize,
    /// Devices that the files list or allocate memory on, with activity or without.
    #[serde(default)]
    pub devices_listed: usize,
    /// Calls that launch kernels or graphs, in ranks without device activity.
    #[serde(default)]
    pub launches_without_device: usize,
    /// From the earliest record to the end of the latest.
    pub span_ns: i64,
    /// Wall clock of the earliest record, since 1970, where known.
    pub start_unix_ns: Option<i64>,
    /// Device names, each once.
    pub hardware: Vec<String>,
    /// Rows by table: operators, runtime calls, device activities, Python frames …
    pub rows: BTreeMap<Cow<'static, str>, usize>,
    /// Whether times were recorded in whole microseconds.
    pub microsecond_clock: bool,
    /// Versions and switches of the first rank's source, by name.
    pub properties: BTreeMap<String, String>,
}

impl Trace {
    /// Whether a device was at work whose events are not in the trace.
    pub fn lost_device(&self) -> bool {
        self.devices == 0 && (self.launches_without_device > 0 || self.devices_listed > 0)
    }
}

pub(super) const ANALYSIS: Analysis = Analysis {
    name: "trace",
    question: "What was read?",
    needs: "records",
    is_special: false,
    finding: FindingType::object::<Trace>(),
    start: || Box::new(State::default()),
    explain: "\
- `sources`: file names, at most ten.
- `events`: records in the files, read or not.
- `ranks`: files read; `world_size` is how many the job claims to have.
- `devices`: (rank, device) pairs with activity.
- `devices_listed`: (rank, device) pairs that the files list or allocate memory on. `launches_without_device`: calls that launch kernels or
  graphs, in ranks without device activity. One of them above 0 and no `devices`: the device events are missing.
- `span_ns`: latest end - earliest start over all ranks, ns; on the wall clock if every rank has it.
- `rows`: rows of each table, all ranks together.
- `properties`: versions and switches of the first rank's source.
",
};

#[derive(Default)]
struct State {
    found: Trace,
    own: Option<(i64, i64)>,
    wall: Option<(i64, i64)>,
    without_wall_clock: bool,
}

const SOURCES: usize = 10;

impl Fold for State {
    fn rank(&mut self, tables: &RankTables) {
        let (meta, found) = (&tables.meta, &mut self.found);
        if found.sources.len() < SOURCES {
            found.sources.push(meta.source.clone());
        }
        if found.ranks == 0 {
            found.format.clone_from(&meta.format);
            found.properties = meta.properties.iter().cloned().collect();
        }
        found.events += meta.events;
        found.ranks += 1;
        found.world_size = found.world_size.max(meta.world_size);
        found.devices += runs(&tables.kernels.device).count();
        found.devices_listed += tables.devices.len().max(devices_with_tensors(tables));
        if tables.kernels.is_empty() {
            let launching = |kind: &&ApiKind| matches!(kind, ApiKind::Launch | ApiKind::GraphLaunch);
            found.launches_without_device += tables.api.kind.iter().filter(launching).count();
        }
        found.microsecond_clock |= meta.microsecond_clock;
        for name in tables.devices.name.iter().filter(|name| !name.is_empty()) {
            if !found.hardware.contains(name) {
                found.hardware.push(name.clone());
            }
        }
        for (table, rows) in [
            ("api", tables.api.len()),
            ("collectives", tables.collectives.len()),
            ("comm_calls", tables.comm_calls.len()),
            ("engine_layers", tables.engine_layers.len()),
            ("frames", tables.frames.len()),
            ("gemms", tables.gemms.len()),
            ("inferences", tables.inferences.len()),
            ("metric_samples", tables.metric_samples.len()),
            ("kernels", tables.kernels.len()),
            ("memory", tables.memory.len()),
            ("memory_blocks", tables.memory_blocks.len()),
            ("ops", tables.ops.len()),
            ("phases", tables.phases.len()),
        ] {
            *found.rows.entry(table.into()).or_default() += rows;
        }
        let bounds = (meta.first_ns, meta.last_ns);
        widen(&mut self.own, bounds);
        match meta.base_unix_ns {
            Some(base) => {
                widen(&mut self.wall, (base.saturating_add(bounds.0), base.saturating_add(bounds.1)))
            }
            None => self.without_wall_clock = true,
        }
    }

    fn finish(self: Box<Self>, _earlier: &Findings) -> Option<Box<dyn Finding>> {
        let wall = self.wall.filter(|_| !self.without_wall_clock);
        let mut found = self.found;
        found.span_ns = length(wall.or(self.own)?);
        found.start_unix_ns = wall.map(|bounds| bounds.0);
        Some(Box::new(found))
    }
}

fn widen(bounds: &mut Option<(i64, i64)>, by: (i64, i64)) {
    *bounds = Some(bounds.map_or(by, |(first, last)| (first.min(by.0), last.max(by.1))));
}

fn devices_with_tensors(tables: &RankTables) -> usize {
    if tables.ops.is_empty() {
        return 0;
    }
    let devices: BTreeSet<i32> = tables.memory.device.iter().copied().filter(|device| *device >= 0).collect();
    devices.len()
}
