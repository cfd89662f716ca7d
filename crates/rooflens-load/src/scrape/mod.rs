//! What a server says of itself while it is under load: its `/metrics`, on the clock of the load test.
//!
//! * `names`: which server wrote a page and what its names mean.
//! * `page`: a page as one [`ServerSample`]; `series`: samples over time; `summary`: what they come to.
//! * `http`: a small blocking HTTP client; `scraper`: the thread that asks.

mod http;
mod names;
mod page;
mod scraper;
mod series;
mod summary;
#[cfg(test)]
mod tests;

pub use http::{HttpError, PlainClient, PlainUrl};
pub use names::ServerGauge;
pub(crate) use names::ServerKind;
#[cfg(test)]
pub(crate) use names::{ServerCounter, ServerDistribution};
#[cfg(test)]
pub(crate) use page::ServerPage;
pub use page::ServerSample;
pub use scraper::Scraper;
pub use series::ServerSeries;
pub use summary::ServerSummary;
