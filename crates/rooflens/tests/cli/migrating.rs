//! People who come from llm-perf-opt: their words, their config trees.

use super::corpus_files::corpus;
use super::*;

/// A project as `rooflens init` makes it.
fn skeleton() -> Folder {
    let folder = Folder::new();
    run(&["init", &folder.text("p")]).fine();
    folder
}

/// What a command says in a project: exit code, standard output, standard error.
fn said(folder: &Folder, project: &str, args: &[&str]) -> (i32, String, String) {
    let output = rooflens_in(Path::new(&folder.text(project)), args).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

/// The plan of a run of the skeleton, and what was said.
fn planned(overrides: &[&str]) -> (serde_json::Value, String) {
    let folder = skeleton();
    let (code, out, err) =
        said(&folder, "p", &[&["run", "--dry-run", "--format", "json"], overrides].concat());
    assert_eq!(code, 0, "{overrides:?}\n{err}");
    (serde_json::from_str(&out).unwrap(), err)
}

/// An old word does what the new one does, and the new one is named.
fn means(old: &str, new: &str) {
    let (by_old, said) = planned(&[old]);
    let (by_new, nothing) = planned(&[new]);
    assert_eq!(by_old, by_new, "{old}");
    let notes: Vec<&str> = said.lines().filter(|line| line.starts_with("note: ")).collect();
    let name = new.split('=').next().unwrap();
    assert!(notes.len() == 1 && notes[0].contains(name), "{old}: {said}");
    assert!(!nothing.contains("note: "), "{new}: {nothing}");
}

#[test]
fn parity_016_single_gpu_multi_gpu_and_device_index() {
    means("hardware.device_index=1", "hardware.device=cuda:1");
    means("device=cuda:0", "hardware.device=cuda:0");
    let (plan, _) = planned(&["hardware=single_gpu"]);
    assert_eq!(config_of(&plan)["hardware"]["device"], "cuda:0");
    let (plan, _) = planned(&["hardware=multi_gpu"]);
    assert_eq!(config_of(&plan)["hardware"]["count"], 2);
}

/// The config that the first process of a plan gets.
fn config_of(plan: &serde_json::Value) -> &serde_json::Value {
    let steps = plan["steps"].as_array().unwrap();
    let process = steps.iter().find(|step| step["kind"] == "process");
    &process.unwrap_or_else(|| panic!("no process in {plan}"))["writes"][0]["content"]["config"]
}

#[test]
fn parity_018_presets_of_models() {
    for (model, folder) in [("qwen2_5_7b", "models/qwen2_5_7b"), ("llama3_70b", "models/llama3_70b")] {
        let (plan, _) = planned(&[&format!("model={model}")]);
        assert_eq!(config_of(&plan)["model"]["path"], folder);
        assert_eq!(config_of(&plan)["model"]["weights"], "checkpoint");
        let bootstrap = std::fs::read_to_string(
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../rooflens-collect/skeleton/bootstrap.yaml"),
        );
        assert!(bootstrap.unwrap().contains(&format!("name: {model}")), "{model}");
    }
}

#[test]
fn parity_025_num_new_tokens() {
    means("runtime.num_new_tokens=64", "infer.max_new_tokens=64");
}

#[test]
fn parity_029_gating_by_nvtx() {
    means("pipeline.nsys.gating_nvtx=true", "pipeline.nsys.capture=decode");
    means("pipeline.ncu.gating_nvtx=false", "pipeline.ncu.phase=null");
}

#[test]
fn parity_036_experiment_as_a_plain_value() {
    means("experiment=baseline", "experiment_name=baseline");
    // An option of the group keeps its meaning.
    let (plan, said) = planned(&["experiment=long-decode"]);
    assert_eq!(config_of(&plan)["infer"]["max_new_tokens"], 256);
    assert!(!said.contains("note: "), "{said}");
}

#[test]
fn parity_039_the_flags_of_hydra_on_run() {
    let folder = skeleton();
    let fine = |args: &[&str]| {
        let (code, out, err) = said(&folder, "p", args);
        assert_eq!(code, 0, "{args:?} {err}");
        out
    };
    let shown = fine(&["config", "show", "seed=3"]);
    assert_eq!(fine(&["run", "--cfg", "job", "seed=3"]), shown);
    assert_eq!(fine(&["run", "-c", "job", "seed=3"]), shown);
    assert_eq!(fine(&["run", "--cfg=job", "seed=3", "--run"]), shown);
    assert!(fine(&["run", "--cfg", "hydra"]).starts_with("hydra:"));
    assert_eq!(fine(&["run", "-c", "job", "-p", "seed"]), "0\n");
    assert!(fine(&["run", "--cfg", "job", "--resolve"]).contains("label: tiny-random"));
    assert!(fine(&["run", "--info", "defaults-tree"]).contains("Defaults Tree"));
    let all = fine(&["run", "--info"]);
    assert!(all.contains("Config search path") && all.contains("Defaults List") && all.contains("seed: 0"));
    assert!(!folder.path("p/runs").exists());
}

#[test]
fn parity_041_short_flags_of_several_letters() {
    let folder = skeleton();
    folder.write("p/other/small.yaml", b"a: 1\n");
    for args in [["run", "-cd", "other", "-cn", "small"], ["run", "-cp", "other", "-cn", "small"]] {
        let (code, out, err) = said(&folder, "p", &[&args[..], &["--cfg", "job"]].concat());
        assert_eq!((code, out.as_str()), (0, "a: 1\n"), "{err}");
    }
    let (code, out, _) = said(&folder, "p", &["config", "show", "-cd", "other", "-cn", "small"]);
    assert_eq!((code, out.as_str()), (0, "a: 1\n"));
}

#[test]
fn parity_046_names_of_sampling() {
    means("dataset.sampling.num_epochs=2", "dataset.sampling.epochs=2");
    means("dataset.sampling.num_samples_per_epoch=3", "dataset.sampling.samples_per_epoch=3");
    means("dataset.sampling.randomize=true", "dataset.sampling.shuffle=true");
}

#[test]
fn parity_048_subset_filelist() {
    means("dataset.subset_filelist=datasets/x/dev-20.txt", "dataset.filelist=datasets/x/dev-20.txt");
}

#[test]
fn parity_080_a_run_that_only_measures() {
    let (plan, _) = planned(&["profiling=none"]);
    let stages: Vec<&str> =
        plan["steps"].as_array().unwrap().iter().map(|step| step["stage"].as_str().unwrap()).collect();
    assert_eq!(stages, ["measure"]);
    // What the Nsight Compute runs of llm-perf-opt started.
    let (same, _) =
        planned(&["pipeline.torch_profiler.enable=false", "pipeline.static_analysis.enable=false"]);
    assert_eq!(same["steps"].as_array().unwrap().len(), 1);
    let folder = skeleton();
    let nothing =
        ["run", "pipeline.measure.enable=false", "profiling=none", "pipeline.static_analysis.enable=false"];
    let (code, _, err) = said(&folder, "p", &nothing);
    assert_eq!(code, 2, "{err}");
    assert!(!folder.path("p/runs").exists());
}

#[test]
fn parity_087_any_range_is_captured_and_unknown_ones_are_refused_first() {
    let argv = |overrides: &[&str]| {
        let folder = skeleton();
        let (code, out, err) =
            said(&folder, "p", &[&["run", "--dry-run", "profiling=nsys"], overrides].concat());
        assert_eq!(code, 0, "{err}");
        out
    };
    assert!(argv(&["pipeline.nsys.capture=vision"]).contains("--nvtx-capture=rooflens.vision@*"));
    assert!(argv(&["pipeline.nsys.capture='nvtx:my range'"]).contains("my range@*"));
    assert!(argv(&[]).contains("--nvtx-capture=rooflens.capture@*"));
    let folder = skeleton();
    let (code, _, err) =
        said(&folder, "p", &["run", "--dry-run", "profiling=nsys", "pipeline.nsys.capture=foo"]);
    assert_eq!(code, 2);
    assert!(err.contains("pipeline.nsys.capture is 'foo'") && err.contains("nvtx:NAME"), "{err}");
    // A program of one's own has phases of its own.
    let own = [
        "run",
        "--dry-run",
        "profiling=nsys",
        "runtime=command",
        "runtime.argv=[a]",
        "pipeline.nsys.capture=foo",
    ];
    assert!(said(&folder, "p", &own).1.contains("--nvtx-capture=rooflens.foo@*"));
}

#[test]
fn parity_090_numbers_in_argv() {
    let (plan, _) = planned(&["runtime=command", "runtime.argv=[python,serve.py,--port,8000,--rate,0.5]"]);
    let argv = &config_of(&plan)["runtime"]["argv"];
    assert_eq!(argv[3], 8000);
    let folder = skeleton();
    let (code, _, err) = said(&folder, "p", &["run", "--dry-run", "runtime=command", "runtime.argv=[a,[b]]"]);
    assert!(code == 2 && err.contains("a list of strings and numbers"), "{err}");
}

#[test]
fn parity_124_names_of_what_is_kept_of_samples() {
    for (old, new) in [("prediction", "predictions"), ("visualization", "pages")] {
        means(
            &format!("pipeline.direct_inference.output.{old}.enable=false"),
            &format!("pipeline.direct_inference.output.{new}=false"),
        );
    }
}

#[test]
fn every_old_name_is_taken() {
    for row in &rooflens_collect::project::names::table().keys {
        // A name that stays has another kind of value in files only.
        let Some(value) = row.test.as_ref().filter(|_| row.new.as_ref() != Some(&row.old)) else { continue };
        let old = row.old.replace('*', "direct_inference");
        let (_, said) = planned(&[&format!("{old}={value}")]);
        assert!(said.contains(&format!("note: {old}")), "{old}: {said}");
    }
}

#[test]
fn an_old_name_with_a_value_that_means_nothing_is_refused() {
    let folder = skeleton();
    let (code, _, err) = said(&folder, "p", &["run", "--dry-run", "profiling.nvml.interval_s=often"]);
    assert!(code == 2 && err.contains("sampler.interval_ms"), "{err}");
}

/// A project of llm-perf-opt: its config tree, a tiny model, three notes.
fn old_project() -> Folder {
    let folder = skeleton();
    copy(Path::new(&fixture("projects/llm-perf-opt")), &folder.path("old"));
    copy(&folder.path("p/models"), &folder.path("old/models"));
    for number in 1..4 {
        let note = format!("Note number {number}: the answer to this is short.\n");
        folder.write(&format!("old/datasets/notes/source-data/n{number}.txt"), note.as_bytes());
    }
    folder.write("old/datasets/notes/subsets/dev-2.txt", b"n1.txt\nn3.txt\n");
    folder
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (path, name) = (entry.as_ref().unwrap().path(), entry.unwrap().file_name());
        if path.is_dir() {
            copy(&path, &to.join(name));
        } else {
            std::fs::copy(&path, to.join(name)).unwrap();
        }
    }
}

#[test]
fn parity_044_an_old_tree_and_its_migration_have_one_plan() {
    let folder = old_project();
    for overrides in [&[][..], &["profiling=full"], &["device=cuda:1", "dataset.sampling.num_epochs=2"]] {
        let plan = |conf: &str| {
            let args = ["run", "--dry-run", "--format", "json", "--config-dir", conf];
            let (code, out, err) = said(&folder, "old", &[&args, overrides].concat());
            assert_eq!(code, 0, "{overrides:?} {err}");
            (out, err)
        };
        let (before, notes) = plan("conf");
        assert!(notes.contains("experiment is called experiment_name"), "{notes}");
        let (code, _, err) = said(&folder, "old", &["config", "migrate", "conf", "-o", "new"]);
        assert_eq!(code, 0, "{err}");
        let (after, notes) = plan("new");
        assert_eq!(before, after, "{overrides:?}");
        assert!(!notes.contains("conf/"), "{notes}");
        std::fs::remove_dir_all(folder.path("old/new")).unwrap();
    }
}

/// The composed config of a run that llm-perf-opt published, as a tree of one file.
#[test]
#[ignore = "needs the corpus"]
fn parity_044_the_config_of_a_published_run_is_planned() {
    let published = corpus("llm-perf-opt/reports/20251107-dsocr/nsys/all-stage/config.yaml");
    let folder = Folder::new();
    folder.write("old/conf/config.yaml", &std::fs::read(published).unwrap());
    let (code, out, err) = said(&folder, "old", &["run", "--dry-run", "--format", "json"]);
    assert_eq!(code, 0, "{err}");
    let plan: serde_json::Value = serde_json::from_str(&out).unwrap();
    let steps = plan["steps"].as_array().unwrap();
    let stages: Vec<&str> = steps.iter().map(|step| step["stage"].as_str().unwrap()).collect();
    assert_eq!(stages, ["measure", "torch_profiler", "nsys", "static_analysis"]);
    let config = config_of(&plan);
    assert_eq!(config["dataset"]["sampling"]["samples_per_epoch"], 20);
    assert_eq!(config["hardware"]["device"], "cuda:0");
    assert_eq!(config["warmup_rounds"], 2);
    assert_eq!(config["infer"]["ignore_eos"], false);
}

#[test]
fn config_migrate_keeps_comments_and_the_old_files() {
    let folder = old_project();
    let before = std::fs::read_to_string(folder.path("old/conf/dataset/notes.yaml")).unwrap();
    let (code, out, _) = said(&folder, "old", &["config", "migrate", "conf", "--dry-run"]);
    assert!(
        code == 0
            && out.contains("conf/dataset/notes.yaml:4: dataset.subset_filelist is called dataset.filelist"),
        "{out}"
    );
    assert!(!folder.path("old/conf/rooflens.yaml").exists());
    let (code, out, _) = said(&folder, "old", &["config", "migrate", "conf"]);
    assert!(code == 0 && out.contains("conf.before-migration"), "{out}");
    let after = std::fs::read_to_string(folder.path("old/conf/dataset/notes.yaml")).unwrap();
    assert!(
        after.starts_with("# Three short notes.\n")
            && after.contains("filelist: datasets/notes/subsets/dev-2.txt  # from the project"),
        "{after}"
    );
    let kept = folder.path("old/conf.before-migration/dataset/notes.yaml");
    assert_eq!(std::fs::read_to_string(kept).unwrap(), before);
    let (code, out, _) = said(&folder, "old", &["config", "migrate", "conf"]);
    assert!(code == 0 && out.contains("no old names"), "{out}");
}

#[test]
fn the_skeleton_has_no_old_names() {
    let folder = skeleton();
    let (code, out, _) = said(&folder, "p", &["config", "migrate", "conf"]);
    assert_eq!((code, out.as_str()), (0, "conf: no old names\n"));
}

#[test]
#[ignore = "needs torch: ROOFLENS_TORCH_PYTHON names the interpreter"]
fn parity_044_an_old_tree_runs_unchanged_on_torch() {
    let folder = old_project();
    let python = format!("runtime.python={}", interpreter("ROOFLENS_TORCH_PYTHON"));
    let (code, _, err) = said(&folder, "old", &["run", &python, "repeats=1"]);
    assert_eq!(code, 0, "{err}");
    let runs = folder.path("old/tmp/profile-output/baseline/tiny");
    let run = std::fs::read_dir(&runs).unwrap().next().unwrap().unwrap().path();
    let metrics: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(run.join("report/metrics.json")).unwrap()).unwrap();
    assert!(metrics["measured"]["ttft_ns"]["p50"].as_f64().is_some_and(|ttft| ttft > 0.0), "{metrics}");
    assert!(run.join("raw/torch_profiler/trace.json.gz").is_file());
    assert!(run.join("report/ops.csv").is_file(), "write_ops_csv was asked for");
}

/// Rows of the table of command lines: what to type, and whether its words are kept.
fn command_lines() -> Vec<(String, bool)> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/migrating.md");
    let text = std::fs::read_to_string(page).unwrap();
    let rows = text.lines().filter(|line| line.ends_with("| unchanged |") || line.ends_with("| different |"));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        (cells[cells.len() - 2].trim().trim_matches('`').to_owned(), row.ends_with("| unchanged |"))
    })
    .collect()
}

#[test]
fn parity_153_every_command_line_of_the_migration_page_runs() {
    let folder = skeleton();
    folder.write("p/summary_cuda_gpu_kern_sum.csv", KERNELS.as_bytes());
    folder.write("p/datasets/starter/subset-1k/files.txt", b"1-question.txt\n");
    let lines = command_lines();
    let kept: Vec<&String> = lines.iter().filter(|(_, kept)| *kept).map(|(line, _)| line).collect();
    assert!(kept.len() > 20 && lines.len() > 35, "{} {}", kept.len(), lines.len());
    for line in kept {
        // Reports of Nsight Compute are too large for a fixture: the corpus has them.
        if line.contains("kernels analyze") {
            continue;
        }
        let mut words: Vec<&str> = shell_words(line);
        assert_eq!(words.remove(0), "rooflens");
        if (words[0] == "run" || words.contains(&"profile")) && !words.contains(&"--cfg") {
            let at = words.iter().position(|word| *word == "--").unwrap_or(words.len());
            words.insert(at, "--dry-run");
        }
        let (code, _, err) = said(&folder, "p", &words);
        assert_eq!(code, 0, "{line}\n{err}");
        for word in words.iter().filter_map(|word| word.split_once('=')).map(|(name, _)| name) {
            if rooflens_collect::project::names::table().find(word).is_some() && word != "experiment" {
                assert!(err.contains(&format!("note: {word} is ")), "{line}\n{err}");
            }
        }
    }
}

const KERNELS: &str =
    "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
60.0,600,6,100.0,100.0,90,110,5.0,\"void gemv<float>(T1)\"
40.0,400,4,100.0,100.0,90,110,5.0,copy_kernel
";

/// The words of a line, with single quotes around what has brackets or spaces.
fn shell_words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for (at, part) in line.split('\'').enumerate() {
        match at % 2 {
            1 => words.push(part),
            _ => words.extend(part.split_whitespace()),
        }
    }
    words
}

#[test]
#[ignore = "needs the corpus"]
fn parity_153_the_reports_of_llm_perf_opt_are_analysed_by_its_own_words() {
    let folder = Folder::new();
    let reports = corpus("llm-perf-opt/reports/20251107-dsocr/ncu");
    let output = folder.text("out");
    let answer = run(&["kernels", "analyze", reports.to_str().unwrap(), "--output-dir", &output]);
    assert_eq!(answer.code, 0);
    assert!(Path::new(&output).join("index.html").is_file());
}

#[test]
fn parity_132_the_log_of_cublas_is_taken_and_joined() {
    let folder = skeleton();
    let log = std::fs::read_to_string(fixture("blaslog/cublaslt.log")).unwrap();
    let call = log.lines().find(|line| line.contains("[Trace]")).unwrap().to_owned() + "\n";
    folder.write("p/four.log", call.repeat(4).as_bytes());
    let script = format!(
        "#!/bin/sh\nif [ -n \"$ROOFLENS_TRACE\" ]; then gzip -c {} > \"$ROOFLENS_TRACE\"; fi\n\
         if [ -n \"$CUBLASLT_LOG_FILE\" ]; then cat four.log > \"$CUBLASLT_LOG_FILE\"; fi\n",
        fixture("kineto/decode.json")
    );
    folder.write("p/work.sh", script.as_bytes());
    let args = [
        "run",
        "runtime=command",
        "runtime.argv=[sh,work.sh]",
        "pipeline.cublas_log.enable=true",
        "pipeline.cublas_log.library=cublaslt",
        "pipeline.static_analysis.enable=false",
        "hydra.run.dir=out",
    ];
    let (code, _, err) = said(&folder, "p", &args);
    assert_eq!(code, 0, "{err}");
    assert!(folder.path("p/out/raw/cublas_log/gemms.log").is_file());
    let text = std::fs::read_to_string(folder.path("p/out/findings/gemms.json")).unwrap();
    let gemms: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(gemms["gemms"]["joined_calls"], 4, "{gemms}");
    // Without a log the trace is analysed all the same, and the report says what is missing.
    let none = [&args[..6], &["hydra.run.dir=none", "pipeline.cublas_log.library=cublas"]].concat();
    let (code, _, err) = said(&folder, "p", &none);
    assert_eq!(code, 0, "{err}");
    let notes = std::fs::read_to_string(folder.path("p/none/report/report.md")).unwrap();
    assert!(notes.contains("the library wrote no log"), "{notes}");
}
