//! From a wish to a file of measured figures: start the measuring program, read its answer, write, tell.

mod answer;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rooflens_collect::environment::Interpreter;
use rooflens_collect::execute::{Executor, Processes, StepOutcome, find_program};
use rooflens_collect::package as python;
use rooflens_collect::plan::{
    CommandWord, PlanRoot, PlannedStep, ProcessCommand, RunFolders, RunStage, StepWork,
};
use rooflens_cost::hardware::{Catalog, MeasuredHardware};
use rooflens_schema::RunDir;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use self::answer::MeasuredPeaks;
use crate::document::SchemaTag;
use crate::error::Error;
use crate::observer::{Event, SharedObserver, StepWatch};
use crate::run::project_settings;
use crate::{project, saved};

/// What is asked for.
#[derive(Debug, Clone)]
pub struct MeasureRequest {
    /// The interpreter.
    pub python: Option<String>,
    /// The device, as PyTorch calls it.
    pub device: String,
    /// How long to measure.
    pub seconds: u64,
    /// What it shall be called.
    pub name: Option<String>,
    /// The file.
    pub output: Option<PathBuf>,
    /// Whether a file that is there is replaced.
    pub force: bool,
}

/// Measured peaks, and the file that holds them.
pub struct MeasuredDevice {
    /// What was measured.
    pub peaks: MeasuredPeaks,
    /// As the catalog has it.
    pub measured: MeasuredHardware,
    /// The file.
    pub path: PathBuf,
}

/// The JSON document: the measured peaks of a device, and the file that keeps them.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredDocument<'a> {
    /// `rooflens.hardware`.
    pub(crate) schema: SchemaTag,
    /// The file of the device that was written.
    pub(crate) file: String,
    /// What the device is called in the catalog from now on.
    pub(crate) name: Cow<'a, str>,
    /// What else it is called.
    pub(crate) aliases: Cow<'a, [String]>,
    /// What was measured.
    pub(crate) measured: Cow<'a, MeasuredPeaks>,
}

impl MeasuredDevice {
    /// For programs.
    pub fn document(&self) -> MeasuredDocument<'_> {
        MeasuredDocument {
            schema: SchemaTag::new("hardware"),
            file: self.path.display().to_string(),
            name: self.measured.name.as_str().into(),
            aliases: (&self.measured.aliases).into(),
            measured: Cow::Borrowed(&self.peaks),
        }
    }
}

const STEP: &str = "peaks";

/// Measures a device and writes its file. Nothing where the observer stopped it.
pub fn measure(wish: &MeasureRequest, observer: &SharedObserver) -> Result<Option<MeasuredDevice>, Error> {
    // What is known to fail fails before minutes are spent.
    if let Some(name) = &wish.name {
        let path = path(wish, name);
        free(&path, wish.force)?;
    }
    let project =
        project::around(Path::new(".")).unwrap_or_else(|| std::path::absolute(".").unwrap_or_default());
    let how =
        Measuring { interpreter: interpreter(wish), device: &wish.device, seconds: wish.seconds, project };
    let Some(peaks) = how.measure(&Processes::default(), observer)? else { return Ok(None) };
    let measured = peaks.measured(wish.name.as_deref(), wish.seconds);
    let text = measured.to_toml();
    let path = path(wish, &measured.name);
    Catalog::with([(path.display().to_string(), &text)]).map_err(|error| no_answer(&error.to_string()))?;
    free(&path, wish.force)?;
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        saved::make(folder)?;
    }
    saved::write(path.clone(), text.as_bytes())?;
    Ok(Some(MeasuredDevice { peaks, measured, path }))
}

fn free(path: &Path, force: bool) -> Result<(), Error> {
    if path.exists() && !force {
        return Err(Error::usage(format!("{} already exists: nothing was measured", path.display()))
            .words("--force overwrites it; --name NAME writes another"));
    }
    Ok(())
}

fn path(wish: &MeasureRequest, name: &str) -> PathBuf {
    wish.output.clone().unwrap_or_else(|| project::hardware().join(format!("{}.toml", file_name(name))))
}

/// A name as a file may have it: letters and digits, the rest a dash.
pub(crate) fn file_name(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '.' { c.to_ascii_lowercase() } else { '-' })
        .collect();
    let words: Vec<&str> =
        plain.split('-').map(|word| word.trim_matches('.')).filter(|word| !word.is_empty()).collect();
    if words.is_empty() { "device".to_owned() } else { words.join("-") }
}

/// The interpreter that the user names, that of the project's config, or the usual one.
fn interpreter(wish: &MeasureRequest) -> Interpreter {
    let program = match &wish.python {
        Some(python) if python.contains('/') => {
            CommandWord::plain(std::path::absolute(python).unwrap_or_default().to_string_lossy())
        }
        Some(python) => CommandWord::plain(python),
        None => match project_settings() {
            Some((settings, _)) => return settings.runtime.interpreter(),
            None => CommandWord::plain("python3"),
        },
    };
    let install =
        std::iter::once(program.clone()).chain(["-m", "pip", "install"].map(CommandWord::plain)).collect();
    Interpreter { argv: vec![program], env: BTreeMap::new(), install }
}

pub(crate) struct Measuring<'a> {
    pub(crate) interpreter: Interpreter,
    pub(crate) device: &'a str,
    pub(crate) seconds: u64,
    /// The folder that the interpreter is relative to.
    pub(crate) project: PathBuf,
}

impl Measuring<'_> {
    /// Measures it; nothing where the observer stopped it. Only the answer is kept.
    pub(crate) fn measure(
        self,
        executor: &dyn Executor,
        observer: &SharedObserver,
    ) -> Result<Option<MeasuredPeaks>, Error> {
        let places = RunFolders {
            run: python::cache_folder().join(format!("measure-{}", std::process::id())),
            project: self.project,
            package: python::folder(&python::cache_folder()),
        };
        let step = step(self.interpreter, self.device, self.seconds);
        let StepWork::Process(command) = &step.work else { return Ok(None) };
        find_program(command, &places)?;
        python::unpack(&python::cache_folder())?;
        let answer = run(&step, command, &places, executor, observer);
        let _ = std::fs::remove_dir_all(&places.run);
        answer
    }
}

fn step(interpreter: Interpreter, device: &str, seconds: u64) -> PlannedStep {
    // Loading torch may take a minute, and the largest multiplication longer than its share.
    let timeout_s = 180 + 10 * seconds;
    let seconds = seconds.to_string();
    let words = ["-m", "rooflens.peaks", "--device", device, "--seconds", &seconds];
    let mut env = interpreter.env;
    env.insert("PYTHONPATH".to_owned(), CommandWord::PythonPath(None));
    env.insert("PYTHONUNBUFFERED".to_owned(), CommandWord::plain("1"));
    let command = ProcessCommand {
        argv: interpreter.argv.into_iter().chain(words.map(CommandWord::plain)).collect(),
        env,
        cwd: CommandWord::In(PlanRoot::Project, String::new()),
        writes: Vec::new(),
        expects: Vec::new(),
        timeout_s: Some(timeout_s),
        packages: vec!["torch".to_owned()],
        install: interpreter.install,
    };
    PlannedStep {
        name: STEP.to_owned(),
        stage: RunStage::Measure,
        purpose: format!("measures the peak rates of device {device} for about {seconds} s"),
        work: StepWork::Process(Box::new(command)),
    }
}

fn run(
    step: &PlannedStep,
    command: &ProcessCommand,
    places: &RunFolders,
    executor: &dyn Executor,
    observer: &SharedObserver,
) -> Result<Option<MeasuredPeaks>, Error> {
    observer.event(&Event::StepBegan(step));
    let outcome = executor.run(step, command, places, &StepWatch(observer));
    let outcome = outcome.inspect_err(|_| observer.event(&Event::StepAbandoned(step)))?;
    observer.event(&Event::StepEnded(&outcome));
    if observer.is_stopped() {
        return Ok(None);
    }
    if !outcome.is_done() {
        return Err(failed(&outcome, observer));
    }
    let log = RunDir::new(&places.run).raw(STEP).join("stdout.log");
    let text = std::fs::read_to_string(&log).unwrap_or_default();
    MeasuredPeaks::read(&text).map(Some).map_err(|why| no_answer(&why))
}

fn no_answer(why: &str) -> Error {
    Error::workload(format!("the measurement ended, but {why}"))
        .words("rooflens doctor shows the interpreter and its torch")
}

/// Exit code of the measuring program: torch or the device is not there.
const MISSING: i32 = 3;

/// Of a program that did not end well. The end of what it printed is told first.
fn failed(outcome: &StepOutcome, observer: &SharedObserver) -> Error {
    let said = |start: &str| outcome.tail.iter().find_map(|line| line.strip_prefix(start)).map(str::to_owned);
    if outcome.exit_code == Some(MISSING)
        && let Some(fact) = said("error: ")
    {
        let other = "or an interpreter that has it: --python PATH";
        let hint = said("hint: ").map_or_else(|| other.to_owned(), |hint| format!("{hint}; {other}"));
        return Error::environment(fact).words(hint);
    }
    for line in &outcome.tail {
        observer.info(&format!("  | {line}"));
    }
    let hint =
        said("hint: ").unwrap_or_else(|| "try another device and less time: --device cpu --seconds 2".into());
    Error::workload(format!("the measurement {}", outcome.verdict())).words(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files() {
        assert_eq!(file_name("Intel(R) Xeon(R) Processor @ 2.60GHz"), "intel-r-xeon-r-processor-2.60ghz");
        assert_eq!(file_name("../../etc/passwd"), "etc-passwd");
        assert_eq!(file_name("漢字"), "device");
    }
}
