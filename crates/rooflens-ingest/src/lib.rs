//! Recognises a tool's output and turns it into tables.
