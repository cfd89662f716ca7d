//! Samples for Prometheus: the text that it scrapes.

use std::fmt::Write as _;

use rooflens_schema::tables::Counters;

use crate::sample::latest::Latest;
use crate::sample::throttle;

struct Metric {
    name: &'static str,
    kind: &'static str,
    column: &'static str,
    scale: f64,
}

const fn gauge(name: &'static str, column: &'static str, scale: f64) -> Metric {
    Metric { name, kind: "gauge", column, scale }
}

const fn counter(name: &'static str, column: &'static str, scale: f64) -> Metric {
    Metric { name, kind: "counter", column, scale }
}

/// Names and base units by <https://prometheus.io/docs/practices/naming/>: ratios, watts, joules, hertz,
/// seconds, bytes. A metric of the machine has no label `device`.
const METRICS: &[Metric] = &[
    gauge("rooflens_gpu_utilization_ratio", "gpu_util_pct", 1e-2),
    gauge("rooflens_memory_utilization_ratio", "mem_util_pct", 1e-2),
    gauge("rooflens_sm_clock_hertz", "sm_clock_mhz", 1e6),
    gauge("rooflens_memory_clock_hertz", "mem_clock_mhz", 1e6),
    gauge("rooflens_power_watts", "power_mw", 1e-3),
    gauge("rooflens_power_limit_watts", "power_limit_mw", 1e-3),
    counter("rooflens_energy_joules_total", "energy_mj", 1e-3),
    gauge("rooflens_temperature_celsius", "temperature_c", 1.0),
    gauge("rooflens_memory_used_bytes", "mem_used_bytes", 1.0),
    gauge("rooflens_memory_total_bytes", "mem_total_bytes", 1.0),
    gauge("rooflens_performance_state", "pstate", 1.0),
    gauge("rooflens_processes", "processes", 1.0),
    gauge("rooflens_watched_memory_bytes", "watched_mem_bytes", 1.0),
    gauge("rooflens_sm_active_ratio", "sm_active_pct", 1e-2),
    gauge("rooflens_sm_occupancy_ratio", "sm_occupancy_pct", 1e-2),
    gauge("rooflens_tensor_active_ratio", "tensor_active_pct", 1e-2),
    gauge("rooflens_dram_active_ratio", "dram_active_pct", 1e-2),
    gauge("rooflens_pcie_transmit_bytes_per_second", "pcie_tx_bytes_per_s", 1.0),
    gauge("rooflens_pcie_receive_bytes_per_second", "pcie_rx_bytes_per_s", 1.0),
    gauge("rooflens_nvlink_transmit_bytes_per_second", "nvlink_tx_bytes_per_s", 1.0),
    gauge("rooflens_nvlink_receive_bytes_per_second", "nvlink_rx_bytes_per_s", 1.0),
    gauge("rooflens_cpu_busy_ratio", "cpu_busy_pct", 1e-2),
    counter("rooflens_cpu_busy_seconds_total", "cpu_busy_ns", 1e-9),
    counter("rooflens_watched_cpu_seconds_total", "watched_cpu_ns", 1e-9),
    gauge("rooflens_swap_used_bytes", "swap_used_bytes", 1.0),
    counter("rooflens_disk_read_bytes_total", "disk_read_bytes", 1.0),
    counter("rooflens_disk_write_bytes_total", "disk_write_bytes", 1.0),
    counter("rooflens_network_receive_bytes_total", "net_rx_bytes", 1.0),
    counter("rooflens_network_transmit_bytes_total", "net_tx_bytes", 1.0),
];

const THROTTLE: &str = "rooflens_throttled";

/// The exposition. A value that is not known has no line: never 0.
pub fn text(latest: &Latest) -> String {
    let columns = Counters::spec().columns;
    let mut text = String::new();
    for metric in METRICS {
        let known = latest.0.iter().filter_map(|known| Some((known, known.number(metric.column)?)));
        let known: Vec<_> = known.collect();
        let Some(column) = columns.iter().find(|column| column.name == metric.column) else { continue };
        if !known.is_empty() {
            let _ = writeln!(text, "# HELP {} {}", metric.name, column.doc.replace('\\', "\\\\"));
            let _ = writeln!(text, "# TYPE {} {}", metric.name, metric.kind);
        }
        for (known, value) in known {
            let labels =
                labels(known.subject.device, &known.subject.name, known.subject.uuid.as_deref(), None);
            let _ = writeln!(text, "{}{labels} {}", metric.name, value * metric.scale);
        }
    }
    let throttled = latest.0.iter().filter_map(|known| Some((known, known.number("throttle_reasons")?)));
    for (at, (known, bits)) in throttled.enumerate() {
        if at == 0 {
            let _ = writeln!(text, "# HELP {THROTTLE} Whether clocks are throttled, by reason.");
            let _ = writeln!(text, "# TYPE {THROTTLE} gauge");
        }
        let subject = &known.subject;
        for reason in throttle::ALL {
            let labels = labels(subject.device, &subject.name, subject.uuid.as_deref(), Some(reason.name));
            let _ = writeln!(text, "{THROTTLE}{labels} {}", i64::from(bits as i64 & reason.bit != 0));
        }
    }
    text
}

fn labels(device: Option<i32>, name: &str, uuid: Option<&str>, reason: Option<&str>) -> String {
    let Some(device) = device else { return String::new() };
    let device = device.to_string();
    let pairs = [("device", Some(device.as_str())), ("name", Some(name)), ("uuid", uuid), ("reason", reason)];
    let pairs = pairs.into_iter().filter_map(|(key, value)| Some(format!("{key}=\"{}\"", escaped(value?))));
    format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
