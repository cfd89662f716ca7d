//! Modules and layers of graph replays, from the trace of the capture.
//!
//! While a graph is captured the model's code runs as ever, but its launches only add to the graph. A trace of
//! it has the modules around each launch and, on ROCm, the name of the kernel, but nothing on the device.

use rooflens_schema::tables::{ActivityKind, ApiKind};
use rooflens_schema::{NameId, Opt, RankTables};

use super::super::api_kind;
use super::super::launches::Launches;
use super::super::modules::Place;

use crate::by_name::FastMap;

/// Share of a replay's kernels that must be found in a graph for it to be that graph.
const LEAST_MATCH: f64 = 0.8;
/// How far to look for the next kernel that is the same, where one side has some more.
const LOOK_AHEAD: usize = 32;

/// Graphs, as they were captured.
#[derive(Debug, Default)]
pub struct Capture {
    /// In the order of their capture; each the launches of one.
    graphs: Vec<Vec<Captured>>,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Captured {
    kernel: Option<String>,
    module: Option<String>,
    layer: Option<i32>,
}

impl Capture {
    /// Reads the calls of a trace, of which each has its place.
    pub(in super::super) fn new(tables: &RankTables, places: &[Place]) -> Self {
        let (api, names) = (&tables.api, &tables.names);
        let text = |name: Opt<NameId>| name.get().map(|name| names.get(name).to_owned());
        let mut order: Vec<usize> = (0..api.len()).collect();
        order.sort_by_key(|&call| api.ts_ns[call]);
        let is = |call: usize, word: &str| names.get(api.name_id[call]).contains(word);
        let begins = |&call: &usize| is(call, "StreamBeginCapture");
        let has_bounds = order.iter().any(begins);
        let mut graphs: Vec<Vec<Captured>> = Vec::new();
        // The thread that captures.
        let mut open = None;
        for call in order {
            if begins(&call) {
                open = Some(api.tid[call]);
                graphs.push(Vec::new());
            } else if is(call, "StreamEndCapture") {
                open = None;
            } else if api_kind::launches(api.kind[call]) && (!has_bounds || open == Some(api.tid[call])) {
                if graphs.is_empty() {
                    graphs.push(Vec::new());
                }
                let place = places.get(call).copied().unwrap_or_default();
                let launch = Captured {
                    kernel: text(api.kernel_id[call]),
                    module: text(place.path),
                    layer: place.layer.get(),
                };
                graphs.last_mut().into_iter().for_each(|graph| graph.push(launch.clone()));
            }
        }
        graphs.retain(|graph| !graph.is_empty());
        Capture { graphs }
    }

    /// How many launches were captured.
    pub fn launches(&self) -> usize {
        self.graphs.iter().map(Vec::len).sum()
    }
}

/// Fills `module_id` and `layer` of kernels that were replayed; answers of how many.
///
/// Replays and graphs are held against one another in order, kernel by kernel: the graphs of a step that is
/// cut into pieces have the same kernels layer after layer, and only their order tells them apart.
pub(in super::super) fn from_capture(
    tables: &mut RankTables,
    launches: &Launches,
    capture: &Capture,
) -> usize {
    let mut replays: FastMap<(i32, i64), Vec<usize>> = FastMap::default();
    for row in 0..tables.kernels.len() {
        let call = launches.of(row).filter(|&call| tables.api.kind[call] == ApiKind::GraphLaunch);
        if let (Some(_), Some(id)) = (call, tables.kernels.corr_id[row].get()) {
            replays.entry((tables.kernels.device[row], id)).or_default().push(row);
        }
    }
    let mut replays: Vec<Vec<usize>> = replays.into_values().collect();
    for rows in &mut replays {
        rows.sort_by_key(|&row| (tables.kernels.ts_ns[row], row));
    }
    replays.sort_by_key(|rows| (tables.kernels.device[rows[0]], tables.kernels.ts_ns[rows[0]]));
    let mut placed = 0;
    // The graph that is expected next, on each device.
    let mut expected = (None, 0);
    for rows in replays {
        let device = tables.kernels.device[rows[0]];
        if expected.0 != Some(device) {
            expected = (Some(device), 0);
        }
        let graphs = capture.graphs.len();
        let from_expected = (0..graphs).map(|step| (expected.1 + step) % graphs);
        let found = from_expected
            .filter_map(|graph| Some((graph, pairs(tables, &rows, &capture.graphs[graph])?)))
            .next();
        let Some((graph, pairs)) = found else { continue };
        expected.1 = (graph + 1) % graphs;
        for (row, launch) in pairs {
            placed += 1;
            let launch = &capture.graphs[graph][launch];
            if let Some(module) = &launch.module {
                tables.kernels.module_id[row] = Opt::some(tables.names.add(module));
            }
            tables.kernels.layer[row] = launch.layer.into();
        }
    }
    placed
}

fn pairs(tables: &RankTables, rows: &[usize], graph: &[Captured]) -> Option<Vec<(usize, usize)>> {
    let kernels = &tables.kernels;
    if graph.iter().all(|launch| launch.kernel.is_none()) {
        // Nothing but their number and order tells, and the order holds on one stream only.
        let one_stream = rows.iter().all(|&row| kernels.stream[row] == kernels.stream[rows[0]]);
        return (one_stream && rows.len() == graph.len())
            .then(|| rows.iter().copied().zip(0..graph.len()).collect());
    }
    let rows: Vec<usize> =
        rows.iter().copied().filter(|&row| kernels.kind[row] == ActivityKind::Kernel).collect();
    let same =
        |i: usize, j: usize| graph[j].kernel.as_deref() == Some(tables.names.get(kernels.kernel_id[rows[i]]));
    let mut pairs = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < rows.len() && j < graph.len() {
        if same(i, j) {
            pairs.push((rows[i], j));
            (i, j) = (i + 1, j + 1);
            continue;
        }
        // The fewest to pass over on both sides together.
        let next = (1..=LOOK_AHEAD).find_map(|skipped| {
            (0..=skipped)
                .map(|more| (i + more, j + skipped - more))
                .find(|&(i, j)| i < rows.len() && j < graph.len() && same(i, j))
        });
        match next {
            Some(next) => (i, j) = next,
            None => (i, j) = (i + 1, j + 1),
        }
    }
    let named = graph.iter().filter(|launch| launch.kernel.is_some()).count();
    (pairs.len() as f64 >= LEAST_MATCH * rows.len().max(named) as f64).then_some(pairs)
}
