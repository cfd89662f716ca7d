//! Hydra-compatible composition of YAML config groups.
//!
//! A folder of YAML files, a few overrides: one config, as hydra-core 1.3.8 (`version_base` 1.3)
//! composes it, in a millisecond. Every value knows the file, line and column it was written in, or
//! the argument of the command line; every error names its place and the nearest valid choice.
//!
//! ```
//! use rooflens_compose::sources::{ConfigSource, SearchPath};
//! use rooflens_compose::{ComposeRequest, Composer};
//!
//! let files = ConfigSource::memory([
//!     ("config.yaml", "defaults: [_self_, {db: small}]\nurl: ${db.host}:${db.port}\n"),
//!     ("db/small.yaml", "host: localhost\nport: 1\n"),
//!     ("db/large.yaml", "host: cluster\nport: 2\n"),
//! ]);
//! let composer = Composer::new(SearchPath::new(files));
//! let made = composer.compose(&ComposeRequest::new("config", ["db=large", "db.port=3"]))?;
//! assert_eq!(made.job_yaml(), "url: ${db.host}:${db.port}\ndb:\n  host: cluster\n  port: 3\n");
//! let url = made.value_at("url")?.map(|node| node.value);
//! assert_eq!(url, Some(rooflens_compose::value::Value::Str("cluster:3".into())));
//!
//! let error = composer.compose(&ComposeRequest::new("config", ["db=lagre"])).unwrap_err();
//! assert_eq!(error.hint().as_deref(), Some("did you mean 'large'?"));
//! # Ok::<(), rooflens_compose::ComposeError>(())
//! ```
//!
//! # The way of a config
//! [`sources`] finds and reads files ([`yaml`]); [`defaults`] decides which of them make up the
//! config, in which order and where; they are merged, and the [`overrides`] of the command line
//! after them; interpolations ([`interpolation`]) stay text until [`resolve`] is asked for them.
//! [`Composer::multirun`] plans sweeps, [`Composer::launch`] decides between a job and a sweep, and
//! [`Composition::begin`] names the folder. Files are read, nothing is run or written.
//!
//! # What it cannot do
//! There is no Python here: `pkg://` search paths, structured configs, plugins, `_target_`
//! instantiation and the `python_version` resolver are not available (a project can register a
//! resolver of that name).
//!
//! # Where it differs from Hydra 1.3.8
//! - `hydra.help` and `hydra.hydra_help` have other texts.
//! - `${hydra:…}` of something that itself refers to `${hydra.…}` resolves in a job's config as it
//!   does in a running job; Hydra's `--cfg job --resolve`, which has thrown its `hydra` node away by
//!   then, does not find it.
//! - A run has one time: `now` formats one moment. Hydra looks at the clock once for each pattern.
//! - `hydra.mode` inside a text is `RUN`; Python writes `RunMode.RUN`.
//! - Endless work is refused: interpolations or defaults lists nested deeper than 100 levels, configs
//!   deeper than 600 levels or with more than a million values once resolved, sweeps of more than
//!   100,000 jobs (see [`yaml`] for files). Python ends with a `RecursionError`, or not at all.
//! - A job without a folder (`hydra.run.dir: ???`) is an error. Hydra makes one named `None`.

pub mod clock;
mod compose;
mod composition;
pub mod defaults;
mod error;
mod grammar;
mod host;
mod hydra_tree;
mod info;
mod interpolation;
mod job_files;
mod launch;
mod making;
mod merge;
mod multirun;
pub mod overrides;
mod request;
pub mod resolve;
mod runtime;
mod schema;
pub mod sources;
mod suggest;
pub mod value;
mod warning;
pub mod yaml;

pub use compose::Composer;
pub use composition::{Composition, CompositionView};
pub use error::{ComposeError, Fault, ProblemPlace};
pub use grammar::GrammarError;
pub use host::{Clock, EnvironmentLookup, Host};
pub use job_files::JobFile;
pub use launch::RunOrSweep;
pub use multirun::{Job, Multirun};
pub use request::{AppliedOverrides, ComposeRequest, Mode};
pub use suggest::{near, nearest};
pub use warning::ComposeWarning;
