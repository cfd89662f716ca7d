//! Truth that was planted: what rules must say of it, and what they must not.

use rooflens_schema::tables::{ApiKind, GapCause, PhaseKind, PhaseSource};

use super::tests::{find, range, with_floor};
use super::*;
use crate::analyses::{GapHost, Gaps, Launches};
use crate::host_kind::HostKind;
use crate::sample::{FixedModel, Sample, findings, floor_source};

/// Steps of 1 ms, each a kernel of 900 µs by name, library and class.
fn busy_steps(kernels: &[(&str, Option<&str>, &str, i64)]) -> Findings {
    let mut sample = Sample::new(0);
    for i in 0..2 {
        sample.phase(i * 1_000_000, 1_000_000, "execute_context_0", PhaseKind::Decode, PhaseSource::Engine);
    }
    for i in 0..2 {
        let mut ts = i * 1_000_000;
        for (name, _, class, us) in kernels {
            sample.kernel(0, 7, ts, us * 1000, name, class).in_phase(i as i32);
            ts += us * 1000;
        }
    }
    for (name, library, _, _) in kernels {
        let dim = &mut sample.tables.kernel_dim;
        let row = dim.name.iter().position(|known| known == name).expect("a kernel");
        dim.library[row] = library.map(str::to_owned);
    }
    findings(&[sample.tables])
}

/// Gives every step an operator with a lower bound, at 1 GB/s.
fn with_work(mut found: Findings, operators: Vec<(&'static str, f64)>) -> Findings {
    let ledger = found.get_mut::<Ledger>().expect("kernels");
    ledger.join(floor_source(), &FixedModel(operators)).expect("steps");
    found
}

const OGS: (&str, Option<&str>, &str, i64) =
    ("_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1", Some("triton-kernels"), "moe", 700);

#[test]
fn expert_11_the_largest_line_has_advice_with_its_rate() {
    let steps = || busy_steps(&[OGS, ("_routing", Some("triton-kernels"), "moe", 50)]);
    // 150 µs at 1 GB/s in 700: 21 %.
    let list = advise(&with_work(steps(), vec![("moe.routed", 150_000.0)]), &RunContext::default());
    let first = &list.items[0];
    assert_eq!((&*first.rule, first.kind), ("moe_kernels", AdviceKind::Kernel));
    assert_eq!(
        first.title,
        "The largest MoE kernels (93% of the time of all MoE kernels) reach 21% of memory bandwidth (214 MB/s of 1.00 \
         GB/s): 550 µs of 750 µs per step is above their lower bound"
    );
    // At 80 % of the roof 187.5 µs are left of 700: 512.5 µs a step, and half of it.
    assert_eq!(first.step_gain_ns, range(256_250.0, 512_500.0));
    assert_eq!(first.acts_on_ns, 2.0 * 550_000.0);
    assert!(first.change.contains("opt_flags") && !first.change.contains("SGLang"), "{}", first.change);
    // Near the roof there is nothing to say.
    let list = advise(&with_work(steps(), vec![("moe.routed", 500_000.0)]), &RunContext::default());
    assert!(find(&list, "moe_kernels").is_none());
}

#[test]
fn expert_17_tuning_is_named_by_library_and_device() {
    let found = busy_steps(&[
        ("Cijk_Alik_Bljk_BBS", Some("hipblaslt"), "gemm", 600),
        ("fmha", None, "attention", 300),
    ]);
    let mut found = with_work(found, vec![("mlp", 200_000.0), ("attn.core", 100_000.0)]);
    found.get_mut::<Trace>().expect("a trace").hardware = vec!["AMD Instinct MI300X".to_owned()];
    let list = advise(&found, &RunContext::default());
    let gemm = find(&list, "gemm_kernels").expect("far from the roof");
    assert!(gemm.change.contains("PYTORCH_TUNABLEOP_ENABLED=1"), "{}", gemm.change);
    assert!(gemm.change.contains("HIPBLASLT_TUNING_OVERRIDE_FILE"), "{}", gemm.change);
    let attention = find(&list, "attention_kernels").expect("far from the roof");
    assert!(attention.change.contains("ROCM_AITER_FA") && !attention.change.contains("FLASHINFER"));
    // The same on an NVIDIA device without an engine.
    found.get_mut::<Trace>().expect("a trace").hardware = vec!["NVIDIA H100".to_owned()];
    let list = advise(&found, &RunContext { runtime: Some("pytorch".to_owned()), ..RunContext::default() });
    let gemm = find(&list, "gemm_kernels").expect("far from the roof");
    assert!(gemm.change.contains("max-autotune") && !gemm.change.contains("TUNABLEOP"), "{}", gemm.change);
}

#[test]
fn expert_12_a_compiled_model_is_not_to_be_compiled() {
    let found = busy_steps(&[
        ("triton_poi_fused__to_copy_1", Some("inductor"), "elementwise", 400),
        ("triton_poi_fused_constant_pad_nd_moe_forward_0", Some("inductor"), "copy", 400),
    ]);
    let list = advise(&found, &RunContext::default());
    assert!(find(&list, "fusion").is_none() && find(&list, "copy_operators").is_none(), "{:?}", list.items);
    // The same as PyTorch's own kernels.
    let found =
        busy_steps(&[("add", Some("aten"), "elementwise", 400), ("copy_", Some("aten"), "copy", 400)]);
    let list = advise(&found, &RunContext::default());
    assert!(find(&list, "fusion").is_some() && find(&list, "copy_operators").is_some());
    // What an engine fused by hand stays.
    let found = busy_steps(&[("act_and_mul_kernel", Some("sglang"), "activation", 400), OGS]);
    assert!(find(&advise(&found, &RunContext::default()), "fusion").is_none());
}

#[test]
fn quantised_weights_are_not_to_be_quantised() {
    let (mut found, around) = with_floor(GapCause::Dispatch);
    let has = |found: &Findings| find(&advise(found, &around), "weight_quantisation").is_some();
    assert!(has(&found));
    let rows = &mut found.get_mut::<crate::analyses::Kernels>().expect("kernels").0;
    rows[0].name = "marlin::Marlin<…>".to_owned();
    assert!(!has(&found));
    let list = advise(&found, &around);
    assert!(list.not_computed["weight_quantisation"].starts_with("weights are quantised already"));
}

/// Ten steps of a kernel of 25 µs after 75 µs, 60 of which the launching thread is in an operator.
fn eager_steps() -> Sample {
    let mut sample = Sample::new(0);
    for i in 0..10 {
        let ts = i * 100_000;
        sample.phase(ts, 100_000, "execute_context_1(888_0)", PhaseKind::Prefill, PhaseSource::Engine);
        sample.op((1, ts + 10_000, 60_000), "aten::addmm", None, (60_000, 0), None);
        sample.api(1, ts + 60_000, 5_000, "cudaLaunchKernel", ApiKind::Launch, Some(i));
    }
    for i in 0..10 {
        sample.kernel(0, 7, i * 100_000 + 75_000, 25_000, "k", "gemm").in_phase(i as i32).launched(i, 0, 0);
        if i > 0 {
            sample.idle(75_000, GapCause::CpuBound);
        }
        sample.tables.phases.prefill_tokens[i as usize] = rooflens_schema::Opt::some(888);
    }
    sample
}

#[test]
fn expert_14_time_inside_eager_operators_is_for_graphs() {
    let mut found = findings(&[eager_steps().tables]);
    let list = advise(&found, &RunContext::default());
    let first = &list.items[0];
    assert_eq!((&*first.rule, &*first.phase), ("cuda_graphs", "prefill"));
    // 9 gaps: 60 of 75 µs inside operators; 10 activities at 2 and at 0.5 µs.
    assert_eq!(first.gain_ns, range(540_000.0 - 20_000.0, 675_000.0 - 5_000.0));
    assert!(
        first.change.contains("piecewise") && first.change.contains("512") && first.change.contains("888")
    );
    // The host's own code is what is left: 15 µs of each.
    let own = find(&list, "host_code").expect("the rest");
    assert_eq!(own.acts_on_ns, 135_000.0);
    // Where graphs are replayed already, nothing is to be captured.
    found.get_mut::<Launches>().expect("calls").graph_activities = 10;
    assert!(find(&advise(&found, &RunContext::default()), "cuda_graphs").is_none());
}

#[test]
fn titles_tell_phases_apart() {
    // 100 µs of elementwise work in a step, and as much after it.
    let mut sample = Sample::new(0);
    sample.phase(0, 100_000, "ProfilerStep#0", PhaseKind::Step, PhaseSource::ProfilerStep);
    sample.kernel(0, 7, 0, 100_000, "add", "elementwise").in_phase(0);
    sample.kernel(0, 7, 100_000, 100_000, "add", "elementwise");
    let list = advise(&findings(&[sample.tables]), &RunContext::default());
    let fusion = list.items.iter().filter(|advice| advice.rule == "fusion");
    let mut titles: Vec<&str> = fusion.map(|advice| advice.title.as_str()).collect();
    titles.sort_unstable();
    let both = ["in steps", "outside steps"]
        .map(|place| format!("Fuse elementwise work into the kernels around it, {place}"));
    assert_eq!(titles, both);
}

#[test]
fn collectives_are_told_the_shorter_time_first() {
    let mut sample = Sample::new(0);
    sample.kernel(0, 7, 0, 25_000, "ncclDevKernel_AllReduce", "communication");
    let list = advise(&findings(&[sample.tables]), &RunContext::default());
    let small = find(&list, "small_collectives").expect("25 µs exposed");
    assert_eq!(small.computed, "their exposed time minus 8.00 µs to 15.0 µs per call");
}

#[test]
fn vllm_captures_larger_batches_of_gpt_oss() {
    let mut sample = eager_steps();
    sample.frame(1, 0, 1_000, "vllm/model_executor/models/gpt_oss.py(179): forward");
    let list = advise(&findings(&[sample.tables]), &RunContext::default());
    let change = &find(&list, "cuda_graphs").expect("idle time").change;
    // 888 tokens are within the 1,024 of gpt-oss.
    assert!(change.contains("piecewise") && !change.contains("512") && !change.contains("888"), "{change}");
}

#[test]
fn attention_stays_outside_of_graphs_in_pieces() {
    let mut sample = eager_steps();
    sample.tables.ops = Default::default();
    for i in 0..10 {
        let ts = i * 100_000 + 10_000;
        sample.op((1, ts, 60_000), "aten::addmm", None, (60_000, 0), None);
        sample.op((1, ts + 10_000, 10_000), "vllm::unified_attention_with_output", None, (10_000, 0), None);
    }
    let mut found = findings(&[sample.tables]);
    let list = advise(&found, &RunContext::default());
    let graphs = find(&list, "cuda_graphs").expect("idle time");
    // 9 gaps with 10 µs in attention: 90 µs less than without.
    assert_eq!(graphs.gain_ns, range(450_000.0 - 20_000.0, 585_000.0 - 5_000.0));
    assert!(graphs.evidence[3].starts_with("idle inside attention operators"), "{:?}", graphs.evidence);
    // PyTorch captures no pieces, and no synchronisation.
    found.get_mut::<crate::analyses::LateHost>().expect("gaps").0[0].sync_calls = 20;
    let around = RunContext { runtime: Some("pytorch".to_owned()), ..RunContext::default() };
    let list = advise(&found, &around);
    let graphs = find(&list, "cuda_graphs").expect("idle time");
    assert_eq!(graphs.gain_ns, range(540_000.0 - 20_000.0, 675_000.0 - 5_000.0));
    assert!(graphs.risk.starts_with("Needs the 2 synchronisations per step"), "{}", graphs.risk);
}

#[test]
fn newcomer_09_gains_are_in_the_time_without_the_profiler() {
    let found = findings(&[eager_steps().tables]);
    // 100 µs a step in the trace, median; 10 µs without the profiler.
    let unprofiled = vec![UnprofiledSteps { phase: "prefill", step_ns: 10_000.0 }];
    let around = RunContext { unprofiled, ..RunContext::default() };
    let list = advise(&found, &around);
    assert_eq!((list.unprofiled.len(), list.unprofiled[0].ratio), (1, 10.0));
    let first = &list.items[0];
    assert_eq!((&*first.rule, first.kind, first.gain_ns), ("profiler_overhead", AdviceKind::Recording, None));
    assert_eq!(first.title, "Record fewer details: the profiler made a prefill step take 10.0 times as long");
    let graphs = find(&list, "cuda_graphs").expect("idle time");
    assert_eq!(graphs.gain_share, range(520.0 / 925.0, 670.0 / 925.0));
    assert_eq!(graphs.step_gain_ns, range(5_200.0, 6_700.0));
    for advice in &list.items {
        assert!(advice.step_gain_ns.is_none_or(|gain| gain.high <= 10_000.0), "{}", advice.rule);
    }
    // A profiler that costs little is not warned of.
    let unprofiled = vec![UnprofiledSteps { phase: "prefill", step_ns: 80_000.0 }];
    let list = advise(&found, &RunContext { unprofiled, ..RunContext::default() });
    assert!(find(&list, "profiler_overhead").is_none());
}

#[test]
fn expert_17_python_stacks_are_the_first_thing_to_remove() {
    let mut sample = eager_steps();
    // 4,000 functions on the launching thread, all but those beside kernels while the device waits 675 µs.
    for i in 0..4_000 {
        sample.frame(1, i * 250, 200, "model.py(1): forward");
    }
    let list = advise(&findings(&[sample.tables]), &RunContext::default());
    let first = &list.items[0];
    assert_eq!((&*first.rule, first.gain_ns, first.acts_on_ns), ("profiler_overhead", None, 675_000.0));
    assert!(first.change.contains("with_stack=False"));
}

#[test]
fn expert_17_a_warm_up_is_recorded() {
    let mut sample = eager_steps();
    sample.api(2, 0, 600_000, "cuModuleLoadData", ApiKind::Other, None);
    let list = advise(&findings(&[sample.tables]), &RunContext::default());
    assert_eq!((&*list.items[0].rule, list.items[0].kind), ("warmup_step", AdviceKind::Recording));
}

#[test]
fn expert_17_compilation_is_the_recordings_and_not_the_hosts_own_code() {
    let mut sample = eager_steps();
    sample.tables.ops = Default::default();
    let mut found = findings(&[sample.tables]);
    let gaps = &mut found.get_mut::<Gaps>().expect("idle time").0;
    let late = gaps.iter_mut().find(|gap| gap.cause == GapCause::CpuBound).expect("a late host");
    // Eight of nine gaps were spent on compilation.
    late.hosts = vec![GapHost {
        name: Some("nvrtcCompileProgram".to_owned()),
        kind: Some(HostKind::Compilation),
        count: 8,
        idle_ns: 600_000,
        covered_ns: 600_000,
        share: 600.0 / 675.0,
    }];
    let list = advise(&found, &RunContext::default());
    assert_eq!((&*list.items[0].rule, list.items[0].acts_on_ns), ("warmup_step", 600_000.0));
    // What is left: 75 µs, less the launches inside.
    let own = find(&list, "host_code").expect("the rest");
    assert!(own.acts_on_ns <= 75_000.0, "{}", own.acts_on_ns);
}

#[test]
fn newcomer_17_only_options_that_the_runtime_has() {
    let of = |runtime: &str| {
        let around = RunContext { runtime: Some(runtime.to_owned()), ..RunContext::default() };
        let list = advise(&busy_steps(&[("add", Some("aten"), "elementwise", 400)]), &around);
        find(&list, "fusion").expect("elementwise work").change.clone()
    };
    assert!(of("pytorch").contains("runtime.compile=true"));
    assert_eq!(
        of("vllm"),
        "vLLM: drop --enforce-eager, so that the model is compiled; in this project: runtime.enforce_eager=false"
    );
}

#[test]
fn expert_16_more_devices_pay_for_their_collectives() {
    let (found, mut around) = with_floor(GapCause::Dispatch);
    let mut other = around.alternatives[0].clone();
    other.rule = "tensor_parallel";
    // The lower bound falls by 40 µs, kernels by 100 at most; 4 collectives take 20 to 80.
    other.collectives = 4.0;
    around.alternatives.push(other);
    let list = advise(&found, &around);
    let advice = find(&list, "tensor_parallel").expect("it may pay");
    assert_eq!((advice.gain_ns, advice.expected_ns), (None, 40_000.0));
    assert!(
        advice.evidence.iter().any(|line| line.contains("collectives per step")),
        "{:?}",
        advice.evidence
    );
}

#[test]
fn pinned_copies_are_left_alone() {
    let copies = |name: &str| {
        let mut sample = Sample::new(0);
        sample.kernel(0, 7, 0, 50_000, "k", "gemm");
        sample.memcpy(0, 7, 50_000, 50_000, name);
        find(&advise(&findings(&[sample.tables]), &RunContext::default()), "pinned_copies").is_some()
    };
    assert!(copies("Memcpy HtoD (Pageable -> Device)"));
    assert!(!copies("Memcpy HtoD (Pinned -> Device)") && !copies("Memcpy DtoD (Device -> Device)"));
}

#[test]
fn no_gain_is_larger_than_what_it_acts_on() {
    let (found, around) = with_floor(GapCause::LaunchBound);
    let (quiet, also) = with_floor(GapCause::Dispatch);
    let eager = findings(&[eager_steps().tables]);
    for list in [advise(&found, &around), advise(&quiet, &also), advise(&eager, &RunContext::default())] {
        assert!(!list.items.is_empty());
        for advice in &list.items {
            let Some(gain) = advice.gain_ns else { continue };
            assert!(0.0 <= gain.low && gain.low <= gain.high, "{}: {gain:?}", advice.rule);
            assert!(
                gain.high <= advice.acts_on_ns && gain.high <= WIDEST * gain.low,
                "{}: {gain:?}",
                advice.rule
            );
        }
    }
}
