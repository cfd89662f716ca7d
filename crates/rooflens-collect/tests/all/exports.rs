//! Where rows go: Parquet, Prometheus.

use rooflens_collect::sample::latest::Latest;
use rooflens_collect::sample::prometheus::text;
use rooflens_collect::sample::source::Subject;
use rooflens_schema::Opt;
use rooflens_schema::parquet_io::{PartWriter, read_table};
use rooflens_schema::tables::{CounterRow, CounterSource, Counters};

fn rows() -> Counters {
    let mut rows = Counters::default();
    let mut row = CounterRow::new(1_000_000_000, 0, CounterSource::Device, Some(0));
    row.power_mw = Opt::some(301_500);
    row.power_limit_mw = Opt::some(700_000);
    row.throttle_reasons = Opt::some(4);
    row.pstate = Opt::some(2);
    rows.push(row);
    let mut row = CounterRow::new(2_000_000_000, 0, CounterSource::Device, Some(0));
    row.power_mw = Opt::some(0);
    row.energy_mj = Opt::some(1_500);
    row.sm_active_pct = Some(50.0);
    rows.push(row);
    let mut row = CounterRow::new(2_000_000_000, 0, CounterSource::Host, None);
    row.cpu_busy_ns = Opt::some(2_500_000_000);
    rows.push(row);
    rows
}

fn latest() -> Latest {
    let name = "A \"quoted\" name".to_owned();
    let device = Subject { source: "device".into(), device: Some(0), name, uuid: None };
    let host = Subject { source: "host".into(), device: None, name: "a machine".to_owned(), uuid: None };
    let mut latest = Latest::new(vec![host, device]);
    latest.update(&rows());
    latest
}

#[test]
fn parquet_part_by_part_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("counters.parquet");
    let mut file = PartWriter::create(&path).unwrap();
    file.write(&rows()).unwrap();
    file.write(&rows()).unwrap();
    file.close().unwrap();
    let read: Counters = read_table(&path).unwrap();
    assert_eq!(read.len(), 6);
    assert_eq!(read.power_mw, [rows().power_mw, rows().power_mw].concat());
    assert_eq!(read.source, [rows().source, rows().source].concat());
    assert_eq!(read.sm_active_pct[4], Some(50.0));
}

#[test]
fn what_prometheus_scrapes() {
    let text = text(&latest());
    let labels = r#"{device="0",name="A \"quoted\" name"}"#;
    for line in [
        // The newest value, and a slow one that is not too old.
        format!("rooflens_power_watts{labels} 0"),
        format!("rooflens_power_limit_watts{labels} 700"),
        format!("rooflens_energy_joules_total{labels} 1.5"),
        format!("rooflens_sm_active_ratio{labels} 0.5"),
        format!("rooflens_performance_state{labels} 2"),
        "rooflens_cpu_busy_seconds_total 2.5".to_owned(),
        "# TYPE rooflens_energy_joules_total counter".to_owned(),
        r#"rooflens_throttled{device="0",name="A \"quoted\" name",reason="sw_power_cap"} 1"#.to_owned(),
        r#"rooflens_throttled{device="0",name="A \"quoted\" name",reason="gpu_idle"} 0"#.to_owned(),
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    assert!(!text.contains("rooflens_temperature_celsius"), "what is not known has no line: {text}");
}
