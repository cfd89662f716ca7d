#![doc = include_str!("../README.md")]

pub mod advise;
pub mod analysis;
pub mod bench;
pub mod compare;
pub mod config;
pub mod cost;
pub mod doctor;
pub mod document;
pub mod environment;
pub mod error;
pub mod exit;
pub mod fleet;
pub mod glossary;
pub mod hardware;
mod in_order;
pub mod input;
pub mod job;
pub mod kept;
pub mod kernels;
pub mod model;
pub mod observer;
pub mod overview;
pub mod perfetto;
pub mod plot;
pub mod project;
pub mod report;
pub mod run;
pub mod run_index;
pub mod saved;
pub mod saved_report;
pub mod self_test;
pub mod shell;
pub mod text;
pub mod trend;

pub use rooflens_schema::{Notes, RunDir};

pub(crate) use self::advise::advise;
pub use self::analysis::{AnalyzedInput, analyze, analyze_and_keep};
pub use self::compare::{compare, read as read_sides};
pub use self::cost::cost;
pub use self::error::{Error, ErrorKind, Hint};
pub use self::glossary::explain;
pub use self::input::{Input, ReadOptions, open_input};
pub use self::observer::{Event, Observer, SharedObserver, Stop, Unobserved};
pub use self::report::save as write_report;
pub use self::run::{Run, plan};
