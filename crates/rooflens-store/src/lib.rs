//! Many runs in one place: a directory or a bucket of Parquet files that many write and any engine reads.
//!
//! A run is visible whole or not at all. Its files are written first, under names that follow from their content; then
//! one manifest is put where none may be yet, and with it the run counts. Nothing is ever changed in place: a later
//! state of a day (compacted, or with a run removed) is one more manifest. Readers list the log once and read the files
//! that counting manifests name; see [`Snapshot`].
//!
//! ```text
//! store.json
//! tenant=T/log/day=D/run-ID.json            a run
//! tenant=T/log/day=D/state-000001.json      a later state of the day
//! tenant=T/rollups/TABLE/day=D/*.parquet    small tables
//! tenant=T/events/TABLE/day=D/*.parquet     large tables
//! tenant=T/audit/*.json                     who removed or relabelled what, when and why
//! ```
//!
//! ```no_run
//! use rooflens_schema::RunDir;
//! use rooflens_store::{AddOptions, Store};
//!
//! # async fn example() -> Result<(), rooflens_store::StoreError> {
//! let store = Store::open("s3://bucket/runs")?;
//! store.add(&RunDir::new("runs/first"), &AddOptions::default()).await?;
//! for run in store.runs().await? {
//!     println!("{}", run.entry.run_id);
//! }
//! # Ok(())
//! # }
//! ```

mod add;
mod cloud;
mod encoding;
mod error;
mod fetch;
mod files;
mod hours;
mod layout;
mod location;
mod manifest;
mod merge;
mod rollup;
mod run_row;
mod snapshot;
mod sorting;
mod source;
mod state;
pub mod tables;
mod upkeep;
mod verify;

pub use add::{AddOptions, AddedRun};
pub use error::StoreError;
pub use layout::{DEFAULT_TENANT, StoreArea, day_of, days_before, is_day, is_tenant, start_of};
pub use location::Store;
pub use manifest::{FileEntry, RunEntry, RunManifest, StateManifest, sealed};
pub use run_row::{SETTABLE, row as row_of_run};
pub use snapshot::{DamagedFile, Partition, PartitionFiles, Snapshot, StoreFile};
pub use state::ChangedDay;
pub use tables::{ColumnValue, KERNEL_NAMES, StoreColumn, StoreTable, tables};
pub use upkeep::{Audited, StoredRun, Vacuumed};
pub use verify::VerifiedStore;
