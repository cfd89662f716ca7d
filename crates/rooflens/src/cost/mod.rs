//! `rooflens cost`, from what was typed to what is shown.

pub mod amount;
pub mod answer;
pub mod error;
pub mod figures;
pub mod files;
mod one;
mod plan;
pub mod question;
mod saved;
pub mod show;
mod sweep;
