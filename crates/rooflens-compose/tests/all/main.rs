//! All integration tests of this crate in one binary, since each binary costs a link.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a failed test may panic")]

mod compose;
mod compose_behaviour;
mod compose_fixtures;
mod deviations;
mod interpolation;
mod overrides;
mod yaml_hostile;
mod yaml_syntax;
mod yaml_text;
