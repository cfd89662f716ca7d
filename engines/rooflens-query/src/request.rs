//! What `rooflens query` asks for.

use std::io::Read;
use std::path::PathBuf;

use serde::Deserialize;

use crate::fault::{Fault, Kind};

/// The request, as it comes on standard input. Fields for other engines are skipped.
#[derive(Debug, Deserialize)]
pub struct Request {
    /// One SELECT, or EXPLAIN of one.
    pub sql: String,
    /// Path or URL of the store.
    pub store: String,
    /// The tenants to read; all by default.
    #[serde(default)]
    pub tenants: Option<Vec<String>>,
    /// Memory limit; a share of the machine's memory by default.
    #[serde(default)]
    pub memory_bytes: Option<u64>,
    /// Where to spill to; the folder for temporary files by default.
    #[serde(default)]
    pub spill_folder: Option<PathBuf>,
    /// Show the plan instead of running the query.
    #[serde(default)]
    pub explain: bool,
}

/// Reads the request up to the end of standard input.
pub fn read() -> Result<Request, Fault> {
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|error| Fault::new(Kind::Engine, format!("cannot read the request: {error}")))?;
    if text.trim().is_empty() {
        let fault = Fault::new(Kind::Engine, "there is no request on standard input");
        return Err(fault.hint("use `rooflens query`, which starts this program"));
    }
    serde_json::from_str(&text)
        .map_err(|error| Fault::new(Kind::Engine, format!("the request is not valid: {error}")))
}
