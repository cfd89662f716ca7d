//! Servers for agents, for browsers and for Prometheus. What this build leaves out has a stand-in in `absent`.

#[cfg(feature = "mcp")]
pub(crate) mod agents;
#[cfg(feature = "serve")]
pub(crate) mod pages;

#[cfg(not(feature = "mcp"))]
pub(crate) use crate::absent::agents;
#[cfg(not(feature = "serve"))]
pub(crate) use crate::absent::pages;
