//! Tables and files of a store, as plain values.

use crate::dialect::Dialect;

/// Type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqlType {
    /// Text.
    Text,
    /// 64-bit integer.
    BigInt,
    /// 32-bit integer.
    Int,
    /// 64-bit float.
    Double,
    /// True or false.
    Boolean,
}

impl SqlType {
    pub(crate) fn sql(self, dialect: Dialect, is_nullable: bool) -> String {
        let name = match (dialect, self) {
            (Dialect::ClickHouse, SqlType::Text) => "String",
            (Dialect::ClickHouse, SqlType::BigInt) => "Int64",
            (Dialect::ClickHouse, SqlType::Int) => "Int32",
            (Dialect::ClickHouse, SqlType::Double) => "Float64",
            (Dialect::ClickHouse, SqlType::Boolean) => "Bool",
            (Dialect::Spark, SqlType::Text) => "STRING",
            (_, SqlType::Text) => "VARCHAR",
            (_, SqlType::BigInt) => "BIGINT",
            (_, SqlType::Int) => "INTEGER",
            (_, SqlType::Double) => "DOUBLE",
            (_, SqlType::Boolean) => "BOOLEAN",
        };
        let is_wrapped = is_nullable && dialect == Dialect::ClickHouse;
        if is_wrapped { format!("Nullable({name})") } else { name.to_owned() }
    }
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnDef {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: SqlType,
    /// Whether it may be null.
    pub is_nullable: bool,
}

/// A table of a store, without the columns `day` and `tenant`, which paths hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableDef {
    /// Its name.
    pub name: String,
    /// What a row is, in a sentence.
    pub doc: String,
    /// Columns that its files hold, in their order.
    pub columns: Vec<ColumnDef>,
    /// Columns that its files are sorted by.
    pub sorted_by: Vec<String>,
}

impl TableDef {
    /// Names of all columns in the SQL of an engine, `day` and `tenant` last.
    pub(crate) fn names(&self, dialect: Dialect) -> Vec<String> {
        let of_files = self.columns.iter().map(|column| dialect.identifier(&column.name));
        of_files.chain(["day", "tenant"].map(|name| dialect.identifier(name))).collect()
    }

    /// Names and types of all columns in the SQL of an engine, `day` and `tenant` last.
    pub(crate) fn typed(&self, dialect: Dialect) -> Vec<String> {
        let text = SqlType::Text.sql(dialect, false);
        let of_files = self.columns.iter().map(|column| {
            format!("{} {}", dialect.identifier(&column.name), column.kind.sql(dialect, column.is_nullable))
        });
        let of_paths = ["day", "tenant"].map(|name| format!("{} {text}", dialect.identifier(name)));
        of_files.chain(of_paths).collect()
    }

    /// Its sentence as a comment of one line without a semicolon, at which scripts are cut.
    pub(crate) fn comment(&self) -> String {
        let doc: Vec<&str> = self.doc.split_whitespace().collect();
        format!("-- {}: {}\n", self.name, doc.join(" ").replace(';', ","))
    }
}

/// A file of a store that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRef {
    /// Name of its table.
    pub table: String,
    /// Where it is: a path, or an address as `file:///…` or `s3://…`, with `tenant=…` and `day=…` in it.
    pub path: String,
    /// Its day, as `YYYY-MM-DD`.
    pub day: String,
    /// Its tenant.
    pub tenant: String,
}

impl FileRef {
    /// The path for engines that want local files without a scheme.
    pub(crate) fn local(&self) -> &str {
        self.path.strip_prefix("file://").unwrap_or(&self.path)
    }

    /// The folder that holds the days of its table and tenant, and the rest of the path.
    pub(crate) fn split_at_day(&self) -> Option<(&str, &str)> {
        let at = self.path.find("/day=")?;
        Some((&self.path[..at], &self.path[at + 1..]))
    }
}

/// One pattern for many paths: `common/{a,b}`; `None` where a name has characters that mean something in patterns.
pub(crate) fn pattern(paths: &[&str]) -> Option<String> {
    let is_special = |char: char| "{}[]*?,\\".contains(char);
    let first = paths.first()?;
    if paths.iter().any(|path| path.contains(is_special)) {
        return None;
    }
    if paths.len() == 1 {
        return Some((*first).to_owned());
    }
    let is_common = |end: usize| paths.iter().all(|path| path.get(..end) == Some(&first[..end]));
    let common =
        first.match_indices('/').map(|(at, _)| at + 1).take_while(|end| is_common(*end)).last().unwrap_or(0);
    let rest: Vec<&str> = paths.iter().map(|path| &path[common..]).collect();
    Some(format!("{}{{{}}}", &first[..common], rest.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_holds_the_paths_and_nothing_else() {
        assert_eq!(pattern(&["/s/a/x", "/s/b/y"]).unwrap(), "/s/{a/x,b/y}");
        assert_eq!(pattern(&["/s/a/x"]).unwrap(), "/s/a/x");
        assert_eq!(pattern(&["/s/a/x", "/s/a/xy"]).unwrap(), "/s/a/{x,xy}");
        assert_eq!(pattern(&["/s/a{1/x", "/s/b/y"]), None);
        assert_eq!(pattern(&["/s/a,b/x"]), None);
        assert_eq!(pattern(&[]), None);
    }
}
