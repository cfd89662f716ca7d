//! Stand-ins for what this build leaves out: each says which feature brings it.

use rooflens_core::error::Hint;
use rooflens_core::exit::Exit;

use crate::error::CliError;

fn left_out(fact: &str, feature: &str) -> CliError {
    CliError::Part {
        fact: format!("this build has no {fact}"),
        hint: Some(Hint::feature(feature)),
        exit: Exit::Environment,
    }
}

#[cfg(not(feature = "png"))]
pub(crate) mod png {
    use super::{CliError, left_out};

    pub(crate) fn is_built_in() -> Result<(), CliError> {
        Err(left_out("PNG output", "png"))
    }

    pub(crate) fn picture(_: &str, _: u32) -> Result<Vec<u8>, CliError> {
        Err(left_out("PNG output", "png"))
    }
}

#[cfg(not(feature = "mcp"))]
pub(crate) mod agents {
    use std::path::PathBuf;

    use super::{CliError, left_out};

    pub fn serve(_: &[PathBuf]) -> Result<(), CliError> {
        Err(left_out("MCP server", "mcp"))
    }
}

#[cfg(not(feature = "serve"))]
pub(crate) mod pages {
    use std::net::SocketAddr;

    use super::{CliError, left_out};
    use crate::commands::serve::Args;
    use crate::console::Console;

    pub enum MetricsServer {}

    impl MetricsServer {
        pub(crate) fn address(&self) -> SocketAddr {
            match *self {}
        }
    }

    pub fn serve(_: Args, _: &Console) -> Result<(), CliError> {
        Err(left_out("web server", "serve"))
    }

    pub(crate) fn serve_metrics(_: SocketAddr, _: impl Fn() -> String) -> Result<MetricsServer, CliError> {
        Err(left_out("web server", "serve"))
    }
}
