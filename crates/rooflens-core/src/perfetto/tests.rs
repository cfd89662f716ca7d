//! What the format demands: JSON, and on each track slices that nest.

use std::collections::BTreeMap;

use rooflens_schema::tables::{ActivityKind, ApiKind, ApiRow, KernelRow, OpRow};
use rooflens_schema::{Opt, RankTables};
use serde_json::Value;

use super::{FloorShares, Writer};

fn exported(tables: &RankTables) -> Vec<Value> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.rank(tables, &FloorShares::new()).unwrap();
    let text = String::from_utf8(writer.finish(&[]).unwrap()).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    document["traceEvents"].as_array().unwrap().clone()
}

fn ns(value: &Value) -> i64 {
    (value.as_f64().unwrap() * 1000.0).round() as i64
}

fn tracks(events: &[Value]) -> BTreeMap<(i64, i64), Vec<(i64, i64)>> {
    let mut tracks: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for event in events.iter().filter(|event| event["ph"] == "X") {
        let start = ns(&event["ts"]);
        let track = (event["pid"].as_i64().unwrap(), event["tid"].as_i64().unwrap());
        tracks.entry(track).or_default().push((start, start + ns(&event["dur"])));
    }
    tracks
}

#[test]
fn slices_nest_even_where_activities_and_operators_do_not() {
    let mut tables = RankTables::default();
    let name = tables.names.add("void \"odd\"\n<name>");
    for (stream, ts, dur) in [(7, 0, 100), (7, 50, 100), (7, 120, 10), (8, 90, 500), (8, 2_000, 1)] {
        tables.kernels.push(KernelRow::new(0, stream, ts, dur, name, ActivityKind::Kernel));
    }
    for (ts, dur) in [(0, 100), (50, 100), (60, 10)] {
        tables.ops.push(OpRow::new(1, ts, dur, name));
    }
    rooflens_analyze::facts::derive(&mut tables);
    let events = exported(&tables);
    let found = tracks(&events);
    for (track, slices) in &found {
        let mut open: Vec<i64> = Vec::new();
        let mut last = i64::MIN;
        for &(start, end) in slices {
            assert!(start >= last, "{track:?} is not sorted");
            last = start;
            open.retain(|open| *open > start);
            assert!(open.iter().all(|open| end <= *open), "{track:?}: {start} to {end} is cut by another");
            open.push(end);
        }
    }
    // The second operator reaches beyond the first: it keeps its length, in a process of its own.
    let ops = |pid: i64| found[&(pid, 1)].clone();
    assert_eq!((ops(2), ops(3)), (vec![(0, 100), (60, 70)], vec![(50, 150)]));
    let named = |event: &&Value| event["name"] == "thread_name" && event["pid"] == 1;
    let names: Vec<_> =
        events.iter().filter(named).map(|event| event["args"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["ledger", "phases", "layers", "stream 7", "stream 7 (2)", "stream 8"]);
    // The ledger is the device's span, without holes: 0 to 590, a gap, 2000 to 2001.
    let ledger = &found[&(1, 1)];
    assert!(ledger.windows(2).all(|pair| pair[0].1 == pair[1].0));
    assert_eq!((ledger[0].0, ledger[ledger.len() - 1].1), (0, 2_001));
    let running: Vec<i64> = events
        .iter()
        .filter(|event| event["name"] == "running activities")
        .map(|event| event["args"]["value"].as_i64().unwrap())
        .collect();
    // By hand: 0, 50, 90, 100, 120, 130, 150, 590, 2000, 2001.
    assert_eq!(running, [1, 2, 3, 2, 3, 2, 1, 0, 1, 0]);
}

#[test]
fn times_keep_their_nanoseconds() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    for at in [0, 7, 1_234_567_890_123_456, -1_500] {
        writer.counter(1, "at", at, 0).unwrap();
    }
    let text = String::from_utf8(writer.finish(&[]).unwrap()).unwrap();
    for time in ["\"ts\":0.000,", "\"ts\":0.007,", "\"ts\":1234567890123.456,", "\"ts\":-1.500,"] {
        assert!(text.contains(time), "{time} in {text}");
    }
}

#[test]
fn arrows_lead_from_launches_to_what_they_launched() {
    let mut tables = RankTables::default();
    let name = tables.names.add("launch");
    // The second launch is a graph of two kernels; the third has a clock that cannot be.
    for (corr, ts) in [(1, 10), (2, 30), (3, 900)] {
        tables.api.push(ApiRow {
            tid: 5,
            pid: Opt::NONE,
            ts_ns: ts,
            dur_ns: 4,
            name_id: name,
            kind: ApiKind::Launch,
            corr_id: Opt::some(corr),
            ext_id: Opt::NONE,
            op_id: Opt::NONE,
            kernel_id: Opt::NONE,
        });
    }
    for (corr, ts) in [(1, 20), (2, 50), (2, 60), (3, 100)] {
        let mut kernel = KernelRow::new(0, 7, ts, 5, name, ActivityKind::Kernel);
        kernel.corr_id = Opt::some(corr);
        tables.kernels.push(kernel);
    }
    rooflens_analyze::facts::derive(&mut tables);
    let events = exported(&tables);
    let ends = |kind: &str| -> Vec<(i64, i64)> {
        let of = events.iter().filter(|event| event["ph"] == kind);
        of.map(|event| (event["id"].as_i64().unwrap(), ns(&event["ts"]))).collect()
    };
    assert_eq!(ends("s"), [(1, 10), (2, 30)]);
    assert_eq!(ends("f"), [(1, 20), (2, 50)]);
}
