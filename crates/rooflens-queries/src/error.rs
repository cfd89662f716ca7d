//! What can be wrong with a query that was asked for.

use crate::dialect::Dialect;
use crate::parameter::ParameterKind;

/// No query has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no query `{name}`{}", nearest_words(nearest))]
pub struct UnknownQuery {
    pub(crate) name: String,
    /// Names that look like it, the most alike first; all names if none does.
    pub(crate) nearest: Vec<String>,
}

fn nearest_words(nearest: &[String]) -> String {
    if nearest.is_empty() { String::new() } else { format!("; did you mean {}?", listed(nearest)) }
}

/// A query that cannot be rendered, or a definition that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// A value for a parameter that the query does not have.
    #[error("query `{query}` has no parameter `{parameter}`; it has {}", listed(allowed))]
    UnknownParameter {
        /// The query.
        query: String,
        /// The name that was given.
        parameter: String,
        /// The parameters that it has.
        allowed: Vec<String>,
    },
    /// No value for a parameter without a default.
    #[error("query `{query}` needs `{parameter}` ({kind}): {meaning}")]
    MissingParameter {
        /// The query.
        query: String,
        /// The parameter.
        parameter: String,
        /// Its type.
        kind: ParameterKind,
        /// What it is.
        meaning: String,
    },
    /// A value that is not of the parameter's type.
    #[error("`{value}` is not a value for `{parameter}` of query `{query}`, which takes {expected}")]
    IllTyped {
        /// The query.
        query: String,
        /// The parameter.
        parameter: String,
        /// The value that was given.
        value: String,
        /// What it takes, with an example.
        expected: String,
    },
    /// The text of the query breaks the rules of this crate.
    #[error("query `{query}` cannot be read: {problem}")]
    Malformed {
        /// The query.
        query: String,
        /// What is wrong.
        problem: String,
    },
    /// Statements that this dialect has no form for.
    #[error("{dialect} cannot {action}; {hint}")]
    Unsupported {
        /// The dialect.
        dialect: Dialect,
        /// What it cannot do.
        action: String,
        /// What can be done.
        hint: String,
    },
}

/// Names as a list in a sentence.
pub fn listed(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        None => "none".to_owned(),
        Some((one, [])) => one.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}
