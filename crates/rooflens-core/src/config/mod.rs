//! Configs of runs: folders of jobs, where each value comes from, and old names read as what they mean today.

pub mod document;
pub mod folders;
pub mod old_names;
pub mod origins;

use std::sync::Arc;

use chrono::{Local, Offset};
use rooflens_compose::Host;
use rooflens_compose::clock::LocalTime;

/// The process's environment and working folder, and the time where the user is.
pub fn this_host() -> Host {
    let clock = || {
        let now = Local::now();
        let offset = now.offset().fix().local_minus_utc();
        LocalTime::from_unix(now.timestamp(), now.timestamp_subsec_micros(), offset)
    };
    Host { clock: Arc::new(clock), ..Host::system() }
}
