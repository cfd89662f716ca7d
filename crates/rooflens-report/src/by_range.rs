//! The kernels of each range, laid out as `nsys stats` does.

use rooflens_analyze::by_range::RangeKernel;

use crate::block::Level::{Raw, Screen};
use crate::block::{Block, Cell, Column, Field, Table};
use crate::render::Part;

const OUTSIDE: &str = "launched outside all ranges";
const UNLAUNCHED: &str = "the trace does not have its launch";

const FIELDS: &[Field<RangeKernel>] = &[
    (Column::text("range", "Range"), |row| Cell::or(row.range.as_deref(), Cell::code, OUTSIDE)),
    (Column::bar("share", "Share"), |row| Cell::Share(row.share)),
    (Column::text("style", "Style").at(Raw), |row| {
        Cell::or(row.style, |style| Cell::word(style.as_str()), OUTSIDE)
    }),
    (Column::number("pid", "Process").at(Raw), |row| {
        Cell::or(row.pid, |pid| Cell::text(pid.to_string()), UNLAUNCHED)
    }),
    (Column::number("tid", "Thread").at(Screen), |row| {
        Cell::or(row.tid, |tid| Cell::text(tid.to_string()), UNLAUNCHED)
    }),
    (Column::number("ranges", "Ranges"), |row| Cell::count(row.ranges)),
    (Column::text("name", "Name").at(Raw), |row| Cell::text(row.name.clone())),
    (Column::number("count", "Count"), |row| Cell::count(row.count)),
    (Column::number("total_ns", "Total"), |row| Cell::MeanTime(row.times.total_ns)),
    (Column::text("short_name", "Kernel"), |row| Cell::name(&row.short_name, &row.name)),
    (Column::number("mean_ns", "Mean").at(Screen), |row| Cell::MeanTime(row.times.mean_ns)),
    (Column::number("median_ns", "Median").at(Screen), |row| Cell::MeanTime(row.times.median_ns)),
    (Column::number("min_ns", "Min").at(Screen), |row| Cell::MeanTime(row.times.min_ns)),
    (Column::number("max_ns", "Max").at(Screen), |row| Cell::MeanTime(row.times.max_ns)),
    (Column::number("stddev_ns", "Std dev").at(Screen), |row| {
        Cell::or(row.times.stddev_ns, Cell::MeanTime, "a single launch has none")
    }),
];

/// The first `limit` rows.
pub fn parts(rows: &[RangeKernel], limit: usize) -> Vec<Part> {
    // Without a share of those left out: ranges nest, so it would count kernels twice.
    let table = Table::new("by_range", FIELDS, rows, limit);
    vec![Part { name: "by_range", title: "Kernels by range", blocks: vec![Block::Table(table)] }]
}
