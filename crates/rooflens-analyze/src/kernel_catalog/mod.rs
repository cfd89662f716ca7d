//! Kernel names to classes.
