//! The server for coding agents.

mod answers;
mod arguments;
mod roots;
mod server;

use std::path::PathBuf;

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::stdio;
use rooflens_core::error::Hint;

use self::roots::Roots;
use self::server::RooflensServer;
use crate::error::CliError;

/// Serves on standard input and output until the client closes it. Only files below the roots are read.
pub(crate) fn serve(roots: &[PathBuf]) -> Result<(), CliError> {
    let no_root = Hint::words("name a folder that exists: rooflens mcp --root DIR");
    let roots = Roots::new(roots).map_err(|fact| CliError::environment(fact, no_root))?;
    let failed = |what: &str, error: &dyn std::fmt::Display| {
        let hint = Hint::words("an agent starts it: claude mcp add rooflens -- rooflens mcp --root DIR");
        CliError::environment(format!("{what}: {error}"), hint)
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| failed("the server could not be started", &error))?;
    runtime.block_on(async {
        const PROTOCOL: &str = "the client does not speak the Model Context Protocol";
        let running = match RooflensServer::new(roots).serve(stdio()).await {
            Ok(running) => running,
            // A client that went away without a word.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(failed(PROTOCOL, &error)),
        };
        running.waiting().await.map(drop).map_err(|error| failed(PROTOCOL, &error))
    })?;
    // A read of standard input may still wait; nobody needs its end.
    runtime.shutdown_background();
    Ok(())
}
