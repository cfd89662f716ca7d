//! Every query in every dialect, and values that try to get out of their literal.

use super::*;

fn values(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// Values for the parameters that have no default.
fn required(query: &NamedQuery, text: &str) -> BTreeMap<String, String> {
    let missing = query.parameters().iter().filter(|one| one.default.is_none());
    missing
        .map(|one| {
            let value = match one.kind.name() {
                "text" => text,
                "duration" => "50ms",
                "day" => "2026-11-17",
                _ => "2",
            };
            (one.name.clone(), value.to_owned())
        })
        .collect()
}

#[test]
fn every_query_can_be_read() {
    for (name, text) in SOURCES {
        if let Err(error) = NamedQuery::read(name, text) {
            panic!("{error}");
        }
    }
    assert_eq!(all().len(), SOURCES.len());
}

#[test]
fn every_query_keeps_the_rules() {
    for query in all() {
        let name = query.name();
        assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{name}");
        for needed in ["since", "until", "limit"] {
            let parameter = query.parameters().iter().find(|one| one.name == needed);
            assert!(
                parameter.is_some_and(|one| one.default.is_some()),
                "{name} has no {needed} with a default"
            );
        }
        // Each table is bounded by days as often as it is read.
        let reads = query.tables().iter().map(|table| {
            let of = |word: &str| query.body.matches(&format!("{word} {table} ")).count();
            let reads = of("FROM") + of("JOIN");
            assert!(reads == 1 || table == "runs", "{name} reads {table} {reads} times");
            reads
        });
        let reads: usize = reads.sum();
        for bound in ["day >= :since", "day <= :until"] {
            assert_eq!(query.body.matches(bound).count(), reads, "{name}: {bound}");
        }
        let (_, last) = query.body.rsplit_once("\nSELECT").unwrap_or(("", &query.body));
        assert!(last.contains("\nORDER BY "), "{name} leaves the order open");
        for column in query.columns() {
            assert!(last.contains(&format!(" AS {}", column.name)), "{name} has no column {}", column.name);
        }
        if let Some(QueryJudge::TwoSamples { value, side, share, by }) = query.judge() {
            for column in by.iter().chain([value, side, share]) {
                assert!(query.columns().iter().any(|one| one.name == *column), "{name} judges by {column}");
            }
        }
    }
}

#[test]
fn every_query_renders_in_every_dialect() {
    for query in all() {
        for dialect in Dialect::ALL {
            let sql = query.render(dialect, &required(query, "x")).unwrap();
            let expansions = sql.replace("quantile_cont(", "").replace("AS STRING", "");
            assert!(!expansions.contains("quantile(") && !expansions.contains("as_text("), "{sql}");
            assert!(!sql.contains(":since") && !sql.contains(";"), "{sql}");
            assert!(sql.contains("'0001-01-01'") && sql.ends_with('\n'), "{sql}");
        }
    }
}

#[test]
fn hostile_values_stay_in_their_literals() {
    let hostile = "'; DROP TABLE runs; --\\' OR 1=1 ${env:HOME} :since /* \" `";
    let query = find("regressions").unwrap();
    for (dialect, literal) in [
        (Dialect::DuckDb, "'''; DROP TABLE runs; --\\'' OR 1=1 ${env:HOME} :since /* \" `'"),
        (Dialect::ClickHouse, "'''; DROP TABLE runs; --\\\\'' OR 1=1 ${env:HOME} :since /* \" `'"),
        (Dialect::Spark, "'\\'; DROP TABLE runs; --\\\\\\' OR 1=1 \\u0024{env:HOME} :since /* \" `'"),
    ] {
        assert_eq!(dialect.text_literal(hostile), literal);
        let sql = query.render(dialect, &required(query, hostile)).unwrap();
        assert!(sql.contains(&format!("r.runtime_build IN ({literal}, {literal})")), "{sql}");
        // Without the literals nothing of the value is left.
        assert!(!sql.replace(literal, "").contains("DROP TABLE"), "{sql}");
    }
}

#[test]
fn values_of_another_type_are_refused() {
    let query = find("slo-attainment").unwrap();
    let given = |name: &str, value: &str| {
        let mut all = required(query, "x");
        all.insert(name.to_owned(), value.to_owned());
        query.render(Dialect::DataFusion, &all).map_err(|error| error.to_string())
    };
    assert!(given("tpot", "50ms").is_ok());
    for (name, value, expected) in [
        ("since", "2026-02-30", "a day as 2026-11-17"),
        ("since", "x' OR 'a", "a day as 2026-11-17"),
        ("limit", "0", "a whole number of at least 1"),
        ("limit", "1; DROP TABLE runs", "a whole number of at least 1"),
        ("ttft", "500", "a time in ns, us, ms, s or min"),
        ("runtime", "a\0b", "without the character NUL"),
    ] {
        let error = given(name, value).unwrap_err();
        assert!(error.contains(expected) && error.contains(name), "{error}");
    }
}

#[test]
fn errors_name_what_is_allowed() {
    let error = find("top-kernel").unwrap_err();
    assert_eq!(error.nearest.first().map(String::as_str), Some("top-kernels"));
    assert_eq!(find("zzz").unwrap_err().nearest.len(), all().len());
    assert!(find("mbu").unwrap_err().to_string().ends_with("; did you mean `decode-mbu`?"));

    let query = find("decode-mbu").unwrap();
    let error = query.render(Dialect::DuckDb, &values(&[("modell", "x")])).unwrap_err().to_string();
    assert!(error.contains("`modell`; it has `since`, `until`, `model`, `runtime` and `limit`"), "{error}");

    let query = find("kernel-latency").unwrap();
    let error = query.render(Dialect::DuckDb, &BTreeMap::new()).unwrap_err().to_string();
    assert!(error.starts_with("query `kernel-latency` needs `kernel` (text): Part of"), "{error}");
}

#[test]
fn a_header_and_its_sql_have_the_same_parameters() {
    let header = "-- title: t\n-- about: a\n-- column: c x | m\n-- reads: t\n";
    let unknown = NamedQuery::read("q", &format!("{header}SELECT :p")).unwrap_err().to_string();
    assert!(unknown.contains("`:p`, which its header does not have"), "{unknown}");
    let unused = NamedQuery::read("q", &format!("-- parameter: p text = | m\n{header}SELECT 1")).unwrap_err();
    assert!(unused.to_string().contains("never uses `:p`"), "{unused}");
}
