//! Which layers of a compiled engine take the time?

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use rooflens_schema::{NameId, Opt, RankTables};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::{Analysis, Finding, FindingType, Findings, Fold};

/// Layers of an engine, most time first.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct EngineLayers {
    /// Runs that were timed; `None` where none was, or engines differ.
    pub runs: Option<i64>,
    /// Time of all layers in a run; `None` where none was timed.
    pub run_ns: Option<f64>,
    /// Every layer.
    pub layers: Vec<EngineLayer>,
    /// By kind of layer, most time first.
    pub by_type: Vec<LayerGroup>,
    /// By element type of the output, most time first.
    pub by_dtype: Vec<LayerGroup>,
    /// What is null, and why.
    pub not_computed: BTreeMap<Cow<'static, str>, Cow<'static, str>>,
}

/// A layer.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct EngineLayer {
    /// Name.
    pub name: String,
    /// Kind, as `CaskConvolution`.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Element type of its first output.
    pub dtype: Option<String>,
    /// Kernel that was chosen.
    pub tactic: Option<String>,
    /// Shapes that go in.
    pub inputs: Option<String>,
    /// Shapes that come out.
    pub outputs: Option<String>,
    /// Time of all runs.
    pub total_ns: Option<i64>,
    /// Time of a run.
    pub mean_ns: Option<f64>,
    /// Median over runs.
    pub median_ns: Option<i64>,
    /// Of the time of all layers in a run.
    pub share: Option<f64>,
}

/// Layers that have something in common.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LayerGroup {
    /// What they have in common; `None` where it is not told.
    pub name: Option<String>,
    /// How many they are.
    pub layers: usize,
    /// Time of a run.
    pub run_ns: Option<f64>,
    /// Of the time of all layers in a run.
    pub share: Option<f64>,
}

pub(super) const ANALYSIS: Analysis = Analysis {
    name: "engine_layers",
    question: "Which layers of a compiled engine take the time?",
    needs: "layers of a compiled engine",
    is_special: true,
    finding: FindingType::object::<EngineLayers>(),
    start: || Box::new(State::default()),
    explain: "\
Layers of a TensorRT engine, from what `trtexec` exports. Layers of `--exportProfile` and
`--exportLayerInfo` are the same where their names are.

- `total_ns`: time of the layer over all `runs`, from the profile.
- `mean_ns`: total_ns / runs. `run_ns`: the sum of that over all layers. Profiling serialises layers, so a run takes
  longer than one without it: see `inferences`.
- `share`: mean_ns over the run_ns of all layers.
- `by_type`, `by_dtype`: the same sums by kind of layer and by element type of its first output.
",
};

#[derive(Default)]
struct State {
    found: EngineLayers,
    runs: BTreeSet<i64>,
}

impl Fold for State {
    fn rank(&mut self, tables: &RankTables) {
        let rows = &tables.engine_layers;
        let word = |id: Opt<NameId>| id.get().map(|id| tables.names.get(id).to_owned());
        for i in 0..rows.len() {
            let (runs, total_ns) = (rows.runs[i].get(), rows.total_ns[i].get());
            self.runs.extend(runs);
            self.found.layers.push(EngineLayer {
                name: tables.names.get(rows.name_id[i]).to_owned(),
                kind: word(rows.type_id[i]),
                dtype: word(rows.dtype_id[i]),
                tactic: word(rows.tactic_id[i]),
                inputs: word(rows.inputs_id[i]),
                outputs: word(rows.outputs_id[i]),
                total_ns,
                mean_ns: total_ns
                    .zip(runs.filter(|runs| *runs > 0))
                    .map(|(ns, runs)| ns as f64 / runs as f64),
                median_ns: rows.median_ns[i].get(),
                share: None,
            });
        }
    }

    fn finish(self: Box<Self>, _earlier: &Findings) -> Option<Box<dyn Finding>> {
        let mut found = self.found;
        if found.layers.is_empty() {
            return None;
        }
        found.runs = self.runs.first().copied().filter(|_| self.runs.len() == 1);
        found.run_ns = sum(found.layers.iter());
        let whole = found.run_ns.filter(|ns| *ns > 0.0);
        let share = |ns: Option<f64>| ns.zip(whole).map(|(ns, whole)| ns / whole);
        for layer in &mut found.layers {
            layer.share = share(layer.mean_ns);
        }
        let grouped = |word: fn(&EngineLayer) -> Option<String>| {
            let mut groups: BTreeMap<Option<String>, Vec<&EngineLayer>> = BTreeMap::new();
            for layer in &found.layers {
                groups.entry(word(layer)).or_default().push(layer);
            }
            let mut rows: Vec<LayerGroup> = groups
                .into_iter()
                .map(|(name, layers)| {
                    let run_ns = sum(layers.iter().copied());
                    LayerGroup { name, layers: layers.len(), run_ns, share: share(run_ns) }
                })
                .collect();
            rows.sort_by(|a, b| longer(b.run_ns, a.run_ns));
            rows
        };
        (found.by_type, found.by_dtype) = (grouped(|it| it.kind.clone()), grouped(|it| it.dtype.clone()));
        // Stable: equals stay in the order of the engine.
        found.layers.sort_by(|a, b| longer(b.mean_ns, a.mean_ns));
        if found.run_ns.is_none() {
            let why = "no layer has times: add the file of trtexec --exportProfile";
            for key in ["run_ns", "share"] {
                found.not_computed.insert(key.into(), why.into());
            }
        }
        if found.layers.iter().all(|layer| layer.kind.is_none()) {
            let why = "the layer types are not known: add the file of trtexec --exportLayerInfo";
            for key in ["type", "dtype", "tactic"] {
                found.not_computed.insert(key.into(), why.into());
            }
        }
        Some(Box::new(found))
    }
}

fn sum<'a>(layers: impl Iterator<Item = &'a EngineLayer>) -> Option<f64> {
    layers.filter_map(|layer| layer.mean_ns).reduce(|sum, ns| sum + ns)
}

fn longer(a: Option<f64>, b: Option<f64>) -> Ordering {
    a.unwrap_or(-1.0).total_cmp(&b.unwrap_or(-1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Sample;

    #[test]
    fn sums_by_type() {
        let mut sample = Sample::new(0);
        sample.engine_layer("a", "Conv", Some(300));
        sample.engine_layer("b", "Pool", Some(100));
        sample.engine_layer("c", "Conv", Some(400));
        sample.engine_layer("d", "NoOp", None);
        let layers = sample.find::<EngineLayers>();
        assert_eq!((layers.runs, layers.run_ns), (Some(2), Some(400.0)));
        let names: Vec<&str> = layers.layers.iter().map(|layer| layer.name.as_str()).collect();
        assert_eq!(names, ["c", "a", "b", "d"]);
        assert_eq!((layers.layers[0].share, layers.layers[0].mean_ns), (Some(0.5), Some(200.0)));
        let conv = LayerGroup {
            name: Some("Conv".to_owned()),
            layers: 2,
            run_ns: Some(350.0),
            share: Some(350.0 / 400.0),
        };
        assert_eq!(layers.by_type[0], conv);
        assert_eq!((layers.by_type[2].run_ns, layers.by_type[2].share), (None, None));
    }
}
