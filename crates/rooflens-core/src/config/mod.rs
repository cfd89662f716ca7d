//! Configs of runs: folders of jobs, where each value comes from, and old names read as what they mean today.

pub mod document;
pub mod folders;
pub mod host;
pub mod old_names;
pub mod origins;
