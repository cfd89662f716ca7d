//! What the caller asks: one JSON object on standard input.

use std::collections::BTreeMap;
use std::io::Read;

use serde::Deserialize;

use crate::failure::{Failure, Kind};

/// A query with the files of every table it may use. Keys that only other engines need are ignored.
#[derive(Debug, Deserialize)]
pub struct Request {
    /// One SELECT, WITH … SELECT or EXPLAIN, in Spark's dialect.
    pub sql: String,
    /// Address of the Spark Connect server: see [`crate::address`].
    pub engine: Option<String>,
    /// Tables by name. Files that are not listed do not count, even where they lie beside those that do.
    pub tables: Option<BTreeMap<String, Table>>,
    /// Answer with the query plan instead of running the query.
    #[serde(default)]
    pub explain: bool,
}

/// One table: its Parquet files and the columns they have.
#[derive(Debug, Deserialize)]
pub struct Table {
    /// The files that count.
    pub files: Vec<TableFile>,
    /// Name, type and nullability of each column, without `day` and `tenant`.
    pub columns: Vec<(String, String, bool)>,
}

/// One Parquet file, and the two columns that its path holds.
#[derive(Debug, Deserialize)]
pub struct TableFile {
    /// URL of the file as the cluster sees it.
    pub path: String,
    /// Value of the column `day`.
    pub day: String,
    /// Value of the column `tenant`.
    pub tenant: String,
}

impl Request {
    /// Reads a request to the end of the input.
    pub fn read(mut input: impl Read) -> Result<Self, Failure> {
        let mut text = Vec::new();
        input
            .read_to_end(&mut text)
            .map_err(|error| Failure::new(Kind::Engine, format!("cannot read the request: {error}")))?;
        // The error names a line and column, never the text: the address may hold a token.
        serde_json::from_slice(&text).map_err(|error| {
            let place = format!("line {}, column {}", error.line(), error.column());
            Failure::new(
                Kind::Engine,
                format!("the request is not valid: {:?} error at {place}", error.classify()),
            )
            .hint("this program is started by `rooflens query --engine sc://HOST:PORT`")
        })
    }
}
