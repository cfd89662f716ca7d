//! Comparing runs and following them over time.
