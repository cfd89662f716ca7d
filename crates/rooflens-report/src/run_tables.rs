//! Tables of a run as CSV files for scripts: headers are those of `torch.profiler` and of `nsys stats`.

use std::fmt::Write;

use rooflens_analyze::analyses::{OperatorStat, Operators};
use rooflens_analyze::top::TopKernel;

use crate::block::{Cell, Column, Field, Table, TableColumn};
use crate::render::csv;
use crate::sections::operators::{bytes, shapes};

/// `ops.csv`: operators by name, as `key_averages()` of `torch.profiler` groups them, most self time first.
///
/// Times are whole nanoseconds, memory is bytes, shares are 0 to 1. A cell of what the trace did not record
/// (device time, memory, shapes) is empty.
pub fn operators(found: &Operators, has_device: bool) -> String {
    let device_ns: i64 = found.0.iter().fold(0, |sum, of| sum.saturating_add(of.self_device_ns));
    let row = |of: &'_ OperatorStat| OperatorRow { of: of.clone(), device_ns };
    let rows: Vec<OperatorRow> = found.0.iter().map(row).collect();
    let table = Table::new("ops", OPERATORS, &rows, usize::MAX);
    let is_device =
        |column: &TableColumn| ["device_time", "device_share"].iter().any(|it| column.key.contains(it));
    let reason = "the trace has no device activity";
    csv::table(&if has_device { table } else { table.without(is_device, reason) })
}

struct OperatorRow {
    of: OperatorStat,
    device_ns: i64,
}

const OPERATORS: &[Field<OperatorRow>] = &[
    (Column::text("key", ""), |row| Cell::code(&row.of.name)),
    (Column::text("input_shapes", ""), |row| Cell::text(shapes(&row.of))),
    (Column::number("count", ""), |row| Cell::count(row.of.count)),
    (Column::number("cpu_time_total_ns", ""), |row| Cell::Time(row.of.total_ns)),
    (Column::number("self_cpu_time_total_ns", ""), |row| Cell::Time(row.of.self_ns)),
    (Column::number("device_time_total_ns", ""), |row| Cell::Time(row.of.device_ns)),
    (Column::number("self_device_time_total_ns", ""), |row| Cell::Time(row.of.self_device_ns)),
    (Column::number("cpu_memory_usage_bytes", ""), |row| bytes(row.of.cpu_memory_bytes)),
    (Column::number("self_cpu_memory_usage_bytes", ""), |row| bytes(row.of.self_cpu_memory_bytes)),
    (Column::number("device_memory_usage_bytes", ""), |row| bytes(row.of.device_memory_bytes)),
    (Column::number("self_device_memory_usage_bytes", ""), |row| bytes(row.of.self_device_memory_bytes)),
    (Column::number("self_cpu_share", ""), |row| Cell::Share(row.of.share)),
    (Column::number("self_device_share", ""), |row| match row.device_ns {
        0 => Cell::missing("no operator launched anything"),
        all => Cell::Share(row.of.self_device_ns as f64 / all as f64),
    }),
];

/// `summary_cuda_gpu_kern_sum.csv`: kernels by name, byte for byte as `nsys stats --report cuda_gpu_kern_sum
/// --format csv` prints them: order, digits, 0.0 as the deviation of a single launch, and the part of all
/// kernels' time in per cent. Copies and fills are no kernels.
pub fn kernel_summary(mut kernels: Vec<TopKernel>) -> String {
    let all: f64 = kernels.iter().map(|kernel| kernel.total_ns).sum();
    kernels.sort_by(|a, b| {
        b.total_ns.total_cmp(&a.total_ns).then(a.count.cmp(&b.count)).then_with(|| a.name.cmp(&b.name))
    });
    let mut text =
        "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n"
            .to_owned();
    for kernel in &kernels {
        let percent = if all > 0.0 { kernel.total_ns * 100.0 / all } else { 0.0 };
        let [percent, mean, median, deviation] =
            [percent, kernel.mean_ns, kernel.median_ns, kernel.stddev_ns.unwrap_or(0.0)].map(tenths);
        let (total, count, name) = (kernel.total_ns, kernel.count, csv::quoted(&kernel.name));
        let (min, max) = (kernel.min_ns, kernel.max_ns);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{percent:.1},{total:.0},{count},{mean:.1},{median:.1},{min:.0},{max:.0},{deviation:.1},{name}"
        );
    }
    text
}

/// Rounded to a digit after the point, halves away from zero as SQLite rounds them.
fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use rooflens_analyze::top::{described, with_shares};

    use super::*;

    #[test]
    fn parity_084_the_table_of_nsys_by_hand() {
        let kernel = |name: &str, durations: [f64; 4]| {
            described(name.to_owned(), |kernel| {
                kernel.count = 4;
                kernel.total_ns = durations.iter().sum();
                kernel.mean_ns = kernel.total_ns / 4.0;
                kernel.median_ns = (durations[1] + durations[2]) / 2.0;
                (kernel.min_ns, kernel.max_ns) = (durations[0], durations[3]);
                let squares: f64 = durations.iter().map(|it| (it - kernel.mean_ns).powi(2)).sum();
                kernel.stddev_ns = Some((squares / 3.0).sqrt());
            })
        };
        let single = described("one".to_owned(), |kernel| {
            kernel.count = 1;
            (kernel.total_ns, kernel.mean_ns, kernel.median_ns) = (100.0, 100.0, 100.0);
            (kernel.min_ns, kernel.max_ns) = (100.0, 100.0);
        });
        // 100 + 101 + 102 + 110: mean 103.25, which has a half in the last digit.
        let kernels = with_shares(vec![single, kernel("b, \"x\"<int>", [100.0, 101.0, 102.0, 110.0])]);
        let expected = "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n\
                        80.5,413,4,103.3,101.5,100,110,4.6,\"b, \"\"x\"\"<int>\"\n\
                        19.5,100,1,100.0,100.0,100,100,0.0,one\n";
        assert_eq!(kernel_summary(kernels), expected);
        assert_eq!(kernel_summary(vec![]).lines().count(), 1);
    }
}
