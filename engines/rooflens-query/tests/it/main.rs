//! The engine as a process, over small stores that are made by hand.
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

mod answers;
mod engine;
mod faults;
mod limits;
mod pruning;
mod store;
