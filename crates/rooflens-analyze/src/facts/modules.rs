//! Which module and layer of the model an operator or activity belongs to.

use rooflens_schema::{NameId, Names, Opt, RankTables};

use super::launches::Launches;
use crate::by_name::FastMap;
use crate::part;

/// What a frame of a module is called in a trace with stacks.
const FRAME: &str = "nn.Module: ";
/// What a range around a module is called, before its path in the model: `module:model.layers.3.mlp`.
pub(super) const MODULE: &str = "module:";
/// Paths deeper than this are not believed.
const DEEPEST: usize = 64;

struct Open {
    end_ns: i64,
    place: Place,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Place {
    pub(crate) path: Opt<NameId>,
    pub(crate) layer: Opt<i32>,
}

/// Fills `module_id` and `layer` of `ops` and `kernels`; answers the place of each call.
///
/// The path comes from ranges that name modules (`module:model.layers.3.mlp`), else from the `nn.Module`
/// frames around the operator on its thread; the layer from the path's first component that is a layer by
/// its name (`LlamaDecoderLayer_3`, `TransformerBlock_7`), or, with neither, from an annotation such as
/// `layers.3`.
pub(super) fn attribute(tables: &mut RankTables, launches: &Launches) -> Vec<Place> {
    let mut calls: Vec<Place> = vec![Place::default(); tables.api.len()];
    let ranges = ranges(tables);
    if ranges.is_empty() {
        return calls;
    }
    let mut places = Places { names: &mut tables.names, known: FastMap::default() };
    let mut open: Vec<Open> = Vec::new();
    let mut range = 0;
    // Operators and calls in one order by thread and start.
    let (ops, api) = (&mut tables.ops, &tables.api);
    let (mut op, mut call) = (0, 0);
    let mut thread = None;
    loop {
        let next_op = (op < ops.len()).then(|| (ops.tid[op], ops.ts_ns[op]));
        let next_call = (call < api.len()).then(|| (api.tid[call], api.ts_ns[call]));
        let take_op = match (next_op, next_call) {
            (None, None) => break,
            (Some(left), Some(right)) => left <= right,
            (left, _) => left.is_some(),
        };
        let Some((tid, now)) = (if take_op { next_op } else { next_call }) else { break };
        if thread != Some(tid) {
            open.clear();
            thread = Some(tid);
        }
        while let Some(&(range_tid, ts, dur, name)) = ranges.get(range) {
            if (range_tid, ts) > (tid, now) {
                break;
            }
            range += 1;
            if range_tid == tid && open.len() < DEEPEST {
                open.retain(|outer| outer.end_ns > ts);
                let outer = open.last().map(|open| open.place).unwrap_or_default();
                open.push(Open { end_ns: ts.saturating_add(dur), place: places.inside(outer, name) });
            }
        }
        while open.last().is_some_and(|inner| inner.end_ns <= now) {
            open.pop();
        }
        let place = open.last().map(|open| open.place).unwrap_or_default();
        if take_op {
            ops.module_id[op] = place.path;
            ops.layer[op] = place.layer;
            op += 1;
        } else {
            calls[call] = place;
            call += 1;
        }
    }
    let kernels = &mut tables.kernels;
    for i in 0..kernels.len() {
        let place = match (launches.of(i), kernels.op_id[i].get()) {
            (Some(call), _) => calls[call],
            (None, Some(op)) => Place { path: ops.module_id[op as usize], layer: ops.layer[op as usize] },
            (None, None) => continue,
        };
        kernels.module_id[i] = place.path;
        kernels.layer[i] = place.layer;
    }
    calls
}

/// Ranges of modules, or where there are none, module frames, or annotations that name a layer: thread, start,
/// duration, name; sorted by thread, start, longest first.
fn ranges(tables: &RankTables) -> Vec<(i64, i64, i64, NameId)> {
    let named = annotations(tables, |name| name.starts_with(MODULE));
    if !named.is_empty() {
        return named;
    }
    let frames = &tables.frames;
    let is_module: Vec<bool> = tables.names.iter().map(|(_, name)| name.starts_with(FRAME)).collect();
    let ranges: Vec<_> = (0..frames.len())
        .filter(|&i| is_module[frames.name_id[i].index()])
        .map(|i| (frames.tid[i], frames.ts_ns[i], frames.dur_ns[i], frames.name_id[i]))
        .collect();
    if !ranges.is_empty() {
        return ranges;
    }
    annotations(tables, |name| layer_in(name).is_some())
}

fn annotations(tables: &RankTables, wanted: impl Fn(&str) -> bool) -> Vec<(i64, i64, i64, NameId)> {
    let phases = &tables.phases;
    let mut known: FastMap<NameId, bool> = FastMap::default();
    let mut ranges: Vec<_> = (0..phases.len())
        .filter(|&i| {
            let name = phases.name_id[i];
            !phases.device[i].is_some()
                && *known.entry(name).or_insert_with(|| wanted(tables.names.get(name)))
        })
        .filter_map(|i| Some((phases.tid[i].get()?, phases.ts_ns[i], phases.dur_ns[i], phases.name_id[i])))
        .collect();
    ranges.sort_by_key(|&(tid, ts, dur, _)| (tid, ts, std::cmp::Reverse(dur)));
    ranges
}

/// Paths that were met, so that each is put together once.
struct Places<'n> {
    names: &'n mut Names,
    known: FastMap<(Opt<NameId>, NameId), Place>,
}

impl Places<'_> {
    fn inside(&mut self, outer: Place, name: NameId) -> Place {
        if let Some(&place) = self.known.get(&(outer.path, name)) {
            return place;
        }
        let text = self.names.get(name);
        if let Some(path) = text.strip_prefix(MODULE) {
            // The path is whole already. Blocks of a vision tower are no layers of the model.
            let layer = if part::is_vision(path) { None } else { layer_in(path) };
            let path = path.to_owned();
            let place = Place { path: Opt::some(self.names.add(&path)), layer: layer.into() };
            self.known.insert((outer.path, name), place);
            return place;
        }
        let text = text.strip_prefix(FRAME).unwrap_or(text);
        let layer = if outer.layer.is_some() { outer.layer } else { layer_in(text).into() };
        let path = match outer.path.get() {
            Some(outer) => format!("{}/{text}", self.names.get(outer)),
            None => text.to_owned(),
        };
        let place = Place { path: Opt::some(self.names.add(&path)), layer };
        self.known.insert((outer.path, name), place);
        place
    }
}

/// The layer that a name tells: `LlamaDecoderLayer_3`, `TransformerBlock_7`, `model.layers.12.mlp`,
/// `layer 4`. Not `LayerNorm_3`.
pub(crate) fn layer_in(name: &str) -> Option<i32> {
    let lower = name.to_ascii_lowercase();
    for word in ["layers", "layer", "blocks", "block"] {
        let mut from = 0;
        while let Some(at) = lower[from..].find(word).map(|at| from + at) {
            let rest = &lower[at + word.len()..];
            let rest = rest.strip_prefix(['_', '.', ' ', ':', '#', '-', '[', '=']).unwrap_or("");
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            if let Ok(layer) = rest[..end].parse() {
                return Some(layer);
            }
            from = at + word.len();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::layer_in;

    #[test]
    fn layers_by_name() {
        for (name, layer) in [
            ("LlamaDecoderLayer_3", Some(3)),
            ("TransformerBlock_17", Some(17)),
            ("model.layers.12.mlp", Some(12)),
            ("layer 4", Some(4)),
            ("LayerNorm_3", None),
            ("MLPBlock_2", Some(2)),
            ("Linear_5", None),
            ("blocks", None),
        ] {
            assert_eq!(layer_in(name), layer, "{name}");
        }
    }
}
