//! Which matmuls does each module run, and how long do they take?

use std::borrow::Cow;
use std::collections::BTreeMap;

use rooflens_schema::tables::PhaseKind;
use rooflens_schema::{NameId, Opt, RankTables};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::by_name::FastMap;
use crate::finding::{Analysis, Finding, FindingType, Findings, Fold};
use crate::part::PartsByName;
use crate::product::{ProductShape, product};

/// Products by phase, layer, module and operator, in the order in which they were first made.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Products(pub Vec<ProductStat>);

/// The calls of an operator in a module of a layer, with matrices of one size.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ProductStat {
    /// What the phases do.
    pub phase: PhaseKind,
    /// Layer; null outside of layers.
    pub layer: Option<i32>,
    /// Path of the module; null where the trace does not tell.
    pub module: Option<String>,
    /// The part of the model, as `attention.core`.
    pub part: Cow<'static, str>,
    /// The outermost operator that is a product.
    pub operator: String,
    /// Rows and columns of the matrix; null where both sides change from call to call.
    pub(crate) matrix: Option<(u64, u64)>,
    /// Of attention: heads of queries, and of keys and values; null for other products.
    pub heads: Option<(u64, u64)>,
    /// Types of the inputs of its first call, as the trace has them.
    pub dtypes: String,
    /// Calls.
    pub count: usize,
    /// Operations, a multiplication and an addition counting as two, nothing masked; null where the shapes do
    /// not determine them.
    pub flops: Option<u128>,
    /// Of attention: elements of keys and values that it took in.
    pub kv_elements: u128,
    /// Host time.
    pub host_ns: i64,
    /// Device time launched inside.
    pub device_ns: i64,
}

pub(super) const ANALYSIS: Analysis = Analysis {
    name: "products",
    question: "Which matmuls does each module run, and how long do they take?",
    needs: "operators with the shapes of their inputs, inside phases",
    is_special: false,
    finding: FindingType::list::<Products>(),
    start: || Box::new(State::default()),
    explain: "\
Matmuls, attention and convolutions by kind of phase, layer, module, operator and matrix size, summed over ranks. Of
nested operators the outermost that is a matmul counts: `aten::linear`, not the `aten::mm` in it. Matmuls outside
phases are omitted.

- `part`: the part of the model, by the module's path.
- `matrix`: rows and columns of the weight matrix; null if both operands are activations.
- `heads`: of attention, number of query heads and KV heads of the inputs.
- `count`: calls. `flops`: their FLOPs by input shapes: a multiply-add counts as two, and nothing is masked; null if
  the shapes of a call do not determine them.
- `kv_elements`: of attention, elements of the key and value inputs.
- `host_ns`, `device_ns`: their duration on the host, and that of the activities launched inside, ns.
",
};

type Key = (PhaseKind, Option<i32>, Option<String>, String, Option<(u64, u64)>);
type RankKey = (PhaseKind, Option<i32>, Opt<NameId>, NameId, Option<(u64, u64)>);

#[derive(Default)]
struct State {
    found: BTreeMap<Key, usize>,
    rows: Vec<ProductStat>,
}

#[derive(Clone, Copy)]
struct Sum {
    count: usize,
    flops: Option<u128>,
    kv_elements: u128,
    host_ns: i64,
    device_ns: i64,
    heads: Option<(u64, u64)>,
    dtypes: Opt<NameId>,
}

impl Sum {
    fn first(heads: Option<(u64, u64)>, dtypes: Opt<NameId>) -> Self {
        Sum { count: 0, flops: Some(0), kv_elements: 0, host_ns: 0, device_ns: 0, heads, dtypes }
    }
}

impl Fold for State {
    fn rank(&mut self, tables: &RankTables) {
        let ops = &tables.ops;
        let mut known: FastMap<(NameId, NameId), Option<ProductShape>> = FastMap::default();
        // Whether an operator is a product or stands in one: parents come before what is inside.
        let mut inside = vec![false; ops.len()];
        let mut order: Vec<(RankKey, Sum)> = Vec::new();
        let mut at: FastMap<RankKey, usize> = FastMap::default();
        for i in 0..ops.len() {
            let parent = ops.parent_id[i].get().and_then(|parent| inside.get(parent as usize).copied());
            if parent == Some(true) {
                inside[i] = true;
                continue;
            }
            let (Some(phase), Some(shapes)) =
                (tables.phase_kind(ops.phase_id[i].get()), ops.shapes_id[i].get())
            else {
                continue;
            };
            let name = ops.name_id[i];
            let made = *known
                .entry((name, shapes))
                .or_insert_with(|| product(tables.names.get(name), tables.names.get(shapes)));
            let Some(made) = made else { continue };
            inside[i] = true;
            let key = (phase, ops.layer[i].get(), ops.module_id[i], name, made.matrix);
            let slot = *at.entry(key).or_insert_with(|| {
                order.push((key, Sum::first(made.heads, ops.dtypes_id[i])));
                order.len() - 1
            });
            let sum = &mut order[slot].1;
            sum.count += 1;
            sum.flops = sum.flops.zip(made.flops).and_then(|(sum, more)| sum.checked_add(more));
            sum.kv_elements = sum.kv_elements.saturating_add(made.kv_elements);
            sum.host_ns = sum.host_ns.saturating_add(ops.dur_ns[i]);
            sum.device_ns = sum.device_ns.saturating_add(ops.device_ns[i]);
        }
        let mut parts = PartsByName::new(tables);
        for (key, sum) in order {
            self.add(tables, parts.of(key.2), key, sum);
        }
    }

    fn finish(self: Box<Self>, _earlier: &Findings) -> Option<Box<dyn Finding>> {
        (!self.rows.is_empty()).then(|| Box::new(Products(self.rows)) as Box<dyn Finding>)
    }
}

impl State {
    fn add(&mut self, tables: &RankTables, part: &'static str, key: RankKey, sum: Sum) {
        let (phase, layer, module, operator, matrix) = key;
        let module = module.get().map(|module| tables.names.get(module).to_owned());
        let operator = tables.names.get(operator).to_owned();
        let next = self.rows.len();
        let at = *self.found.entry((phase, layer, module.clone(), operator.clone(), matrix)).or_insert(next);
        if at == next {
            let dtypes = sum.dtypes.get().map_or(String::new(), |dtypes| tables.names.get(dtypes).to_owned());
            self.rows.push(ProductStat {
                phase,
                layer,
                module,
                part: part.into(),
                operator,
                matrix,
                heads: sum.heads,
                dtypes,
                count: 0,
                flops: Some(0),
                kv_elements: 0,
                host_ns: 0,
                device_ns: 0,
            });
        }
        let row = &mut self.rows[at];
        row.count += sum.count;
        row.flops = row.flops.zip(sum.flops).and_then(|(all, more)| all.checked_add(more));
        row.kv_elements = row.kv_elements.saturating_add(sum.kv_elements);
        row.host_ns = row.host_ns.saturating_add(sum.host_ns);
        row.device_ns = row.device_ns.saturating_add(sum.device_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Sample;

    #[test]
    fn the_outermost_product_of_each_module() {
        let mut sample = Sample::new(0);
        sample.range(1, 0, 1_000, "rooflens.decode[1]");
        sample.range(1, 10, 100, "module:model.layers.0.self_attn.q_proj");
        for (ts, dur, name, shapes) in [
            (20, 40, "aten::linear", "[[1, 1, 8], [4, 8], []]"),
            (25, 30, "aten::matmul", "[[1, 1, 8], [8, 4]]"),
            (70, 20, "aten::linear", "[[1, 3, 8], [4, 8], []]"),
            (200, 9, "aten::add", "[[1, 4], [1, 4]]"),
            (2_000, 9, "aten::mm", "[[1, 4], [4, 4]]"),
        ] {
            sample.op((1, ts, dur), name, None, (dur, 0), Some(shapes));
        }
        crate::facts::derive(&mut sample.tables);
        let Products(rows) = sample.find();
        let [row] = rows.as_slice() else { panic!("{rows:?}") };
        assert_eq!((row.phase, row.layer, &*row.part), (PhaseKind::Decode, Some(0), "attention.projections"));
        assert_eq!((row.operator.as_str(), row.matrix), ("aten::linear", Some((8, 4))));
        assert_eq!((row.count, row.flops, row.host_ns), (2, Some(2 * (1 + 3) * 8 * 4), 60));
    }
}
