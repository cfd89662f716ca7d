//! Reference sources: what others wrote and this project reads, pinned and kept as it was fetched.
//!
//! They stand under `third_party/github/<name>` and `third_party/hf/<name>`, and one file,
//! `third_party/externals.lock`, says which they are. `add` pins one, `sync` makes the folders equal
//! to the lock, `update` moves what follows a branch to its newest commit, `status` compares, and `guard`
//! keeps edits out of commits.
//!
//! Each kind of source ([`kinds`]) is cut in two: it *plans* (facts in, [`SyncStep`]s out, nothing
//! touched) and one driver applies. What `--dry-run` prints is therefore what would run. Nothing is
//! ever committed: changes to the project's own repository are left staged.
//!
//! Both a lock and a fetched tree may come from strangers. Names, urls, revisions and paths are
//! checked when they are read, git is started without a shell, hooks or prompts, and nothing is
//! written through a symbolic link.

mod add;
mod apply;
mod error;
mod folder_lock;
mod guard;
mod identifiers;
pub mod kinds;
mod licences;
mod listing;
mod lock;
mod lock_yaml;
mod observed;
mod project;
mod read_only;
mod remote;
mod repository;
mod settings;
mod source_files;
mod staged;
mod status;
mod step;
mod sync;
mod update;
mod url;

pub use add::{AddRequest, Added};
pub use error::{ExternalsError, ExternalsFaultClass};
pub use guard::{GuardReport, HookAction};
pub use identifiers::{InnerPath, ObjectId, Revision, SourceName};
pub use kinds::SourceKind;
pub use lock::{Lock, LockedSource, Pin};
pub use project::Externals;
pub use source_files::{HubLimits, LeftOutFile, LeftOutReason};
pub use staged::{StagedEdit, StagedReason, StagedReport};
pub use status::{Condition, LicenceStatus, SourceStatus, StatusReport};
pub use step::SyncStep;
pub use sync::{SyncOutcome, SyncReport, SyncRequest, Synced};
pub use update::{UpdateRow, UpdateState};
pub use url::SourceUrl;

/// The version of the shape of every report here; JSON output starts with it.
pub const SCHEMA_VERSION: u32 = 1;
