//! What devices did: kernels, copies, fills, and whole graphs.

use std::collections::HashMap;

use rooflens_schema::tables::{ActivityKind, KernelRow, MemoryRow};
use rooflens_schema::{NameId, Severity};
use rusqlite::Row;

use super::{Reader, Strings};
use crate::reading::narrow;
use crate::sqlite::{number, text};

/// What every activity has, in the order of [`Activity`].
const COMMON: [&str; 7] =
    ["start", "end", "deviceId", "streamId", "correlationId", "globalPid", "graphNodeId"];

impl Reader<'_> {
    pub(super) fn device(&mut self) {
        self.kernels();
        self.copies();
        self.fills();
        self.graphs();
        self.allocations();
    }

    fn kernels(&mut self) {
        let columns = columns(&[
            "demangledName",
            "shortName",
            "mangledName",
            "gridX",
            "gridY",
            "gridZ",
            "blockX",
            "blockY",
            "blockZ",
            "registersPerThread",
            "staticSharedMemory",
            "dynamicSharedMemory",
            "graphId",
        ]);
        self.tables.kernels.reserve(self.database.most("CUPTI_ACTIVITY_KIND_KERNEL"));
        self.database.each("CUPTI_ACTIVITY_KIND_KERNEL", &columns, |row| {
            let small = |column| number(row, COMMON.len() + column).map(narrow);
            let name = |strings: &mut Strings<'_>| {
                let names = [0, 1, 2].map(|column| COMMON.len() + column);
                let name = strings.of_row(row, &names, |name| name);
                name.unwrap_or_else(|| strings.intern("(unnamed kernel)"))
            };
            let Some(base) = self.activity(row, ActivityKind::Kernel, name) else { return };
            let shared = match (small(10), small(11)) {
                (None, None) => None,
                (fixed, asked) => Some(fixed.unwrap_or(0).saturating_add(asked.unwrap_or(0))),
            };
            self.tables.kernels.push(KernelRow {
                grid_x: small(3).into(),
                grid_y: small(4).into(),
                grid_z: small(5).into(),
                block_x: small(6).into(),
                block_y: small(7).into(),
                block_z: small(8).into(),
                registers: small(9).into(),
                shared_memory_bytes: shared.into(),
                graph_id: number(row, COMMON.len() + 12).into(),
                ..base
            });
        });
    }

    /// Named as the CUDA profiler of PyTorch names them, so that runs of both can be compared.
    fn copies(&mut self) {
        let (ways, kinds) = (self.labels("ENUM_CUDA_MEMCPY_OPER"), self.labels("ENUM_CUDA_MEM_KIND"));
        let columns = columns(&["bytes", "copyKind", "srcKind", "dstKind"]);
        let mut names: HashMap<[Option<i64>; 3], NameId> = HashMap::new();
        self.database.each("CUPTI_ACTIVITY_KIND_MEMCPY", &columns, |row| {
            let key = [1, 2, 3].map(|column| number(row, COMMON.len() + column));
            let name = |strings: &mut Strings<'_>| {
                *names.entry(key).or_insert_with(|| {
                    let of = |labels: &Labels, id: Option<i64>| {
                        id.and_then(|id| labels.get(&id).cloned()).unwrap_or_else(|| "Unknown".to_owned())
                    };
                    let [way, from, to] = [of(&ways, key[0]), of(&kinds, key[1]), of(&kinds, key[2])];
                    strings.intern(&format!("Memcpy {} ({from} -> {to})", brief(&way)))
                })
            };
            let Some(base) = self.activity(row, ActivityKind::Memcpy, name) else { return };
            self.tables.kernels.push(KernelRow { bytes: number(row, COMMON.len()).into(), ..base });
        });
    }

    fn fills(&mut self) {
        let kinds = self.labels("ENUM_CUDA_MEM_KIND");
        let columns = columns(&["bytes", "memKind"]);
        self.database.each("CUPTI_ACTIVITY_KIND_MEMSET", &columns, |row| {
            let kind = number(row, COMMON.len() + 1).and_then(|id| kinds.get(&id));
            let name = |strings: &mut Strings<'_>| {
                strings.intern(&format!("Memset ({})", kind.map_or("Unknown", String::as_str)))
            };
            let Some(base) = self.activity(row, ActivityKind::Memset, name) else { return };
            self.tables.kernels.push(KernelRow { bytes: number(row, COMMON.len()).into(), ..base });
        });
    }

    /// Replays that were recorded as a whole: their kernels are not in the file.
    fn graphs(&mut self) {
        let mut count = 0;
        self.database.each("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", &columns(&["graphId"]), |row| {
            let name = |strings: &mut Strings<'_>| strings.intern("[CUDA graph]");
            let Some(base) = self.activity(row, ActivityKind::Kernel, name) else { return };
            count += 1;
            self.tables.kernels.push(KernelRow { graph_id: number(row, COMMON.len()).into(), ..base });
        });
        let message = "replays of CUDA graphs were recorded as a whole, without their kernels: \
                       record with --cuda-graph-trace=node to see them";
        self.database.reading.note(Severity::Warning, "graphs_as_a_whole", count, message);
    }

    fn allocations(&mut self) {
        const RELEASE: i64 = 1;
        let columns = ["start", "bytes", "deviceId", "memoryOperationType"];
        self.database.each("CUDA_GPU_MEMORY_USAGE_EVENTS", &columns, |row| {
            let (Some((ts_ns, _)), Some(bytes)) = (self.span(number(row, 0), number(row, 0)), number(row, 1))
            else {
                return;
            };
            let is_release = number(row, 3) == Some(RELEASE);
            self.tables.memory.push(MemoryRow {
                ts_ns,
                bytes: if is_release { bytes.saturating_neg() } else { bytes },
                device: narrow(number(row, 2).unwrap_or(0)),
                ..MemoryRow::default()
            });
        });
    }

    /// What all activities have. One without times is lost, and never asked for its name.
    fn activity(
        &mut self,
        row: &Row<'_>,
        kind: ActivityKind,
        name: impl FnOnce(&mut Strings<'_>) -> NameId,
    ) -> Option<KernelRow> {
        let (ts_ns, dur_ns) = self.span(number(row, 0), number(row, 1))?;
        let device = narrow(number(row, 2).unwrap_or(0));
        let stream = narrow(number(row, 3).unwrap_or(0));
        let corr_id = self.correlation(number(row, 5), number(row, 4)).into();
        let name = name(&mut self.strings);
        let base = KernelRow::new(device, stream, ts_ns, dur_ns, name, kind);
        Some(KernelRow { corr_id, graph_node_id: number(row, 6).into(), ..base })
    }

    fn labels(&self, table: &str) -> Labels {
        let mut labels = HashMap::new();
        self.database.each(table, &["id", "label", "name"], |row| {
            let label = text(row, 1).or_else(|| text(row, 2));
            if let (Some(id), Some(label)) = (number(row, 0), label) {
                labels.insert(id, label.to_owned());
            }
        });
        labels
    }
}

type Labels = HashMap<i64, String>;

fn columns<'c>(more: &[&'c str]) -> Vec<&'c str> {
    [&COMMON[..], more].concat()
}

/// `Host-to-Device` as `HtoD`.
fn brief(way: &str) -> String {
    match way.split_once("-to-") {
        Some((from, to)) => {
            let first = |word: &str| word.rsplit(' ').next().and_then(|word| word.chars().next());
            let mut text: String = first(from).into_iter().collect();
            text.push_str("to");
            text.extend(first(to));
            text
        }
        None => way.to_owned(),
    }
}
