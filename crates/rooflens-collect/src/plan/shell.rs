//! A plan as commands that can be pasted into a shell.

use std::fmt::Write;
use std::path::Path;

use super::{CommandWord, PlanRoot, PlannedStep, ProcessCommand, RunFolders, RunPlan, RunStage, StepWork};
use crate::profilers::SESSION;
use crate::profilers::ncu::CHOSEN;

impl RunPlan {
    /// The plan as a script. What it does is what [`execute`](crate::execute) would do, but for
    /// timeouts, logs and manifests. `package` is the command that gives the folder of the package.
    pub fn to_shell(&self, places: &RunFolders, package: &str) -> String {
        // A shell of its own: a failure ends the script, not the shell that it is pasted into.
        let mut script = String::from("(\nset -e\n");
        for root in [PlanRoot::Project, PlanRoot::Run] {
            let _ = writeln!(script, "{}={}", root.variable(), quoted(&text(places.of(root))));
        }
        if self.commands().next().is_some() {
            let _ = writeln!(script, "PACKAGE=$({package})");
        }
        if self.steps.iter().any(|step| step.stage == RunStage::Nsys) {
            let _ = writeln!(script, "export {SESSION}=$$-$(date +%s)");
        }
        for step in &self.steps {
            script += &shell_of(step, places);
        }
        script + ")\n"
    }
}

fn shell_of(step: &PlannedStep, places: &RunFolders) -> String {
    let mut script = format!("\n# {}: {}", step.name, step.purpose);
    match &step.work {
        StepWork::Static(work) => {
            script += "; rooflens computes it\n";
            let _ = write!(script, "rooflens cost {}", shell_word(&work.model));
            let list = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
            let _ = write!(script, " --batch {}", list(&work.batch_sizes));
            if !work.contexts.is_empty() {
                let _ = write!(script, " --context {}", list(&work.contexts));
            }
            let named =
                [("--hardware", &work.hardware), ("--dtype", &work.dtype), ("--kv-dtype", &work.kv_dtype)];
            for (flag, value) in named {
                if let Some(value) = value {
                    let _ = write!(script, " {flag} {}", quoted(value));
                }
            }
            if work.tensor_parallel > 1 {
                let _ = write!(script, " --tp {}", work.tensor_parallel);
            }
            script.push('\n');
        }
        StepWork::Process(command) => {
            if let Some(seconds) = command.timeout_s {
                let _ = write!(script, "; stopped after {seconds} s");
            }
            script.push('\n');
            if command.argv.contains(&CommandWord::Text(PlanRoot::Run, CHOSEN.to_owned())) {
                script += &chosen(command);
            }
            script += &process(command, places);
        }
    }
    script
}

fn chosen(command: &ProcessCommand) -> String {
    let file = format!("\"$RUN\"/{CHOSEN}");
    // The settings stand in the specification that the step is given.
    let settings = command.writes.iter().find_map(|file| file.content.pointer("/config/pipeline/ncu"));
    let number = |key: &str| settings.and_then(|settings| settings[key].as_u64());
    let mut options = String::new();
    for (option, key) in [("--k", "top_kernels"), ("--launches", "launches_per_kernel")] {
        options += &number(key).map_or(String::new(), |number| format!(" {option} {number}"));
    }
    let kernels = settings.and_then(|settings| settings["kernel"].as_array()).into_iter().flatten();
    for kernel in kernels.filter_map(serde_json::Value::as_str) {
        options += &format!(" --kernel {}", quoted(kernel));
    }
    format!(
        "mkdir -p \"$RUN\"/raw/ncu\nrooflens kernels top \"$RUN\"/raw/nsys/report.sqlite{options} --ncu-filter > {file}\n"
    )
}

fn process(command: &ProcessCommand, places: &RunFolders) -> String {
    let mut script = String::new();
    for file in &command.writes {
        let folder = Path::new(&file.path).parent().map(text).unwrap_or_default();
        let target = shell_word(&CommandWord::In(PlanRoot::Run, file.path.clone()));
        let _ = writeln!(script, "mkdir -p {}", shell_word(&CommandWord::In(PlanRoot::Run, folder)));
        // The text is JSON: a line of it is never this one word.
        let _ = write!(script, "cat > {target} <<'END_OF_FILE'\n{}END_OF_FILE\n", file.text(places));
    }
    let env = command.env.iter().map(|(name, value)| format!("{name}={}", shell_word(value)));
    let argv = command.argv.iter().map(shell_word);
    let words: Vec<String> = env.chain(argv).collect();
    let _ = writeln!(script, "(cd {} && env {})", shell_word(&command.cwd), words.join(" \\\n  "));
    script
}

fn shell_word(word: &CommandWord) -> String {
    match word {
        CommandWord::Plain(text) => quoted(text),
        CommandWord::In(root, path) if path.is_empty() => format!("\"${}\"", root.variable()),
        CommandWord::In(root, path) => format!("\"${}\"/{}", root.variable(), quoted(path)),
        CommandWord::Text(root, path) => format!("\"$(cat \"${}\"/{})\"", root.variable(), quoted(path)),
        CommandWord::PythonPath(None) => "\"$PACKAGE${PYTHONPATH:+:$PYTHONPATH}\"".to_owned(),
        CommandWord::PythonPath(Some(then)) => format!("\"$PACKAGE\":{}", quoted(then)),
        CommandWord::SearchPath(folder) => format!("{}:\"$PATH\"", shell_word(folder)),
    }
}

pub(crate) fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:+=@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
