//! Samples devices and the host on a fixed beat, while something else runs.
//!
//! * [`source`]: what can be sampled, and what is missing where it cannot: [`nvml`] for NVIDIA devices,
//!   [`host`] for the machine.
//! * [`sampler`]: the thread that keeps the beat; [`clock`]: the beat, and how it stands to the time of day.
//! * [`csv`], [`prometheus`], and [`rooflens_schema::parquet_io`]: where rows go. [`latest`] is what a
//!   screen shows.
//!
//! Everything is read, nothing is changed: no clocks are set, no modes switched, no files written here.
//!
//! ```no_run
//! use std::time::Duration;
//! use rooflens_collect::sample::{Sampler, SamplingSettings, Watched, open};
//!
//! let watched = Watched::default();
//! let sources = open(None, &watched).into_iter().filter_map(|opened| opened.source.ok()).collect();
//! let settings = SamplingSettings { interval: Duration::from_millis(10), ..SamplingSettings::default() };
//! let sampler = Sampler::start(settings, sources)?;
//! watched.watch(std::process::id());
//! while let Some(rows) = sampler.next(Duration::from_secs(1)) {
//!     // … write them …
//!     sampler.give_back(rows);
//! #   break;
//! }
//! let outcome = sampler.stop();
//! # Ok::<(), std::io::Error>(())
//! ```

pub mod clock;
pub mod csv;
pub mod field;
pub mod host;
pub mod latest;
pub mod nvml;
pub mod prometheus;
pub(crate) mod sampler;
pub mod source;
pub mod throttle;
pub(crate) mod watched;

use std::path::Path;

pub use sampler::{BeatTally, Sampler, SamplingOutcome, SamplingSettings};
pub use source::{Missing, Source};
pub use watched::Watched;

/// A source, or what it lacks.
pub struct Opened {
    /// A word for it.
    pub name: &'static str,
    /// The source, if it is there.
    pub source: Result<Box<dyn Source>, Missing>,
}

/// Opens every source there is. `nvml_library` is loaded instead of the driver's own.
pub fn open(nvml_library: Option<&Path>, watched: &Watched) -> Vec<Opened> {
    let nvml = nvml::NvmlSource::open(nvml_library, watched);
    let nvml = nvml.map(|source| Box::new(source) as Box<dyn Source>);
    vec![Opened { name: "host", source: host::open(watched) }, Opened { name: "nvml", source: nvml }]
}
