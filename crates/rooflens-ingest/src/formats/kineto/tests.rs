//! Text in, rows and notes out.

use rooflens_schema::RankTables;

use crate::{IngestError, testing};

fn read_text(text: &str) -> (Result<RankTables, IngestError>, Vec<String>) {
    let (tables, notes) = testing::read(text.as_bytes());
    let notes =
        notes.rows().iter().map(|n| format!("{} {} {}", n.severity.as_str(), n.code, n.count)).collect();
    (tables, notes)
}

fn kernel(name: &str, ts: &str, dur: &str) -> String {
    format!(
        r#"{{"ph": "X", "cat": "kernel", "name": "{name}", "pid": 0, "tid": 7, "ts": {ts}, "dur": {dur},
            "args": {{"device": 1, "stream": 7, "correlation": 42, "grid": [3, 2, 1], "block": [128, 1, 1]}}}}"#
    )
}

fn trace(events: &[String]) -> String {
    format!(
        r#"{{"schemaVersion": 1, "baseTimeNanoseconds": 1751410836000000000, "traceEvents": [{}]}}"#,
        events.join(",")
    )
}

#[test]
fn a_kernel_becomes_a_row() {
    let (tables, notes) = read_text(&trace(&[kernel("gemm<float, 7>", "100.5", "2.125")]));
    let tables = tables.unwrap();
    let row = tables.kernels.row(0).unwrap();
    assert_eq!(tables.names.get(row.kernel_id), "gemm<float, 7>");
    assert_eq!((row.device, row.stream, row.ts_ns, row.dur_ns), (1, 7, 0, 2125));
    assert_eq!((row.corr_id.get(), row.grid_x.get(), row.block_x.get()), (Some(42), Some(3), Some(128)));
    assert_eq!(tables.meta.base_unix_ns, Some(1_751_410_836_000_100_500));
    assert_eq!(tables.meta.events, 1);
    assert!(notes.is_empty(), "{notes:?}");
}

#[test]
fn keys_in_any_order_give_the_same_row() {
    let sorted = r#"{"args": {"stream": 7, "device": 1}, "cat": "kernel", "dur": 2, "name": "k", "ph": "X", "pid": 0, "tid": 0, "ts": 5}"#;
    let (tables, notes) = read_text(&trace(&[sorted.to_owned()]));
    let row = tables.unwrap().kernels.row(0).unwrap();
    assert_eq!((row.device, row.stream, row.dur_ns), (1, 7, 2000));
    assert!(notes.is_empty());
}

#[test]
fn the_last_of_equal_keys_counts() {
    let twice = kernel("k", "1", "2").replace(r#""dur": 2"#, r#""dur": 9, "dur": 2"#);
    assert_eq!(read_text(&trace(&[twice])).0.unwrap().kernels.dur_ns, [2000]);
}

#[test]
fn a_cut_trace_gives_what_it_holds() {
    let whole = trace(&[kernel("a", "1", "2"), kernel("b", "3", "4")]);
    let (tables, notes) = read_text(&whole[..whole.len() - 30]);
    assert_eq!(tables.unwrap().kernels.len(), 1);
    assert_eq!(notes, ["data_loss damaged_event 1", "data_loss truncated 1"]);
}

#[test]
fn every_cut_is_noted() {
    let whole = trace(&[kernel("a", "1", "2"), kernel("b", "3", "4")]);
    for cut in 0..whole.len() {
        let (tables, notes) = read_text(&whole[..cut]);
        match tables {
            Ok(_) => {
                assert!(notes.iter().any(|note| note.starts_with("data_loss")), "cut at {cut}: {notes:?}")
            }
            Err(IngestError::NoRecords { .. } | IngestError::Empty { .. } | IngestError::Unknown { .. }) => {}
            Err(error) => panic!("cut at {cut}: {error}"),
        }
    }
}

#[test]
fn damage_costs_one_event() {
    for (good, bad) in [
        (r#""ts": 3"#, r#""ts": 3x1"#),
        (r#""cat": "kernel""#, r#""cat": "kernel"#),
        (r#""args": {"#, r#""args": "#),
        (r#""block": [128, 1, 1]}}"#, r#""block": [128, 1, 1]}"#),
        (r#""pid": 0"#, r#""pid": "0"#),
    ] {
        let events = [kernel("a", "1", "2"), kernel("b", "3", "4").replace(good, bad), kernel("c", "5", "6")];
        let (tables, notes) = read_text(&trace(&events));
        assert_eq!(tables.unwrap().kernels.dur_ns, [2000, 6000], "{bad}");
        assert_eq!(notes, ["data_loss damaged_event 1"], "{bad}");
    }
}

#[test]
fn what_json_forbids_but_traces_hold() {
    let odd =
        kernel("a", "1", "2").replace(r#""device": 1"#, r#""occupancy": NaN, "x": -Infinity, "device": 1"#);
    let (tables, notes) = read_text(&trace(&[odd, kernel("tab\there", "3", "4")]));
    assert_eq!(tables.unwrap().kernels.len(), 2);
    assert_eq!(notes, ["data_loss invalid_text 1"]);
}

#[test]
fn a_pattern_inside_a_name_does_not_mislead_the_cutter() {
    // Long enough for many blocks; every name contains what the cutter looks for.
    let name = r#"x, {\"ph\": \"X\" [ {"#;
    let events: Vec<String> = (0..20_000).map(|i| kernel(name, &format!("{i}"), "1")).collect();
    let (tables, notes) = read_text(&trace(&events));
    assert_eq!(tables.unwrap().kernels.ts_ns, (0..20_000).map(|i| i * 1000).collect::<Vec<i64>>());
    assert!(notes.is_empty(), "{notes:?}");
}

#[test]
fn blocks_keep_the_order_of_the_file() {
    let events: Vec<String> = (0..50_000).map(|i| kernel("k", &format!("{}.25", i * 3), "1")).collect();
    let (tables, notes) = read_text(&trace(&events));
    assert_eq!(tables.unwrap().kernels.ts_ns, (0..50_000).map(|i| i * 3000).collect::<Vec<i64>>());
    assert!(notes.is_empty(), "{notes:?}");
}

#[test]
fn an_event_longer_than_a_block_is_read() {
    let name = "n".repeat(3 << 20);
    let (tables, notes) =
        read_text(&trace(&[kernel("a", "1", "1"), kernel(&name, "2", "1"), kernel("b", "3", "1")]));
    let tables = tables.unwrap();
    assert_eq!(tables.kernels.len(), 3);
    assert_eq!(tables.names.get(tables.kernels.kernel_id[1]).len(), 3 << 20);
    assert!(notes.is_empty(), "{notes:?}");
}

#[test]
fn keys_behind_the_events_count() {
    let text = trace(&[kernel("a", "1", "1")]).replace(
        "]}",
        r#"], "distributedInfo": {"rank": 3, "world_size": 8, "backend": "nccl"}, "username": "someone"}"#,
    );
    // `]}` also ends arguments; the replacement there must not matter for this test.
    let text = text.replacen(r#"[128, 1, 1], "distributedInfo": {"rank": 3, "world_size": 8, "backend": "nccl"}, "username": "someone"}"#, "[128, 1, 1]}", 1);
    let (tables, notes) = read_text(&text);
    let meta = tables.unwrap().meta;
    assert_eq!((meta.rank, meta.world_size), (Some(3), Some(8)));
    assert_eq!(notes, ["info header_not_kept 1"]);
}

#[test]
fn the_plain_array_form_is_read() {
    let (tables, notes) = read_text(&format!("[{}]", kernel("a", "1", "1")));
    assert_eq!(tables.unwrap().kernels.len(), 1);
    assert!(notes.is_empty(), "{notes:?}");
}

#[test]
fn every_other_kind_has_its_table() {
    let events = [
        r#"{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":2,"ts":0,"dur":9,"args":{"External id":5,"Input Dims":[[2, 3],[3, 4]],"Input type":["float","float"]}}"#,
        r#"{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":2,"ts":1,"dur":1,"args":{"correlation":42,"External id":5}}"#,
        r#"{"ph":"X","cat":"python_function","name":"nn.Module: Llama_0","pid":1,"tid":2,"ts":0,"dur":10,"args":{"Python id":1}}"#,
        r#"{"ph":"X","cat":"user_annotation","name":"ProfilerStep#3","pid":1,"tid":2,"ts":0,"dur":10}"#,
        r#"{"ph":"X","cat":"gpu_user_annotation","name":"ProfilerStep#3","pid":0,"tid":7,"ts":2,"dur":5}"#,
        r#"{"ph":"i","cat":"cpu_instant_event","name":"[memory]","s":"t","pid":1,"tid":2,"ts":1,"args":{"Bytes":512,"Device Id":0,"Device Type":1,"Total Allocated":1024,"Total Reserved":2048}}"#,
        r#"{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD","pid":0,"tid":7,"ts":3,"dur":1,"args":{"device":0,"stream":7,"bytes":4096,"correlation":43}}"#,
        r#"{"ph":"X","cat":"overhead","name":"CUPTI overhead","pid":-1,"tid":0,"ts":0,"dur":1}"#,
        r#"{"ph":"s","id":42,"cat":"ac2g","name":"ac2g","pid":1,"tid":2,"ts":1}"#,
        r#"{"name":"process_name","ph":"M","ts":0,"pid":1,"tid":0,"args":{"name":"python"}}"#,
        r#"{"ph":"X","cat":"cuda_sync","name":"Stream Sync","pid":0,"tid":7,"ts":1,"dur":1}"#,
    ];
    let (tables, notes) = read_text(&trace(&events.map(str::to_owned)));
    let t = tables.unwrap();
    assert_eq!((t.ops.len(), t.api.len(), t.frames.len(), t.phases.len()), (1, 2, 1, 2));
    assert_eq!((t.kernels.len(), t.memory.len(), t.meta.events), (1, 1, 11));
    assert_eq!(t.names.get(t.ops.shapes_id[0].get().unwrap()), "[[2,3],[3,4]]");
    assert_eq!(t.kernels.bytes[0].get(), Some(4096));
    assert!(t.meta.microsecond_clock);
    assert_eq!(notes, ["info unread_cuda_sync 1"]);
}

#[test]
fn an_unusable_time_is_noted_and_not_counted() {
    for bad in ["null", "NaN", "-Infinity", "1e400", "true", "[]", "{}", "18446744073709551616", "-1"] {
        let (tables, notes) = read_text(&trace(&[kernel("a", "1", bad), kernel("b", "3", "4")]));
        assert_eq!(tables.unwrap().kernels.dur_ns, [4000], "{bad}");
        assert_eq!(notes, ["data_loss event_without_time 1"], "{bad}");
    }
}

#[test]
fn a_byte_order_mark_is_no_obstacle() {
    let (tables, notes) = read_text(&format!("\u{feff} {}", trace(&[kernel("a", "1", "2")])));
    assert_eq!(tables.unwrap().kernels.len(), 1);
    assert!(notes.is_empty(), "{notes:?}");
}

#[test]
fn marks_of_an_mtia_queue_are_no_work() {
    let event = |name: &str| kernel(name, "1", "2").replace("kernel", "mtia_ccp_events");
    let (tables, notes) =
        read_text(&trace(&["event_wait", "event_record", "dma_request", "pe_exe"].map(event)));
    let kinds: Vec<&str> = tables.unwrap().kernels.kind.iter().map(|kind| kind.as_str()).collect();
    assert_eq!(kinds, ["memcpy", "kernel"]);
    assert_eq!(notes, ["info unread_mtia_queue_mark 2"]);
}

#[test]
fn an_export_is_read_as_its_trace() {
    let added = kernel("ledger", "0", "9").replace(r#""cat": "kernel""#, r#""cat": "rooflens""#);
    let counter = r#"{"ph": "C", "cat": "rooflens", "name": "queue depth", "pid": 1, "tid": 0, "ts": 0, "args": {"value": 1}}"#;
    let annotation =
        kernel("decode", "1", "2").replace(r#""cat": "kernel""#, r#""cat": "gpu_user_annotation""#);
    let note = r#"{"stage": "ingest", "severity": "data_loss", "code": "truncated", "source": "a", "count": 1, "message": ""}"#;
    let key = |ranks: i32, format: &str| {
        format!(
            r#"{{"displayTimeUnit": "ns", "rooflens_export": {{"ranks": {ranks}, "format": "{format}", "notes": [{note}]}}, "#
        )
    };
    let text = trace(&[added, counter.to_owned(), annotation, kernel("a", "1", "2")]);
    let (tables, notes) = read_text(&text.replacen('{', &key(1, "kineto"), 1));
    let tables = tables.unwrap();
    assert_eq!((tables.meta.events, tables.kernels.len(), tables.meta.last_ns), (2, 1, 2000));
    // The process of an annotation in an export is a number of tracks, not its device.
    let annotation = tables.phases.row(0).unwrap();
    assert_eq!((annotation.device.get(), annotation.tid.get()), (Some(1), Some(7)));
    assert_eq!(notes, ["data_loss truncated 1"]);
    let (_, notes) = read_text(&text.replacen('{', &key(1, "nsys"), 1));
    assert_eq!(notes, ["data_loss truncated 1", "warning exported 1"]);
    let (tables, _) = read_text(&text.replacen('{', &key(2, "kineto"), 1));
    assert!(matches!(tables, Err(IngestError::SeveralRanks { ranks: 2, .. })));
}

#[test]
fn metadata_in_front_does_not_mislead_the_cutter() {
    // The profiler writes metadata first, with other keys in front than the events that follow.
    let metadata =
        r#"{"name": "process_name", "ph": "M", "ts": 0, "pid": 1, "tid": 0, "args": {"name": "p"}}"#;
    let events: Vec<String> = (0..20_000).map(|i| kernel("k", &format!("{i}"), "1")).collect();
    let text = trace(&[vec![metadata.to_owned()], events].concat());
    let start = super::block::EventStart::learn(text.as_bytes(), text.find("[{").unwrap() + 1);
    let last = start.last(text.as_bytes()).unwrap();
    assert!(text.len() - last < 300, "the last cut is {} bytes before the end", text.len() - last);
    assert_eq!(read_text(&text).0.unwrap().kernels.len(), 20_000);
}
