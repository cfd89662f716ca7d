//! Long work on another thread, ended when the client cancels.

use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::service::RequestContext;
use rooflens_core::text::printable;
use rooflens_core::{Error, Event, Observer, SharedObserver, Stop};

use crate::mcp::bounded::cut;

/// Characters of an error: it repeats what was asked for, which may be long.
const MOST_OF_AN_ERROR: usize = 2_000;

/// Asks the client's request whether to go on.
struct Cancelled(Box<dyn Fn() -> bool + Send + Sync>);

impl Observer for Cancelled {
    fn event(&self, _: &Event<'_>) {}

    fn stop(&self) -> Stop {
        if (self.0)() { Stop::Kill } else { Stop::No }
    }
}

/// Does `work`, which may take seconds, without holding up other requests.
pub(crate) async fn work<T: Send + 'static>(
    context: RequestContext<RoleServer>,
    work: impl FnOnce(&SharedObserver) -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let token = context.ct.clone();
    let observer: SharedObserver = Arc::new(Cancelled(Box::new(move || token.is_cancelled())));
    let done = tokio::task::spawn_blocking(move || work(&observer)).await;
    let done = done.unwrap_or_else(|_| Err("this is a bug in Rooflens: it has panicked".to_owned()));
    done.map_err(|error| cut(&printable(&error), MOST_OF_AN_ERROR))
}

/// An error with what helps.
pub(crate) fn error_text(error: &Error) -> String {
    match error.hint() {
        Some(hint) => format!("{error}\nhelp: {hint}"),
        None => error.to_string(),
    }
}
