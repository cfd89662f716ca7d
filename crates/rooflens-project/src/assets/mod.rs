//! Models and datasets, linked from where they are stored.
//!
//! A project names what it needs from outside in `bootstrap.yaml`. [`plan`] compares that with the
//! disk and changes nothing; [`apply`] does what a plan says; [`status`] and [`verify`] look at what
//! is there; [`subset`] and [`variant`] make variants of datasets; [`readme`] describes one. All of
//! them return data: printing, asking and exit codes are the command line's.
//!
//! Three rules hold throughout. A real file or folder is never removed or replaced. Nothing is
//! written outside the project, not through a linked parent either. A second run does nothing.
//!
//! # `bootstrap.yaml`
//!
//! ```yaml
//! schema: 1
//!
//! # Where things are stored. The environment variable of the same name goes before what stands
//! # here; a relative path starts from the project, `~` is the home folder.
//! roots:
//!   HF_SNAPSHOTS_ROOT: ~/.cache/huggingface/hub
//!   MODELS_ROOT: /data/models
//!   DATASETS_ROOT: ../datasets
//!
//! models:
//!   - name: tiny-llama
//!     # Where it appears in the project: below models/. This is the default.
//!     target: models/tiny-llama
//!     # A repository in the Hugging Face hub cache. `revision` is a branch, a tag or a commit;
//!     # `main` by default.
//!     source: {hub: TinyLlama/TinyLlama-1.1B-Chat-v1.0, revision: main}
//!     # Globs (`*` within a folder, `**` across folders); each must match a file that is not empty.
//!     required: [config.json, '*.safetensors']
//!   - name: in-house
//!     # A file or folder below a root.
//!     source: {root: MODELS_ROOT, path: in-house/v3}
//!     # A mapping as here, or the name of a file beside bootstrap.yaml as `sha256sum` writes it.
//!     sha256:
//!       config.json: 44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a
//!
//! datasets:
//!   - name: coco
//!     # Always datasets/<name>/source-data, or something below it.
//!     target: datasets/coco/source-data
//!     source: {root: DATASETS_ROOT, path: coco2017}
//!     required: ['annotations/*.json']
//!     # Archives of the source that are unpacked into the project (never into the storage behind
//!     # the link). The limits are those of the whole archive; these are the defaults.
//!     extract:
//!       - archive: val2017.zip
//!         into: datasets/coco/images
//!         max_bytes: 100_000_000_000
//!         max_entries: 500_000
//!         max_ratio: 200
//! ```
//!
//! A repository is looked for in `$HF_SNAPSHOTS_ROOT`, `$HF_HUB_CACHE`, `$HUGGINGFACE_HUB_CACHE`,
//! `$HF_HOME/hub`, the file's `HF_SNAPSHOTS_ROOT`, and the default cache, in this order. A path
//! below a root that is itself a repository of a hub cache stands for its `main` snapshot.

mod apply;
pub mod archive;
mod bootstrap;
mod error;
mod files;
mod hub_name;
mod plan;
mod project;
pub mod readme;
mod required;
mod roots;
mod snapshot;
mod source;
mod status;
mod step;
pub mod subset;
mod tracking;
pub mod variant;
mod verify;
mod walk;
mod watch;

pub use apply::{Applied, AssetOutcome, StepResult, apply};
pub use bootstrap::{Asset, AssetKind, AssetSource, Bootstrap, Checksum, Extraction};
pub use error::{AssetError, AssetFault, AssetFaultClass, ErrorReport};
pub use files::{Disk, FileKind, FileSystem};
pub use hub_name::{CachedModel, HubName};
pub use plan::{Surroundings, plan};
pub use project::Project;
pub use required::Required;
pub use roots::StorageRoot;
pub use source::{Absence, Located};
pub use status::{
    AssetStatus, AssetStatusReport, AssetWarning, ExtractionState, ExtractionStatus, LinkState, status,
};
pub use step::{Action, AssetPlan, AssetStep, Conflict, Consent};
pub use tracking::{Git, Ignored, Tracking, Untracked};
pub use verify::{AssetVerification, FileProblem, Problem, Verification, VerificationResult, verify};
pub use walk::AssetSize;
pub use watch::{AssetObserver, StepProgress, Unwatched};

/// The version of every document of this module.
pub const SCHEMA_VERSION: u32 = 1;
