//! What can go wrong on the command line. The message states the fact and its cause, the hint the
//! command that helps, and one match gives the exit code.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use rooflens_collect::kernel_regex::RegexError;
use rooflens_collect::nsys_export::ExportError;
use rooflens_collect::profilers::ncu::Refusal;
use rooflens_collect::{ExecuteError, PlanError};
use rooflens_compose::ComposeError;
use rooflens_ingest::IngestError;
use rooflens_project::assets::AssetError;
use rooflens_project::externals::ExternalsError;
use rooflens_project::skeleton::SkeletonError;
use rooflens_sample::Missing;
use rooflens_schema::SchemaError;

use crate::assets;
use crate::compare::CompareError;
use crate::config::told;
use crate::cost::error::CostError;
use crate::exit::Exit;
use crate::externals;
use crate::hardware::MeasureError;
use crate::kernels;
use crate::shell::word;
use crate::table::counted;

/// A failure that ends the command.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The input does not exist.
    #[error("{path} does not exist")]
    Missing {
        /// The input.
        path: PathBuf,
        /// Existing paths that may have been meant, best first.
        near: Vec<PathBuf>,
    },
    /// The input could not be read.
    #[error(transparent)]
    Unreadable(IngestError),
    /// A report of single launches could not be read.
    #[error(transparent)]
    UnreadableReport(IngestError),
    /// Launches of two profilers are of two devices.
    #[error("{amd} is of rocprof-compute and {other} is not: launches of one profiler are read at a time")]
    TwoProfilers {
        /// The folder of rocprof-compute.
        amd: PathBuf,
        /// The other input.
        other: PathBuf,
    },
    /// A report of single launches where a timeline is needed.
    #[error("{path} is a report of Nsight Compute: it has single launches and no timeline")]
    NotATimeline {
        /// The report.
        path: PathBuf,
    },
    /// A report of Nsight Systems could not be exported.
    #[error(transparent)]
    Export(ExportError),
    /// A table of kernels does not tell phases or ranges.
    #[error("{path} is a table of kernels: it does not tell their phases or ranges")]
    NoPhases {
        /// The table.
        path: PathBuf,
    },
    /// A list of kernels that is none.
    #[error("{path} is no list of kernels: {why}")]
    NotAList {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// An expression for names of kernels that cannot be used.
    #[error("{place}: '{regex}' is no regular expression that can be used, {error}")]
    KernelRegex {
        /// The option, or the file and entry.
        place: String,
        /// As it was given.
        regex: String,
        /// What is wrong with it, and where.
        error: RegexError,
    },
    /// Nsight Compute profiled nothing, and said why.
    #[error("{}", match refusal {
        Refusal::NoDriver => "Nsight Compute found no CUDA driver",
        Refusal::NoPermission => "the driver does not let this user read counters (ERR_NVGPUCTRPERM)",
        Refusal::NoKernels => "Nsight Compute profiled no kernel",
    })]
    NotProfiled {
        /// Why.
        refusal: Refusal,
    },
    /// Nsight Compute left no report.
    #[error("the profiled program {verdict}; there is no report")]
    ProfilerFailed {
        /// What became of it.
        verdict: String,
        /// Where its words are.
        logs: PathBuf,
    },
    /// No kernel is of the phase.
    #[error("no kernel is of phase {phase}; {} of other phases or of none", counted(usize::try_from(*others).unwrap_or(usize::MAX), "kernel"))]
    EmptyPhase {
        /// The phase.
        phase: &'static str,
        /// How many are of others.
        others: u64,
    },
    /// A folder without a trace, though one near it has some.
    #[error("no trace in folder {path}, but in {inside}")]
    TracesElsewhere {
        /// The folder.
        path: PathBuf,
        /// The folder with traces, or with the run.
        inside: PathBuf,
    },
    /// The run directory could not be read.
    #[error(transparent)]
    UnreadableRun(SchemaError),
    /// Ctrl-C before there was anything to report.
    #[error("stopped before any record was read")]
    Interrupted,
    /// A run directory among other inputs.
    #[error("{path} is a run directory: it is analysed alone")]
    RunAmongOthers {
        /// The run.
        path: PathBuf,
    },
    /// The layers of a run are stored: a capture comes too late.
    #[error("{path} is a run directory: a capture is read together with the traces")]
    CaptureOfRun {
        /// The run.
        path: PathBuf,
    },
    /// Neither one capture for all nor one a trace.
    #[error("{captures} captures for {traces} traces: give one for all, or one for each in their order")]
    CaptureCount {
        /// Captures given.
        captures: usize,
        /// Traces given.
        traces: usize,
    },
    /// Standard input can be read once.
    #[error("`-` (standard input) is given more than once")]
    StdinTwice,
    /// A log of products for a run that has its tables.
    #[error("a run directory has its tables already: --gemms goes with a trace")]
    GemmsOfRun,
    /// A log of products without a trace of its own.
    #[error(
        "{path} belongs to no trace: with several traces, its rank is read from its name, as in cublas_rank3.log"
    )]
    GemmsOfWhom {
        /// The log.
        path: PathBuf,
    },
    /// `--table` with another format than CSV.
    #[error("--table chooses the table of --format csv")]
    TableWithoutCsv {
        /// The table asked for.
        table: &'static str,
    },
    /// The ledger can have no floor.
    #[error("no floor can be computed: {reason}")]
    NoFloor {
        /// What is missing.
        reason: String,
    },
    /// The model of the command line cannot have made the trace.
    #[error("{model} cannot have made this trace: {}", disagreements.join("; "))]
    ModelDoesNotFit {
        /// The model.
        model: String,
        /// What contradicts it.
        disagreements: Vec<String>,
    },
    /// A table of kernels without the time that all took.
    #[error("{path} has no timeline: it does not tell how long all took, and in how many steps")]
    NoWallTime {
        /// The table.
        path: PathBuf,
    },
    /// What was told of a table of kernels cannot be.
    #[error("the table does not fit --wall: {reason}")]
    WrongWallTime {
        /// Why.
        reason: String,
    },
    /// A changed model without a floor to change.
    #[error("no changed model can be shown: {reason}")]
    NoWhatIf {
        /// What is missing.
        reason: String,
    },
    /// The output folder holds something else.
    #[error("{path} is not empty and not a Rooflens run: nothing was written")]
    NotOurs {
        /// The folder.
        path: PathBuf,
    },
    /// The output folder is a file.
    #[error("{path} is not a folder")]
    NotAFolder {
        /// The file.
        path: PathBuf,
    },
    /// The output folder is the run that is read.
    #[error("{path} is the run that is read: it has its tables already")]
    SameRun {
        /// The run.
        path: PathBuf,
    },
    /// Tables could not be written.
    #[error(transparent)]
    UnwritableTables(SchemaError),
    /// A file could not be written.
    #[error("cannot write {path}: {source}")]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// Standard output could not be written.
    #[error("cannot write to standard output: {source}")]
    Stdout {
        /// The system's answer.
        source: std::io::Error,
    },
    /// A question about cost cannot be answered.
    #[error(transparent)]
    Cost(#[from] CostError),
    /// A project cannot be made.
    #[error(transparent)]
    Skeleton(SkeletonError),
    /// There is no project.
    #[error("{}", no_project(path.as_deref()))]
    NoProject {
        /// The folder that was asked for.
        path: Option<PathBuf>,
    },
    /// The project names no assets.
    #[error("there is no {path}")]
    NoBootstrap {
        /// The project.
        root: PathBuf,
        /// The file that would name them.
        path: PathBuf,
    },
    /// Somebody has to agree, and nobody can be asked.
    #[error("{} would be made, and standard input is no terminal to ask at", counted(*changes, "change"))]
    NeedsYes {
        /// How many.
        changes: usize,
    },
    /// Assets are not as a command needs them.
    #[error("{}", told::placed(&.0.to_string(), .0.place.as_deref()))]
    Assets(AssetError),
    /// A failure with reference sources.
    #[error(transparent)]
    Externals(ExternalsError),
    /// There is no folder of configs.
    #[error("there is no config folder {path}")]
    NoConfigFolder {
        /// The folder.
        path: PathBuf,
    },
    /// A setting with an old name whose value has no counterpart.
    #[error("{problem}")]
    OldName {
        /// Which, and why.
        problem: String,
    },
    /// A folder to write to has something in it.
    #[error("{path} is not empty: nothing was written")]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// The config cannot be composed.
    #[error("{}", told::told(.0))]
    Compose(ComposeError),
    /// Neither a device nor the machine can be sampled.
    #[error("nothing can be sampled here: {}", facts(missing))]
    NothingToSample {
        /// What each source lacks.
        missing: Vec<Missing>,
    },
    /// Sampling could not begin.
    #[error("sampling cannot begin: {source}")]
    Sampler {
        /// The system's answer.
        source: std::io::Error,
    },
    /// The address cannot be listened at.
    #[error("cannot listen at {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A device does not enforce the power limit that the config asks for.
    #[error("{what}")]
    PowerLimit {
        /// What is wrong.
        what: String,
        /// What helps.
        hint: String,
    },
    /// No plan can be made of the config.
    #[error("{}", told::planned(.0))]
    Plan(PlanError),
    /// A step of a run could not be taken.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
    /// A device could not be measured.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// A comparison or a trend cannot be made.
    #[error(transparent)]
    Compare(#[from] CompareError),
    /// Traces that cannot be ranks of one job.
    #[error("{one} and {other} are not of one job: {why}")]
    NotOneJob {
        /// A trace.
        one: String,
        /// Another.
        other: String,
        /// What tells them apart.
        why: String,
    },
    /// The folder of a run is taken.
    #[error("{path} has a run already: nothing was started")]
    RunExists {
        /// The folder.
        path: PathBuf,
    },
    /// `explain` does not know the name.
    #[error("nothing here is called {name:?}")]
    UnknownName {
        /// The name.
        name: String,
        /// Names that may have been meant, best first.
        near: Vec<String>,
    },
}

impl CliError {
    /// The exit code.
    pub fn exit(&self) -> Exit {
        match self {
            CliError::Missing { .. }
            | CliError::Unreadable(_)
            | CliError::UnreadableReport(_)
            | CliError::TwoProfilers { .. }
            | CliError::NotATimeline { .. }
            | CliError::NotAList { .. }
            | CliError::EmptyPhase { .. }
            | CliError::TracesElsewhere { .. }
            | CliError::UnreadableRun(_) => Exit::Data,
            CliError::Export(ExportError::Failed { .. }) => Exit::Data,
            CliError::Export(_) => Exit::Environment,
            CliError::NotProfiled { refusal } => kernels::exit_of(*refusal),
            CliError::ProfilerFailed { .. } => Exit::Workload,
            CliError::Interrupted => Exit::Interrupted,
            CliError::Cost(error) => error.exit(),
            CliError::Measure(error) => error.exit(),
            CliError::Compare(error) => error.exit(),
            CliError::Assets(error) => assets::exit_of(error.class()),
            CliError::Externals(error) => externals::exit_of(error),
            CliError::NoConfigFolder { .. }
            | CliError::NoProject { .. }
            | CliError::NoBootstrap { .. }
            | CliError::NeedsYes { .. }
            | CliError::Skeleton(_)
            | CliError::OldName { .. }
            | CliError::NotEmpty { .. }
            | CliError::Compose(_)
            | CliError::Plan(_)
            | CliError::RunExists { .. }
            | CliError::RunAmongOthers { .. }
            | CliError::CaptureOfRun { .. }
            | CliError::CaptureCount { .. }
            | CliError::NotOneJob { .. }
            | CliError::StdinTwice
            | CliError::GemmsOfRun
            | CliError::GemmsOfWhom { .. }
            | CliError::NoPhases { .. }
            | CliError::KernelRegex { .. }
            | CliError::TableWithoutCsv { .. }
            | CliError::NoFloor { .. }
            | CliError::ModelDoesNotFit { .. }
            | CliError::NoWallTime { .. }
            | CliError::WrongWallTime { .. }
            | CliError::NoWhatIf { .. }
            | CliError::NotOurs { .. }
            | CliError::NotAFolder { .. }
            | CliError::SameRun { .. }
            | CliError::UnknownName { .. } => Exit::Usage,
            CliError::UnwritableTables(_)
            | CliError::Unwritable { .. }
            | CliError::NothingToSample { .. }
            | CliError::Sampler { .. }
            | CliError::Listen { .. }
            | CliError::Execute(_)
            | CliError::PowerLimit { .. }
            | CliError::Stdout { .. } => Exit::Environment,
        }
    }

    /// What helps: a command wherever there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            CliError::Missing { near, .. } => Some(match near.as_slice() {
                [] => "find . -name '*.json*'".to_owned(),
                [one] => format!("did you mean {}? rooflens analyze {}", one.display(), word(one)),
                [first, others @ ..] => {
                    let others: Vec<String> = others.iter().map(|path| name_of(path)).collect();
                    format!(
                        "similar names nearby: {}, {}; rooflens analyze {}",
                        name_of(first),
                        others.join(", "),
                        word(first)
                    )
                }
            }),
            CliError::Unreadable(error) => Some(unreadable(error)),
            CliError::UnreadableReport(error) => Some(match error {
                IngestError::Io { path, .. } => format!("ls -l {}", word(path)),
                _ => {
                    "ncu -o profile … writes one; printed: ncu --import x.ncu-rep --csv --page raw > x.csv; \
                      AMD: rocprof-compute profile -n NAME -- …"
                        .to_owned()
                }
            }),
            CliError::TwoProfilers { amd, .. } => Some(format!("rooflens kernels analyze {}", word(amd))),
            CliError::NotATimeline { path } => Some(format!("rooflens kernels analyze {}", word(path))),
            CliError::NoPhases { .. } => Some(
                "give the trace or the run that it was made of: rooflens kernels top RUN --phase …"
                    .to_owned(),
            ),
            CliError::NotAList { .. } => Some("rooflens kernels top RUN -o top.yaml writes one".to_owned()),
            CliError::KernelRegex { .. } => Some(
                "it is matched as Python's re.search does, against the demangled name: 'gemm', '^void flash::', '(?i)softmax|norm'"
                    .to_owned(),
            ),
            CliError::NotProfiled { refusal } => Some(refusal.hint().to_owned()),
            CliError::ProfilerFailed { logs, .. } => Some(format!("all that was printed: {}", word(logs))),
            CliError::Export(error) => Some(export_hint(error)),
            CliError::EmptyPhase { .. } => Some("rooflens analyze shows the phases".to_owned()),
            CliError::TracesElsewhere { inside, .. } => Some(format!("rooflens analyze {}", word(inside))),
            CliError::UnreadableRun(_) => {
                Some("import the trace again: rooflens import TRACE -o RUN".to_owned())
            }
            CliError::Interrupted => None,
            CliError::CaptureOfRun { .. } | CliError::CaptureCount { .. } => {
                Some("rooflens analyze decode.json.gz --capture capture.json.gz".to_owned())
            }
            CliError::NotOneJob { one, .. } => Some(format!(
                "several traces are read as the ranks of one job; analyse each alone: rooflens analyze {}",
                word(Path::new(one))
            )),
            CliError::RunAmongOthers { path } => Some(format!("rooflens analyze {}", word(path))),
            CliError::StdinTwice => Some("zcat trace.json.gz | rooflens analyze -".to_owned()),
            CliError::GemmsOfRun => Some("rooflens analyze TRACE --gemms LOG -o RUN".to_owned()),
            CliError::GemmsOfWhom { .. } => Some("rooflens analyze TRACE --gemms LOG".to_owned()),
            CliError::TableWithoutCsv { table } => {
                Some(format!("add --format csv: rooflens analyze --format csv --table {table} …"))
            }
            CliError::NotOurs { path } => {
                Some(format!("choose a new or empty folder: -o {}", word(&path.join("rooflens-run"))))
            }
            CliError::NotAFolder { path } => {
                Some(format!("choose a folder: -o {}", word(&path.with_extension("run"))))
            }
            CliError::SameRun { path } => {
                Some(format!("to write its report again: rooflens report {}", word(path)))
            }
            CliError::UnwritableTables(_) | CliError::Unwritable { .. } => Some(
                "rooflens doctor checks whether this folder is writable; df -h . shows the free space"
                    .to_owned(),
            ),
            CliError::NoWallTime { .. } => Some("give it: --wall 707ms --steps 64".to_owned()),
            CliError::WrongWallTime { .. } => {
                Some("--wall is the time of all steps together, of the same run as the table".to_owned())
            }
            CliError::NoWhatIf { .. } => Some(
                "--model config.json --hardware NAME gives the floor; rooflens cost --set shows it alone"
                    .to_owned(),
            ),
            CliError::NoFloor { .. } => Some("rooflens list hardware names the devices".to_owned()),
            CliError::ModelDoesNotFit { .. } => Some(
                "give the config.json of the model that ran, and --tp as it ran; --force takes this one all the same"
                    .to_owned(),
            ),
            CliError::Stdout { .. } => Some("df -h . shows the free space".to_owned()),
            CliError::Cost(error) => Some(error.hint()),
            CliError::Measure(error) => Some(error.hint()),
            CliError::Compare(error) => Some(error.hint()),
            CliError::Skeleton(error) => error.hint(),
            CliError::NoConfigFolder { .. } => {
                Some("rooflens init NEW_PROJECT makes one; another folder: --config-dir DIR".to_owned())
            }
            CliError::NoProject { .. } => {
                Some("rooflens init NEW_PROJECT makes one; another folder: --project DIR".to_owned())
            }
            CliError::NoBootstrap { root, .. } => {
                Some(format!("rooflens init {} --force adds what is missing", word(root)))
            }
            CliError::NeedsYes { .. } => {
                Some("--dry-run shows them; --yes makes them without asking".to_owned())
            }
            CliError::Assets(error) => error.hint(),
            CliError::Externals(error) => Some(error.hint()),
            CliError::OldName { .. } => Some("docs/migrating.md lists the old names".to_owned()),
            CliError::NotEmpty { path } => Some(format!("choose another folder than {}", word(path))),
            CliError::Compose(error) => told::hint(error),
            CliError::NothingToSample { missing } => missing.first().map(|missing| missing.hint.to_owned()),
            CliError::Sampler { .. } => Some("ulimit -u shows how many threads you may have".to_owned()),
            CliError::Listen { .. } => Some("a free port is found by rooflens monitor --serve 0".to_owned()),
            CliError::Plan(error) => Some(error.hint()),
            CliError::Execute(error) => Some(error.hint()),
            CliError::PowerLimit { hint, .. } => Some(hint.clone()),
            CliError::RunExists { .. } => Some("choose another: hydra.run.dir=FOLDER, of a sweep hydra.sweep.dir=FOLDER".to_owned()),
            CliError::UnknownName { near, .. } => Some(match near.as_slice() {
                [] => "rooflens list shows what can be explained".to_owned(),
                [first, ..] => format!("did you mean {}? rooflens explain {first}", near.join(", ")),
            }),
        }
    }
}

fn facts(missing: &[Missing]) -> String {
    missing.iter().map(|missing| missing.fact.as_str()).collect::<Vec<_>>().join("; ")
}

fn no_project(path: Option<&Path>) -> String {
    match path {
        Some(path) => format!("the project {} is not a folder", path.display()),
        None => "neither this folder nor one around it is a project".to_owned(),
    }
}

fn unreadable(error: &IngestError) -> String {
    match error {
        IngestError::Io { path, .. } => format!("ls -l {}", word(path)),
        IngestError::Empty { .. } | IngestError::Unknown { .. } | IngestError::EmptyFolder { .. } => {
            "rooflens list formats".to_owned()
        }
        IngestError::NoRecords { .. } => {
            "was the profiler stopped and its trace exported? rooflens explain no_records".to_owned()
        }
        IngestError::SeveralRanks { .. } => {
            "rooflens analyze DIR, the folder of the traces or the run directory that it was exported from"
                .to_owned()
        }
    }
}

pub fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn export_hint(error: &ExportError) -> String {
    let elsewhere = |report: &Path| {
        let made = report.with_extension("sqlite");
        format!("nsys export --type sqlite -o {} {}", word(&made), word(report))
    };
    match error {
        ExportError::NoProgram { report, .. } => format!(
            "install Nsight Systems, name it with ROOFLENS_NSYS=PATH, or export where it is: {}",
            elsewhere(report)
        ),
        ExportError::Newer { report, .. } => format!(
            "name a later nsys with ROOFLENS_NSYS=PATH, or export where the report was made: {}",
            elsewhere(report)
        ),
        ExportError::Failed { report, .. } => elsewhere(report),
        ExportError::Folder { .. } => "name a folder with room by TMPDIR=DIR".to_owned(),
    }
}
