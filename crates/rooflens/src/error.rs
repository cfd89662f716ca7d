//! What can go wrong on the command line: what the library says, and what only a command line can meet.

use std::path::PathBuf;

use rooflens_collect::project::{FaultClass, ProjectError};
use rooflens_collect::sample::Missing;
use rooflens_core::error::{CompareError, CostError, Error, Hint};
use rooflens_core::exit::Exit;
use rooflens_core::shell::word;
use rooflens_core::text::counted;

/// A failure that ends the command.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// The library could not answer.
    #[error(transparent)]
    Core(#[from] Error),
    /// `--table` with another format than CSV.
    #[error("--table needs --format csv")]
    TableWithoutCsv {
        /// The table asked for.
        table: &'static str,
    },
    /// A load test that is not kept cannot go to a store.
    #[error("--store needs -o DIR in a load test")]
    StoreNeedsOutput,
    /// Conditions on runs that were named one by one.
    #[error("--where, --by, --since and --until choose from one folder of runs, or from a store")]
    NotOneFolder,
    /// A store where its runs are to be named.
    #[error("{store} is a store: name its runs that are to be compared")]
    StoreAsInput {
        /// The store.
        store: PathBuf,
    },
    /// Keys and a screen are needed.
    #[error("standard input and output are not a terminal: there is nothing to look through")]
    NoTerminal,
    /// The terminal failed.
    #[error("the terminal failed: {source}")]
    Terminal {
        /// The system's answer.
        source: std::io::Error,
    },
    /// Parquet to standard output.
    #[error("--format parquet needs --output FILE")]
    ParquetNeedsFile,
    /// Standard output could not be written.
    #[error("cannot write to standard output: {source}")]
    Stdout {
        /// The system's answer.
        source: std::io::Error,
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
    #[error("{} would be made, and standard input is not a terminal to ask for confirmation", counted(*changes, "change"))]
    NeedsYes {
        /// How many.
        changes: usize,
    },
    /// A folder to write to has something in it.
    #[error("{path} is not empty: nothing was written")]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// Neither a device nor the machine can be sampled.
    #[error("nothing can be sampled on this machine: {}", facts(missing))]
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
    /// An optional part failed, or this build leaves it out.
    #[error("{fact}")]
    Part {
        /// What happened.
        fact: String,
        /// What helps.
        hint: Option<Hint>,
        /// The exit code.
        exit: Exit,
    },
    /// A chart has no data.
    #[error("no {name} chart: {reason}")]
    NoChart {
        /// Its name.
        name: String,
        /// Why.
        reason: String,
        /// The charts that have data.
        others: Vec<String>,
    },
    /// A file's name does not say what to write.
    #[error("{path} has no ending that says how to write a chart")]
    ChartEnding {
        /// The file.
        path: PathBuf,
    },
    /// A page or a data file has no size and no theme of its own.
    #[error("--size and --theme are for .svg, .png and .vl.json")]
    ChartLook,
    /// A chart was chosen, but no place for it.
    #[error("--chart needs a file to write to")]
    ChartNowhere,
    /// A picture could not be made.
    #[error("the picture cannot be made: {reason}")]
    Picture {
        /// Why.
        reason: String,
    },
    /// There is no document of this name.
    #[error("there is no document {name}")]
    UnknownDocument {
        /// As it was typed.
        name: String,
        /// Those that there are.
        names: Vec<String>,
    },
}

impl CliError {
    /// The exit code.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            CliError::Core(error) => error.kind().into(),
            CliError::Part { exit, .. } => *exit,
            CliError::TableWithoutCsv { .. }
            | CliError::ParquetNeedsFile
            | CliError::StoreNeedsOutput
            | CliError::NoBootstrap { .. }
            | CliError::NeedsYes { .. }
            | CliError::NotOneFolder
            | CliError::StoreAsInput { .. }
            | CliError::NoTerminal
            | CliError::UnknownDocument { .. }
            | CliError::NoChart { .. }
            | CliError::ChartEnding { .. }
            | CliError::ChartLook
            | CliError::ChartNowhere
            | CliError::NotEmpty { .. } => Exit::Usage,
            CliError::Stdout { .. }
            | CliError::Terminal { .. }
            | CliError::Picture { .. }
            | CliError::NothingToSample { .. }
            | CliError::Sampler { .. } => Exit::Environment,
        }
    }

    /// What helps: a command wherever there is one.
    pub fn hint(&self) -> Option<Hint> {
        match self {
            CliError::Core(error) => error.hint(),
            CliError::TableWithoutCsv { table } => Some(Hint::leading(
                "add --format csv:",
                format!("rooflens analyze --format csv --table {table} …"),
            )),
            CliError::UnknownDocument { names, .. } => {
                Some(Hint::leading(format!("one of {};", names.join(", ")), "rooflens schema"))
            }
            CliError::NoChart { others, .. } => Some(match others.is_empty() {
                true => Hint::command("rooflens plot INPUT"),
                false => Hint::words(format!("charts with data: {}", others.join(", "))),
            }),
            CliError::ChartEnding { .. } => Some(Hint::words(
                "-o FILE.svg, FILE.png, FILE.html, FILE.vl.json (Vega-Lite) or FILE.json (its data)",
            )),
            CliError::ChartLook => Some(Hint::words("a page follows its reader, and data have no look")),
            CliError::ChartNowhere => {
                Some(Hint::words("-o FILE.svg writes it, --format json prints its data"))
            }
            CliError::Picture { .. } => Some(Hint::words("-o FILE.svg needs no fonts and no pixels")),
            CliError::Part { hint, .. } => hint.clone(),
            CliError::StoreNeedsOutput => {
                Some(Hint::words("-o keeps every request and token; the store keeps the requests"))
            }
            CliError::ParquetNeedsFile => {
                Some(Hint::words("a Parquet file cannot be written to a pipe; --format arrow can"))
            }
            CliError::Stdout { .. } => Some(Hint::words("df -h . shows the free space")),
            CliError::Terminal { .. } => Some(Hint::words("TERM names the kind of terminal: echo $TERM")),
            CliError::NoBootstrap { root, .. } => {
                Some(Hint::words(format!("rooflens init {} --force adds what is missing", word(root))))
            }
            CliError::NoTerminal => {
                Some(Hint::leading("as a table:", "rooflens kernels top INPUT, or rooflens analyze INPUT"))
            }
            CliError::StoreAsInput { store } => {
                let store = word(store);
                Some(Hint::leading(
                    format!("rooflens runs {store} lists their ids; then"),
                    format!("rooflens compare ID ID --store {store}"),
                ))
            }
            CliError::NotOneFolder => Some(Hint::command("rooflens runs DIR --where …")),
            CliError::NeedsYes { .. } => {
                Some(Hint::words("--dry-run shows them; --yes makes them without asking"))
            }
            CliError::NotEmpty { path } => {
                Some(Hint::words(format!("choose another folder than {}", word(path))))
            }
            CliError::NothingToSample { missing } => {
                missing.first().map(|missing| Hint::words(missing.hint.as_ref()))
            }
            CliError::Sampler { .. } => Some(Hint::words("ulimit -u shows how many threads you may have")),
        }
    }
}

impl From<CostError> for CliError {
    fn from(error: CostError) -> Self {
        CliError::Core(error.into())
    }
}

impl From<CompareError> for CliError {
    fn from(error: CompareError) -> Self {
        CliError::Core(error.into())
    }
}

impl From<ProjectError> for CliError {
    fn from(error: ProjectError) -> Self {
        CliError::Core(Error::Project(error))
    }
}

/// The exit code of a failure with a project.
pub(crate) fn exit_of(class: FaultClass) -> Exit {
    rooflens_core::error::kind_of_project(class).into()
}

fn facts(missing: &[Missing]) -> String {
    missing.iter().map(|missing| missing.fact.as_str()).collect::<Vec<_>>().join("; ")
}
