//! Which parts of the model take the time of each phase?

use std::borrow::Cow;
use std::collections::BTreeMap;

use rooflens_schema::RankTables;
use rooflens_schema::tables::PhaseKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::{Analysis, Finding, FindingType, Findings, Fold};
use crate::part::PartsByName;

/// Time by phase and part of the model, the phase with the most host time first.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Parts(pub Vec<PartsOfPhase>);

/// The time of all phases of a kind.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PartsOfPhase {
    /// What the phases do.
    pub phase: PhaseKind,
    /// Operators.
    pub(crate) operators: usize,
    /// Host time of operators, each less what is inside: the sum of the parts.
    pub self_ns: i64,
    /// Device activities.
    pub activities: usize,
    /// Sum of their durations: the sum of the parts.
    pub device_ns: i64,
    /// By part, most host time first. `other` has no module name.
    pub parts: Vec<PartStat>,
}

/// The time of a part of the model.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct PartStat {
    /// The part, as `attention.core`.
    pub part: Cow<'static, str>,
    /// Operators in its modules.
    pub(crate) operators: usize,
    /// Their host time, each less what is inside.
    pub self_ns: i64,
    /// Device activities launched in its modules.
    pub activities: usize,
    /// Sum of their durations.
    pub device_ns: i64,
}

pub(super) const ANALYSIS: Analysis = Analysis {
    name: "parts",
    question: "Which parts of the model take the time of each phase?",
    needs: "operators or device activity inside phases",
    is_special: false,
    finding: FindingType::list::<Parts>(),
    start: || Box::new(State::default()),
    explain: "\
Time by kind of phase and part of the model, all ranks together. A part is recognised by the path of the innermost
module around an operator or a launch: `self_attn.q_proj` is `attention.projections`, what else runs in `self_attn`
is `attention.core`, `experts` and `gate` are `moe`, and what runs in a layer outside of its modules, the residual
stream, is `norm`. Everything else is `other`.

- `phase`: what the phases do. Operators and activities outside of phases are left out.
- `operators`, `activities`: how many.
- `self_ns`: host time less that of the operators directly inside, ns. The parts add up to the phase.
- `device_ns`: sum of the activities' durations, ns. The parts add up to the phase.
",
};

#[derive(Default)]
struct State {
    sums: BTreeMap<(PhaseKind, &'static str), PartStat>,
}

impl Fold for State {
    fn rank(&mut self, tables: &RankTables) {
        let (ops, kernels, phases) = (&tables.ops, &tables.kernels, &tables.phases);
        let mut parts = PartsByName::new(tables);
        for i in 0..ops.len() {
            let Some(phase) = ops.phase_id[i].get() else { continue };
            let sum = self.sums.entry((phases.kind[phase as usize], parts.of(ops.module_id[i]))).or_default();
            sum.operators += 1;
            sum.self_ns = sum.self_ns.saturating_add(ops.dur_ns[i].saturating_sub(ops.inside_ns[i]));
        }
        for i in 0..kernels.len() {
            let Some(phase) = kernels.phase_id[i].get() else { continue };
            let part = parts.of(kernels.module_id[i]);
            let sum = self.sums.entry((phases.kind[phase as usize], part)).or_default();
            sum.activities += 1;
            sum.device_ns = sum.device_ns.saturating_add(kernels.dur_ns[i]);
        }
    }

    fn finish(self: Box<Self>, _earlier: &Findings) -> Option<Box<dyn Finding>> {
        let mut found: Vec<PartsOfPhase> = Vec::new();
        for ((phase, part), sum) in self.sums {
            if found.last().is_none_or(|last| last.phase != phase) {
                let empty = PartsOfPhase {
                    phase,
                    operators: 0,
                    self_ns: 0,
                    activities: 0,
                    device_ns: 0,
                    parts: vec![],
                };
                found.push(empty);
            }
            let Some(last) = found.last_mut() else { continue };
            last.operators += sum.operators;
            last.self_ns = last.self_ns.saturating_add(sum.self_ns);
            last.activities += sum.activities;
            last.device_ns = last.device_ns.saturating_add(sum.device_ns);
            last.parts.push(PartStat { part: part.into(), ..sum });
        }
        // Stable, and the map was in order: ties stay by name.
        let most = |self_ns: i64, device_ns: i64| (std::cmp::Reverse(self_ns), std::cmp::Reverse(device_ns));
        for phase in &mut found {
            phase.parts.sort_by_key(|part| most(part.self_ns, part.device_ns));
        }
        found.sort_by_key(|phase| most(phase.self_ns, phase.device_ns));
        (!found.is_empty()).then(|| Box::new(Parts(found)) as Box<dyn Finding>)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::OTHER;
    use crate::sample::Sample;

    #[test]
    fn self_time_is_dealt_out_and_nothing_is_lost() {
        let mut sample = Sample::new(0);
        for (ts, dur, name) in [
            (0, 1_000, "rooflens.prefill"),
            (10, 100, "module:model.embed_tokens"),
            (200, 300, "module:model.layers.0.mlp"),
            (250, 100, "module:model.layers.0.mlp.experts"),
            (2_000, 100, "rooflens.decode[1]"),
            (2_010, 50, "module:lm_head"),
        ] {
            sample.range(1, ts, dur, name);
        }
        for (ts, dur, name) in [
            (20, 40, "aten::embedding"),
            (210, 30, "aten::view"),
            (260, 80, "aten::_grouped_mm"),
            (270, 60, "aten::mm"),
            (600, 7, "aten::argmax"),
            (1_500, 400, "outside of phases"),
            (2_020, 11, "aten::linear"),
        ] {
            sample.op((1, ts, dur), name, None, (dur, 0), None);
        }
        crate::facts::derive(&mut sample.tables);
        let Parts(phases) = sample.find();
        let prefill = &phases[0];
        let rows: Vec<_> =
            prefill.parts.iter().map(|part| (&*part.part, part.operators, part.self_ns)).collect();
        // 20 of the grouped product itself, 60 inside it, and 30 in the block that has experts.
        assert_eq!(rows, [("moe", 3, 110), ("embedding", 1, 40), (OTHER, 1, 7)]);
        assert_eq!((prefill.phase, prefill.self_ns), (PhaseKind::Prefill, 157));
        assert_eq!((phases[1].phase, phases[1].self_ns), (PhaseKind::Decode, 11));
        assert_eq!(phases[1].parts[0].part, "lm_head");
        assert_eq!(
            sample.tables.names.get(sample.tables.ops.module_id[2].get().unwrap()),
            "model.layers.0.mlp.experts"
        );
        assert_eq!(sample.tables.ops.layer[2].get(), Some(0));
    }
}
