//! Models and datasets, linked from where they are stored.
//!
//! A project names in `bootstrap.yaml` what it needs from outside. [`plan`] compares that with the disk and changes
//! nothing; [`apply`] does what a plan says; [`status`] and [`verify()`] look at what is there; [`variants`] creates
//! samples and transformed data of datasets; [`readme`] describes a dataset.
//!
//! Three rules always hold. A real file or folder is never removed or replaced. Nothing is written outside the project,
//! not through a linked parent either. A second run does nothing.
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

pub mod archive;
mod bootstrap;
mod disk;
mod link;
pub mod readme;
mod sampler;
pub mod variants;
mod verify;

use std::path::Path;

pub use bootstrap::{Asset, AssetKind, Bootstrap};
pub use disk::{AssetSize, Ignored, Project, ignored};
pub use link::{
    Action, AssetOutcome, AssetState, AssetStatus, AssetStep, ExtractionState, ExtractionStatus, StepResult,
    apply, failure, plan, status,
};
pub use verify::{AssetVerification, FileProblem, Problem, Required, Verdict, verify};

/// Follows work that takes long, and can stop it.
pub trait AssetObserver {
    /// An archive is being unpacked.
    fn unpacks(&mut self, _archive: &Path) {}

    /// So many bytes of a step are done, of a total if it is known. Called about once per megabyte.
    fn goes_on(&mut self, _bytes: u64, _total: Option<u64>) {}

    /// Whether to stop. What is half done is undone.
    fn should_stop(&self) -> bool {
        false
    }
}

/// Follows nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl AssetObserver for Unwatched {}
