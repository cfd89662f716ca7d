//! What a server says of itself while it is under load: its `/metrics`, on the clock of the load test.
//!
//! * `kind` and `names`: which server wrote a page and what its names mean in terms of `quantities`.
//! * `page`: a page as one [`ServerSample`]; `series`: samples over time; `summary`: what they come to.
//! * `http`: a small blocking HTTP client; `scraper`: the thread that asks.

mod http;
mod kind;
mod names;
mod page;
mod quantities;
mod scraper;
mod series;
mod summary;
#[cfg(test)]
mod tests;

pub use http::{HttpError, PlainClient, PlainResponse, PlainUrl};
pub(crate) use kind::ServerKind;
pub use page::{Buckets, DistributionTotals, ServerPage, ServerSample, read_server_page, recognise};
pub use quantities::{ServerCounter, ServerDistribution, ServerGauge};
pub use scraper::{ScrapeSettings, Scraper};
pub use series::{NoDifference, ServerSeries};
pub use summary::ServerSummary;
