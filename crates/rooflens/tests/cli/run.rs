//! `rooflens run`: with workloads made of a few lines of shell, and real ones.

use std::process::Child;

use super::*;

pub(super) fn project(script: &str) -> Folder {
    let folder = Folder::new();
    text(&["init", &folder.text("p"), "--quiet"]);
    folder.program("p/fake", script);
    folder
}

/// `rooflens run` in the project, with the program in place of the interpreter.
pub(super) fn start(folder: &Folder, args: &[&str]) -> Command {
    let mut command = rooflens_in(&folder.path("p"), &["run"]);
    command.env("XDG_CACHE_HOME", folder.path("cache")).env("MARK", folder.path("")).args(args);
    command
}

pub(super) fn run_in(folder: &Folder, args: &[&str]) -> Answer {
    Answer::of(start(folder, args).arg("runtime.python=./fake").output().unwrap())
}

/// The only run of a project.
pub(super) fn only_run(folder: &Folder) -> PathBuf {
    let inside = |folder: PathBuf| -> Vec<PathBuf> {
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    let found: Vec<PathBuf> = inside(folder.path("p/runs/first")).into_iter().flat_map(inside).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

pub(super) fn metrics(run: &Path) -> Json {
    json_file(run.join("report/metrics.json"))
}

/// Processes that were started by a run of this test and still live.
pub(super) fn left(folder: &Folder) -> Vec<String> {
    let mark = format!("MARK={}", folder.text(""));
    let has = |path: &PathBuf| {
        let environment = std::fs::read(path.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|word| word == mark.as_bytes())
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    processes.filter(has).map(|path| path.display().to_string()).collect()
}

/// The folder of a step, from what the workload is given: `python -m rooflens.workload SPEC`.
pub(super) const OUT: &str = "out=$(dirname \"$3\")\n";
/// What every workload leaves: one warm-up and one measured request with tokens at 100, 150 and 210 ns.
pub(super) const ROWS: &str = r#"
echo '{"event":"hello","t_ns":1,"python":"3.11","versions":{"torch":"2.0"}}' | tee "$out/events.jsonl" >&$ROOFLENS_EVENTS_FD
echo 'kind,phase,decode_tokens,dur_ns' > "$out/steps.csv"
echo 'measured,prefill,0,100' >> "$out/steps.csv"
echo 'measured,decode,1,50' >> "$out/steps.csv"
echo 'measured,decode,1,60' >> "$out/steps.csv"
echo '{"round":0,"kind":"warmup","prompt_tokens":5,"output_tokens":1,"start_ns":0,"token_ns":[9]}' > "$out/requests.jsonl"
echo '{"round":1,"kind":"measured","prompt_tokens":5,"output_tokens":3,"start_ns":1000,"token_ns":[1100,1150,1210]}' >> "$out/requests.jsonl"
touch "$out/tokens.jsonl"
"#;

pub(super) fn whole() -> String {
    let trace = fixture("kineto/decode.json");
    format!("{OUT}{ROWS}case $out in *torch_profiler) gzip -c '{trace}' > $out/trace.json.gz;; esac\n")
}

#[test]
fn the_whole_line_without_a_model() {
    let folder = project(&whole());
    let screen = run_in(&folder, &[]).fine();
    let run_dir = only_run(&folder);
    for file in [
        ".rooflens/config.yaml",
        "plan.json",
        "raw/measure/manifest.json",
        "raw/torch_profiler/trace.json.gz",
        "tables/runs.parquet",
        "tables/model_ops.parquet",
        "findings/kernels.json",
        "report/index.html",
        "report/report.md",
        "report/static_compute.json",
        "report/metrics.json",
    ] {
        assert!(run_dir.join(file).is_file(), "{file}");
    }
    let metrics = metrics(&run_dir);
    assert_eq!(
        (&metrics["schema"]["name"], &metrics["status"]),
        (&"rooflens.run".into(), &"complete".into())
    );
    assert_eq!(metrics["measured"]["ttft_ns"]["p50"], 100.0);
    assert_eq!(metrics["measured"]["tpot_ns"]["p50"], 55.0);
    assert!(metrics["analysis"]["kernels"].as_array().unwrap().len() > 1);
    assert!(screen.contains("TTFT      p50 100 ns"), "{screen}");
    assert_eq!(left(&folder), [""; 0]);

    // A new report keeps the measured numbers.
    text(&["report", run_dir.to_str().unwrap()]);
    assert_eq!(self::metrics(&run_dir), metrics);
    let analysed = json(&["analyze", run_dir.to_str().unwrap()]);
    assert_eq!(analysed["kernels"], metrics["analysis"]["kernels"]);
}

#[test]
fn a_run_is_repeated_from_its_own_config() {
    let folder = project(&whole());
    run_in(&folder, &["seed=7", "infer.max_new_tokens=3"]).fine();
    let first = only_run(&folder);
    let own = first.join(".rooflens");
    let args = ["run", "--config-dir", own.to_str().unwrap(), "--dry-run", "--format", "json"];
    let plan = std::fs::read_to_string(first.join("plan.json")).unwrap();
    assert_eq!(run(&args).fine(), plan);
    let mut again = rooflens(&["run", "--config-dir", own.to_str().unwrap(), "--format", "json"]);
    let again = Answer::of(again.env("XDG_CACHE_HOME", folder.path("cache")).output().unwrap()).json();
    let second = first.with_file_name(again["run"].as_str().unwrap());
    assert_ne!(first, second);
    assert_eq!(std::fs::read_to_string(second.join("plan.json")).unwrap(), plan);
}

/// Names of runs end with the time in seconds: each of several that start at once finds a folder of its own.
#[test]
fn house_04_runs_that_start_together_have_folders_of_their_own() {
    let folder = project(&format!("{OUT}{ROWS}"));
    let go = || {
        let mut command = start(&folder, &["runtime.python=./fake", "profiling=none", "--format", "json"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
    };
    let started: Vec<Child> = (0..20).map(|_| go().unwrap()).collect();
    let answers = started.into_iter().map(|child| Answer::of(child.wait_with_output().unwrap()).json());
    let runs: std::collections::BTreeSet<String> =
        answers.map(|json| json["run"].as_str().unwrap().to_owned()).collect();
    assert_eq!(runs.len(), 20, "{runs:?}");
    // A folder that was named is taken, or it is not.
    run_in(&folder, &["hydra.run.dir=here", "profiling=none"]).fine();
    let again = run_in(&folder, &["hydra.run.dir=here", "profiling=none"]);
    assert!(again.code != 0 && again.stderr.contains("already has a run"), "{}", again.stderr);
}

#[test]
fn a_dry_run_writes_nothing_and_can_be_pasted() {
    let folder = project(&whole());
    let before = tree(&folder.path("p"));
    let script = run_in(&folder, &["--dry-run", "pipeline.static_analysis.enable=false"]).fine();
    assert_eq!(tree(&folder.path("p")), before);
    assert!(!folder.path("cache").exists());
    let program = Path::new(env!("CARGO_BIN_EXE_rooflens")).parent().unwrap().to_owned();
    let path = std::env::join_paths(
        std::iter::once(program).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("exec 3>/dev/null; export ROOFLENS_EVENTS_FD=3\n{script}"));
    shell.env("PATH", path.unwrap()).env("XDG_CACHE_HOME", folder.path("cache")).current_dir("/");
    let pasted = Answer::of(shell.output().unwrap());
    assert_eq!((pasted.code, pasted.stderr.as_str()), (0, ""));
    assert!(only_run(&folder).join("raw/torch_profiler/trace.json.gz").is_file());
}

#[test]
fn failures_of_a_workload_leave_an_incomplete_run() {
    let cases = [
        ("echo going down >&2; kill -SEGV $$", "was killed by signal 11 (SIGSEGV)"),
        ("echo going down >&2; kill -9 $$", "was killed by signal 9 (SIGKILL)"),
        ("echo going down >&2; exit 7", "ended with exit code 7"),
        (
            "echo going down >&2; (ulimit -f 1; head -c 99999 /dev/zero > \"$out/x\") || exit 1",
            "ended with exit code 1",
        ),
        (
            "echo going down >&2; echo garbage >&$ROOFLENS_EVENTS_FD; rm \"$out/steps.csv\"",
            "did not write raw/measure/steps.csv",
        ),
    ];
    for (death, told) in cases {
        let folder = project(&format!("{OUT}{ROWS}{death}\n"));
        run_in(&folder, &[]).fails(4, "  | going down\n").fails(4, told);
        let run_dir = only_run(&folder);
        let metrics = metrics(&run_dir);
        assert_eq!(metrics["status"], "incomplete", "{death}");
        assert_eq!(metrics["measured"]["ttft_ns"]["p50"], 100.0, "{death}");
        assert!(run_dir.join("raw/measure/manifest.json").is_file());
        assert!(run_dir.join("report/static_compute.json").is_file());
        assert!(!run_dir.join("raw/torch_profiler").exists(), "what follows would fail alike");
        assert_eq!(left(&folder), [""; 0], "{death}");
    }
}

#[test]
fn a_workload_that_never_ends_is_stopped() {
    // Given more time until it came as far as it ever does.
    for seconds in [1, 4, 16, 64, 256] {
        let folder = project(&format!("{OUT}{ROWS}echo going on >&2; touch ready; sleep 100000\n"));
        let answer = run_in(&folder, &[&format!("runtime.timeout_s={seconds}")]);
        let told = format!("timed out after {seconds} s");
        answer.fails(4, &told);
        let metrics = metrics(&only_run(&folder));
        assert_eq!(metrics["status"], "incomplete");
        assert_eq!(left(&folder), [""; 0]);
        if folder.path("p/ready").exists() {
            assert!(answer.stderr.contains("  | going on\n"), "{}", answer.stderr);
            assert_eq!(metrics["measured"]["ttft_ns"]["p50"], 100.0);
            return;
        }
    }
    panic!("a shell did not come to its last line in minutes");
}

#[test]
fn a_profiled_pass_that_fails_leaves_a_run_that_says_so() {
    let folder = project(&format!("{}case $out in *torch_profiler) kill -9 $$;; esac\n", whole()));
    run_in(&folder, &[]).fails(4, "");
    let run_dir = only_run(&folder);
    let notes = metrics(&run_dir)["analysis"]["notes"].clone();
    assert!(notes.as_array().unwrap().iter().any(|note| note["code"] == "step_failed"), "{notes}");
    let analysed = run(&["analyze", run_dir.to_str().unwrap()]);
    let words: Vec<String> = analysed.fine().split_whitespace().map(str::to_owned).collect();
    assert!(words.join(" ").contains("torch_profiler was killed by signal 9"));
}

#[test]
fn a_damaged_trace_does_not_pass_for_a_whole_one() {
    for (damage, told) in [
        (": > $out/trace.json.gz", "did not write raw/torch_profiler/trace.json.gz"),
        ("gzip -c $out/steps.csv > $out/trace.json.gz", "the trace is damaged"),
        (
            "gzip -dc $out/trace.json.gz | head -c 9000 | gzip > $out/cut; mv $out/cut $out/trace.json.gz",
            "the trace is damaged",
        ),
    ] {
        let folder = project(&format!("{}case $out in *torch_profiler) {damage};; esac\n", whole()));
        run_in(&folder, &[]).fails(4, told);
        assert_eq!(metrics(&only_run(&folder))["status"], "incomplete", "{damage}");
    }
}

/// The real Python package, with a program that needs nothing else.
#[test]
fn a_program_with_the_probe() {
    let folder = project("exit 1\n");
    let marks = "from rooflens import probe\nwith probe.phase('decode'):\n  for _ in range(3):\n    with probe.step(): pass\n";
    folder.write("p/work.py", marks.as_bytes());
    let mut command =
        start(&folder, &["runtime=command", "runtime.argv=[python3,work.py]", "--format", "json"]);
    let answer = Answer::of(command.output().unwrap());
    assert!(answer.stderr.contains("the program used no rooflens.probe with torch"), "{}", answer.stderr);
    let json = answer.json();
    assert_eq!((&json["status"], &json["measured"]["ttft_ns"]), (&"complete".into(), &Json::Null));
    assert_eq!(json["measured"]["not_computed"]["ttft_ns"], "no measured request was completed");
    assert!(only_run(&folder).starts_with(folder.path("p/runs/first/command")));
    let phases = std::fs::read_to_string(only_run(&folder).join("raw/measure/phases.jsonl")).unwrap();
    assert_eq!(phases.matches("\"phase\":\"decode\",\"step\":").count(), 4, "{phases}");
    assert_eq!(left(&folder), [""; 0]);
}

#[test]
fn what_is_not_there_is_the_environments_fault() {
    let folder = project("exit 0\n");
    Answer::of(start(&folder, &["runtime.python=no-such-python"]).output().unwrap())
        .fails(3, "there is no program 'no-such-python'");
    assert!(!folder.path("p/runs").exists(), "nothing is made for a run that cannot be");
    let folder = project(&format!(
        r#"{OUT}echo '{{"event":"error","t_ns":1,"stage":"loading","class":"ModuleNotFoundError","message":"No module named torch","hint":"x"}}' >&$ROOFLENS_EVENTS_FD; exit 1"#
    ));
    run_in(&folder, &[]).fails(3, "").hints("fake -m pip install torch transformers");
}

#[test]
fn a_config_that_cannot_be_run_is_a_matter_of_usage() {
    let folder = project("exit 0\n");
    let answer = run_in(&folder, &["+runtime.bach_size=2"]);
    assert_eq!((answer.code, answer.hint()), (2, "did you mean 'runtime.batch_size'?"));
    run_in(&folder, &["profiling=ncu", "pipeline.nsys.enable=false", "pipeline.ncu.program=/nowhere/ncu"])
        .fails(3, "")
        .hints("pipeline.ncu.program=PATH");
    assert!(!folder.path("p/runs").exists());
}

#[test]
fn nothing_is_started_for_what_is_only_computed() {
    let folder = project("exit 1\n");
    let mut command = start(&folder, &["profiling=roofline-only", "hardware=h100", "--format", "json"]);
    let json = Answer::of(command.output().unwrap()).json();
    assert_eq!((&json["status"], &json["measured"]), (&"complete".into(), &Json::Null));
    let run_dir = only_run(&folder);
    assert!(run_dir.join("report/cost_sweep.json").is_file());
    saved_are_read_back(&run_dir);
    assert!(!run_dir.join("raw").exists() && !folder.path("cache").exists());
}

#[test]
fn every_job_of_a_sweep_is_a_run() {
    let folder = project(&format!("{}case $(cat $3) in *'\"batch_size\": 2'*) exit 5;; esac\n", whole()));
    let answer = run_in(&folder, &["-m", "runtime.batch_size=1,2,4", "--hydra"]);
    answer.fails(4, "");
    let rows: Vec<&str> = answer.stdout.lines().collect();
    assert_eq!(rows.len(), 4, "{}", answer.stdout);
    assert!(rows[1].starts_with("0    runtime.batch_size=1  complete "), "{}", answer.stdout);
    assert!(rows[1].contains("complete") && rows[2].contains("incomplete") && rows[3].contains("complete"));
    let sweeps: Vec<_> = std::fs::read_dir(folder.path("p/runs/first/sweeps")).unwrap().collect();
    let sweep = sweeps[0].as_ref().unwrap().path();
    assert!(sweep.join("multirun.yaml").is_file() && sweep.join("2/.hydra/config.yaml").is_file());
    assert_eq!(metrics(&sweep.join("1"))["status"], "incomplete");
    assert_eq!(metrics(&sweep.join("2"))["status"], "complete");
}

/// A run whose workload has started.
fn going(folder: &Folder) -> Going {
    let mut going = Going::start(start(folder, &["runtime.python=./fake"]));
    while !folder.path("p/ready").exists() {
        assert!(going.child.try_wait().unwrap().is_none(), "it ended before its workload started");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    going
}

#[test]
fn the_first_ctrl_c_saves() {
    let waits = "trap 'echo saved > ready; exit 130' INT; touch ready; while :; do sleep 0.05; done";
    let folder = project(&format!("{OUT}{ROWS}{waits}\n"));
    let going = going(&folder);
    going.press();
    assert_eq!(going.end().0, 130);
    assert_eq!(std::fs::read_to_string(folder.path("p/ready")).unwrap(), "saved\n");
    let metrics = metrics(&only_run(&folder));
    assert_eq!((&metrics["status"], &metrics["steps"][0]["end"]), (&"incomplete".into(), &"stopped".into()));
    assert_eq!(metrics["measured"]["ttft_ns"]["p50"], 100.0);
    assert_eq!(left(&folder), [""; 0]);
}

#[test]
fn the_second_ctrl_c_kills() {
    let deaf = "trap '' INT TERM; (while :; do sleep 1; done) & touch ready; while :; do sleep 1; done";
    let folder = project(&format!("{OUT}{ROWS}{deaf}\n"));
    let mut going = going(&folder);
    going.press();
    going.wait_for("stopping");
    going.press();
    assert_eq!(going.end().0, 130);
    assert_eq!(metrics(&only_run(&folder))["steps"][0]["signal"], 9);
    assert_eq!(left(&folder), [""; 0]);
}

/// A run with a real library: an environment variable names an interpreter that has it.
fn with_real(variable: &str, args: &[&str]) -> (Folder, Json) {
    let python = interpreter(variable);
    let folder = project("exit 1\n");
    let small = ["--format", "json", "dataset/sampling=few", "infer.max_new_tokens=6", "repeats=3"];
    let mut command = start(&folder, &small);
    command.arg(format!("runtime.python={python}")).args(args);
    // One thread: the machine may be shared. And what libraries keep stays in the test's folder.
    command.env("OMP_NUM_THREADS", "1").env("HOME", folder.path("cache"));
    let json = Answer::of(command.output().unwrap()).json();
    assert_eq!(json["status"], "complete");
    let measured = &json["measured"];
    // Two prompts, three rounds.
    assert_eq!((&measured["requests"], &measured["output_tokens"]), (&6.into(), &36.into()));
    assert!(measured["tpot_ns"]["p50"].as_f64().unwrap() > 0.0);
    let run_dir = only_run(&folder);
    for file in
        ["tables/runs.parquet", "report/index.html", "report/static_compute.json", "raw/measure/tokens.jsonl"]
    {
        assert!(run_dir.join(file).is_file(), "{file}");
    }
    assert_eq!(left(&folder), [""; 0]);
    (folder, json)
}

#[test]
#[ignore = "needs PyTorch; oracles/check_run.py has the like"]
fn nightly_a_run_with_real_torch() {
    let (folder, json) = with_real("ROOFLENS_TORCH_PYTHON", &[]);
    // Batches of one: each of the six makes five tokens after the first.
    assert_eq!(json["measured"]["decode_steps"], 30);
    let whole = metrics(&only_run(&folder));
    let phases = whole["analysis"]["phases"].as_array().unwrap();
    let decode = phases.iter().find(|phase| phase["name"] == "rooflens.decode[*]").unwrap();
    assert_eq!(decode["count"], 10, "one profiled round of two prompts");
    let report = std::fs::read_to_string(only_run(&folder).join("report/report.md")).unwrap();
    let opening: String = report.lines().take(20).collect();
    assert!(opening.contains("TTFT p50") && opening.contains("TPOT p50"), "{report}");
    // Shares of peaks where these are known, which depends on the machine; else why there are none.
    assert!(opening.contains("MFU decode") != report.contains("no peaks of"), "{report}");
}

/// Writes a picture of noise, without a library: uncompressed, three colours.
fn picture(path: &Path, rows: u32, columns: u32) {
    let mut bytes = format!("P6 {columns} {rows} 255\n").into_bytes();
    bytes.extend((0..rows * columns * 3).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8));
    std::fs::write(path, bytes).unwrap();
}

/// The static model counts what torch counts, to the operation: three kinds of models, batches of one and
/// padded ones, attention by a kernel that torch does not count and by products that it does.
#[test]
#[ignore = "needs PyTorch and minutes; oracles/check_run.py has some of its nine runs"]
fn nightly_flops_are_those_of_torch() {
    let python = interpreter("ROOFLENS_TORCH_PYTHON");
    let folder = project("exit 1\n");
    std::fs::create_dir(folder.path("pictures")).unwrap();
    for (number, rows) in [56, 84, 112].into_iter().enumerate() {
        picture(&folder.path(&format!("pictures/{number}.ppm")), rows, 84);
    }
    let package =
        Answer::of(start(&folder, &["--python-package"]).output().unwrap()).fine().trim().to_owned();
    let sees = [
        "dataset.kind=image".to_owned(),
        format!("dataset.root={}", folder.text("pictures")),
        "dataset.patterns=['*.ppm']".to_owned(),
        "+dataset.prompt=What".to_owned(),
    ];
    for kind in ["llama", "qwen3-moe", "qwen2.5-vl"] {
        let path = folder.text(kind);
        let mut make = Command::new(&python);
        make.args(["-m", "rooflens.tiny", kind, &path]).env("PYTHONPATH", &package);
        assert!(make.stderr(Stdio::null()).status().unwrap().success(), "{kind}");
        for (batch, attention) in [(1, "sdpa"), (3, "sdpa"), (3, "eager")] {
            let mut command = start(&folder, &["--format", "json", "repeats=1", "warmup_rounds=0"]);
            command.args(["infer.max_new_tokens=3", "dataset.sampling.samples_per_epoch=3"]);
            command.args(["model.weights=checkpoint", &format!("model.path={path}")]);
            command.args([&format!("runtime.batch_size={batch}"), &format!("runtime.attention={attention}")]);
            command.arg(format!("hydra.run.dir={}/{kind}-{batch}-{attention}", folder.text("runs")));
            command.arg(format!("runtime.python={python}"));
            command.args(sees.iter().filter(|_| kind == "qwen2.5-vl"));
            command.env("OMP_NUM_THREADS", "1").env("HOME", folder.path("cache"));
            let json = Answer::of(command.output().unwrap()).json();
            let phases = &json["flops_check"]["phases"];
            for phase in ["prefill", "decode"] {
                let what = format!("{kind}, {phase}, batch {batch}, {attention}: {phases}");
                assert_eq!(phases[phase]["difference"], 0, "{what}");
                assert!(phases[phase]["torch_flops"].as_u64().unwrap() > 1_000_000, "{what}");
                let left_out = phases[phase]["left_out"].as_array().unwrap().iter();
                let has_core = left_out.clone().any(|left| left["class"] == "attn.core");
                assert_eq!(has_core, attention == "sdpa", "{what}");
                let reached = &json["efficiency"]["phases"][phase];
                assert!(reached["flops_per_s"].as_f64().unwrap() > 0.0, "{what}");
            }
            let padding = &json["efficiency"]["phases"]["prefill"]["padding_tokens"];
            assert_eq!(padding.as_u64().unwrap() > 0, batch == 3, "{kind}: prompts differ in length");
            let parts = json["static_vs_measured"]["phases"]["decode"].clone();
            assert!(parts["other_share"].as_f64().unwrap() < 0.5, "{kind}: {parts}");
        }
    }
}

#[test]
#[ignore = "needs vLLM; oracles/check_run.py has the like"]
fn nightly_a_run_with_real_vllm() {
    let args = ["runtime=vllm", "hardware=cpu", "+runtime.env.VLLM_CPU_KVCACHE_SPACE=1"];
    let (folder, json) = with_real("ROOFLENS_VLLM_PYTHON", &args);
    let reached = &json["efficiency"]["phases"]["decode"];
    assert!(reached["bytes_per_s"].as_f64().unwrap() > 0.0, "{json}");
    assert!(!only_run(&folder).join("cache").exists(), "weights are made for the run alone");
}
