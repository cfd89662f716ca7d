//! Lower bounds of a trace's kernels, class by class.
