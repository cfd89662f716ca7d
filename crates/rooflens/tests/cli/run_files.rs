//! The files around a run.

use super::run::{metrics, only_run, project, run_in, whole};
use super::*;

#[test]
fn the_files_around_a_run() {
    let folder = project(&whole());
    git(&folder.path("p"), &["init", "--quiet"]);
    run_in(&folder, &[]).fine();
    let run_dir = only_run(&folder);
    let read = |name: &str| std::fs::read_to_string(run_dir.join("report").join(name)).unwrap();
    saved_are_read_back(&run_dir);
    let env: Json = serde_json::from_str(&read("env.json")).unwrap();
    assert_eq!(env["schema"]["name"], "rooflens.env");
    assert_eq!(env["not_computed"]["project"], "the repository has no commit yet");
    assert_eq!(env["versions"]["torch"], "2.0");
    assert!(env["cpu"]["usable_threads"].as_u64().unwrap() > 0);
    let inputs = read("inputs.yaml");
    assert!(inputs.contains("description: Six prompts, from a question of a line to a page."), "{inputs}");
    let assumptions = read("assumptions.md");
    for told in ["`tpot_ns`: per request", "type 7", "`measure`: times of every step", "## Model cost"] {
        assert!(assumptions.contains(told), "{told}: {assumptions}");
    }
    let summary = read("stakeholder_summary.md");
    let sentence = metrics(&run_dir)["analysis"]["verdict"]["sentence"].as_str().unwrap().to_owned();
    assert!(summary.contains("time to first token 100 ns, time per output token 55 ns"), "{summary}");
    assert!(summary.contains(&sentence[..20]), "{summary}");

    // What tells of the machine and the inputs is of the time of the run.
    let before = (read("env.json"), inputs, assumptions, summary);
    std::fs::write(folder.path("p/datasets/starter/metadata.yaml"), "other: 1\n").unwrap();
    text(&["report", run_dir.to_str().unwrap()]);
    assert_eq!(
        (read("env.json"), read("inputs.yaml"), read("assumptions.md"), read("stakeholder_summary.md")),
        before
    );
}

#[test]
fn tables_are_as_long_as_asked() {
    let rows = |top: &str| {
        let folder = project(&whole());
        run_in(&folder, &[&format!("output.top={top}")]).fine();
        let run_dir = only_run(&folder);
        let read = || {
            let report = std::fs::read_to_string(run_dir.join("report/report.md")).unwrap();
            let page = std::fs::read_to_string(run_dir.join("report/index.html")).unwrap();
            let section = report.split("\n## Operators\n").nth(1).unwrap().split("\n## ").next().unwrap();
            let table =
                page.split("data-name=\"operators\"").nth(1).unwrap().split("</table>").next().unwrap();
            let in_report = section.lines().filter(|line| line.starts_with("| `")).count();
            (in_report, table.matches("<tbody").count())
        };
        let first = read();
        text(&["report", run_dir.to_str().unwrap()]);
        assert_eq!(read(), first, "a new report keeps to it");
        first
    };
    assert_eq!(rows("2"), (2, 2));
    let (report, page) = rows("100");
    assert!(report > 5 && report == page, "{report} {page}");
}
