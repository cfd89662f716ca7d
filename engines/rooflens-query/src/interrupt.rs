//! SIGINT and SIGTERM, and the end of whoever asked.

use std::os::unix::process::parent_id;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};

use rooflens_engine_protocol::{Fault, Kind};

/// Waits until the process is asked to end.
pub(crate) async fn wait() -> Fault {
    let signals = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
    let (Ok(mut interrupt), Ok(mut terminate)) = signals else {
        // Without handlers the signals end the process by themselves.
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        () = orphaned() => {}
    }
    Fault::new(Kind::Stopped, "the query was interrupted")
}

/// Waits until whoever started this process has ended: nobody waits for the answer then.
async fn orphaned() {
    let parent = parent_id();
    while parent_id() == parent {
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
}
