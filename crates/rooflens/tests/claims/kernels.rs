//! Classes of kernels, and tables of kernels.
