//! The queries that have names, for programs.

use rooflens_queries::NamedQuery;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::answer::AnswerColumn;
use crate::document::SchemaTag;

/// A query that has a name.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ListedQuery {
    /// Its name.
    pub(crate) name: String,
    /// What it answers, in a few words.
    pub(crate) title: String,
    /// The same, in sentences.
    pub(crate) about: String,
    /// Its parameters.
    pub(crate) parameters: Vec<ListedParameter>,
    /// Columns of the answer.
    pub(crate) columns: Vec<AnswerColumn>,
    /// Tables that it reads.
    pub(crate) tables: Vec<String>,
}

/// A parameter of a query.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ListedParameter {
    /// Its name.
    pub(crate) name: String,
    /// Type of its values: day, integer, number, text or duration.
    pub(crate) kind: String,
    /// Value where none is given; null where one must be.
    pub(crate) default: Option<String>,
    /// What it means.
    pub(crate) meaning: String,
}

/// The queries that have names.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct QueriesDocument {
    /// `rooflens.queries`.
    pub(crate) schema: SchemaTag,
    /// The queries.
    pub(crate) queries: Vec<ListedQuery>,
}

impl QueriesDocument {
    /// All of them.
    #[must_use]
    pub fn all() -> Self {
        let parameter = |parameter: &rooflens_queries::QueryParameter| ListedParameter {
            name: parameter.name.clone(),
            kind: parameter.kind.name().to_owned(),
            default: parameter.default.clone(),
            meaning: parameter.meaning.clone(),
        };
        let column = |column: &rooflens_queries::QueryColumn| AnswerColumn {
            name: column.name.clone(),
            unit: Some(column.unit.clone()),
            meaning: Some(column.meaning.clone()),
        };
        let query = |query: &NamedQuery| ListedQuery {
            name: query.name().to_owned(),
            title: query.title().to_owned(),
            about: query.doc().to_owned(),
            parameters: query.parameters().iter().map(parameter).collect(),
            columns: query.columns().iter().map(column).collect(),
            tables: query.tables().to_vec(),
        };
        let queries = rooflens_queries::all().iter().map(query).collect();
        QueriesDocument { schema: SchemaTag::new("queries"), queries }
    }
}
