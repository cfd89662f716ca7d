//! `rooflens run` inside Python environments, on devices that are not there, and under a power limit.

use super::mock_nvml::{MockNvml, TWO_DEVICES};
use super::run::{ROWS, left, metrics, only_run, project, start};
use super::*;

/// The folder of a step, whatever stands before `python -m rooflens.workload SPEC`.
const OUT_OF_LAST: &str = "for last; do :; done\nout=$(dirname \"$last\")\necho \"$*\" > $out/argv.txt\n";

/// A program of a name in `p/bin`, which alone is on the path beside the system's own.
fn tool(folder: &Folder, name: &str, script: &str) -> std::ffi::OsString {
    folder.program(&format!("p/bin/{name}"), script);
    let system = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(std::iter::once(folder.path("p/bin")).chain(std::env::split_paths(&system))).unwrap()
}

fn env_json(run_dir: &Path) -> Json {
    json_file(run_dir.join("report/env.json"))
}

#[test]
fn parity_006_a_tool_that_is_missing_is_told_before_anything_runs() {
    let folder = project("");
    folder.write("p/nothing/here", b"");
    for (kind, installs) in [("pixi", "pixi.sh/install"), ("uv", "pip install uv"), ("conda", "Miniforge")] {
        let mut command = start(&folder, &["runtime.environment.name=cu128"]);
        command.arg(format!("runtime.environment.kind={kind}")).env("PATH", folder.path("p/nothing"));
        Answer::of(command.output().unwrap())
            .fails(3, &format!("there is no program '{kind}'"))
            .hints(installs);
        assert!(!folder.path("p/runs").exists(), "nothing is made");
    }
}

/// `conda run` closes every descriptor but the standard ones: what the workload told is in its file.
#[test]
fn parity_006_events_of_a_conda_environment_come_from_the_file() {
    let folder = project("");
    let told = ROWS.replace("| tee \"$out/events.jsonl\" >&$ROOFLENS_EVENTS_FD", "> $out/events.jsonl");
    assert!(!told.contains("_FD"));
    let path = tool(&folder, "conda", &format!("{OUT_OF_LAST}{told}"));
    let conda = ["runtime.environment.kind=conda", "runtime.environment.name=perf"];
    let mut command = start(&folder, &["profiling=none"]);
    Answer::of(command.args(conda).env("PATH", path).output().unwrap()).fine();
    let run_dir = only_run(&folder);
    let argv = std::fs::read_to_string(run_dir.join("raw/measure/argv.txt")).unwrap();
    assert!(argv.starts_with("run --no-capture-output -n perf python -m rooflens.workload /"), "{argv}");
    let manifest = json_file(run_dir.join("raw/measure/manifest.json"));
    assert_eq!(manifest["versions"]["torch"], "2.0", "{manifest}");
    let env = env_json(&run_dir);
    assert_eq!((&env["environment"]["kind"], &env["environment"]["name"]), (&"conda".into(), &"perf".into()));
    assert!(env["not_computed"]["environment.lock"].is_string(), "{env}");
    assert_eq!(left(&folder), [""; 0]);
}

#[test]
fn parity_006_what_an_environment_lacks_is_installed_by_its_tool() {
    let folder = project("");
    let event =
        r#"{"event":"error","t_ns":1,"stage":"x","class":"ModuleNotFoundError","message":"no torch"}"#;
    let script =
        format!("{OUT_OF_LAST}echo '{event}' | tee $out/events.jsonl >&$ROOFLENS_EVENTS_FD\nexit 1\n");
    let path = tool(&folder, "uv", &script);
    folder.write("p/.venvs/cpu/bin/python", b"");
    folder.write("p/pyproject.toml", b"[project]\nname = \"p\"\nversion = \"0\"\n");
    let mut command = start(&folder, &["runtime.environment.kind=uv", "runtime.environment.name=cpu"]);
    let answer = Answer::of(command.env("PATH", path).output().unwrap());
    answer.fails(3, "");
    assert!(answer.hint().starts_with("uv pip install --python /"), "{}", answer.hint());
    assert!(answer.hint().contains("/p/.venvs/cpu torch transformers;"), "{}", answer.hint());
}

/// The environment's programs are those that a program of the user's finds first.
#[test]
fn parity_006_a_venv_is_in_front_of_the_path() {
    let folder = project("");
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv", "--without-pip"]).arg(folder.path("p/env"));
    assert!(venv.status().unwrap().success());
    folder.write("p/work.py", b"import sys\nprint(sys.prefix)\n");
    let venv = ["runtime.environment.kind=venv", "runtime.environment.name=env"];
    let mut command = start(&folder, &["profiling=none", "runtime=command", "runtime.argv=[python,work.py]"]);
    Answer::of(command.args(venv).arg("hydra.run.dir=run").output().unwrap()).fine();
    let run_dir = folder.path("p/run");
    let printed = std::fs::read_to_string(run_dir.join("raw/measure/stdout.log")).unwrap();
    assert!(printed.trim().ends_with("/p/env"), "{printed}");
    let env = env_json(&run_dir);
    assert_eq!(env["interpreter"], "$PROJECT/env/bin/python");
    assert_eq!((&env["environment"]["kind"], &env["environment"]["name"]), (&"venv".into(), &"env".into()));
}

/// A real uv, by the lock of the skeleton's own pyproject.toml. Its torch is that of the interpreter that
/// ROOFLENS_TORCH_PYTHON names, by a path file: those that the extras pin take gigabytes.
#[test]
#[ignore = "needs uv beside ROOFLENS_TORCH_PYTHON, and ROOFLENS_UV_LOCK, which .ci/venvs makes"]
fn parity_005_a_run_inside_a_real_uv_environment() {
    let (python, lock) = (interpreter("ROOFLENS_TORCH_PYTHON"), interpreter("ROOFLENS_UV_LOCK"));
    let tools = Path::new(&python).parent().unwrap().to_owned();
    let folder = Folder::new();
    text(&["init", &folder.text("p"), "--with", "pyproject", "--quiet"]);
    std::fs::copy(&lock, folder.path("p/uv.lock")).unwrap();
    let system = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(tools.clone()).chain(std::env::split_paths(&system)));
    let path = path.unwrap();
    let uv = |environment: &str| {
        let mut command = Command::new(tools.join("uv"));
        command.args(["sync", "--frozen", "--offline", "--quiet", "--python", &python]);
        command.env("UV_PROJECT_ENVIRONMENT", environment).current_dir(folder.path("p"));
        let done = command.env("UV_CACHE_DIR", folder.path("uv-cache")).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    uv(".venvs/cpu");
    uv(".venv");
    let places = "import sysconfig; print(sysconfig.get_paths()['purelib'])";
    let site = |python: &Path| {
        let told = Command::new(python).args(["-c", places]).output().unwrap();
        PathBuf::from(String::from_utf8(told.stdout).unwrap().trim())
    };
    let inside = site(&folder.path("p/.venvs/cpu/bin/python"));
    std::fs::write(inside.join("torch.pth"), site(Path::new(&python)).to_str().unwrap()).unwrap();

    let in_uv = |args: &[&str]| {
        let mut command = start(&folder, &["profiling=none", "runtime.environment.kind=uv"]);
        command.args(args).env("PATH", &path).env("OMP_NUM_THREADS", "1");
        Answer::of(command.env("UV_CACHE_DIR", folder.path("uv-cache")).output().unwrap())
    };
    let few = ["dataset/sampling=few", "infer.max_new_tokens=4", "repeats=1", "hydra.run.dir=run"];
    in_uv(&[&few[..], &["runtime.environment.name=cpu"]].concat()).fine();
    let run_dir = folder.path("p/run");
    let env = env_json(&run_dir);
    let (_, sha256) = rooflens_collect::execute::digest(Path::new(&lock)).unwrap();
    assert_eq!(
        env["environment"],
        serde_json::json!({"kind": "uv", "name": "cpu", "lock": {"path": "uv.lock", "sha256": sha256}})
    );
    assert_eq!(env["interpreter"], "$PROJECT/.venvs/cpu/bin/python");
    assert!(env["versions"]["torch"].is_string(), "{env}");
    let plan = std::fs::read_to_string(run_dir.join("plan.json")).unwrap();
    assert!(plan.contains("\"UV_PROJECT_ENVIRONMENT\": \"$PROJECT/.venvs/cpu\""), "{plan}");
    assert!(metrics(&run_dir)["measured"]["tpot_ns"]["p50"].as_f64().unwrap() > 0.0);

    // The project's usual environment, which has nothing but Python: a program of the user's runs in it.
    folder.write("p/work.py", b"import sys\nprint(sys.prefix)\n");
    in_uv(&["runtime=command", "runtime.argv=[python,work.py]", "hydra.run.dir=second"]).fine();
    assert_eq!(env_json(&folder.path("p/second"))["interpreter"], "$PROJECT/.venv/bin/python");
    let printed = std::fs::read_to_string(folder.path("p/second/raw/measure/stdout.log")).unwrap();
    assert!(printed.trim().ends_with("/p/.venv"), "{printed}");

    // What it lacks is told with the command of uv; and the doctor looks inside, too.
    let answer = in_uv(&["hydra.run.dir=third"]);
    answer.fails(3, "");
    assert!(answer.hint().starts_with("uv pip install --python "), "{}", answer.hint());
    folder.write(
        "p/conf/local/default.yaml",
        b"# @package _global_\nruntime:\n  environment: {kind: uv, name: cpu}\n",
    );
    let mut doctor = rooflens_in(&folder.path("p"), &["doctor", "--deep", "--format", "json"]);
    let told = Answer::of(doctor.env("PATH", &path).output().unwrap()).json();
    let check = |name: &str| told["checks"].as_array().unwrap().iter().find(|it| it["name"] == name).unwrap();
    let found = check("python")["found"].as_str().unwrap();
    assert!(found.contains("/p/.venvs/cpu/bin/python, set by the project's config: the uv"), "{found}");
    assert_eq!(check("torch")["status"], "ok");
}

#[test]
#[ignore = "needs PyTorch: ROOFLENS_TORCH_PYTHON names an interpreter that has it"]
fn parity_154_a_device_that_is_not_there_names_those_that_torch_sees_on_torch() {
    let python = interpreter("ROOFLENS_TORCH_PYTHON");
    let folder = project("");
    let mut command = start(&folder, &["profiling=none", "hardware.device=xpu:1", "dataset/sampling=few"]);
    let answer = Answer::of(command.arg(format!("runtime.python={python}")).output().unwrap());
    answer.fails(3, "runtime.device is 'xpu:1', which torch cannot use here");
    assert!(answer.hint().starts_with("torch sees: cpu"), "{}", answer.hint());
}

fn limited(folder: &Folder, library: &Path, args: &[&str]) -> Answer {
    let mut command = start(folder, &["profiling=none", "runtime=command", "runtime.argv=[python3,-V]"]);
    command.args(args).env("ROOFLENS_NVML", library);
    Answer::of(command.output().unwrap())
}

#[test]
fn parity_017_a_run_under_a_power_limit_needs_a_device_that_enforces_it() {
    let (mock, folder) = (MockNvml::new(TWO_DEVICES), project(""));
    let answer = limited(&folder, &mock.path(), &["hardware.power_limit_w=450"]);
    assert_eq!((answer.code, answer.hint()), (3, "sudo nvidia-smi -i 0 -pl 450"), "{}", answer.stderr);
    assert!(answer.stderr.contains("device 0 (NVIDIA H100 80GB HBM3) enforces 700 W"), "{}", answer.stderr);
    assert!(!folder.path("p/runs").exists(), "nothing is made");
    limited(&folder, Path::new("/nowhere/libnvidia-ml.so.1"), &["hardware.power_limit_w=450"])
        .fails(3, "")
        .hints("ROOFLENS_NVML=");
    // The second device does not tell, and there is no third; a CPU has no such limit.
    for (device, said) in [("cuda:1", "reports no limit"), ("cuda:2", "no device 2"), ("cpu", "is cpu")] {
        let device = format!("hardware.device={device}");
        let answer = limited(&folder, &mock.path(), &["hardware.power_limit_w=450", &device]);
        assert!(answer.code == 3 && answer.stderr.contains(said), "{device}: {}", answer.stderr);
    }
    limited(&folder, &mock.path(), &["hardware.power_limit_w=0"]).fails(2, "not a number above 0");
}

#[test]
fn parity_017_the_limit_is_recorded() {
    let (mock, folder) = (MockNvml::new(TWO_DEVICES), project(""));
    limited(&folder, &mock.path(), &["hardware.power_limit_w=700", "hydra.run.dir=run"]).fine();
    let run_dir = folder.path("p/run");
    assert_eq!(metrics(&run_dir)["power_limit_w"], 700.0);
    let env = env_json(&run_dir);
    assert_eq!(env["gpus"][0]["power_limit_w"], 700.0);
    assert_eq!(env["gpus"][1]["power_limit_w"], Json::Null);
    assert!(env["not_computed"]["gpus.power_limit_w"].is_string(), "{env}");
}
