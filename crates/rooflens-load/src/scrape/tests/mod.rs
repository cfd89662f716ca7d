//! Pages as servers write them, and what must come of them, worked out by hand.

mod pages;
mod requests;
mod summaries;
