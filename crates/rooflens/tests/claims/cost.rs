//! Bounds and estimates of the cost model.
