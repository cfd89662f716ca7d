//! All integration tests of this crate in one binary, since each binary costs a link.
#![expect(clippy::unwrap_used, reason = "a failed test may panic")]

mod execute;
mod plans;
mod servers;
