//! A project on disk: its skeleton, its linked assets, its pinned reference sources.
//!
//! ```
//! use rooflens_collect::project::hub::HubName;
//!
//! let name = HubName::parse("Qwen/Qwen3-0.6B").expect("a name on the hub");
//! assert_eq!(name.download(true), "hf download Qwen/Qwen3-0.6B config.json");
//! assert!(HubName::parse("../secrets").is_none());
//! ```

pub mod assets;
mod error;
pub mod externals;
mod git;
pub mod hub;
mod marked_block;
pub mod migrate;
pub mod names;
pub mod revision;
pub mod skeleton;
mod yaml_data;

pub use error::{FaultClass, ProjectError};
