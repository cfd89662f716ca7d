//! What a step is, and how long it took.
