//! The real server on a free port: its pages, its bounds, and what it refuses.
#![expect(clippy::unwrap_used, reason = "a failed test may panic")]

mod access;
mod attacks;
mod common;
mod live;
mod pages;
mod runs_made;
