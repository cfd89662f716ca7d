//! Ranges: their names, domains, styles, payloads; metrics of devices and graphs beside them.

use rooflens_schema::tables::RangeStyle;
use rooflens_schema::{Notes, RankTables};

use crate::sqlite::made;
use crate::testing::{self, names};

fn read(sql: &str) -> (RankTables, Notes) {
    let (tables, notes) = testing::read(&made(sql));
    (tables.unwrap(), notes)
}

/// The columns that matter, as nsys 2024.2 declares them. Threads are 101 of process 100, 201 of 200.
const NVTX: &str = "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
    INSERT INTO StringIds VALUES (1, 'registered'), (2, '{\"tokens\":4}');
    CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT,
      globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, uint64Value INTEGER,
      int64Value INTEGER, doubleValue REAL, uint32Value INTEGER, int32Value INTEGER, floatValue REAL,
      jsonTextId INTEGER, jsonText TEXT);
    CREATE TEMP TABLE thread (name TEXT, id INTEGER);
    INSERT INTO thread VALUES ('a', 1 << 48 | 100 << 24 | 101), ('b', 1 << 48 | 200 << 24 | 201);";

/// A range: thread, start, end, kind, and what else its columns have.
fn range(thread: &str, more: &str, values: &str) -> String {
    format!(
        "INSERT INTO NVTX_EVENTS (globalTid, start, end, eventType, {more})
         SELECT id, {values} FROM thread WHERE name = '{thread}';\n"
    )
}

#[test]
fn a_domain_is_that_of_its_process() {
    let sql = NVTX.to_owned()
        + &range("a", "text, domainId", "0, NULL, 75, 'NCCL', 1")
        + &range("b", "text, domainId", "0, NULL, 75, 'TRT', 1")
        + &range("a", "text, domainId", "10, 20, 59, 'own', 1")
        + &range("b", "textId, domainId", "10, 20, 59, 1, 1")
        + &range("b", "textId, domainId", "30, 40, 59, 1, 0")
        + &range("b", "textId, text, domainId", "50, 60, 59, 1, 'both', 0")
        + &range("b", "textId, domainId", "70, 80, 59, 99, 0");
    let (tables, _) = read(&sql);
    let ranges = &tables.ranges;
    assert_eq!(
        names(&tables, &ranges.name_id),
        ["NCCL:own", "TRT:registered", "registered", "registered", ""]
    );
    assert_eq!((ranges.pid[0], ranges.tid[0], ranges.pid[1], ranges.tid[1]), (100, 101, 200, 201));
    assert_eq!(tables.phases.len(), 5, "each is a phase as well");
}

#[test]
fn styles() {
    let elsewhere = "1 << 48 | 100 << 24 | 102";
    let sql = NVTX.to_owned()
        + &range("a", "text", "10, 20, 59, 'pushed'")
        + &range("a", "text", "10, 20, 60, 'started'")
        + &range("a", "text, endGlobalTid", &format!("10, 20, 60, 'handed over', {elsewhere}"))
        + &range("a", "text", "10, 20, 70, 'from a text file'")
        + &range("a", "text", "10, 20, 71, 'from a text file'")
        + &range("a", "text", "10, 20, 33, 'a category'");
    use RangeStyle::{Across, PushPop, StartEnd};
    assert_eq!(read(&sql).0.ranges.style, [PushPop, StartEnd, Across, PushPop, StartEnd]);
}

#[test]
fn payloads_are_kept_as_text() {
    let sql = NVTX.to_owned()
        + &range("a", "text, uint64Value", "1, 2, 59, 'x', -1")
        + &range("a", "text, int64Value", "2, 3, 59, 'x', -1")
        + &range("a", "text, doubleValue", "3, 4, 59, 'x', 0.25")
        + &range("a", "text, uint32Value", "4, 5, 59, 'x', 7")
        + &range("a", "text, jsonText", "5, 6, 59, 'x', '[1]'")
        + &range("a", "text, jsonTextId", "6, 7, 59, 'x', 2")
        + &range("a", "text", "7, 8, 59, 'x'");
    let (tables, _) = read(&sql);
    let payload = |id: &rooflens_schema::Opt<_>| id.get().map(|id| tables.names.get(id));
    let payloads: Vec<Option<&str>> = tables.ranges.payload_id.iter().map(payload).collect();
    let unsigned = Some("18446744073709551615");
    let json = Some("{\"tokens\":4}");
    assert_eq!(payloads, [unsigned, Some("-1"), Some("0.25"), Some("7"), Some("[1]"), json, None]);
}

#[test]
fn the_text_of_an_operator_stays() {
    let text = "aten::mul, seq = 3, op_id = 5";
    let sql = NVTX.to_owned() + &range("a", "text", &format!("1, 2, 59, '{text}'")).repeat(2);
    let (tables, _) = read(&sql);
    assert_eq!((tables.ranges.len(), tables.ops.len(), tables.phases.len()), (2, 2, 0));
    assert_eq!(tables.names.get(tables.ranges.name_id[1]), text);
    assert_eq!(tables.names.get(tables.ops.name_id[1]), "aten::mul");
    assert_eq!(tables.ops.ext_id[1].get(), Some(5));
}

#[test]
fn what_has_no_table_is_counted() {
    let sql = "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, shortName INTEGER,
          graphNodeId INTEGER, graphId INTEGER);
        INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2, 1, 4294967297, 9);
        CREATE TABLE GPU_METRICS (rawTimestamp INTEGER, timestamp INTEGER, typeId INTEGER NOT NULL,
          metricId INTEGER NOT NULL, value INTEGER NOT NULL);
        CREATE TABLE TARGET_INFO_GPU_METRICS (typeId INTEGER, sourceId INTEGER, typeName TEXT,
          metricId INTEGER, metricName TEXT);
        INSERT INTO TARGET_INFO_GPU_METRICS VALUES (1, 1, 'GPU', 0, 'SMs Active [Throughput %]'),
          (1, 1, 'GPU', 1, 'Tensor Active [Throughput %]');
        INSERT INTO GPU_METRICS VALUES (0, 5, 1, 0, 40), (0, 5, 1, 1, 20), (0, 6, 1, 0, 41);";
    let (tables, notes) = read(sql);
    let note = notes.rows().into_iter().find(|note| note.code == "unread_gpu_metrics").unwrap();
    assert_eq!(note.count, 3);
    for name in ["SMs Active [Throughput %]", "Tensor Active [Throughput %]"] {
        assert!(note.message.contains(name), "{}", note.message);
    }
    let kernels = &tables.kernels;
    assert_eq!((kernels.graph_id[0].get(), kernels.graph_node_id[0].get()), (Some(9), Some(4_294_967_297)));
}
