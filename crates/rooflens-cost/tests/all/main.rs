//! All integration tests of this crate in one binary, since each binary costs a link.
#![expect(clippy::unwrap_used, reason = "a failed test may panic")]

mod brute_force;
mod by_hand;
mod common;
mod corpus;
mod defects;
mod documents;
mod encoder_decoder;
mod goldens;
mod hostile;
mod laws;
mod made;
mod quantisation;
mod targets;
mod vision;
