//! A model that cannot have made a trace is refused.
