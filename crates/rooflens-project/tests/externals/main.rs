//! Reference sources, with real git on repositories made here. Nothing leaves the machine.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod add;
mod guard;
mod hostile;
mod hub;
mod interruption;
mod lock;
mod sparse;
mod submodule;
mod subtree;
mod support;
mod sync;
