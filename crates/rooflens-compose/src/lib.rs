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
//! `docs/decisions/0012-our-own-hydra.md` has the list. Endless work is refused, the help texts are ours, and of the
//! functions in overrides there are `choice`, `range` and `glob`.

pub mod clock;
mod compose;
mod composition;
pub mod defaults;
mod error;
mod grammar;
mod hydra_tree;
mod interpolation;
mod making;
mod merge;
mod multirun;
pub mod overrides;
mod request;
pub mod resolve;
mod schema;
pub mod sources;
mod suggest;
pub mod value;
pub mod yaml;

pub use clock::{Clock, EnvironmentLookup, Host};
pub use compose::Composer;
pub use composition::{Composition, CompositionView, JobFile};
pub use error::{ComposeError, ProblemPlace};
pub use multirun::{Job, Multirun, RunOrSweep};
pub use request::{AppliedOverrides, ComposeRequest, ComposeWarning, Mode};
pub use suggest::{near, nearest};
