//! Runs SQL over the tables of a store on a Spark cluster, through Spark Connect.
//!
//! Started by `rooflens query --engine sc://HOST:PORT`: a request in JSON comes on standard input ([`request`]), the
//! answer goes to standard output as an Arrow IPC stream ([`answer`]), and standard error has one JSON object per line
//! ([`events`]). The cluster reads the files, so they must be where it can read them; nothing is written anywhere.
//!
//! * [`address`], [`connection`]: the server, and a session of its own there, with its [`session_settings`].
//! * [`views`], [`columns`]: tables as views over the files that count.
//! * [`statement`]: only statements that read.
//! * [`execution`], [`stall`]: a query that survives a broken connection and never hangs.
//! * [`status`]: errors in plain words.

use std::os::unix::process::parent_id;
use std::process::ExitCode;
use std::time::Duration;

use events::Events;
use query::Totals;
use request::Request;
use rooflens_engine_protocol::{Fault, Kind};
use tokio::signal::unix::{SignalKind, signal};

mod address;
mod answer;
mod columns;
mod connection;
mod events;
mod execution;
mod query;
mod request;
mod session_settings;
mod stall;
mod statement;
mod status;
mod views;

fn main() -> ExitCode {
    let mut events = Events::new();
    match rooflens_engine_protocol::request().and_then(|request| run(request, &mut events)) {
        Ok(totals) => {
            events.done(totals.rows, totals.scanned_bytes);
            ExitCode::SUCCESS
        }
        Err(failure) => {
            let code = failure.kind.exit_code();
            events.error(failure);
            ExitCode::from(code)
        }
    }
}

fn run(request: Request, events: &mut Events) -> Result<Totals, Fault> {
    let broken = |error| Fault::new(Kind::Engine, format!("cannot start: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(broken)?;
    let outcome = runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt()).map_err(broken)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(broken)?;
        // Nobody waits for the answer once whoever started this process has ended.
        let parent = parent_id();
        let orphaned = async {
            while parent_id() == parent {
                tokio::time::sleep(Duration::from_millis(250)).await;
            }
        };
        let stopped = async {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                () = orphaned => {}
            }
        };
        query::run(request, events, stopped).await
    });
    // Looking up a host cannot be cancelled, and its thread ends with the process.
    std::mem::forget(runtime);
    outcome
}
