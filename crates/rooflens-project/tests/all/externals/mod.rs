//! Reference sources, with real git on repositories made here. Nothing leaves the machine.

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
