//! Layers of kernels that no module names: those of graph replays, and of traces without modules.

mod capture;
mod pattern;
#[cfg(test)]
mod tests;

use rooflens_schema::RankTables;
use rooflens_schema::tables::ApiKind;

pub use capture::Capture;
pub(super) use capture::from_capture;

use super::launches::Launches;
use crate::by_name::FastMap;
use crate::kernel_catalog::KernelClass;
use pattern::Kernel;

/// A replay of at least as many kernels is a sequence of its own where no step is known.
const LONG_REPLAY: usize = 64;

/// Which kernels are looked at together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Together {
    /// Those of a step: of its graph replays and between them.
    Phase(i32),
    Replay(i64),
    Rest,
}

/// Fills `kernels.layer` where modules left it open, from the repeating names of kernels.
///
/// A step in which modules name layers is left as it is. So is a trace of training: a layer's way back is no
/// layer of its own.
pub(super) fn from_pattern(tables: &mut RankTables, launches: &Launches) {
    let mut sequences = sequences(tables, launches);
    let layers = &tables.kernels.layer;
    sequences.retain(|(_, rows)| {
        rows.iter().filter(|&&row| layers[row as usize].is_some()).count() * 10 <= rows.len()
    });
    if sequences.is_empty() || trains(tables) {
        return;
    }
    let classes = classes(tables);
    let kernels = &mut tables.kernels;
    for (together, rows) in sequences {
        let sequence: Vec<Kernel> = rows
            .iter()
            .map(|&row| kernels.kernel_id[row as usize])
            .map(|name| Kernel { name: name.0, class: classes[name.index()] })
            .collect();
        let layers = pattern::find(&sequence, together != Together::Rest);
        for (&row, layer) in rows.iter().zip(layers) {
            let known = &mut kernels.layer[row as usize];
            if !known.is_some() {
                *known = layer.into();
            }
        }
    }
}

fn sequences(tables: &RankTables, launches: &Launches) -> Vec<(Together, Vec<u32>)> {
    let kernels = &tables.kernels;
    let replay = |row: usize| {
        let call = launches.of(row).filter(|&call| tables.api.kind[call] == ApiKind::GraphLaunch);
        call.and_then(|_| kernels.corr_id[row].get())
    };
    let mut replayed: FastMap<i64, usize> = FastMap::default();
    for row in (0..kernels.len()).filter(|&row| !kernels.phase_id[row].is_some()) {
        if let Some(id) = replay(row) {
            *replayed.entry(id).or_default() += 1;
        }
    }
    let together = |row: usize| match (kernels.phase_id[row].get(), replay(row)) {
        (Some(phase), _) => Together::Phase(phase),
        (None, Some(id)) if replayed.get(&id).is_some_and(|&count| count >= LONG_REPLAY) => {
            Together::Replay(id)
        }
        _ => Together::Rest,
    };
    let mut rows: Vec<(i32, Together, i64, u32)> = (0..kernels.len())
        .map(|row| (kernels.device[row], together(row), kernels.ts_ns[row], row as u32))
        .collect();
    rows.sort_unstable();
    rows.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1))
        .map(|rows| (rows[0].1, of_one_graph(rows.iter().map(|row| row.3).collect(), &replay)))
        .collect()
}

/// Where one replay is most of the kernels, those of replays alone: what runs beside a graph of the whole
/// model, on another stream, is no part of its layers.
fn of_one_graph(mut rows: Vec<u32>, replay: &dyn Fn(usize) -> Option<i64>) -> Vec<u32> {
    let mut sizes: FastMap<i64, usize> = FastMap::default();
    for id in rows.iter().filter_map(|&row| replay(row as usize)) {
        *sizes.entry(id).or_default() += 1;
    }
    if sizes.values().any(|&size| size * 2 > rows.len()) {
        rows.retain(|&row| replay(row as usize).is_some());
    }
    rows
}

fn trains(tables: &RankTables) -> bool {
    let mut is_name = vec![false; tables.names.len()];
    for name in tables.ops.name_id.iter().chain(&tables.phases.name_id) {
        is_name[name.index()] = true;
    }
    tables.names.iter().any(|(id, name)| {
        is_name[id.index()] && (name.contains("Backward") || name.starts_with("Optimizer."))
    })
}

fn classes(tables: &RankTables) -> Vec<KernelClass> {
    let described = &tables.kernel_dim;
    let class = |name: &str| {
        let row = described.name.binary_search_by(|known| known.as_str().cmp(name)).ok()?;
        KernelClass::named(&described.class[row])
    };
    tables.names.iter().map(|(_, name)| class(name).unwrap_or(KernelClass::Other)).collect()
}
