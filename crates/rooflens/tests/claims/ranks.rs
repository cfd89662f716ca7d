//! Waiting for other ranks, and transfers.
