//! Statistics of load tests. Pure: from when requests were due, sent and answered to what can be said of them.
//!
//! Requests that follow each other meet the same queue, so their latencies are alike. Everything here respects that:
//! intervals ([`interval`]), tests for a steady state ([`steady`]) and the blocks of time that comparisons take for
//! rounds ([`mod@blocks`]).

pub mod account;
pub mod blocks;
#[cfg(test)]
mod calibration;
pub mod interval;
pub mod omission;
pub mod pareto;
pub mod search;
mod series;
pub mod slo;
pub mod steady;
pub mod warmup;
