//! `rooflens hardware measure`: with a program in place of the interpreter, and with real torch.

use super::run::project;
use super::*;

const ANSWER: &str = r#"{"schema":1,"device":{"kind":"cpu","name":"Acme Turbo 9000","arch":"x86_64","compute_units":4,"memory_bytes":16000000000,"threads":4},"matmul":[{"dtype":"bf16","side":1024,"runs":9,"best_ns":1000000,"median_ns":1100000,"flops_per_s":2147483648000.0}],"bandwidth":[{"kind":"read","bytes":1073741824,"runs":3,"best_ns":50000000,"median_ns":50000000,"bytes_per_s":21474836480.0}],"skipped":[{"what":"matmul fp8","reason":"no such thing"}],"versions":{"torch":"2.0","python":"3.11"}}"#;

fn measure(folder: &Folder, args: &[&str]) -> Answer {
    let mut command = rooflens_in(&folder.path("p"), &["hardware", "measure", "--python", "./fake"]);
    command.env("XDG_CACHE_HOME", folder.path("cache")).args(args);
    Answer::of(command.output().unwrap())
}

fn in_project(folder: &Folder, args: &[&str]) -> Answer {
    Answer::of(rooflens_in(&folder.path("p"), args).output().unwrap())
}

#[test]
fn what_was_measured_is_known_from_then_on() {
    let folder = project(&format!(
        "test \"$*\" = '-m rooflens.peaks --device cpu --seconds 1' || exit 9\necho noise\necho '{ANSWER}'\n"
    ));
    let told = measure(&folder, &["--device", "cpu", "--seconds", "1"]).fine();
    assert!(told.contains("bf16           2.15 TFLOP/s  1024 × 1024 matrices, best of 9"), "{told}");
    assert!(told.contains("matmul fp8     not measured  no such thing"), "{told}");
    assert!(told.contains("rooflens cost MODEL --hardware acme-turbo-9000"), "{told}");
    assert!(folder.path("p/hardware/acme-turbo-9000.toml").is_file());
    assert_eq!(
        std::fs::read_dir(folder.path("cache/rooflens")).unwrap().count(),
        1,
        "only the package stays"
    );

    let listed = in_project(&folder, &["list", "hardware", "--format", "json"]).json();
    let found =
        listed["items"].as_array().unwrap().iter().find(|item| item["name"] == "Acme Turbo 9000").unwrap();
    assert!(found["about"].as_str().unwrap().contains("21.47 GB/s"), "{found}");
    assert!(in_project(&folder, &["explain", "acme turbo 9000"]).fine().contains("measured with 4 threads"));
    // A folder of the project will do, and the file's name, too.
    let ask = [
        "cost",
        "../models/tiny-random",
        "--context",
        "64",
        "--format",
        "json",
        "--hardware",
        "acme-turbo-9000",
    ];
    let cost = Answer::of(rooflens_in(&folder.path("p/conf"), &ask).output().unwrap()).json();
    assert_eq!(cost["hardware"]["name"], "Acme Turbo 9000");
    assert_eq!(cost["hardware"]["bandwidth_bytes_per_s"], 21.47e9);

    // It is not overwritten by accident.
    let again = measure(&folder, &["--device", "cpu", "--seconds", "1"]);
    assert_eq!((again.code, again.hint()), (2, "--force overwrites it; --name NAME writes another"));
    measure(&folder, &["--device", "cpu", "--seconds", "1", "--force"]).fine();
    let json = measure(
        &folder,
        &["--device", "cpu", "--seconds", "1", "-o", "own.toml", "--name", "mine", "--format", "json"],
    )
    .json();
    assert_eq!((&json["name"], &json["file"]), (&"mine".into(), &"own.toml".into()));
    assert_eq!(json["aliases"], serde_json::json!(["Acme Turbo 9000"]));
    assert!(folder.path("p/own.toml").is_file());
}

#[test]
fn what_fails_is_told_and_leaves_nothing() {
    let cases = [
        (
            "echo \"error: No module named 'torch'\" >&2; echo 'hint: fake -m pip install torch' >&2; exit 3",
            3,
            "No module named 'torch'",
            "fake -m pip install torch; or an interpreter that has it: --python PATH",
        ),
        (
            "echo oh no >&2; exit 1",
            4,
            "the measurement ended with exit code 1",
            "try another device and less time: --device cpu --seconds 2",
        ),
        (
            "echo oh no >&2; kill -9 $$",
            4,
            "was killed by signal 9 (SIGKILL)",
            "try another device and less time: --device cpu --seconds 2",
        ),
        ("echo nothing", 4, "it printed no answer", "rooflens doctor shows the interpreter and its torch"),
    ];
    for (script, code, fact, hint) in cases {
        let folder = project(&format!("{script}\n"));
        let answer = measure(&folder, &[]);
        assert_eq!((answer.code, answer.hint()), (code, hint), "{script}: {}", answer.stderr);
        assert!(answer.stderr.contains(fact), "{script}: {}", answer.stderr);
        assert!(files(&folder.path("p/hardware")).iter().all(|file| !file.ends_with(".toml")));
        assert_eq!(std::fs::read_dir(folder.path("cache/rooflens")).unwrap().count(), 1);
    }
    let folder = project("exit 0\n");
    let answer = measure(&folder, &["--python", "no-such-python"]);
    assert!(answer.code == 2, "an argument is given once: {}", answer.stderr);
    let mut command = rooflens_in(&folder.path("p"), &["hardware", "measure", "--python", "no-such-python"]);
    Answer::of(command.env("XDG_CACHE_HOME", folder.path("cache")).output().unwrap()).fails(3, "");
}

#[test]
#[ignore = "needs PyTorch: ROOFLENS_TORCH_PYTHON names an interpreter that has it"]
fn with_real_torch_a_run_finds_it_by_itself_on_torch() {
    let python = interpreter("ROOFLENS_TORCH_PYTHON");
    let folder = project("exit 1\n");
    let go = |args: &[&str]| {
        let mut command = rooflens_in(&folder.path("p"), args);
        command.env("OMP_NUM_THREADS", "1").env("HOME", folder.path("cache"));
        Answer::of(command.output().unwrap())
    };
    let json = go(&[
        "hardware",
        "measure",
        "--python",
        &python,
        "--device",
        "cpu",
        "--seconds",
        "1",
        "--format",
        "json",
    ])
    .json();
    let name = json["measured"]["device"]["name"].as_str().unwrap();
    for row in json["measured"]["matmul"].as_array().unwrap() {
        let (side, best) = (row["side"].as_f64().unwrap(), row["best_ns"].as_f64().unwrap());
        let rate = 2.0 * side.powi(3) / (best / 1e9);
        assert!((row["flops_per_s"].as_f64().unwrap() / rate - 1.0).abs() < 1e-9, "{row}");
    }
    let python = format!("runtime.python={python}");
    let run = go(&[
        "run",
        &python,
        "infer.max_new_tokens=2",
        "repeats=1",
        "dataset/sampling=few",
        "hydra.run.dir=run",
        "--format",
        "json",
    ])
    .json();
    assert_eq!(run["model"]["device_name"], name);
    let text = std::fs::read(folder.path("p/run/report/static_compute.json")).unwrap();
    let cost: Json = serde_json::from_slice(&text).unwrap();
    assert_eq!(cost["hardware"]["name"], name);
}
