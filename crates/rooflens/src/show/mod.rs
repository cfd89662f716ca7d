//! What is shown of answers that have no page of their own.

pub(crate) mod run;
