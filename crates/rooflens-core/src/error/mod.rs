//! What can go wrong. The message states the fact and its cause, the kind says whose turn it is, and the hint is
//! what helps, as data: whoever talks to people puts it in words.

mod bench;
mod compare;
mod cost;
mod fleet;
mod hint;
mod hints;
mod kind;
mod measure;
pub(crate) mod place;
mod runs;

use std::path::{Path, PathBuf};

use rooflens_collect::kernel_regex::RegexError;
use rooflens_collect::nsys_export::ExportError;
use rooflens_collect::profilers::ncu::NcuRefusal;
use rooflens_collect::project::{FaultClass, ProjectError};
use rooflens_collect::{ExecuteError, PlanError};
use rooflens_compose::ComposeError;
use rooflens_ingest::IngestError;
use rooflens_schema::SchemaError;

pub use self::bench::BenchError;
pub use self::compare::CompareError;
pub use self::cost::CostError;
pub use self::fleet::FleetError;
pub use self::hint::Hint;
pub use self::kind::ErrorKind;
pub(crate) use self::measure::MeasureError;
pub(crate) use self::runs::RunsError;
use crate::text::counted;

/// A failure.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A question about no input.
    #[error("no trace or run was named")]
    NoInput,
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
    #[error(
        "{amd} is from rocprof-compute and {other} is not: only launches of one profiler can be read at \
             a time"
    )]
    TwoProfilers {
        /// The folder of rocprof-compute.
        amd: PathBuf,
        /// The other input.
        other: PathBuf,
    },
    /// A report of single launches where a timeline is needed.
    #[error("{path} is a Nsight Compute report: it has single launches and no timeline")]
    NotATimeline {
        /// The report.
        path: PathBuf,
    },
    /// A report of Nsight Systems could not be exported.
    #[error(transparent)]
    Export(ExportError),
    /// A table of kernels does not tell phases or ranges.
    #[error("{path} is a table of kernels: it does not record phases or ranges")]
    NoPhases {
        /// The table.
        path: PathBuf,
    },
    /// A list of kernels that is none.
    #[error("{path} is not a list of kernels: {why}")]
    NotAList {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// An expression for names of kernels that cannot be used.
    #[error("{place}: '{regex}' is not a supported regular expression, {error}")]
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
        NcuRefusal::NoDriver => "Nsight Compute found no CUDA driver",
        NcuRefusal::NoPermission => "the driver does not let this user read counters (ERR_NVGPUCTRPERM)",
        NcuRefusal::NoKernels => "Nsight Compute profiled no kernel",
    })]
    NotProfiled {
        /// Why.
        refusal: NcuRefusal,
    },
    /// Nsight Compute left no report.
    #[error("the profiled program {verdict}; there is no report")]
    ProfilerFailed {
        /// Outcome.
        verdict: String,
        /// Where its words are.
        logs: PathBuf,
    },
    /// No kernel is of the phase.
    #[error("no kernel is in phase {phase}; {} in other phases or none", counted(usize::try_from(*others).unwrap_or(usize::MAX), "kernel"))]
    EmptyPhase {
        /// The phase.
        phase: &'static str,
        /// How many are of others.
        others: u64,
    },
    /// A folder without a trace, though one near it has some.
    #[error("no trace in folder {path}, but there is one in {inside}")]
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
    #[error("a run directory already has its tables: --gemms needs a trace")]
    GemmsOfRun,
    /// A log of products without a trace of its own.
    #[error(
        "{path} matches no trace: with several traces, the rank is read from the file name, as in \
         cublas_rank3.log"
    )]
    GemmsOfWhom {
        /// The log.
        path: PathBuf,
    },
    /// The ledger can have no floor.
    #[error("no lower bound can be computed: {reason}")]
    NoFloor {
        /// What is missing.
        reason: String,
    },
    /// The model of the command line cannot have made the trace.
    #[error("{model} is not the model of this trace: {}", disagreements.join("; "))]
    ModelDoesNotFit {
        /// The model.
        model: String,
        /// What contradicts it.
        disagreements: Vec<String>,
    },
    /// A table of kernels without the time that all took.
    #[error("{path} has no timeline: the wall time and the number of steps are not known")]
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
    #[error("{path} is the input run: it already has its tables")]
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
    /// A question about cost cannot be answered.
    #[error(transparent)]
    Cost(#[from] CostError),
    /// There is no project.
    #[error("{}", no_project(path.as_deref()))]
    NoProject {
        /// The folder that was asked for.
        path: Option<PathBuf>,
    },
    /// An operation on a project failed.
    #[error("{}", place::placed(&.0.to_string(), .0.place.as_deref()))]
    Project(ProjectError),
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
    /// The config cannot be composed.
    #[error("{}", place::described(.0))]
    Compose(ComposeError),
    /// A device does not enforce the power limit that the config asks for.
    #[error("{what}")]
    PowerLimit {
        /// What is wrong.
        what: String,
        /// What helps.
        hint: String,
    },
    /// No plan can be made of the config.
    #[error("{}", place::planned(.0))]
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
    /// A store, or a question to one.
    #[error(transparent)]
    Fleet(#[from] FleetError),
    /// A folder of runs, or a run of it.
    #[error(transparent)]
    Runs(#[from] RunsError),
    /// A load test cannot be made.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// Traces that cannot be ranks of one job.
    #[error("{one} and {other} are not ranks of the same job: {why}")]
    NotOneJob {
        /// A trace.
        one: String,
        /// Another.
        other: String,
        /// What tells them apart.
        why: String,
    },
    /// The folder of a run is taken.
    #[error("{path} already has a run: nothing was started")]
    RunExists {
        /// The folder.
        path: PathBuf,
    },
    /// `explain` does not know the name.
    #[error("{name:?} is not known")]
    UnknownName {
        /// The name.
        name: String,
        /// Names that may have been meant, best first.
        near: Vec<String>,
    },
}

impl Error {
    /// Whose turn it is to change something.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Missing { .. }
            | Error::Unreadable(_)
            | Error::UnreadableReport(_)
            | Error::TwoProfilers { .. }
            | Error::NotATimeline { .. }
            | Error::NotAList { .. }
            | Error::EmptyPhase { .. }
            | Error::TracesElsewhere { .. }
            | Error::UnreadableRun(_)
            | Error::Export(ExportError::Failed { .. }) => ErrorKind::Data,
            Error::NotProfiled { refusal } => kind_of_refusal(*refusal),
            Error::ProfilerFailed { .. } => ErrorKind::Workload,
            Error::Interrupted => ErrorKind::Interrupted,
            Error::Cost(error) => error.kind(),
            Error::Measure(error) => error.kind(),
            Error::Compare(error) => error.kind(),
            Error::Bench(error) => error.kind(),
            Error::Fleet(error) => error.kind(),
            Error::Runs(error) => error.kind(),
            Error::Project(error) => kind_of_project(error.class),
            Error::NoConfigFolder { .. }
            | Error::NoProject { .. }
            | Error::OldName { .. }
            | Error::Compose(_)
            | Error::Plan(_)
            | Error::RunExists { .. }
            | Error::RunAmongOthers { .. }
            | Error::CaptureOfRun { .. }
            | Error::CaptureCount { .. }
            | Error::NotOneJob { .. }
            | Error::StdinTwice
            | Error::NoInput
            | Error::GemmsOfRun
            | Error::GemmsOfWhom { .. }
            | Error::NoPhases { .. }
            | Error::KernelRegex { .. }
            | Error::NoFloor { .. }
            | Error::ModelDoesNotFit { .. }
            | Error::NoWallTime { .. }
            | Error::WrongWallTime { .. }
            | Error::NoWhatIf { .. }
            | Error::NotOurs { .. }
            | Error::NotAFolder { .. }
            | Error::SameRun { .. }
            | Error::UnknownName { .. } => ErrorKind::Usage,
            Error::Export(_)
            | Error::UnwritableTables(_)
            | Error::Unwritable { .. }
            | Error::Execute(_)
            | Error::PowerLimit { .. } => ErrorKind::Environment,
        }
    }

    /// What helps.
    pub fn hint(&self) -> Option<Hint> {
        hints::of(self)
    }
}

/// Whether the machine is to blame.
fn kind_of_refusal(refusal: NcuRefusal) -> ErrorKind {
    match refusal {
        NcuRefusal::NoDriver | NcuRefusal::NoPermission => ErrorKind::Environment,
        // Without a driver there is nothing to profile; with one, the workload had no such launch.
        NcuRefusal::NoKernels if Path::new("/proc/driver/nvidia").exists() => ErrorKind::Workload,
        NcuRefusal::NoKernels => ErrorKind::Environment,
    }
}

/// The kind of a failure with a project.
pub fn kind_of_project(class: FaultClass) -> ErrorKind {
    match class {
        FaultClass::Usage => ErrorKind::Usage,
        FaultClass::Environment => ErrorKind::Environment,
        FaultClass::Data => ErrorKind::Data,
        FaultClass::Interrupted => ErrorKind::Interrupted,
    }
}

fn no_project(path: Option<&Path>) -> String {
    match path {
        Some(path) => format!("the project {} is not a folder", path.display()),
        None => "neither this folder nor a parent folder is a project".to_owned(),
    }
}

/// The last part of a path.
fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
