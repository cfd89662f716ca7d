//! Servers for agents, for browsers and for Prometheus. What this build leaves out has a stand-in in `absent`.

#[cfg(feature = "mcp")]
pub mod agents;
#[cfg(feature = "serve")]
pub mod pages;

#[cfg(not(feature = "mcp"))]
pub use crate::absent::agents;
#[cfg(not(feature = "serve"))]
pub use crate::absent::pages;
