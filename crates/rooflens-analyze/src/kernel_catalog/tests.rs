//! The catalog as a whole, by its laws, and on real names.

mod corpus;
mod hostile;
mod laws;
mod names;
