//! Interval arithmetic on sorted, half-open `[start, end)` nanosecond ranges.
