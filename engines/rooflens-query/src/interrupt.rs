//! SIGINT and SIGTERM.

use tokio::signal::unix::{SignalKind, signal};

use rooflens_engine_protocol::{Fault, Kind};

/// Waits until the process is asked to end.
pub async fn wait() -> Fault {
    let signals = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
    let (Ok(mut interrupt), Ok(mut terminate)) = signals else {
        // Without handlers the signals end the process by themselves.
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Fault::new(Kind::Stopped, "the query was interrupted")
}
