//! The real server on a free port: its pages, its bounds, and what it refuses.

mod access;
mod attacks;
mod common;
mod live;
mod pages;
mod runs_made;
