//! A project on disk: its skeleton.

pub mod skeleton;
