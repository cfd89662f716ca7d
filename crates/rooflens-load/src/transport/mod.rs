//! Connections to the server: opened, timed, kept for the next request.

pub(crate) mod connect;
mod endpoint;
pub(crate) mod gzip;
pub(crate) mod pool;
mod stream;
pub(crate) mod timed;
pub(crate) mod tls;

pub(crate) use endpoint::Endpoint;
