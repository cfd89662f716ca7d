//! Spare copies and casts.

use crate::advice::case::{AdviceRule, Case, Draft, Range};
use crate::advice::engine::{Engine, is_eager};
use crate::analyses::KernelStat;
use crate::kernel_catalog::KernelClass;
use crate::ledger::of_operator;

pub(super) const RULE: AdviceRule = AdviceRule {
    name: "copy_operators",
    about: "Time of PyTorch's own kernels that only copy, concatenate or pad, or, on a CPU, of its operators \
         that do or cast; a kernel that casts is elementwise work, see `fusion`. Low: half of it; high: all \
         of it. Copies that a compiler generated, or that an engine uses to pad its operands, are not \
         counted: changing the model's code does not avoid them.",
    judge,
    ..AdviceRule::DEPLOYMENT
};

fn judge(case: &Case<'_>) -> Result<Option<Draft>, String> {
    let copies = match case.is_device() {
        true => case.kernels_where(&[KernelClass::Copy], is_eager),
        false => case.classes_ns(&[KernelClass::Copy]),
    };
    if copies <= 0.0 {
        return Ok(None);
    }
    let what = if case.is_device() { "copies" } else { "copies and casts" };
    let mut evidence = vec![case.row(what, copies)];
    let mut first = None;
    if case.is_device() {
        let own = |row: &&KernelStat| row.class == KernelClass::Copy.as_str() && is_eager(row);
        for row in case.kernels().iter().filter(own).take(3) {
            evidence.push(case.spent(&row.short_name, row.total_ns, row.count, ["launch", "launches"]));
            first.get_or_insert(&row.short_name);
        }
    } else {
        for row in case.operators().iter().filter(|row| of_operator(&row.name) == KernelClass::Copy).take(3) {
            let shape =
                row.shapes.first().map_or(String::new(), |shape| format!(", most with {}", shape.shapes));
            evidence.push(case.spent(&row.name, row.self_ns, row.count, ["call", "calls"]) + &shape);
            first.get_or_insert(&row.name);
        }
    }
    let name = first.map_or(String::new(), |name| format!(": `{name}`"));
    Ok(Some(Draft {
        title: format!("Avoid {what}{name}"),
        gain_ns: Some(Range::new(copies / 2.0, copies)),
        acts_on_ns: copies,
        comes_first: false,
        evidence,
        computed: "half of that time, up to all of it".to_owned(),
        change: match case.engine() {
            Some(Engine::Vllm | Engine::Sglang) => {
                "Look for .contiguous(), .clone(), .to(dtype) and slices of fused projections (QKV) that are copied before \
                 a kernel in the model's code: the modules above them in a trace with stacks name the place"
                    .to_owned()
            }
            _ => "Look for .contiguous(), .clone(), .to(dtype), torch.cat and repeat_kv in the model; write caches in \
                  place (a static cache); keep one format throughout"
                .to_owned(),
        },
        risk: "A copy may be needed to keep two users of a tensor apart.".to_owned(),
    }))
}
