//! `rooflens cost`, from what was typed to what is shown.

pub mod amount;
pub mod answer;
pub mod figures;
pub mod files;
pub mod question;
mod saved;
pub mod show;
