#![doc = include_str!("../README.md")]

mod access;
mod app;
mod asking;
mod assets;
mod cache;
mod dashboard;
mod exporter;
mod fault;
mod frame;
mod guard;
mod hash;
mod index;
mod listening;
mod live;
mod pages;
mod router;
mod self_metrics;
mod settings;
mod stalled;

pub use self::dashboard::Dashboard;
pub use self::exporter::MetricsServer;
pub use self::settings::{DashboardError, DashboardLimits, DashboardSettings};
