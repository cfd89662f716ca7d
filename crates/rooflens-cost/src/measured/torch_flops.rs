//! Operations by the static model, beside those that torch's profiler counted in the same run.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::work::{RanWork, by_phase, computed};
use super::{Ran, RunPhase};
use crate::model::Model;
use crate::setup::Setup;

/// What torch's `with_flops` counted, as the workload wrote it.
#[derive(Debug, Clone, Deserialize)]
pub struct TorchFlops {
    pub(crate) rows: Vec<TorchRow>,
    /// Products that it has none for.
    pub(crate) uncounted: Vec<TorchRow>,
}

/// The calls of an operator with the same input shapes in a phase.
#[derive(Debug, Clone, Deserialize)]
pub struct TorchRow {
    /// `prefill`, `decode`, or `other` outside of both.
    pub(crate) phase: String,
    pub(crate) name: String,
    pub(crate) calls: u64,
    #[serde(default)]
    pub(crate) flops: u128,
}

/// The comparison.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct FlopsCheck {
    /// Each phase of the profiled round.
    pub phases: BTreeMap<RunPhase, PhaseCheck>,
    /// What is compared with what.
    pub rule: String,
    /// Whether the head is run for the `last` row of each sequence or for `all`.
    pub logits: String,
    /// What is null, and why.
    pub not_computed: BTreeMap<String, String>,
}

/// The comparison of a phase.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PhaseCheck {
    /// Forward passes.
    pub(crate) steps: u64,
    /// By the static model.
    pub static_flops: u128,
    /// By torch.
    pub torch_flops: u128,
    /// `static_flops` less `torch_flops`; null where torch left out products that cannot be named.
    pub difference: Option<i128>,
    /// Whether they are the same; null as above.
    pub(crate) equal: Option<bool>,
    /// What is compared, by class.
    pub(crate) compared: Vec<ClassFlops>,
    /// What torch does not count, by class.
    pub left_out: Vec<UncountedClass>,
    /// What torch counts beside matmuls.
    pub(crate) torch_left_out: Vec<TorchLeftOut>,
    /// What is null, and why.
    pub not_computed: BTreeMap<String, String>,
}

/// Operations of a class.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ClassFlops {
    /// The class, as `attn.qkv`.
    pub(crate) class: String,
    /// Its operations.
    pub(crate) flops: u128,
}

/// A class that torch does not count.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct UncountedClass {
    /// The class.
    pub class: String,
    /// Its operations by the static model.
    pub flops: u128,
    /// Why it is left out.
    pub reason: String,
}

/// An operator of torch's that is no matmul.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct TorchLeftOut {
    /// The operator.
    pub(crate) name: String,
    /// Calls.
    pub(crate) calls: u64,
    /// Operations by torch.
    pub(crate) flops: u128,
    /// Why it is left out.
    pub(crate) reason: String,
}

const RULE: &str = "Σ over the matrices of the profiled round, padding counted, nothing masked, compared \
                    with torch.profiler's with_flops of aten::mm, addmm, bmm, baddbmm and conv2d; a \
                    multiply-add counts as two";

const MATRIX_PRODUCTS: &[&str] = &["aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::conv2d"];

/// Which classes an operator is that torch has no formula for.
const UNCOUNTED: &[(&str, &[&str])] = &[
    ("aten::scaled_dot_product_attention", ATTENTION),
    ("flash_attn::_flash_attn_forward", ATTENTION),
    ("flash_attn::_flash_attn_varlen_forward", ATTENTION),
    ("flash_attn_3::fwd", ATTENTION),
    ("aten::_grouped_mm", &["moe.routed"]),
    ("aten::_scaled_grouped_mm", &["moe.routed"]),
    ("aten::conv3d", &["vision.patch"]),
    ("aten::conv1d", &["gdn.conv", "mamba.conv", "conv.core"]),
];

const ATTENTION: &[&str] = &["attn.core", "vision.core"];

/// Compares the operations of a profiled round. `all_logits`: the head was run for every row.
pub fn flops_check(
    model: &Model,
    setup: &Setup,
    ran: &[Ran],
    torch: &TorchFlops,
    all_logits: bool,
) -> FlopsCheck {
    let phases = by_phase(model, setup, None, ran).into_iter();
    let (phases, not_computed) = computed(
        phases.map(|(phase, work)| (phase, work.map(|work| of_phase(&work, phase, torch, all_logits)))),
    );
    let logits = if all_logits { "all" } else { "last" };
    FlopsCheck { phases, rule: RULE.to_owned(), logits: logits.to_owned(), not_computed }
}

fn of_phase(work: &RanWork, phase: RunPhase, torch: &TorchFlops, all_logits: bool) -> PhaseCheck {
    let of_phase = |row: &&TorchRow| row.phase == phase.as_str();
    let mut left_out_by: BTreeMap<&str, &str> = BTreeMap::new();
    let mut unnamed: BTreeMap<&str, u64> = BTreeMap::new();
    for row in torch.uncounted.iter().filter(of_phase) {
        match UNCOUNTED.iter().find(|(name, _)| *name == row.name) {
            Some((name, classes)) => left_out_by.extend(classes.iter().map(|class| (*class, *name))),
            None => *unnamed.entry(&row.name).or_default() += row.calls,
        }
    }
    let (mut compared, mut left_out) = (Vec::new(), Vec::new());
    for (class, flops) in &work.framework {
        let flops = if all_logits { flops.all_rows } else { flops.last_rows };
        if flops == 0 {
            continue;
        }
        match left_out_by.get(class) {
            None => compared.push(ClassFlops { class: (*class).to_owned(), flops }),
            Some(name) => left_out.push(UncountedClass {
                class: (*class).to_owned(),
                flops,
                reason: format!("not counted by torch: it has no formula for {name}"),
            }),
        }
    }
    let is_product = |row: &&TorchRow| MATRIX_PRODUCTS.contains(&row.name.as_str());
    let static_flops = compared.iter().map(|class| class.flops).sum::<u128>();
    let torch_flops =
        torch.rows.iter().filter(of_phase).filter(is_product).map(|row| row.flops).sum::<u128>();
    let difference = i128::try_from(static_flops).ok().zip(i128::try_from(torch_flops).ok());
    let difference = difference.filter(|_| unnamed.is_empty()).map(|(ours, theirs)| ours - theirs);
    let mut not_computed = BTreeMap::new();
    if difference.is_none() {
        let names: Vec<String> =
            unnamed.iter().map(|(name, calls)| format!("{name} ({calls} calls)")).collect();
        let reason =
            format!("torch has no formula for {}, and the part of the model is not known", names.join(", "));
        not_computed.insert("difference".to_owned(), reason.clone());
        not_computed.insert("equal".to_owned(), reason);
    }
    PhaseCheck {
        steps: work.steps,
        static_flops,
        torch_flops,
        difference,
        equal: difference.map(|difference| difference == 0),
        compared,
        left_out,
        torch_left_out: elementwise(torch.rows.iter().filter(of_phase).filter(|row| !is_product(row))),
        not_computed,
    }
}

fn elementwise<'a>(rows: impl Iterator<Item = &'a TorchRow>) -> Vec<TorchLeftOut> {
    let mut by_name: BTreeMap<&str, (u64, u128)> = BTreeMap::new();
    for row in rows {
        let (calls, flops) = by_name.entry(&row.name).or_default();
        *calls += row.calls;
        *flops += row.flops;
    }
    let row = |(name, (calls, flops)): (&str, (u64, u128))| TorchLeftOut {
        name: name.to_owned(),
        calls,
        flops,
        reason: "element-wise: not a matmul".to_owned(),
    };
    by_name.into_iter().map(row).collect()
}
