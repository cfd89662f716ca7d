//! What a composition may know of this machine.

use std::sync::Arc;

use chrono::{Local, Offset};
use rooflens_compose::Host;
use rooflens_compose::clock::LocalTime;

/// The process's environment and working folder, and the time where the user is.
pub fn here() -> Host {
    let clock = || {
        let now = Local::now();
        let offset = now.offset().fix().local_minus_utc();
        LocalTime::from_unix(now.timestamp(), now.timestamp_subsec_micros(), offset)
    };
    Host { clock: Arc::new(clock), ..Host::system() }
}
