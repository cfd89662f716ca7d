//! What to change, and what it gains.
