//! Lays findings out for people.
