//! Exact statistics over durations.
