//! Settings of the session: the same answers whatever the cluster's defaults are.

/// Set on every session; a server that refuses one of them cannot be used.
pub(crate) const REQUIRED: [(&str, &str); 8] = [
    // Overflows and bad casts are errors, not wrong numbers or nulls.
    ("spark.sql.ansi.enabled", "true"),
    // `crate::statement` must see texts as Spark does.
    ("spark.sql.ansi.doubleQuotedIdentifiers", "false"),
    ("spark.sql.parser.escapedStringLiterals", "false"),
    // Only tables of the store: no "SELECT … FROM parquet.`/path`".
    ("spark.sql.runSQLOnFiles", "false"),
    // A file that cannot be read is an error, not fewer rows.
    ("spark.sql.files.ignoreCorruptFiles", "false"),
    ("spark.sql.files.ignoreMissingFiles", "false"),
    // Columns are matched by name; types are those of the Parquet files.
    ("spark.sql.parquet.fieldId.read.enabled", "false"),
    ("spark.sql.execution.arrow.useLargeVarTypes", "false"),
];

/// Set where the server allows it.
pub(crate) const OPTIONAL: [(&str, &str); 3] = [
    // An executor holds the rows that a task answers with in memory. Tables of a store take few bytes per row, so
    // that Spark's default of 128 MB per task was 3.3 million rows, and a plain SELECT killed executors of 768 MB.
    ("spark.sql.files.maxPartitionBytes", "16m"),
    // As many small files per task as by default.
    ("spark.sql.files.openCostInBytes", "512k"),
    // Spark 4.1 and later can compress what they send; this program reads it plain.
    ("spark.sql.execution.arrow.compression.codec", "none"),
];

/// How Spark finds files, where they lie in directories: the driver asks for each itself. 10,000 files of 40 tenants
/// took 4 s, and 16 s with tasks as below.
pub(crate) const LISTING_LOCAL: [(&str, &str); 1] =
    [("spark.sql.sources.parallelPartitionDiscovery.threshold", "1000000")];

/// How Spark finds files in object storage: by tasks, as each file takes a round trip. The default is one task per
/// file: 71 s for 10,000 files on two cores where 16 tasks took 1.2 s.
pub(crate) const LISTING_REMOTE: [(&str, &str); 1] =
    [("spark.sql.sources.parallelPartitionDiscovery.parallelism", "32")];
