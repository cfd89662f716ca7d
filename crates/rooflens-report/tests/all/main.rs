//! All integration tests of this crate in one binary, since each binary costs a link.

mod blocks;
mod charts;
mod csv;
mod html;
mod markdown;
mod sample;
mod sampled;
mod terminal;
mod vendored;
