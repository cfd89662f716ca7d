mod answers;
mod arguments;
mod bounded;
mod roots;
mod server;
mod tables;
mod work;

use std::path::PathBuf;

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::stdio;

pub(crate) use self::roots::{RootError, Roots};
use self::server::RooflensServer;

/// Why a server could not start, or ended.
#[derive(Debug)]
pub(crate) enum ServeError {
    /// A folder that may be read is not there.
    Root(RootError),
    /// The runtime could not be started.
    Runtime(std::io::Error),
    /// The client does not speak the protocol.
    Protocol(String),
}

impl std::fmt::Display for ServeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ServeError::Root(error) => error.fmt(f),
            ServeError::Runtime(error) => write!(f, "the server could not be started: {error}"),
            ServeError::Protocol(reason) => {
                write!(f, "the client does not speak the Model Context Protocol: {reason}")
            }
        }
    }
}

impl std::error::Error for ServeError {}

/// Serves on standard input and output until the client closes it. Only files below the roots are read.
pub fn serve(roots: &[PathBuf]) -> Result<(), ServeError> {
    let roots = Roots::new(roots).map_err(ServeError::Root)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(ServeError::Runtime)?;
    runtime.block_on(async {
        let protocol = |error: &dyn std::fmt::Display| ServeError::Protocol(error.to_string());
        let running = match RooflensServer::new(roots).serve(stdio()).await {
            Ok(running) => running,
            // A client that went away without a word.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(protocol(&error)),
        };
        running.waiting().await.map(drop).map_err(|error| protocol(&error))
    })?;
    // A read of standard input may still wait; nobody needs its end.
    runtime.shutdown_background();
    Ok(())
}
