//! What queries answer.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array, StringArray};
use datafusion::arrow::datatypes::DataType;
use serde_json::json;

use crate::engine::{ask, sql};
use crate::store::{TestStore, kernels, rows, run_row};

fn add(store: &TestStore, tenant: &str, day: &str, run: &str, hardware: &str, count: i64) {
    store.run(tenant, day, run, &[("runs", run_row(run, hardware)), ("kernels", kernels(run, count, 100))]);
}

fn store() -> TestStore {
    let store = TestStore::empty();
    for (tenant, day, run, hardware, count) in [
        ("a", "2026-11-01", "r1", "H100", 5),
        ("a", "2026-11-02", "r2", "H100", 5),
        ("b", "2026-11-02", "r3", "B200", 10),
    ] {
        add(&store, tenant, day, run, hardware, count);
    }
    store
}

#[test]
fn rows_are_counted_by_tenant_and_day() {
    let store = store();
    assert_eq!(sql(store.path(), "SELECT count(*) FROM kernels").lines(), ["2000"]);
    let answer = sql(store.path(), "SELECT tenant, day, count(*) FROM kernels GROUP BY 1, 2 ORDER BY 1, 2");
    assert_eq!(answer.lines(), ["a 2026-11-01 500", "a 2026-11-02 500", "b 2026-11-02 1000"]);
}

#[test]
fn columns_that_files_lack_are_null_and_those_unknown_are_left_out() {
    let store = store();
    let answer = sql(store.path(), "SELECT run_id, hardware, model, label FROM runs ORDER BY run_id");
    assert_eq!(answer.lines(), ["r1 H100 - -", "r2 H100 - -", "r3 B200 - -"]);
    let (schema, _) = sql(store.path(), "SELECT * FROM runs").batches();
    let names: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    assert!(!names.contains(&"unknown_to_the_schema"), "{names:?}");
    assert_eq!(names[names.len() - 2..], ["day", "tenant"]);
}

#[test]
fn results_have_plain_types() {
    let store = store();
    let text = "SELECT run_id, day, max(hardware) AS hardware FROM runs GROUP BY run_id, day";
    let (schema, _) = sql(store.path(), text).batches();
    assert!(schema.fields().iter().all(|field| *field.data_type() == DataType::Utf8), "{schema}");
}

#[test]
fn a_result_without_rows_has_its_schema() {
    let store = store();
    let (schema, batches) = sql(store.path(), "SELECT run_id FROM runs WHERE run_id = 'x'").batches();
    assert_eq!(schema.fields().len(), 1);
    assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 0);
}

#[test]
fn tables_of_an_empty_store_have_no_rows() {
    let store = TestStore::empty();
    for table in rooflens_store::tables() {
        let answer = sql(store.path(), &format!("SELECT count(*) FROM {} WHERE day > '2026'", table.name));
        assert_eq!(answer.lines(), ["0"], "{}", table.name);
    }
    let (schema, _) = sql(store.path(), "SELECT * FROM runs").batches();
    assert!(schema.field_with_name("tenant").is_ok());
}

#[test]
fn partition_columns_work_in_windows_and_joins() {
    let store = store();
    let answer = sql(
        store.path(),
        "SELECT run_id, row_number() OVER (PARTITION BY day ORDER BY tenant) AS n,
                lag(day) OVER (ORDER BY day, tenant) AS before
         FROM runs ORDER BY run_id",
    );
    assert_eq!(answer.lines(), ["r1 1 -", "r2 1 2026-11-01", "r3 2 2026-11-02"]);
    let answer = sql(
        store.path(),
        "SELECT r.run_id, count(*) FROM runs r JOIN kernels k ON r.day = k.day AND r.tenant = k.tenant
         GROUP BY r.run_id ORDER BY r.run_id",
    );
    assert_eq!(answer.lines(), ["r1 500", "r2 500", "r3 1000"]);
}

#[test]
fn only_the_tenants_of_the_request_are_there() {
    let store = store();
    let request =
        json!({"sql": "SELECT run_id FROM runs ORDER BY 1", "store": store.path(), "tenants": ["b"]});
    assert_eq!(ask(&request).lines(), ["r3"]);
    let request = json!({"sql": "SELECT run_id FROM runs", "store": store.path(), "tenants": ["nobody"]});
    assert!(ask(&request).lines().is_empty());
}

#[test]
fn explain_shows_the_plan() {
    let store = store();
    let request = json!({"sql": "SELECT dur_ns FROM kernels", "store": store.path(), "explain": true});
    let plan = ask(&request).lines().join("\n");
    assert!(plan.contains("DataSourceExec"), "{plan}");
    let plan = sql(store.path(), "EXPLAIN ANALYZE SELECT sum(dur_ns) FROM kernels").lines().join("\n");
    assert!(plan.contains("bytes_scanned"), "{plan}");
}

/// The main tool renders SQL for several engines and relies on these in this one.
#[test]
fn the_common_dialect_is_understood() {
    let store = store();
    for (text, expected) in [
        (
            "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x) FROM (VALUES (1.0), (2.0), (4.0)) AS t(x)",
            "2.0",
        ),
        ("SELECT median(x) FROM (VALUES (1.0), (2.0), (4.0), (5.0)) AS t(x)", "3.0"),
        ("SELECT count(*) FILTER (WHERE x > 1) FROM (VALUES (1), (2), (3)) AS t(x)", "2"),
        (
            "SELECT max(s) FROM (SELECT sum(x) OVER (PARTITION BY g ORDER BY x ROWS BETWEEN 1 PRECEDING AND \
             CURRENT ROW) AS s FROM (VALUES (1, 1), (1, 2), (1, 3)) AS t(g, x))",
            "5",
        ),
        ("SELECT x FROM (VALUES (1), (2), (3)) AS t(x) QUALIFY row_number() OVER (ORDER BY x DESC) = 1", "3"),
        ("SELECT sum(value) FROM generate_series(1, 3)", "6"),
        ("SELECT 7 / 2", "3"),
        ("SELECT -7 / 2", "-3"),
        ("SELECT CAST(7 AS DOUBLE) / 2", "3.5"),
        ("SELECT strpos('abc', 'c')", "3"),
        ("SELECT 'gemm_x' LIKE 'gemm%'", "true"),
        ("SELECT CAST(ln(1.0) AS DOUBLE)", "0.0"),
        ("SELECT sqrt(16.0)", "4.0"),
        ("SELECT CAST(sum(x) AS DOUBLE) / sum(x) FROM (VALUES (CAST(3 AS BIGINT)), (4)) AS t(x)", "1.0"),
    ] {
        assert_eq!(sql(store.path(), text).lines(), [expected], "{text}");
    }
}

fn notes(answer: &crate::engine::Answer) -> Vec<String> {
    let notes = answer.events.iter().filter(|event| event["event"] == "note");
    notes.map(|event| event["message"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_join_with_the_kernels_of_each_run_repeats_rows_and_says_so() {
    let store = TestStore::empty();
    let add = |run: &str, day: &str| {
        let dim = rows(vec![
            ("kernel_id", Arc::new(Int64Array::from(vec![0, 1])) as ArrayRef),
            ("name", Arc::new(StringArray::from(vec!["gemm", "norm"]))),
        ]);
        store.run("a", day, run, &[("kernels", kernels(run, 2, 10)), ("kernel_dim", dim)]);
    };
    let by = |names: &str| {
        format!(
            "SELECT n.name, count(*) FROM kernels k JOIN {names} n ON n.kernel_id = k.kernel_id GROUP BY 1 ORDER BY 1"
        )
    };
    add("r1", "2026-11-01");
    let answer = sql(store.path(), &by("kernel_dim"));
    assert_eq!((answer.lines(), notes(&answer)), (vec!["gemm 10".to_owned(), "norm 10".to_owned()], vec![]));
    add("r2", "2026-11-02");
    let answer = sql(store.path(), &by("kernel_names"));
    assert_eq!((answer.lines(), notes(&answer)), (vec!["gemm 20".to_owned(), "norm 20".to_owned()], vec![]));
    let answer = sql(store.path(), &by("kernel_dim"));
    assert_eq!(answer.lines(), ["gemm 40", "norm 40"]);
    assert!(notes(&answer)[0].contains("join kernel_names"), "{:?}", notes(&answer));
    let grouped = by("(SELECT kernel_id, min(name) AS name FROM kernel_dim GROUP BY kernel_id)");
    assert_eq!(notes(&sql(store.path(), &grouped)), [""; 0]);
}

#[test]
fn a_run_of_two_tenants_counts_in_each_and_the_answer_says_so() {
    let store = store();
    add(&store, "b", "2026-11-01", "r1", "H100", 5);
    let answer = sql(store.path(), "SELECT count(*) FROM kernels WHERE day = '2026-11-01'");
    assert_eq!(answer.lines(), ["1000"]);
    assert!(notes(&answer)[0].starts_with("1 run is in more than one tenant"), "{:?}", notes(&answer));
    // Not where only one of them is asked.
    let request = json!({"sql": "SELECT count(*) FROM kernels", "store": store.path(), "tenants": ["a"]});
    assert_eq!(notes(&ask(&request)), [""; 0]);
}
