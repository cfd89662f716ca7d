//! What helps against each error: a command wherever there is one.

use std::path::Path;

use rooflens_collect::nsys_export::ExportError;
use rooflens_compose::{ComposeError, Fault};
use rooflens_ingest::IngestError;
use rooflens_schema::SchemaError;

use super::{Error, Hint, name_of};
use crate::shell::word;

/// What helps against it.
pub(crate) fn of(error: &Error) -> Option<Hint> {
    let words = |text: &str| Some(Hint::words(text));
    let command = |text: &str| Some(Hint::command(text));
    let analyze = |path: &Path| Some(Hint::command(format!("rooflens analyze {}", word(path))));
    let kernels = |path: &Path| Some(Hint::command(format!("rooflens kernels analyze {}", word(path))));
    match error {
        Error::Interrupted => None,
        Error::Missing { near, .. } => Some(match near.as_slice() {
            [] => Hint::command("find . -name '*.json*'"),
            [one] => Hint::leading(
                format!("did you mean {}?", one.display()),
                format!("rooflens analyze {}", word(one)),
            ),
            [first, others @ ..] => {
                let others: Vec<String> = others.iter().map(|path| name_of(path)).collect();
                Hint::leading(
                    format!("similar names nearby: {}, {};", name_of(first), others.join(", ")),
                    format!("rooflens analyze {}", word(first)),
                )
            }
        }),
        Error::Unreadable(error) => Some(unreadable(error)),
        Error::UnreadableReport(IngestError::Io { path, .. }) => {
            Some(Hint::command(format!("ls -l {}", word(path))))
        }
        Error::UnreadableReport(_) => words(
            "ncu -o profile … writes one; printed: ncu --import x.ncu-rep --csv --page raw > x.csv; \
             AMD: rocprof-compute profile -n NAME -- …",
        ),
        Error::TwoProfilers { amd, .. } => kernels(amd),
        Error::NotATimeline { path } => kernels(path),
        Error::NoPhases { .. } => Some(Hint::leading(
            "give the trace or run it was made from:",
            "rooflens kernels top RUN --phase …",
        )),
        Error::NotAList { .. } => words("rooflens kernels top RUN -o top.yaml writes one"),
        Error::KernelRegex { .. } => words(
            "it is matched as Python's re.search does, against the demangled name: 'gemm', '^void flash::', \
             '(?i)softmax|norm'",
        ),
        Error::NotProfiled { refusal } => words(refusal.hint()),
        Error::ProfilerFailed { logs, .. } => Some(Hint::words(format!("full output: {}", word(logs)))),
        Error::Export(error) => Some(export(error)),
        Error::EmptyPhase { .. } => words("rooflens analyze shows the phases"),
        Error::TracesElsewhere { inside, .. } => {
            Some(Hint::words(format!("name that folder instead: {}", word(inside))))
        }
        Error::UnreadableRun(SchemaError::NotARun { path, .. }) if path.is_file() => Some(Hint::leading(
            "of a trace, write the run directory first:",
            format!("rooflens analyze {} -o RUN", word(path)),
        )),
        Error::UnreadableRun(SchemaError::NoTrace { path }) => Some(Hint::leading(
            "what was measured is in its report/metrics.json, and is compared by:",
            format!("rooflens compare OTHER {}", word(path)),
        )),
        Error::UnreadableRun(_) => {
            Some(Hint::leading("import the trace again:", "rooflens import TRACE -o RUN"))
        }
        Error::CaptureOfRun { .. } | Error::CaptureCount { .. } => {
            command("rooflens analyze decode.json.gz --capture capture.json.gz")
        }
        Error::NotOneJob { one, .. } => Some(Hint::leading(
            "several traces are read as the ranks of one job; analyze each alone:",
            format!("rooflens analyze {}", word(Path::new(one))),
        )),
        Error::RunAmongOthers { path } => analyze(path),
        Error::NoInput => command("rooflens analyze trace.json.gz"),
        Error::StdinTwice => command("zcat trace.json.gz | rooflens analyze -"),
        Error::GemmsOfRun => command("rooflens analyze TRACE --gemms LOG -o RUN"),
        Error::GemmsOfWhom { .. } => command("rooflens analyze TRACE --gemms LOG"),
        Error::NotOurs { path } => Some(Hint::words(format!(
            "choose a new or empty folder: -o {}",
            word(&path.join("rooflens-run"))
        ))),
        Error::NotAFolder { path } => {
            Some(Hint::words(format!("choose a folder: -o {}", word(&path.with_extension("run")))))
        }
        Error::SameRun { path } => {
            Some(Hint::leading("to write its report again:", format!("rooflens report {}", word(path))))
        }
        Error::Unwritable { path, .. } if is_in_no_folder(path) => {
            path.parent().map(|folder| Hint::command(format!("mkdir -p {}", word(folder))))
        }
        Error::UnwritableTables(_) | Error::Unwritable { .. } => {
            words("rooflens doctor checks whether this folder is writable; df -h . shows the free space")
        }
        Error::NoWallTime { .. } => {
            words("give both, as you measured them: --wall TIME --steps N, such as --wall 700ms --steps 64")
        }
        Error::WrongWallTime { .. } => {
            words("--wall is the total time of all steps, in the same run as the table")
        }
        Error::NoWhatIf { .. } => words(
            "--model config.json --hardware NAME give the lower bound; rooflens cost --set shows it \
                   without a trace",
        ),
        Error::NoFloor { .. } => words("rooflens list hardware names the devices"),
        Error::ModelDoesNotFit { .. } => {
            words("give the config.json of the model that ran, and its --tp; --force uses this one anyway")
        }
        Error::Cost(error) => Some(error.hint()),
        Error::Measure(error) => Some(error.hint()),
        Error::Compare(error) => Some(error.hint()),
        Error::Bench(error) => error.hint(),
        Error::Fleet(error) => error.hint(),
        Error::Runs(error) => error.hint(),
        Error::NoConfigFolder { .. } => words(
            "rooflens init NEW_PROJECT creates one; another folder: --config-dir DIR; one model without a project: \
             rooflens run --model NAME_OR_FOLDER",
        ),
        Error::NoProject { .. } => {
            words("rooflens init NEW_PROJECT creates one; another folder: --project DIR")
        }
        Error::Project(error) => error.hint.clone().map(Hint::words),
        Error::OldName { .. } => words("docs/migrating.md lists the old names"),
        Error::Compose(error) => compose(error),
        Error::Plan(error) => Some(Hint::words(error.hint())),
        Error::Execute(error) => Some(Hint::words(error.hint())),
        Error::PowerLimit { hint, .. } => words(hint),
        Error::RunExists { .. } => {
            words("choose another: hydra.run.dir=FOLDER, or hydra.sweep.dir=FOLDER for a sweep")
        }
        Error::UnknownName { near, .. } => Some(match near.as_slice() {
            [] => Hint::words("rooflens list shows what can be explained"),
            [first, ..] => Hint::leading(
                format!("did you mean {}?", near.join(", ")),
                format!("rooflens explain {first}"),
            ),
        }),
    }
}

fn unreadable(error: &IngestError) -> Hint {
    match error {
        IngestError::Io { path, .. } => Hint::command(format!("ls -l {}", word(path))),
        IngestError::Unknown { source_name, beginning } if is_model_config(beginning) => Hint::leading(
            "of the config of a model:",
            format!("rooflens cost {}", word(Path::new(source_name))),
        ),
        IngestError::Empty { .. } | IngestError::Unknown { .. } | IngestError::EmptyFolder { .. } => {
            Hint::command("rooflens list formats")
        }
        IngestError::NoRecords { .. } => {
            Hint::leading("was the profiler stopped and its trace exported?", "rooflens explain no_records")
        }
        IngestError::SeveralRanks { .. } => Hint::words(
            "rooflens analyze DIR, the folder of the traces or the run directory that it was exported from",
        ),
    }
}

/// Whether a file begins as a config.json of Hugging Face does.
fn is_model_config(beginning: &str) -> bool {
    ["architectures", "_name_or_path", "model_type", "attention_"].iter().any(|key| beginning.contains(key))
}

fn compose(error: &ComposeError) -> Option<Hint> {
    let own = || match &*error.fault {
        Fault::Override(_) => Some("in a shell, quote what has brackets or spaces: 'key=[a, b]'".to_owned()),
        Fault::TooManyJobs { .. } => Some("try fewer values, or several sweeps".to_owned()),
        Fault::NoPrimary { .. } => Some("name it: --config-dir DIR --config-name NAME".to_owned()),
        _ => None,
    };
    error.hint().or_else(own).map(Hint::words)
}

fn export(error: &ExportError) -> Hint {
    let elsewhere = |report: &Path| {
        let made = report.with_extension("sqlite");
        format!("nsys export --type sqlite -o {} {}", word(&made), word(report))
    };
    match error {
        ExportError::NoProgram { report, .. } => Hint::leading(
            "install Nsight Systems, set ROOFLENS_NSYS=PATH, or export on a machine that has it:",
            elsewhere(report),
        ),
        ExportError::Newer { report, .. } => Hint::leading(
            "set ROOFLENS_NSYS=PATH to a newer nsys, or export on the machine that recorded the report:",
            elsewhere(report),
        ),
        ExportError::Failed { report, .. } => Hint::command(elsewhere(report)),
        ExportError::Folder { .. } => Hint::words("set TMPDIR=DIR to a folder with free space"),
    }
}

/// Whether the folder that a file is to be written into does not exist.
fn is_in_no_folder(path: &Path) -> bool {
    path.parent().is_some_and(|folder| folder != Path::new("") && !folder.exists())
}
