//! Help and the words of a report.

use super::*;

#[test]
fn without_a_command_there_is_help() {
    let help = text(&[]);
    let commands = "analyze import export report cost config init assets externals list explain monitor doctor \
        completions man";
    for command in commands.split_whitespace() {
        assert!(help.contains(&format!("\n  {command} ")), "{command}: {help}");
        let own = check_help(&[command]);
        let inner = own.lines().skip_while(|line| *line != "Commands:").skip(1);
        let inner =
            inner.take_while(|line| !line.is_empty()).filter_map(|line| line.split_whitespace().next());
        for inner in inner.filter(|name| *name != "help") {
            check_help(&[command, inner]);
        }
    }
    assert_eq!(text(&["--version"]), format!("rooflens {}\n", env!("CARGO_PKG_VERSION")));
}

fn check_help(command: &[&str]) -> String {
    let help = run(&[command, &["--help"]].concat()).fine();
    assert!(help.contains("Examples:\n  rooflens "), "{help}");
    assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
    help
}

#[test]
fn every_list_lists_and_every_entry_is_explained() {
    let lists = json(&["list"]);
    for list in lists["items"].as_array().unwrap() {
        let name = list["name"].as_str().unwrap();
        let text = text(&["list", name]);
        let json = json(&["list", name]);
        let items = json["items"].as_array().unwrap();
        assert!(text.lines().count() >= items.len(), "{text}");
        let first = items[0]["name"].as_str().unwrap();
        let explained = run(&["explain", first]).fine();
        assert!(explained.starts_with(&format!("{first} (")), "{explained}");
    }
    insta::assert_snapshot!(run(&["list"]).fine());
    insta::assert_snapshot!(run(&["list", "formats"]).fine());
}

#[test]
fn explanations() {
    insta::assert_snapshot!(text(&["explain", "devices.busy_ns"]));
    insta::assert_snapshot!(text(&["explain", "kernels.idle_before_ns"]));
    insta::assert_snapshot!(text(&["explain", "launch_bound"]));
    insta::assert_snapshot!(text(&["explain", "exit-codes"]));
    let json = json(&["explain", "kernels"]);
    let kinds: Vec<_> = json["meanings"].as_array().unwrap().iter().map(|meaning| &meaning["kind"]).collect();
    assert_eq!(kinds, ["analysis", "table", "term"]);
    for (name, words) in [
        ("mfu", "model FLOPs / (peak"),
        ("flops.useful", "formula: "),
        ("attn.core", "operator class"),
        ("H100 SXM5 80GB", "dense peaks: "),
        ("h100", "H100 SXM5 80GB (device)"),
    ] {
        assert!(text(&["explain", name]).contains(words), "{name}");
    }
}

#[test]
fn the_doctor_tells_what_is_there() {
    let text = text(&["doctor"]);
    assert!(text.contains("processors"), "{text}");
    assert!(text.lines().all(|line| {
        ["ok ", "missing ", "warning ", "n/a ", "        "].iter().any(|start| line.starts_with(start))
    }));
    let json = json(&["doctor"]);
    assert_eq!(json["schema"]["name"], "rooflens.doctor");
    for check in json["checks"].as_array().unwrap() {
        let is_wrong = ["missing", "warning"].iter().any(|word| check["status"] == *word);
        assert_eq!(is_wrong, !check["hint"].is_null(), "{check}");
    }
}

#[test]
fn completions_and_manual() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(text(&["completions", shell]).contains("rooflens"), "{shell}");
    }
    assert!(text(&["man"]).contains(".TH rooflens 1"));
    let folder = Folder::new();
    text(&["man", &folder.text("man1")]);
    let pages = files(&folder.path("man1"));
    assert!(pages.contains(&"rooflens.1".to_owned()), "{pages:?}");
    assert!(pages.contains(&"rooflens-analyze.1".to_owned()), "{pages:?}");
}
