//! Connections to the server: opened, timed, kept for the next request.

pub mod connect;
mod endpoint;
pub mod gzip;
pub mod pool;
mod stream;
pub mod timed;
pub(crate) mod tls;

pub use endpoint::Endpoint;
