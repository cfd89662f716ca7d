//! Direct inference: answers, without any profiler.

use super::run::{OUT, ROWS, left, metrics, only_run, project, run_in, start};
use super::*;

const ONLY: [&str; 2] = ["pipeline.torch_profiler.enable=false", "pipeline.direct_inference.enable=true"];

#[test]
fn a_run_of_answers_alone() {
    let answer = r#"echo '{"round":1,"sample":"a.txt","prompt":"why?","answer":"<b>so</b>","tokens":3}' > "$out/predictions.jsonl""#;
    let folder = project(&format!("{OUT}{ROWS}case $out in *direct_inference) {answer};; esac\n"));
    let screen = run_in(&folder, &ONLY).fine();
    let run_dir = only_run(&folder);
    assert!(screen.contains("report/predictions.html"), "{screen}");
    let page = std::fs::read_to_string(run_dir.join("report/predictions.html")).unwrap();
    assert!(page.contains("&lt;b&gt;so&lt;/b&gt;"));
    assert!(
        !run_dir.join("tables/name_dim.parquet").exists() && !run_dir.join("raw/torch_profiler").exists()
    );
    assert_eq!(metrics(&run_dir)["analysis"], Json::Null);
    // It has no tables, but its report can be written again.
    std::fs::remove_file(run_dir.join("report/predictions.html")).unwrap();
    text(&["report", run_dir.to_str().unwrap()]);
    assert_eq!(std::fs::read_to_string(run_dir.join("report/predictions.html")).unwrap(), page);
}

fn real(folder: &Folder, python: &str, args: &[&str]) -> Vec<Json> {
    let mut command =
        start(folder, &["--format", "json", "repeats=1", "warmup_rounds=0", "infer.max_new_tokens=4"]);
    command.args(ONLY).arg(format!("runtime.python={python}")).args(args);
    command.env("OMP_NUM_THREADS", "1").env("HOME", folder.path("cache"));
    assert_eq!(Answer::of(command.output().unwrap()).json()["status"], "complete");
    assert_eq!(left(folder), [""; 0]);
    let name = only_run_of(folder).join("report/predictions.jsonl");
    std::fs::read_to_string(name).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn only_run_of(folder: &Folder) -> PathBuf {
    let models = std::fs::read_dir(folder.path("p/runs/first")).unwrap().next().unwrap().unwrap().path();
    std::fs::read_dir(models).unwrap().next().unwrap().unwrap().path()
}

#[test]
#[ignore = "needs PyTorch: ROOFLENS_TORCH_PYTHON names an interpreter that has it"]
fn real_answers_to_texts_on_torch() {
    let python = interpreter("ROOFLENS_TORCH_PYTHON");
    let folder = project("exit 1\n");
    let answers = real(&folder, &python, &["dataset/sampling=few", "dataset.sampling.epochs=2"]);
    let run_dir = only_run_of(&folder);
    // Two samples, twice.
    let told: Vec<_> =
        answers.iter().map(|it| (it["round"].as_u64().unwrap(), it["tokens"].as_u64().unwrap())).collect();
    assert_eq!(told, [(0, 4), (0, 4), (1, 4), (1, 4)]);
    assert!(!run_dir.join("tables/name_dim.parquet").exists());
    let page = std::fs::read_to_string(run_dir.join("report/predictions.html")).unwrap();
    assert!(
        page.contains("Why does a kettle sing before it boils?")
            && page.contains("epoch 1 · 39 tokens asked")
    );
    let inputs = std::fs::read_to_string(run_dir.join("report/inputs.yaml")).unwrap();
    let file = folder.path("p/datasets/starter/source-data/1-question.txt");
    let sum = Command::new("sha256sum").arg(file).output().unwrap();
    let sum = String::from_utf8(sum.stdout).unwrap().split(' ').next().unwrap().to_owned();
    // Two epochs, measured and answered.
    assert_eq!(inputs.matches(&format!("sha256: {sum}")).count(), 4, "{inputs}");
}

#[test]
#[ignore = "needs PyTorch: ROOFLENS_TORCH_PYTHON names an interpreter that has it"]
fn real_answers_to_pictures_on_torch() {
    let python = interpreter("ROOFLENS_TORCH_PYTHON");
    let folder = project("exit 1\n");
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python");
    let model = folder.text("p/models/tiny-vl");
    let make = |args: &[&str]| {
        let made =
            Command::new(&python).args(args).env("PYTHONPATH", &package).env("OMP_NUM_THREADS", "1").output();
        let made = made.unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    };
    make(&["-m", "rooflens.tiny", "qwen2.5-vl", &model]);
    std::fs::create_dir(folder.path("p/datasets/pictures")).unwrap();
    let picture = folder.text("p/datasets/pictures/a circle.png");
    make(&[
        "-c",
        &format!(
            "from PIL import Image; Image.radial_gradient('L').resize((96, 64)).convert('RGB').save({picture:?})"
        ),
    ]);
    let args = [
        "model.path=models/tiny-vl",
        "model.name=tiny-vl",
        "model.weights=checkpoint",
        "dataset.kind=image",
        "dataset.root=datasets/pictures",
        "dataset.patterns=['*.png']",
        "+dataset.prompt='What is this?'",
        "pipeline.static_analysis.enable=false",
    ];
    let answers = real(&folder, &python, &args);
    assert_eq!((answers.len(), &answers[0]["sample"]), (1, &"a circle.png".into()));
    let run_dir = only_run_of(&folder);
    let page = std::fs::read_to_string(run_dir.join("report/predictions.html")).unwrap();
    let link = "href=\"../../../../../datasets/pictures/a%20circle.png\"><img alt=\"the image\" \
                src=\"data:image/png;base64,iVBORw0KGgo";
    assert!(page.contains(link), "{}", &page[page.len() / 2..]);
    assert!(run_dir.join("report/../../../../../datasets/pictures/a circle.png").is_file());
}
