//! Plans of the configs that `rooflens init` writes: every profiling option, every runtime.

use std::path::{Path, PathBuf};

use rooflens_collect::plan::{PlannedStep, RunFolders, StepWork};
use rooflens_collect::{PlanError, RunPlan, plan};
use rooflens_compose::clock::LocalTime;
use rooflens_compose::sources::{ConfigSource, SearchPath};
use rooflens_compose::{ComposeRequest, Composer, Host};

fn skeleton() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../rooflens-collect/skeleton/conf")
}

fn planned(overrides: &[&str]) -> Result<RunPlan, PlanError> {
    let composer = Composer::new(SearchPath::new(ConfigSource::folder(skeleton())))
        .with_host(Host::fixed(LocalTime::from_unix(0, 0, 0)));
    let made = composer.compose(&ComposeRequest::new("config", overrides.iter().copied())).unwrap();
    plan(&made.resolved().unwrap())
}

fn wrong_setting(overrides: &[&str]) -> PlanError {
    planned(overrides).unwrap_err()
}

/// Each step in a line or two: what would be started.
fn told(plan: &RunPlan) -> String {
    let mut lines = Vec::new();
    for step in &plan.steps {
        let json = serde_json::to_value(step).unwrap();
        let list = |key: &str| {
            let words = json[key].as_array().unwrap();
            words.iter().map(|word| word.as_str().unwrap()).collect::<Vec<_>>().join(" ")
        };
        match &step.work {
            StepWork::Process(command) => {
                let pass = &command.writes[0].content["pass"];
                lines.push(format!("{} (pass {}): {}", step.name, pass.as_str().unwrap(), list("argv")));
                lines.push(format!("  leaves {}", list("expects")));
            }
            StepWork::Static(work) => lines.push(format!(
                "{}: {} on {:?}, batch {:?}, context {:?}",
                step.name,
                json["model"].as_str().unwrap(),
                work.hardware,
                work.batch_sizes,
                work.contexts
            )),
        }
    }
    lines.join("\n")
}

#[test]
fn every_profiling_option() {
    insta::assert_snapshot!(told(&planned(&[]).unwrap()), @r#"
    measure (pass measure): python -m rooflens.workload $RUN/raw/measure/spec.json
      leaves raw/measure/events.jsonl raw/measure/steps.csv raw/measure/requests.jsonl raw/measure/tokens.jsonl
    torch_profiler (pass torch_profiler): python -m rooflens.workload $RUN/raw/torch_profiler/spec.json
      leaves raw/torch_profiler/events.jsonl raw/torch_profiler/steps.csv raw/torch_profiler/requests.jsonl raw/torch_profiler/tokens.jsonl raw/torch_profiler/trace.json.gz
    static_analysis: $PROJECT/models/tiny-random on None, batch [1], context []
    "#);
    insta::assert_snapshot!(told(&planned(&["profiling=roofline-only", "hardware=h100"]).unwrap()), @r#"
    static_analysis: $PROJECT/models/tiny-random on Some("H100"), batch [1, 4, 16, 64, 256], context [512, 1024, 2048]
    "#);
    insta::assert_snapshot!(told(&planned(&["profiling=nsys"]).unwrap()), @r#"
    measure (pass measure): python -m rooflens.workload $RUN/raw/measure/spec.json
      leaves raw/measure/events.jsonl raw/measure/steps.csv raw/measure/requests.jsonl raw/measure/tokens.jsonl
    nsys (pass nsys): nsys profile --session-new=rooflens-%q{ROOFLENS_SESSION} --trace=cuda,nvtx,osrt --sample=none --cpuctxsw=none --cuda-graph-trace=node --capture-range=nvtx --nvtx-capture=rooflens.capture@* --capture-range-end=stop --export=sqlite --force-overwrite=true --output $RUN/raw/nsys/report python -m rooflens.workload $RUN/raw/nsys/spec.json
      leaves raw/nsys/events.jsonl raw/nsys/steps.csv raw/nsys/requests.jsonl raw/nsys/tokens.jsonl raw/nsys/report.nsys-rep raw/nsys/report.sqlite
    static_analysis: $PROJECT/models/tiny-random on None, batch [1], context []
    "#);
    insta::assert_snapshot!(
        told(&planned(&["profiling=nsys", "runtime=vllm", "pipeline/nsys=whole"]).unwrap()), @r#"
    measure (pass measure): python -m rooflens.workload $RUN/raw/measure/spec.json
      leaves raw/measure/events.jsonl raw/measure/steps.csv raw/measure/requests.jsonl raw/measure/tokens.jsonl
    nsys (pass nsys): nsys profile --session-new=rooflens-%q{ROOFLENS_SESSION} --trace=cuda,nvtx,osrt --sample=none --cpuctxsw=none --cuda-graph-trace=node --export=sqlite --force-overwrite=true --output $RUN/raw/nsys/report python -m rooflens.workload $RUN/raw/nsys/spec.json
      leaves raw/nsys/events.jsonl raw/nsys/steps.csv raw/nsys/requests.jsonl raw/nsys/tokens.jsonl raw/nsys/report.nsys-rep raw/nsys/report.sqlite
    static_analysis: $PROJECT/models/tiny-random on None, batch [8], context []
    "#);
    insta::assert_snapshot!(told(&planned(&["profiling=ncu", "pipeline.ncu.metrics=[dram__bytes.sum]"]).unwrap()), @r#"
    measure (pass measure): python -m rooflens.workload $RUN/raw/measure/spec.json
      leaves raw/measure/events.jsonl raw/measure/steps.csv raw/measure/requests.jsonl raw/measure/tokens.jsonl
    nsys (pass nsys): nsys profile --session-new=rooflens-%q{ROOFLENS_SESSION} --trace=cuda,nvtx,osrt --sample=none --cpuctxsw=none --cuda-graph-trace=node --capture-range=nvtx --nvtx-capture=rooflens.capture@* --capture-range-end=stop --export=sqlite --force-overwrite=true --output $RUN/raw/nsys/report python -m rooflens.workload $RUN/raw/nsys/spec.json
      leaves raw/nsys/events.jsonl raw/nsys/steps.csv raw/nsys/requests.jsonl raw/nsys/tokens.jsonl raw/nsys/report.nsys-rep raw/nsys/report.sqlite
    ncu (pass ncu): ncu --log-file stderr --config-file no --target-processes all --section SpeedOfLight --section SpeedOfLight_RooflineChart --section MemoryWorkloadAnalysis --section Occupancy --metrics dram__bytes.sum --clock-control base --print-units base --import-source no --nvtx --nvtx-include rooflens.capture/ --kernel-name-base demangled --kernel-id $(cat $RUN/raw/ncu/kernels.txt) --force-overwrite --export $RUN/raw/ncu/report python -m rooflens.workload $RUN/raw/ncu/spec.json
      leaves raw/ncu/events.jsonl raw/ncu/steps.csv raw/ncu/requests.jsonl raw/ncu/tokens.jsonl raw/ncu/report.ncu-rep
    static_analysis: $PROJECT/models/tiny-random on None, batch [1], context []
    "#);
    let alone = ["profiling=ncu", "runtime=vllm", "pipeline.nsys.enable=false"];
    insta::assert_snapshot!(told(&planned(&alone).unwrap()), @r#"
    measure (pass measure): python -m rooflens.workload $RUN/raw/measure/spec.json
      leaves raw/measure/events.jsonl raw/measure/steps.csv raw/measure/requests.jsonl raw/measure/tokens.jsonl
    ncu (pass ncu): ncu --log-file stderr --config-file no --target-processes all --section SpeedOfLight --section SpeedOfLight_RooflineChart --section MemoryWorkloadAnalysis --section Occupancy --clock-control base --print-units base --import-source no --profile-from-start no --launch-count 60 --force-overwrite --export $RUN/raw/ncu/report python -m rooflens.workload $RUN/raw/ncu/spec.json
      leaves raw/ncu/events.jsonl raw/ncu/steps.csv raw/ncu/requests.jsonl raw/ncu/tokens.jsonl raw/ncu/report.ncu-rep
    static_analysis: $PROJECT/models/tiny-random on None, batch [8], context []
    "#);
    let off = ["profiling=full", "pipeline.nsys.enable=false", "pipeline.ncu.enable=false"];
    insta::assert_snapshot!(told(&planned(&off).unwrap()), @r#"
    measure (pass measure): python -m rooflens.workload $RUN/raw/measure/spec.json
      leaves raw/measure/events.jsonl raw/measure/steps.csv raw/measure/requests.jsonl raw/measure/tokens.jsonl
    torch_profiler (pass torch_profiler): python -m rooflens.workload $RUN/raw/torch_profiler/spec.json
      leaves raw/torch_profiler/events.jsonl raw/torch_profiler/steps.csv raw/torch_profiler/requests.jsonl raw/torch_profiler/tokens.jsonl raw/torch_profiler/trace.json.gz
    direct_inference (pass predict): python -m rooflens.workload $RUN/raw/direct_inference/spec.json
      leaves raw/direct_inference/events.jsonl raw/direct_inference/steps.csv raw/direct_inference/requests.jsonl raw/direct_inference/tokens.jsonl raw/direct_inference/predictions.jsonl
    static_analysis: $PROJECT/models/tiny-random on None, batch [1, 4, 16, 64, 256], context [512, 1024, 2048]
    "#);
}

/// The words of a step that starts a process.
fn argv(plan: &RunPlan, step: &str) -> Vec<String> {
    let steps = serde_json::to_value(&plan.steps).unwrap();
    let step = steps.as_array().unwrap().iter().find(|found| found["name"] == step).unwrap().clone();
    step["argv"].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
}

#[test]
fn parity_030_free_nsys_arguments_stand_before_the_program() {
    let wished = "pipeline.nsys.args=['--cuda-memory-usage=true','--delay=5']";
    let plan = planned(&["profiling=nsys", wished]).unwrap();
    let words = argv(&plan, "nsys");
    let at = words.iter().position(|word| word == "--cuda-memory-usage=true").unwrap();
    assert_eq!(words[at + 1], "--delay=5");
    assert!(words.iter().position(|word| word == "python").unwrap() > at + 1);
    assert!(plan.to_json().contains("--cuda-memory-usage=true"), "recorded in plan.json");
    for (arg, why) in [
        ("--output=x", "Rooflens sets the report"),
        ("--outp=x", "it abbreviates --output"),
        ("-o", "by its long name"),
        ("x", "would be taken for the program"),
        ("--trace=cuda", "pipeline.nsys.trace"),
    ] {
        let error = wrong_setting(&["profiling=nsys", &format!("pipeline.nsys.args=['{arg}']")]);
        let told = error.to_string();
        assert!(
            told.starts_with(&format!("pipeline.nsys.args has '{arg}': ")) && told.contains(why),
            "{told}"
        );
        assert!(error.place.is_some());
    }
}

#[test]
fn parity_031_sets_and_arguments_of_ncu() {
    let wished = ["profiling=ncu", "pipeline.ncu.set=full", "pipeline.ncu.args=['--cache-control=none']"];
    let kernel = "pipeline.ncu.kernel=['^void (gemm|attn)::',flash]";
    insta::assert_snapshot!(
        argv(&planned(&[&wished[..], &[kernel, "pipeline.nsys.enable=false"]].concat()).unwrap(), "ncu").join(" "),
        @r"ncu --log-file stderr --config-file no --target-processes all --set full --section SpeedOfLight --section SpeedOfLight_RooflineChart --section MemoryWorkloadAnalysis --section Occupancy --clock-control base --print-units base --import-source no --nvtx --nvtx-include rooflens.capture/ --launch-count 60 --kernel-name-base demangled --kernel-name regex:(^void (gemm|attn)\x3a\x3a)|(flash) --cache-control=none --force-overwrite --export $RUN/raw/ncu/report python -m rooflens.workload $RUN/raw/ncu/spec.json"
    );
    // With a timeline the launches are chosen by it: the expressions are in the specification.
    let plan = planned(&[&wished[..], &[kernel]].concat()).unwrap();
    let words = argv(&plan, "ncu");
    assert!(!words.iter().any(|word| word == "--kernel-name"), "{words:?}");
    assert!(plan.to_json().contains("^void (gemm|attn)::"));
    let places = RunFolders { run: "/p/runs/r".into(), project: "/p".into(), package: "/pkg".into() };
    let script = plan.to_shell(&places, "p");
    assert!(
        script.contains(
            " --k 20 --launches 3 --kernel '^void (gemm|attn)::' --kernel flash --ncu-filter > \"$RUN\"/raw/ncu/kernels.txt"
        ),
        "{script}"
    );
    for (setting, why) in [
        ("pipeline.ncu.args=['--export=x']", "Rooflens sets the report"),
        ("pipeline.ncu.args=['--set=full']", "pipeline.ncu.set"),
        ("pipeline.ncu.kernel=['a(b']", "at character 2: this ( is never closed"),
        ("pipeline.ncu.set='--x'", "ncu --list-sets"),
    ] {
        let told = wrong_setting(&["profiling=ncu", setting]).to_string();
        assert!(told.contains(why), "{setting}: {told}");
    }
}

#[test]
fn every_runtime() {
    insta::assert_snapshot!(told(&planned(&["runtime=vllm"]).unwrap()), @r#"
    measure (pass measure): python -m rooflens.workload $RUN/raw/measure/spec.json
      leaves raw/measure/events.jsonl raw/measure/steps.csv raw/measure/requests.jsonl raw/measure/tokens.jsonl
    torch_profiler (pass torch_profiler): python -m rooflens.workload $RUN/raw/torch_profiler/spec.json
      leaves raw/torch_profiler/events.jsonl raw/torch_profiler/steps.csv raw/torch_profiler/requests.jsonl raw/torch_profiler/tokens.jsonl raw/torch_profiler/traces
    static_analysis: $PROJECT/models/tiny-random on None, batch [8], context []
    "#);
    insta::assert_snapshot!(told(&planned(&["runtime=command", "runtime.argv=[python, serve.py]"]).unwrap()), @r#"
    measure (pass measure): python3 -m rooflens.workload $RUN/raw/measure/spec.json
      leaves raw/measure/events.jsonl raw/measure/phases.jsonl
    torch_profiler (pass torch_profiler): python3 -m rooflens.workload $RUN/raw/torch_profiler/spec.json
      leaves raw/torch_profiler/events.jsonl raw/torch_profiler/phases.jsonl
    "#);
    let named = ["runtime=command", "runtime.argv=[python, serve.py]", "runtime.model=models/mine"];
    assert!(told(&planned(&named).unwrap()).contains("static_analysis: $PROJECT/models/mine on None"));
}

/// The command lines of a run in an environment, each with the variables that the environment adds.
fn in_environment(overrides: &[&str]) -> String {
    let plan = planned(&[&["profiling=nsys", "pipeline.static_analysis.enable=false"], overrides].concat());
    let shown = |plan: &RunPlan| {
        let line = |step: &PlannedStep| {
            let json = serde_json::to_value(step).unwrap();
            let argv = json["argv"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
            let env = json["env"].as_object().unwrap().iter();
            let own =
                env.filter(|(name, _)| !["HF_HUB_OFFLINE", "PYTHONUNBUFFERED"].contains(&name.as_str()));
            let own = own.filter(|(name, _)| !name.starts_with("NSYS_") && *name != "PYTHONPATH");
            let own = own.map(|(name, value)| format!("{name}={} ", value.as_str().unwrap()));
            format!("{}{}", own.collect::<String>(), argv.collect::<Vec<_>>().join(" "))
        };
        plan.steps.iter().map(line).collect::<Vec<_>>().join("\n")
    };
    // The options of nsys are those of every other plan.
    let text = shown(&plan.unwrap());
    let (before, rest) = text.split_once("nsys profile ").unwrap();
    let (_, after) = rest.split_once("--output ").unwrap();
    format!("{before}nsys profile … --output {after}")
}

#[test]
fn parity_006_every_kind_of_environment_starts_its_own_python() {
    insta::assert_snapshot!(
        in_environment(&["runtime.environment.kind=pixi", "runtime.environment.name=cu128"]), @r#"
    pixi run --manifest-path $PROJECT --frozen --no-install -e cu128 python -m rooflens.workload $RUN/raw/measure/spec.json
    nsys profile … --output $RUN/raw/nsys/report pixi run --manifest-path $PROJECT --frozen --no-install -e cu128 python -m rooflens.workload $RUN/raw/nsys/spec.json
    "#);
    insta::assert_snapshot!(
        in_environment(&["runtime.environment.kind=uv", "runtime.environment.name=cu124"]), @r#"
    UV_PROJECT_ENVIRONMENT=$PROJECT/.venvs/cu124 uv run --project $PROJECT --no-sync python -m rooflens.workload $RUN/raw/measure/spec.json
    UV_PROJECT_ENVIRONMENT=$PROJECT/.venvs/cu124 nsys profile … --output $RUN/raw/nsys/report uv run --project $PROJECT --no-sync python -m rooflens.workload $RUN/raw/nsys/spec.json
    "#);
    insta::assert_snapshot!(in_environment(&["runtime.environment.kind=uv"]), @r#"
    uv run --project $PROJECT --no-sync python -m rooflens.workload $RUN/raw/measure/spec.json
    nsys profile … --output $RUN/raw/nsys/report uv run --project $PROJECT --no-sync python -m rooflens.workload $RUN/raw/nsys/spec.json
    "#);
    insta::assert_snapshot!(
        in_environment(&["runtime.environment.kind=conda", "runtime.environment.name=perf"]), @r#"
    conda run --no-capture-output -n perf python -m rooflens.workload $RUN/raw/measure/spec.json
    nsys profile … --output $RUN/raw/nsys/report conda run --no-capture-output -n perf python -m rooflens.workload $RUN/raw/nsys/spec.json
    "#);
    insta::assert_snapshot!(
        in_environment(&["runtime.environment.kind=conda", "runtime.environment.name=/opt/envs/perf"]), @r#"
    conda run --no-capture-output -p /opt/envs/perf python -m rooflens.workload $RUN/raw/measure/spec.json
    nsys profile … --output $RUN/raw/nsys/report conda run --no-capture-output -p /opt/envs/perf python -m rooflens.workload $RUN/raw/nsys/spec.json
    "#);
    insta::assert_snapshot!(
        in_environment(&["runtime.environment.kind=venv", "runtime.environment.name=.venv-cpu"]), @r#"
    PATH=$PROJECT/.venv-cpu/bin:$PATH VIRTUAL_ENV=$PROJECT/.venv-cpu $PROJECT/.venv-cpu/bin/python -m rooflens.workload $RUN/raw/measure/spec.json
    PATH=$PROJECT/.venv-cpu/bin:$PATH VIRTUAL_ENV=$PROJECT/.venv-cpu nsys profile … --output $RUN/raw/nsys/report $PROJECT/.venv-cpu/bin/python -m rooflens.workload $RUN/raw/nsys/spec.json
    "#);
    let error = wrong_setting(&["runtime.environment.kind=poetry"]);
    assert_eq!(error.hint(), "one of: pixi, uv, conda, venv");
    let error = wrong_setting(&["runtime.environment.kind=conda"]);
    assert_eq!(error.to_string(), "runtime.environment.name must be set");
}

#[test]
fn parity_023_tensorrt_llm_has_plans_like_vllm() {
    insta::assert_snapshot!(told(&planned(&["runtime=tensorrtllm", "profiling=full"]).unwrap()), @r#"
    measure (pass measure): python -m rooflens.workload $RUN/raw/measure/spec.json
      leaves raw/measure/events.jsonl raw/measure/steps.csv raw/measure/requests.jsonl raw/measure/tokens.jsonl
    torch_profiler (pass torch_profiler): python -m rooflens.workload $RUN/raw/torch_profiler/spec.json
      leaves raw/torch_profiler/events.jsonl raw/torch_profiler/steps.csv raw/torch_profiler/requests.jsonl raw/torch_profiler/tokens.jsonl raw/torch_profiler/trace.json.gz
    nsys (pass nsys): nsys profile --session-new=rooflens-%q{ROOFLENS_SESSION} --trace=cuda,nvtx,osrt --sample=none --cpuctxsw=none --cuda-graph-trace=node --export=sqlite --force-overwrite=true --output $RUN/raw/nsys/report python -m rooflens.workload $RUN/raw/nsys/spec.json
      leaves raw/nsys/events.jsonl raw/nsys/steps.csv raw/nsys/requests.jsonl raw/nsys/tokens.jsonl raw/nsys/report.nsys-rep raw/nsys/report.sqlite
    ncu (pass ncu): ncu --log-file stderr --config-file no --target-processes all --section SpeedOfLight --section SpeedOfLight_RooflineChart --section ComputeWorkloadAnalysis --section MemoryWorkloadAnalysis --section Occupancy --section LaunchStats --section SchedulerStats --section WarpStateStats --section InstructionStats --clock-control base --print-units base --import-source no --profile-from-start no --kernel-name-base demangled --kernel-id $(cat $RUN/raw/ncu/kernels.txt) --force-overwrite --export $RUN/raw/ncu/report python -m rooflens.workload $RUN/raw/ncu/spec.json
      leaves raw/ncu/events.jsonl raw/ncu/steps.csv raw/ncu/requests.jsonl raw/ncu/tokens.jsonl raw/ncu/report.ncu-rep
    direct_inference (pass predict): python -m rooflens.workload $RUN/raw/direct_inference/spec.json
      leaves raw/direct_inference/events.jsonl raw/direct_inference/steps.csv raw/direct_inference/requests.jsonl raw/direct_inference/tokens.jsonl raw/direct_inference/predictions.jsonl
    static_analysis: $PROJECT/models/tiny-random on None, batch [1, 4, 16, 64, 256], context [512, 1024, 2048]
    "#);
    let error = wrong_setting(&["runtime=tensorrtllm", "runtime.cuda_graph=sometimes"]);
    assert_eq!(error.to_string(), "runtime.cuda_graph is 'sometimes', not true or false");
}

#[test]
fn the_whole_plan() {
    insta::assert_snapshot!(planned(&["dataset/sampling=few"]).unwrap().to_json());
}

#[test]
fn the_same_config_gives_the_same_bytes() {
    for overrides in [&[][..], &["runtime=vllm"], &["profiling=roofline-only"]] {
        assert_eq!(planned(overrides).unwrap().to_json(), planned(overrides).unwrap().to_json());
    }
    assert_ne!(planned(&[]).unwrap(), planned(&["seed=1"]).unwrap());
}

#[test]
fn a_profiler_is_in_its_own_process_alone() {
    let plan = planned(&["pipeline.direct_inference.enable=true"]).unwrap();
    for (step, command) in plan.commands() {
        let pipeline = command.writes[0].content["config"]["pipeline"].as_object().unwrap();
        for (stage, settings) in pipeline {
            assert_eq!(settings["enable"], *stage == step.name, "{stage} in the process of {}", step.name);
        }
    }
}

#[test]
fn newcomer_08_a_run_without_profilers_measures() {
    let measured = "measure (pass measure): python -m rooflens.workload $RUN/raw/measure/spec.json";
    for overrides in [["pipeline.torch_profiler.enable=false"], ["profiling=none"]] {
        let told = told(&planned(&overrides).unwrap());
        assert!(told.starts_with(measured) && !told.contains("torch_profiler"), "{told}");
    }
}

#[test]
fn nothing_to_do_is_an_error() {
    let off = ["profiling=none", "pipeline.measure.enable=false", "pipeline.static_analysis.enable=false"];
    let error = planned(&off).unwrap_err();
    assert_eq!(error.to_string(), "no stage is on: there is nothing to run");
    assert_eq!(error.hint(), "profiling=minimal enables the usual ones");
}

#[test]
fn parity_019_how_pictures_are_prepared_reaches_the_workload() {
    let keys = ["base_size=512", "image_size=512", "crop_mode=false", "patch_size=16", "downsample_ratio=4"];
    // A processor of transformers has keys of its own.
    let keys = keys.into_iter().chain(["max_pixels=12544"]).map(|key| format!("+model.preprocess.{key}"));
    let keys: Vec<String> = keys.collect();
    let plan = planned(&keys.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
    let json = serde_json::to_string(&plan).unwrap();
    for told in ["base_size", "crop_mode", "max_pixels"] {
        assert!(json.contains(told), "{told}: {json}");
    }
}

#[test]
fn a_wrong_setting_is_told_with_its_place() {
    let error = wrong_setting(&["+runtime.bach_size=2"]);
    assert_eq!(error.to_string(), "unknown setting runtime.bach_size");
    assert_eq!(error.hint(), "did you mean 'runtime.batch_size'?");
    assert_eq!(error.place.unwrap().excerpt, "+runtime.bach_size=2");

    let error = wrong_setting(&["repeats=0"]);
    assert_eq!(error.to_string(), "repeats is 0, not a whole number of at least 1");

    let error = wrong_setting(&["runtime=command"]);
    assert_eq!(error.to_string(), "runtime.argv must be set");
    let place = error.place.unwrap().to_string();
    assert!(place.contains("runtime/command.yaml:"), "{place}");

    let error = wrong_setting(&["model.dtype=fp61"]);
    assert_eq!(
        (error.to_string(), error.hint()),
        ("model.dtype is 'fp61', which is not known".to_owned(), "did you mean 'fp16'?".to_owned(),)
    );

    let error = wrong_setting(&[
        "~runtime.timeout_s",
        "~infer.max_new_tokens",
        "+infer.max_new_token=3",
        "pipeline.torch_profiler.max_new_tokens=1",
        "pipeline.direct_inference.max_new_tokens=1",
    ]);
    assert_eq!(error.to_string(), "the config has no infer.max_new_tokens");

    let error = wrong_setting(&["+model.preprocess.base_size=0"]);
    assert_eq!(error.to_string(), "model.preprocess.base_size is 0, not a whole number of at least 1");

    // Keys of one's own, for interpolations to share.
    planned(&["+_mine=3", "+runtime._mine=4"]).unwrap();
}

#[test]
fn the_environment_is_offline_unless_it_is_said() {
    let env = |overrides: &[&str]| {
        let plan = planned(overrides).unwrap();
        let (step, _) = plan.commands().next().unwrap();
        serde_json::to_value(step).unwrap()["env"].clone()
    };
    let usual = env(&[]);
    assert_eq!(usual["HF_HUB_OFFLINE"], "1");
    assert_eq!(usual["PYTHONPATH"], "$PACKAGE${PYTHONPATH:+:$PYTHONPATH}");
    let own = env(&["+runtime.env.HF_HUB_OFFLINE=0", "+runtime.env.PYTHONPATH=lib"]);
    assert_eq!((&own["HF_HUB_OFFLINE"], &own["PYTHONPATH"]), (&"0".into(), &"$PACKAGE:lib".into()));
}

#[test]
fn the_script_is_what_would_be_done() {
    let plan = planned(&[
        "runtime.python=.venv/bin/python",
        "pipeline.static_analysis.enable=false",
        "+runtime.env.NOTE='it is quoted'",
    ])
    .unwrap();
    let places = RunFolders { run: "/p/runs/a b".into(), project: "/p".into(), package: "/cache".into() };
    let script = plan.to_shell(&places, "rooflens run --python-package");
    let told: Vec<&str> = script.lines().filter(|line| !line.starts_with([' ', '{', '}'])).collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    (
    set -e
    PROJECT=/p
    RUN='/p/runs/a b'
    PACKAGE=$(rooflens run --python-package)

    # measure: times of every step, without any profiler; stopped after 3600 s
    mkdir -p "$RUN"/raw/measure
    cat > "$RUN"/raw/measure/spec.json <<'END_OF_FILE'
    END_OF_FILE
    (cd "$PROJECT" && env HF_HUB_OFFLINE=1 \

    # torch_profiler: operators and kernels, by PyTorch's own profiler; stopped after 3600 s
    mkdir -p "$RUN"/raw/torch_profiler
    cat > "$RUN"/raw/torch_profiler/spec.json <<'END_OF_FILE'
    END_OF_FILE
    (cd "$PROJECT" && env HF_HUB_OFFLINE=1 \
    )
    "#);
    assert!(script.contains(r#""output": "/p/runs/a b/raw/measure""#));
    assert!(script.contains("  NOTE='it is quoted' \\\n"));
    assert!(script.contains("  \"$PROJECT\"/.venv/bin/python \\\n"));
}
