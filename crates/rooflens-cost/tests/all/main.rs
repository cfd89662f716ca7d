//! All integration tests of this crate in one binary, since each binary costs a link.
#![expect(clippy::unwrap_used, reason = "a failed test may panic")]

mod brute_force;
mod by_hand;
mod common;
mod corpus;
mod deepseek_ocr;
mod defects;
mod documents;
mod encoder_decoder;
mod figures;
mod goldens;
mod hostile;
mod kv;
mod laws;
mod made;
mod quantisation;
mod targets;
mod vision;
