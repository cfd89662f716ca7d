//! Why a device was idle, in the verdict and everywhere else.
