//! The program as its users meet it: arguments in, output and exit code out.
#![expect(clippy::unwrap_used, reason = "a failed test may panic")]

mod advise;
mod analyze;
mod assets;
mod claims;
mod compare;
mod config;
mod corpus;
mod corpus_files;
mod cost;
mod cost_files;
mod cost_sweeps;
mod data_externals;
mod data_variants;
mod documents;
mod encoder_decoder;
mod environments;
mod export;
mod externals;
mod failures;
mod formats;
mod guide;
mod hardware;
mod interrupted;
mod kernel_metrics;
mod kernel_regex;
mod kernels;
mod migrating;
#[path = "../../../rooflens-collect/tests/all/mock_nvml/mod.rs"]
mod mock_nvml;
mod monitor;
mod plot;
mod project;
mod run;
mod run_answers;
mod run_boxes;
mod run_csv;
mod run_files;
mod run_folders;
mod run_numbers;
mod run_sweeps;
mod runs;
mod sampled;
mod serve;
mod store;
mod subset;
mod words;

use std::io::{BufRead, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rooflens_core::document::{self, SchemaTag};
use serde_json::Value as Json;

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name);
    path.to_str().unwrap().to_owned()
}

fn rooflens(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rooflens"));
    command.args(args).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    // A line that appears because time has passed would depend on the machine.
    command.env("ROOFLENS_PROGRESS", "never").stdin(Stdio::null());
    command
}

/// The program in a folder, where git can be asked too.
fn rooflens_in(folder: &Path, args: &[&str]) -> Command {
    let mut command = rooflens(args);
    command.current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    command
}

/// The interpreter that an environment variable names, for a test that needs the library it has.
fn interpreter(variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| panic!("{variable} must name an interpreter"))
}

/// Runs git as a user would, with a user's name and nothing else of this machine's. Its hooks find the
/// program under test.
fn try_git(folder: &Path, args: &[&str]) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_rooflens")).parent().unwrap().to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(program).chain(std::env::split_paths(&path))).unwrap();
    let settings = ["user.name=Test", "user.email=test@example.invalid", "init.defaultBranch=main"];
    Command::new("git")
        .args(settings.iter().flat_map(|setting| ["-c", setting]))
        .args(["-c", "protocol.file.allow=always", "-c", "commit.gpgSign=false"])
        .args(args)
        .current_dir(folder)
        .env_clear()
        .env("PATH", path)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .unwrap()
}

fn git(folder: &Path, args: &[&str]) -> String {
    let output = try_git(folder, args);
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

fn tag(json: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Tagged {
        schema: SchemaTag,
    }
    let tagged: Tagged = serde_json::from_str(json).ok()?;
    Some(tagged.schema.name.strip_prefix("rooflens.").unwrap().to_owned())
}

/// The document can be read into the type of that name and written again, byte for byte.
fn is_written_as(name: &str, json: &str, place: &str) {
    let found = document::all().find(|document| document.name == name);
    let document = found.unwrap_or_else(|| panic!("the document {name} has no schema"));
    assert_eq!(document.rewrite(json).unwrap(), json.trim_end(), "{place}: {name} is not read back as it is");
}

/// Every JSON document that a test sees can be read into its type and written again, byte for byte.
fn is_read_back(printed: &str) {
    let (json, more) = match serde_json::from_str::<serde::de::IgnoredAny>(printed) {
        Ok(_) => (printed, ""),
        // A stream of samples: its first line is the document, each further line a sample.
        Err(_) => printed.split_once('\n').unwrap_or((printed, "")),
    };
    let Some(name) = tag(json) else { return };
    is_written_as(&name, json, "printed");
    for line in more.lines() {
        is_written_as("samples-line", line, "printed");
    }
}

/// Every JSON document that a run or an analysis saved can be read into its type and written again, byte for byte.
/// `inputs.yaml` and what workloads are given and leave are no documents.
fn saved_are_read_back(folder: &Path) {
    let mut count = 0;
    for name in files(folder).iter().filter(|name| name.ends_with(".json")) {
        let (path, saved) = (folder.join(name), std::fs::read_to_string(folder.join(name)).unwrap());
        let file = path.file_name().unwrap().to_str().unwrap();
        let is_finding = path.parent().unwrap().ends_with("findings");
        match file.strip_suffix(".json").unwrap() {
            _ if is_finding => is_written_as("finding", &saved, name),
            schema @ ("manifest" | "plan" | "sampler") => is_written_as(schema, &saved, name),
            _ if name.split('/').any(|part| part == "raw") => continue,
            _ => {
                is_written_as(&tag(&saved).unwrap_or_else(|| panic!("{name} names no schema")), &saved, name)
            }
        }
        count += 1;
    }
    assert!(count > 0, "{} has no documents", folder.display());
}

struct Answer {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Answer {
    fn of(output: Output) -> Self {
        let answer = Answer {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        };
        is_read_back(&answer.stdout);
        answer
    }

    /// Standard output, where all went well.
    fn fine(self) -> String {
        assert_eq!(self.code, 0, "{}", self.stderr);
        self.stdout
    }

    fn json(self) -> Json {
        serde_json::from_str(&self.fine()).unwrap()
    }

    fn hint(&self) -> &str {
        self.stderr.lines().find_map(|line| line.strip_prefix("hint: ")).unwrap_or_default()
    }

    /// The command failed with this exit code, and its error message has this text.
    #[track_caller]
    fn fails(&self, code: i32, text: &str) -> &Self {
        assert!(self.code == code && self.stderr.contains(text), "exit code {}: {}", self.code, self.stderr);
        self
    }

    /// The hint has this text.
    #[track_caller]
    fn hints(&self, text: &str) -> &Self {
        assert!(self.hint().contains(text), "{}", self.stderr);
        self
    }
}

fn run(args: &[&str]) -> Answer {
    Answer::of(rooflens(args).output().unwrap())
}

/// Standard output of a command that succeeds.
#[track_caller]
fn text(args: &[&str]) -> String {
    run(args).fine()
}

/// The JSON document that a command prints.
#[track_caller]
fn json(args: &[&str]) -> Json {
    run(&[args, &["--format", "json"]].concat()).json()
}

fn run_with_input(args: &[&str], input: &[u8]) -> Answer {
    let mut command = rooflens(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    Answer::of(child.wait_with_output().unwrap())
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// A program of a few lines of shell.
    fn program(&self, name: &str, script: &str) -> String {
        use std::os::unix::fs::PermissionsExt;
        let path = self.write(name, format!("#!/bin/sh\n{script}").as_bytes());
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn write(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        self.text(name)
    }
}

fn json_file(path: impl AsRef<Path>) -> Json {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// A command that goes on while the test does something.
struct Going {
    child: std::process::Child,
    talk: std::io::BufReader<std::process::ChildStderr>,
}

impl Going {
    fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let talk = std::io::BufReader::new(child.stderr.take().unwrap());
        Going { child, talk }
    }

    /// Presses Ctrl-C.
    fn press(&self) {
        let sent = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    fn wait_for(&mut self, word: &str) {
        let mut said = String::new();
        while !said.contains(word) {
            assert!(self.talk.read_line(&mut said).unwrap() > 0, "it ended without a word: {said}");
        }
    }

    /// Its exit code and standard output, once it has ended.
    fn end(mut self) -> (i32, String) {
        let (mut stdout, mut rest) = (String::new(), String::new());
        self.child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        self.talk.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code().unwrap(), stdout)
    }
}

/// Names of the files below a folder, sorted.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.push(path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

/// Everything below a folder, links not followed: each path with what it says or holds.
fn tree(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let entry = entry.unwrap();
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            if kind.is_symlink() {
                found.push(format!("{name} -> {}", std::fs::read_link(&path).unwrap().display()));
            } else if kind.is_dir() {
                found.push(format!("{name}/"));
                open.push(path);
            } else {
                found.push(format!("{name}: {:?}", std::fs::read(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}
