//! Copies between host and device that are fast already, and still keep the device waiting.

use crate::advice::case::{AdviceRule, Case, Draft, Range};
use crate::analyses::KernelStat;
use crate::ledger::Line;
use crate::sentence::percent;
use rooflens_schema::tables::ActivityKind;

pub(super) const RULE: AdviceRule = AdviceRule {
    name: "host_copies",
    about: "Time in which a device only copies to or from pinned host memory. Low: nothing, if every step waits \
         for its copy; high: all of it. No more than the kernels' time can be hidden; the rest must be \
         avoided. For pageable memory see pinned_copies.",
    judge,
    ..AdviceRule::DEPLOYMENT
};

fn judge(case: &Case<'_>) -> Result<Option<Draft>, String> {
    let moved: Vec<&KernelStat> =
        case.kernels().iter().filter(|row| row.kind == ActivityKind::Memcpy).collect();
    let all: i64 = moved.iter().map(|row| row.total_ns).sum();
    let own: Vec<&KernelStat> = moved.into_iter().filter(|row| is_pinned(&row.name)).collect();
    let ns: i64 = own.iter().map(|row| row.total_ns).sum();
    let copies = case.on(Line::Copies);
    if !case.is_device() || copies <= 0.0 || ns == 0 {
        return Ok(None);
    }
    let (copies, kernels) = (copies * ns as f64 / all as f64, case.kernels_ns());
    let title = match copies > kernels {
        true => format!(
            "Copy less between host and device: it takes {} of the time, more than the kernels that could hide it",
            percent(copies / case.phase.wall_ns as f64)
        ),
        false => "Hide copies between host and device behind compute".to_owned(),
    };
    let mut evidence = vec![
        case.row("copies of pinned memory with nothing else running", copies),
        case.row("kernels to hide them behind", kernels),
    ];
    evidence.extend(case.spent_in(own, ["copy", "copies"]));
    Ok(Some(Draft {
        title,
        gain_ns: Some(Range::new(0.0, copies)),
        acts_on_ns: copies,
        comes_first: false,
        evidence,
        computed: "up to all of it if the data stays on the device, at most the kernels' time if it is \
                   hidden"
            .to_owned(),
        change: "Find out what is copied: weights that are being loaded (record later) or offloaded (vLLM: \
                 --cpu-offload-gb; Accelerate: device_map) belong on the device; copy inputs of the next \
                 step on a separate stream while this one runs, with an event before their use"
            .to_owned(),
        risk: "Data that stays on the device uses device memory.".to_owned(),
    }))
}

fn is_pinned(name: &str) -> bool {
    (name.contains("HtoD") || name.contains("DtoH")) && !name.contains("Pageable")
}
