//! What a new user stumbled over.
