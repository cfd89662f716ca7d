//! People who come from llm-perf-opt: their words, their config trees.

use super::corpus_files::corpus;
use super::*;

fn skeleton() -> Folder {
    let folder = Folder::new();
    text(&["init", &folder.text("p")]);
    folder
}

/// What a command says in a project.
fn said(folder: &Folder, project: &str, args: &[&str]) -> Answer {
    Answer::of(rooflens_in(&folder.path(project), args).output().unwrap())
}

/// The plan of a run of the skeleton, and what was said.
fn planned(overrides: &[&str]) -> (Json, String) {
    let folder = skeleton();
    let answer = said(&folder, "p", &[&["run", "--dry-run", "--format", "json"], overrides].concat());
    let said = answer.stderr.clone();
    (answer.json(), said)
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
fn parity_016_025_029_046_048_124_old_words_do_what_the_new_ones_do() {
    let output = "pipeline.direct_inference.output";
    for (old, new) in [
        ("hardware.device_index=1", "hardware.device=cuda:1"),
        ("device=cuda:0", "hardware.device=cuda:0"),
        ("runtime.num_new_tokens=64", "infer.max_new_tokens=64"),
        ("pipeline.nsys.gating_nvtx=true", "pipeline.nsys.capture=decode"),
        ("pipeline.ncu.gating_nvtx=false", "pipeline.ncu.phase=null"),
        ("dataset.sampling.num_epochs=2", "dataset.sampling.epochs=2"),
        ("dataset.sampling.num_samples_per_epoch=3", "dataset.sampling.samples_per_epoch=3"),
        ("dataset.sampling.randomize=true", "dataset.sampling.shuffle=true"),
        ("dataset.subset_filelist=datasets/x/dev-20.txt", "dataset.filelist=datasets/x/dev-20.txt"),
        (&format!("{output}.prediction.enable=false"), &format!("{output}.predictions=false")),
        (&format!("{output}.visualization.enable=false"), &format!("{output}.pages=false")),
    ] {
        means(old, new);
    }
    let hardware = |preset: &str| config_of(&planned(&[preset]).0)["hardware"].clone();
    assert_eq!(hardware("hardware=single_gpu")["device"], "cuda:0");
    assert_eq!(hardware("hardware=multi_gpu")["count"], 2);
}

fn config_of(plan: &Json) -> &Json {
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
    let fine = |args: &[&str]| said(&folder, "p", args).fine();
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
        assert_eq!(said(&folder, "p", &[&args[..], &["--cfg", "job"]].concat()).fine(), "a: 1\n");
    }
    assert_eq!(said(&folder, "p", &["config", "show", "-cd", "other", "-cn", "small"]).fine(), "a: 1\n");
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
    said(&folder, "p", &nothing).fails(2, "");
    assert!(!folder.path("p/runs").exists());
}

#[test]
fn parity_087_any_range_is_captured_and_unknown_ones_are_refused_first() {
    let argv = |overrides: &[&str]| {
        said(&skeleton(), "p", &[&["run", "--dry-run", "profiling=nsys"], overrides].concat()).fine()
    };
    assert!(argv(&["pipeline.nsys.capture=vision"]).contains("--nvtx-capture=rooflens.vision@*"));
    assert!(argv(&["pipeline.nsys.capture='nvtx:my range'"]).contains("my range@*"));
    assert!(argv(&[]).contains("--nvtx-capture=rooflens.capture@*"));
    said(&skeleton(), "p", &["run", "--dry-run", "profiling=nsys", "pipeline.nsys.capture=foo"])
        .fails(2, "pipeline.nsys.capture is 'foo'")
        .fails(2, "nvtx:NAME");
    // A program of one's own has phases of its own.
    let own = argv(&["runtime=command", "runtime.argv=[a]", "pipeline.nsys.capture=foo"]);
    assert!(own.contains("--nvtx-capture=rooflens.foo@*"), "{own}");
}

#[test]
fn parity_090_numbers_in_argv() {
    let (plan, _) = planned(&["runtime=command", "runtime.argv=[python,serve.py,--port,8000,--rate,0.5]"]);
    let argv = &config_of(&plan)["runtime"]["argv"];
    assert_eq!(argv[3], 8000);
    said(&skeleton(), "p", &["run", "--dry-run", "runtime=command", "runtime.argv=[a,[b]]"])
        .fails(2, "a list of strings and numbers");
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
    said(&skeleton(), "p", &["run", "--dry-run", "profiling.nvml.interval_s=often"])
        .fails(2, "sampler.interval_ms");
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
            let answer = said(&folder, "old", &[&args, overrides].concat());
            let notes = answer.stderr.clone();
            (answer.fine(), notes)
        };
        let (before, notes) = plan("conf");
        assert!(notes.contains("experiment is called experiment_name"), "{notes}");
        said(&folder, "old", &["config", "migrate", "conf", "-o", "new"]).fine();
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
    let plan = said(&folder, "old", &["run", "--dry-run", "--format", "json"]).json();
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
    let migrate =
        |more: &[&str]| said(&folder, "old", &[&["config", "migrate", "conf"], more].concat()).fine();
    let out = migrate(&["--dry-run"]);
    let told = "conf/dataset/notes.yaml:4: dataset.subset_filelist is called dataset.filelist";
    assert!(out.contains(told), "{out}");
    assert!(!folder.path("old/conf/rooflens.yaml").exists());
    assert!(migrate(&[]).contains("conf.before-migration"));
    let after = std::fs::read_to_string(folder.path("old/conf/dataset/notes.yaml")).unwrap();
    assert!(
        after.starts_with("# Three short notes.\n")
            && after.contains("filelist: datasets/notes/subsets/dev-2.txt  # from the project"),
        "{after}"
    );
    let kept = folder.path("old/conf.before-migration/dataset/notes.yaml");
    assert_eq!(std::fs::read_to_string(kept).unwrap(), before);
    assert!(migrate(&[]).contains("no old names"));
}

#[test]
fn the_skeleton_has_no_old_names() {
    assert_eq!(said(&skeleton(), "p", &["config", "migrate", "conf"]).fine(), "conf: no old names\n");
}

#[test]
#[ignore = "needs torch: ROOFLENS_TORCH_PYTHON names the interpreter"]
fn parity_044_an_old_tree_runs_unchanged_on_torch() {
    let folder = old_project();
    let python = format!("runtime.python={}", interpreter("ROOFLENS_TORCH_PYTHON"));
    said(&folder, "old", &["run", &python, "repeats=1"]).fine();
    let runs = folder.path("old/tmp/profile-output/baseline/tiny");
    let run = std::fs::read_dir(&runs).unwrap().next().unwrap().unwrap().path();
    let metrics = json_file(run.join("report/metrics.json"));
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
        let answer = said(&folder, "p", &words);
        assert_eq!(answer.code, 0, "{line}\n{}", answer.stderr);
        for word in words.iter().filter_map(|word| word.split_once('=')).map(|(name, _)| name) {
            if rooflens_collect::project::names::table().find(word).is_some() && word != "experiment" {
                answer.fails(0, &format!("note: {word} is "));
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
    text(&["kernels", "analyze", reports.to_str().unwrap(), "--output-dir", &output]);
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
    let take = |library: &str, to: &str| {
        let settings = "run runtime=command runtime.argv=[sh,work.sh] pipeline.cublas_log.enable=true \
            pipeline.static_analysis.enable=false";
        let mut args: Vec<&str> = settings.split_whitespace().collect();
        let set = [format!("pipeline.cublas_log.library={library}"), format!("hydra.run.dir={to}")];
        args.extend(set.iter().map(String::as_str));
        said(&folder, "p", &args).fine()
    };
    take("cublaslt", "out");
    assert!(folder.path("p/out/raw/cublas_log/gemms.log").is_file());
    let gemms = json_file(folder.path("p/out/findings/gemms.json"));
    assert_eq!(gemms["gemms"]["joined_calls"], 4, "{gemms}");
    // Without a log the trace is analysed all the same, and the report says what is missing.
    take("cublas", "none");
    let notes = std::fs::read_to_string(folder.path("p/none/report/report.md")).unwrap();
    assert!(notes.contains("the library wrote no log"), "{notes}");
}
