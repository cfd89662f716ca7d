//! Which layers and modules take the device time?

use std::collections::{BTreeMap, BTreeSet};

use rooflens_schema::{NameId, RankTables};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::by_name::{ByName, FastMap};
use crate::facts::layer_in;
use crate::finding::{Analysis, Finding, FindingType, Findings, Fold};
use crate::percentile::upper_median;
use crate::statistics::share;

/// Device time by layer and by module of the model.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Modules {
    /// By layer index.
    pub layers: Vec<LayerStat>,
    /// By module path with indices taken out, most device time first; at most 200.
    pub modules: Vec<ModuleStat>,
    /// Share of device time with a layer, 0 to 1.
    pub layer_share: f64,
    /// Share of device time with a module, 0 to 1.
    pub module_share: f64,
    /// Activities of one layer in one step: the median. Null without layers.
    pub activities_a_layer: Option<usize>,
    /// Activities whose layer no module names: it was found by the repeating names of kernels.
    pub layers_by_pattern: usize,
    /// Share of those activities whose name comes in at least half of the layers, 0 to 1. Null without any.
    pub pattern_match: Option<f64>,
}

/// One layer.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct LayerStat {
    /// Layer index.
    pub layer: i32,
    /// Activities.
    pub activities: usize,
    /// Sum of durations.
    pub device_ns: i64,
}

/// One kind of module.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ModuleStat {
    /// Path, indices taken out.
    pub module: String,
    /// Activities.
    pub activities: usize,
    /// Sum of durations.
    pub device_ns: i64,
    /// Share of all device time, 0 to 1.
    pub share: f64,
}

pub(super) const ANALYSIS: Analysis = Analysis {
    name: "modules",
    question: "Which layers and modules take the device time?",
    needs: "device activity with module or layer names",
    is_special: false,
    finding: FindingType::object::<Modules>(),
    start: || Box::new(State::default()),
    explain: "\
Device time by where in the model it was launched. A share is of the sum of all activities' durations.

- `layers`: by layer index, in order: activities and sum of durations, ns.
- `modules`: by module path without indices (`LlamaDecoderLayer_3/LlamaMLP_3` is
  `LlamaDecoderLayer/LlamaMLP`), the innermost module only, most time first, at most 200.
- `activities_a_layer`: activities of one layer in one step; the median over steps, devices and layers. Null
  without layers.
- `layers_by_pattern`: activities whose layer no module names, as in the replay of a graph without the trace of its
  capture (`rooflens analyze --capture`). Kernel names that repeat equally often and in the same order mark the
  layers; a norm begins one. What is before the first (embedding) and after the last (head, sampler) has no layer.
- `pattern_match`: the fraction of those activities whose name occurs in at least half of the inferred layers, 0 to
  1. Null where there are none.
- `layer_share`, `module_share`: device time with a layer, or a module / all device time, 0 to 1.
",
};

#[derive(Default)]
struct State {
    layers: BTreeMap<i32, Sum>,
    modules: ByName<Sum>,
    with_layer_ns: i64,
    with_module_ns: i64,
    all_ns: i64,
    in_a_layer: Vec<usize>,
    by_pattern: usize,
    by_pattern_alike: usize,
}

#[derive(Clone, Copy, Default)]
struct Sum {
    activities: usize,
    device_ns: i64,
}

impl Sum {
    fn add(&mut self, activities: usize, device_ns: i64) {
        self.activities += activities;
        self.device_ns = self.device_ns.saturating_add(device_ns);
    }
}

/// How many modules are listed.
const MODULES: usize = 200;

impl Fold for State {
    fn rank(&mut self, tables: &RankTables) {
        let kernels = &tables.kernels;
        // Full paths first, one for each layer: taking out the indices is done once a path.
        let mut paths: FastMap<NameId, Sum> = FastMap::default();
        let mut in_a_layer: FastMap<_, usize> = FastMap::default();
        let mut tells: FastMap<NameId, bool> = FastMap::default();
        let mut by_pattern: FastMap<NameId, BTreeMap<i32, usize>> = FastMap::default();
        // Work of a step that was not recorded from its beginning is outside of all steps: which layers it is of is a guess,
        // and it is not to be added to those of whole steps.
        let has_layer = |i: usize| kernels.layer[i].get().is_some();
        let has_steps = (0..kernels.len()).any(|i| has_layer(i) && kernels.phase_id[i].get().is_some());
        for i in 0..kernels.len() {
            let dur_ns = kernels.dur_ns[i];
            self.all_ns = self.all_ns.saturating_add(dur_ns);
            let is_whole = !has_steps || kernels.phase_id[i].get().is_some();
            if let Some(layer) = kernels.layer[i].get().filter(|_| is_whole) {
                self.layers.entry(layer).or_default().add(1, dur_ns);
                *in_a_layer.entry((kernels.device[i], kernels.phase_id[i], layer)).or_default() += 1;
                let told = kernels.module_id[i].get().is_some_and(|path| {
                    *tells.entry(path).or_insert_with(|| layer_in(tables.names.get(path)).is_some())
                });
                if !told {
                    *by_pattern.entry(kernels.kernel_id[i]).or_default().entry(layer).or_default() += 1;
                }
                self.with_layer_ns = self.with_layer_ns.saturating_add(dur_ns);
            }
            if let Some(module) = kernels.module_id[i].get() {
                paths.entry(module).or_default().add(1, dur_ns);
                self.with_module_ns = self.with_module_ns.saturating_add(dur_ns);
            }
        }
        self.in_a_layer.extend(in_a_layer.into_values());
        let layers: BTreeSet<i32> = by_pattern.values().flat_map(BTreeMap::keys).copied().collect();
        for of_name in by_pattern.values() {
            let count: usize = of_name.values().sum();
            self.by_pattern += count;
            if of_name.len() * 2 >= layers.len() {
                self.by_pattern_alike += count;
            }
        }
        for (path, sum) in paths {
            let module = without_indices(tables.names.get(path));
            self.modules.named(&module).add(sum.activities, sum.device_ns);
        }
    }

    fn finish(mut self: Box<Self>, _earlier: &Findings) -> Option<Box<dyn Finding>> {
        let activities_a_layer = upper_median(&mut self.in_a_layer);
        let layers = self.layers.into_iter();
        let layers: Vec<LayerStat> = layers
            .map(|(layer, sum)| LayerStat { layer, activities: sum.activities, device_ns: sum.device_ns })
            .collect();
        let mut modules: Vec<ModuleStat> = self
            .modules
            .into_rows()
            .map(|(module, Sum { activities, device_ns })| ModuleStat {
                module,
                activities,
                device_ns,
                share: share(device_ns, self.all_ns),
            })
            .collect();
        modules.sort_by(|a, b| b.device_ns.cmp(&a.device_ns).then_with(|| a.module.cmp(&b.module)));
        modules.truncate(MODULES);
        if layers.is_empty() && modules.is_empty() {
            return None;
        }
        Some(Box::new(Modules {
            layers,
            modules,
            layer_share: share(self.with_layer_ns, self.all_ns),
            module_share: share(self.with_module_ns, self.all_ns),
            activities_a_layer,
            layers_by_pattern: self.by_pattern,
            pattern_match: (self.by_pattern > 0)
                .then(|| self.by_pattern_alike as f64 / self.by_pattern as f64),
        }))
    }
}

/// A module path without instance numbers: `Model_0/Layer_3` is `Model/Layer`, `layers.3.mlp` is
/// `layers.mlp`.
fn without_indices(path: &str) -> String {
    let mut stripped = String::with_capacity(path.len());
    for part in path.split('/') {
        if !stripped.is_empty() {
            stripped.push('/');
        }
        let name = part.trim_end_matches(|character: char| character.is_ascii_digit());
        let part = match name.strip_suffix('_') {
            Some(class) if name.len() < part.len() && !class.is_empty() => class,
            _ => part,
        };
        let mut attributes = part.split('.').filter(|word| !is_number(word));
        stripped.push_str(attributes.next().unwrap_or(part));
        for attribute in attributes {
            stripped.push('.');
            stripped.push_str(attribute);
        }
    }
    stripped
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Sample, findings};

    #[test]
    fn indices_are_taken_out() {
        let long = "LlamaModel_0/LlamaDecoderLayer_3/LlamaMLP_3";
        assert_eq!(without_indices(long), "LlamaModel/LlamaDecoderLayer/LlamaMLP");
        assert_eq!(without_indices("model.layers.11.self_attn"), "model.layers.self_attn");
        assert_eq!(without_indices("Conv2d_7"), "Conv2d");
        assert_eq!(without_indices("Conv2d"), "Conv2d");
        assert_eq!(without_indices("_3/7"), "_3/7");
    }

    #[test]
    fn device_time_by_layer_and_module() {
        // 10 + 30 in two layers' MLPs, 20 in a layer without module, 40 in neither: 100.
        let mut sample = Sample::new(0);
        sample.kernel(0, 7, 0, 10, "a", "gemm").within(None, Some(0), Some("Layer_0/MLP_0"));
        sample.kernel(0, 7, 10, 30, "a", "gemm").within(None, Some(1), Some("Layer_1/MLP_1"));
        sample.kernel(0, 7, 40, 20, "a", "gemm").within(None, Some(1), None);
        sample.kernel(0, 7, 60, 40, "a", "gemm");
        let modules = sample.find::<Modules>();
        let layers: Vec<_> =
            modules.layers.iter().map(|row| (row.layer, row.activities, row.device_ns)).collect();
        assert_eq!(layers, [(0, 1, 10), (1, 2, 50)]);
        let rows: Vec<_> =
            modules.modules.iter().map(|row| (row.module.as_str(), row.activities, row.share)).collect();
        assert_eq!(rows, [("Layer/MLP", 2, 0.4)]);
        assert_eq!((modules.layer_share, modules.module_share), (0.6, 0.4));
    }

    #[test]
    fn nothing_is_said_without_names() {
        let mut sample = Sample::new(0);
        sample.kernel(0, 7, 0, 10, "a", "gemm");
        let found = findings(&[sample.tables]);
        assert!(found.get::<Modules>().is_none());
        assert!(found.not_computed.iter().any(|missing| missing.analysis == "modules"));
    }
}
