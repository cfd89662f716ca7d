//! Lazy interpolation: what `${…}` comes to, asked for when it is needed.
//!
//! A config keeps its interpolations as text. An evaluator answers for one config: it walks
//! paths, follows interpolations on the way, calls resolvers, and keeps count of its work, so that
//! a config can neither loop nor grow without end.

mod address;
mod budget;
mod built_in;
mod error;
mod evaluator;
mod expression;
mod registry;
mod select;
mod whole;

pub use error::{ResolveError, ResolveFault};
pub use registry::{EvaluationSettings, Resolver, Resolvers};

pub(crate) use address::{PathSegment, walk, walk_mut};
pub(crate) use evaluator::Evaluator;
pub(crate) use select::{Found, python_int};
