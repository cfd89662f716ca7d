//! What a new user stumbled over.

use std::collections::BTreeSet;

use super::*;

fn project() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("p");
    text(&["init", root.to_str().unwrap()]);
    (folder, root)
}

#[test]
fn newcomer_08_a_run_that_would_do_nothing_is_refused() {
    let (_folder, root) = project();
    let nothing = ["pipeline.measure.enable=false", "pipeline.static_analysis.enable=false"];
    Answer::of(rooflens_in(&root, &[&["run", "profiling=none"], &nothing[..]].concat()).output().unwrap())
        .fails(2, "hint: profiling=minimal");
}

#[test]
fn newcomer_08_without_a_profiler_a_run_still_measures() {
    let (_folder, root) = project();
    for overrides in [&["pipeline.torch_profiler.enable=false"][..], &["profiling=none"]] {
        let plan =
            Answer::of(rooflens_in(&root, &[&["run", "--dry-run"], overrides].concat()).output().unwrap())
                .fine();
        let steps: Vec<&str> = plan.lines().filter(|line| line.starts_with("# ")).collect();
        assert!(steps[0].starts_with("# measure:"), "{steps:?}");
        assert!(!plan.contains("# torch_profiler:"), "{steps:?}");
    }
}

#[test]
fn newcomer_19_the_limit_is_the_number_of_operators() {
    let trace = fixture("kineto/decode.json");
    let screen = text(&["analyze", &trace, "--limit", "12"]);
    let rows = screen.lines().skip_while(|line| !line.starts_with("Operators")).skip(1);
    let rows = rows.take_while(|line| line.contains('%') && !line.contains("more")).count();
    let all = text(&["analyze", &trace, "--format", "csv", "--table", "operators"]).lines().count() - 1;
    assert_eq!(rows, all.min(12), "{screen}");
}

#[test]
#[ignore = "needs the corpus"]
fn newcomer_19_a_folder_of_unrelated_traces_is_refused() {
    let answer = run(&["analyze", &corpus("kineto/tracelens/h100")]);
    assert_eq!(answer.code, 2, "{}", answer.stdout);
    assert!(answer.stdout.is_empty());
    let first = answer.stderr.lines().next().unwrap();
    assert!(
        first.starts_with("error: ") && first.contains("are not ranks of the same job"),
        "{}",
        answer.stderr
    );
    assert!(
        answer.stderr.contains("hint: ") && answer.stderr.contains("rooflens analyze"),
        "{}",
        answer.stderr
    );
}

#[test]
fn newcomer_19_a_program_of_ones_own_is_not_named_or_costed_as_the_example_model() {
    let (_folder, root) = project();
    let args = [
        "run",
        "runtime=command",
        "runtime.argv=[sleep,'0']",
        "profiling=none",
        "pipeline.static_analysis.enable=true",
        "hydra.run.dir=runs/mine",
    ];
    let answer = Answer::of(rooflens_in(&root, &args).output().unwrap()).fine();
    assert!(answer.starts_with("command"), "{answer}");
    assert!(!answer.contains("tiny-random"), "{answer}");
    let metrics = std::fs::read_to_string(root.join("runs/mine/report/metrics.json")).unwrap();
    let metrics: Json = serde_json::from_str(&metrics).unwrap();
    let reason = metrics["not_computed"]["static_compute"].as_str().unwrap();
    assert!(reason.contains("runtime.model"), "{reason}");
    let summary = std::fs::read_to_string(root.join("runs/mine/report/stakeholder_summary.md")).unwrap();
    assert!(!summary.contains("tiny-random"), "{summary}");
    // A page for people: no key of metrics.json stands on it.
    assert!(!summary.contains("not_computed") && !summary.contains("`analysis."), "{summary}");
}

/// Headings of sections and columns of tables in a Markdown report, without those that are made of names and
/// numbers of the input.
fn labels_of(page: &str) -> BTreeSet<String> {
    let lines: Vec<&str> = page.lines().collect();
    let mut labels = BTreeSet::new();
    for (line, next) in lines.iter().zip(lines.iter().skip(1).chain([&""])) {
        if let Some(heading) = line.strip_prefix("## ").or(line.strip_prefix("### ")) {
            labels.insert(heading.to_owned());
        } else if line.starts_with('|') && next.starts_with("| ---") {
            // The parts of a bar have their glyph in front of their name.
            let bare = |cell: &str| cell.trim_matches([' ', '█', '▓', '▒', '·']).to_owned();
            labels.extend(line.trim_matches('|').split('|').map(bare));
        }
    }
    let is_made = |label: &str| {
        label.is_empty() || label.contains([':', '`', '0', '1']) || label.starts_with("wall time of ")
    };
    labels.retain(|label| !is_made(label));
    labels
}

#[test]
fn newcomer_20_explain_knows_every_heading_of_rendered_reports() {
    let files = [
        "kineto/decode.json",
        "kineto/two_ranks",
        "blaslog/cublaslt.log",
        "metrics/triton.txt",
        "nccl/inspector.jsonl",
        "tensorrt/made.profile.json",
        "torchmem/small.pickle",
    ];
    let mut pages: Vec<String> = Vec::new();
    for file in files {
        let path = fixture(file);
        assert!(PathBuf::from(&path).exists(), "{path}");
        pages.push(text(&["analyze", &path, "--format", "md"]));
    }
    let (decode, moe) = (fixture("kineto/decode.json"), fixture("configs/tiny-moe.json"));
    let cost = ["cost", &moe, "--hardware", "h100", "--context", "4k", "--format", "md"];
    pages.push(text(&[&cost[..], &["--operators", "--prefill", "2k"]].concat()));
    pages.push(text(&[&cost[..], &["--set", "num_key_value_heads=2"]].concat()));
    pages.push(text(&[&cost[..], &["--batch", "1..8", "--tpot", "20ms"]].concat()));
    pages.push(text(&["compare", &decode, &decode, "--format", "md"]));
    pages.push(text(&["advise", &decode, "--format", "md"]));
    pages.push(text(&["kernels", "top", &decode, "--format", "md"]));
    let counters = fixture("rocprof_compute/MI200");
    pages.push(text(&["kernels", "analyze", &counters, "--format", "md"]));
    let mut labels: BTreeSet<String> = pages.iter().flat_map(|page| labels_of(page)).collect();
    assert!(
        labels.len() > 100 && labels.contains("Time ledger") && labels.contains("host self"),
        "{labels:?}"
    );
    let words = [
        "unneeded",
        "avoidable",
        "launch_bound",
        "busy",
        "floor",
        "ttft",
        "TPOT",
        "exposed comm",
        "crossovers",
    ];
    labels.extend(words.map(str::to_owned));
    labels.extend(rooflens_analyze::compare::headline::ALL.iter().map(|metric| metric.title.to_owned()));
    let unknown: Vec<&String> =
        labels.iter().filter(|label| rooflens_core::glossary::meanings(label).is_empty()).collect();
    assert!(unknown.is_empty(), "add these to crates/rooflens-core/src/glossary/terms.rs: {unknown:?}");
    // Words need no quotes.
    assert!(text(&["explain", "launch", "bound"]).contains("slower than the device runs them"));
}

#[test]
fn help_is_written_in_the_words_of_the_field() {
    let help = text(&["cost", "--help"]);
    for words in
        ["Logging:", "Prompt length in text tokens", "Expert-parallel size", "Pipeline-parallel size"]
    {
        assert!(help.contains(words), "{words}: {help}");
    }
    let odd = ["Talk:", "where it is not said", "dealt out", "so many", "least time", "Tell ", " tells "];
    let commands = text(&["--help"]);
    let names = commands.lines().skip_while(|line| *line != "Commands:").skip(1);
    // What does not fit its line goes on in the next, further to the right.
    let names = names
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next());
    for name in names.filter(|name| *name != "help") {
        let help = text(&[name, "--help"]);
        for words in odd {
            assert!(!help.contains(words), "{name} --help says {words:?}:\n{help}");
        }
    }
}
