//! docs/projects.md shows what happens: its commands are typed, and what they say is compared.

use super::*;

/// A command as typed, and what the page says it prints; `…` stands for anything.
struct Shown {
    command: String,
    output: Vec<String>,
}

fn shown(page: &str) -> Vec<Shown> {
    let mut found: Vec<Shown> = Vec::new();
    let mut is_inside = false;
    for line in page.lines() {
        match line {
            "```console" => is_inside = true,
            "```" => is_inside = false,
            _ if !is_inside => {}
            line => match (line.strip_prefix("$ "), line.strip_prefix("> "), found.last_mut()) {
                (Some(command), ..) => {
                    found.push(Shown { command: command.to_owned(), output: Vec::new() });
                }
                (_, Some(more), Some(last)) => last.command.push_str(&format!("\n{more}")),
                (_, _, Some(last)) => last.output.push(line.to_owned()),
                _ => panic!("no command before {line:?}"),
            },
        }
    }
    found
}

/// Whether lines are as shown. A line `…` stands for any number of lines.
fn agree(lines: &[&str], shown: &[String]) -> bool {
    match shown {
        [] => lines.is_empty(),
        [any, rest @ ..] if any == "…" => (0..=lines.len()).any(|skip| agree(&lines[skip..], rest)),
        [first, rest @ ..] => match lines {
            [line, others @ ..] => agrees(line, first) && agree(others, rest),
            [] => false,
        },
    }
}

/// Whether a line is as shown. How wide a column is depends on what it holds, so blanks count as one.
fn agrees(line: &str, shown: &str) -> bool {
    let one_blank = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (line, shown) = (one_blank(line), one_blank(shown));
    let parts: Vec<&str> = shown.split('…').map(str::trim).collect();
    let mut rest = match line.strip_prefix(parts[0]) {
        Some(rest) => rest,
        None => return false,
    };
    for part in &parts[1..] {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.is_empty() || shown.ends_with('…')
}

#[test]
fn the_page_about_projects_is_true() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/projects.md");
    let shown = shown(&std::fs::read_to_string(page).unwrap());
    assert!(shown.len() > 20);
    let folder = Folder::new();
    std::fs::create_dir(folder.path("work")).unwrap();
    std::fs::create_dir(folder.path("home")).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_rooflens")).parent().unwrap().to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(program).chain(std::env::split_paths(&path))).unwrap();
    // One shell types all, so that `cd` and `export` last.
    let script: String = shown.iter().map(|shown| format!("echo '@@@'\n{}\n", shown.command)).collect();
    let output = Command::new("bash")
        .args(["-c", &format!("exec 2>&1\n{script}")])
        .current_dir(folder.path("work"))
        .env_clear()
        .env("PATH", path)
        .env("LC_ALL", "C.UTF-8")
        .env("ROOFLENS_PROGRESS", "never")
        .env("HOME", folder.path("home"))
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .envs(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_NAME"), "Test")))
        .envs(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_EMAIL"), "test@example.invalid")))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<&str> = said.split("@@@\n").skip(1).collect();
    assert_eq!(answers.len(), shown.len(), "{said}");
    let mut wrong = String::new();
    for (shown, answer) in shown.iter().zip(answers) {
        let lines: Vec<&str> = answer.lines().collect();
        if !agree(&lines, &shown.output) {
            let page = shown.output.join("\n");
            wrong.push_str(&format!("$ {}\n{answer}but the page says\n{page}\n\n", shown.command));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
