//! How engines differ: literals, quantiles, casts.

use serde::{Deserialize, Serialize};

/// The SQL of an engine.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// Apache DataFusion 55, the engine of `rooflens query`.
    DataFusion,
    /// DuckDB 2.
    DuckDb,
    /// ClickHouse 26, also as chDB and clickhouse-local.
    ClickHouse,
    /// Apache Spark 4.3.
    Spark,
    /// Trino.
    Trino,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Dialect; 5] =
        [Dialect::DataFusion, Dialect::DuckDb, Dialect::ClickHouse, Dialect::Spark, Dialect::Trino];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Dialect::DataFusion => "datafusion",
            Dialect::DuckDb => "duckdb",
            Dialect::ClickHouse => "clickhouse",
            Dialect::Spark => "spark",
            Dialect::Trino => "trino",
        }
    }

    /// The dialect of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Dialect> {
        Dialect::ALL.into_iter().find(|dialect| dialect.name() == name)
    }

    #[must_use]
    pub(crate) fn text_literal(self, text: &str) -> String {
        let mut literal = String::with_capacity(text.len() + 2);
        literal.push('\'');
        for (at, char) in text.char_indices() {
            match (self, char) {
                // A backslash escapes the next character in these two, and stands for itself in the others.
                (Dialect::ClickHouse | Dialect::Spark, '\\') => literal.push_str("\\\\"),
                // Spark joins 'a''b' to ab where a compatibility option is set.
                (Dialect::Spark, '\'') => literal.push_str("\\'"),
                // Spark replaces ${...} by settings and environment variables before it parses.
                (Dialect::Spark, '$') if text[at + 1..].starts_with('{') => literal.push_str("\\u0024"),
                (_, '\'') => literal.push_str("''"),
                _ => literal.push(char),
            }
        }
        literal.push('\'');
        literal
    }

    #[must_use]
    pub(crate) fn identifier(self, name: &str) -> String {
        match self {
            Dialect::Spark => format!("`{}`", name.replace('`', "``")),
            Dialect::ClickHouse => format!("`{}`", name.replace('\\', "\\\\").replace('`', "\\`")),
            Dialect::DataFusion | Dialect::DuckDb | Dialect::Trino => {
                format!("\"{}\"", name.replace('"', "\"\""))
            }
        }
    }

    /// The exact quantile of the values of a group that are not null, interpolated linearly between neighbours
    /// (type 7 of Hyndman and Fan, as in NumPy). `expression` has to be a double; null without values.
    pub(crate) fn quantile(self, expression: &str, share: f64) -> String {
        let x = expression;
        match self {
            // Its percentile_cont rounds the weight of the upper neighbour to six digits; median is exact.
            Dialect::DataFusion if share == 0.5 => format!("median({x})"),
            Dialect::DataFusion => {
                let sorted = format!("array_sort(array_agg({x}) FILTER (WHERE ({x}) IS NOT NULL))");
                let position = format!("((count({x}) - 1) * {share:e})");
                let below = format!("CAST(floor({position}) AS BIGINT)");
                format!(
                    "({sorted}[{below} + 1] + ({position} - floor({position})) * \
                     ({sorted}[least({below} + 2, count({x}))] - {sorted}[{below} + 1]))"
                )
            }
            Dialect::DuckDb => format!("quantile_cont({x}, {share})"),
            Dialect::ClickHouse => format!("quantileExactInclusive({share})({x})"),
            Dialect::Spark => format!("percentile({x}, {share})"),
            // Trino has approximate percentiles only. The lambdas name the sorted values and the position.
            Dialect::Trino => {
                let sorted = format!("array_sort(array_agg({x}) FILTER (WHERE ({x}) IS NOT NULL))");
                let below = "CAST(floor(h) AS bigint) + 1";
                let between = format!(
                    "element_at(v, {below}) + (h - floor(h)) * \
                     (element_at(v, least({below} + 1, cardinality(v))) - element_at(v, {below}))"
                );
                format!(
                    "element_at(transform(ARRAY[{sorted}], v -> IF(cardinality(v) > 0, \
                     element_at(transform(ARRAY[(cardinality(v) - 1) * {share:e}], h -> {between}), 1), NULL)), 1)"
                )
            }
        }
    }

    pub(crate) fn as_text(self, expression: &str) -> String {
        let kind = match self {
            // Spark wants a length for VARCHAR.
            Dialect::Spark => "STRING",
            Dialect::DataFusion | Dialect::DuckDb | Dialect::ClickHouse | Dialect::Trino => "VARCHAR",
        };
        format!("CAST({expression} AS {kind})")
    }

    /// What follows a query so that nulls behave as everywhere else.
    pub(crate) fn ending(self) -> &'static str {
        match self {
            // Without them an outer join gives '' and 0 for rows that are missing, and a cast of null is an error.
            Dialect::ClickHouse => "SETTINGS join_use_nulls = 1, cast_keep_nullable = 1\n",
            _ => "",
        }
    }
}

impl std::fmt::Display for Dialect {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Dialect::DataFusion => "DataFusion",
            Dialect::DuckDb => "DuckDB",
            Dialect::ClickHouse => "ClickHouse",
            Dialect::Spark => "Spark",
            Dialect::Trino => "Trino",
        })
    }
}
