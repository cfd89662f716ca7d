//! The command line: parse, resolve, call the line, print, exit.
fn main() {}
