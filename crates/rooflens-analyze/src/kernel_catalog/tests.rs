//! The catalog as a whole, by its laws, and on real names.

mod corpus;
mod engines;
mod hostile;
mod laws;
mod names;
