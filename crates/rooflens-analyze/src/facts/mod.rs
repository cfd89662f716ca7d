//! Passes over the columns of one rank: what the trace implies becomes columns.

use rooflens_schema::RankTables;

/// Runs every pass, in order.
pub fn derive(_tables: &mut RankTables) {}
