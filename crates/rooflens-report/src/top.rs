//! The kernels of a timeline, laid out as `nsys stats` does.

use rooflens_analyze::top::TopKernel;

use crate::block::Level::{Raw, Screen};
use crate::block::{Block, Cell, Column, Field, Table};
use crate::render::Part;

const FIELDS: &[Field<TopKernel>] = &[
    (Column::text("short_name", "Kernel"), |row| Cell::name(&row.short_name, &row.name)),
    (Column::text("name", "Name").at(Raw), |row| Cell::text(row.name.clone())),
    (Column::bar("share", "Share").help("Fraction of the duration of all device activities."), |row| {
        Cell::Share(row.share)
    }),
    (Column::text("class", "Class").at(Screen), |row| Cell::word(row.class.clone())),
    (Column::number("count", "Count"), |row| Cell::count(row.count)),
    (Column::number("total_ns", "Total"), |row| Cell::MeanTime(row.total_ns)),
    (Column::number("mean_ns", "Mean"), |row| Cell::MeanTime(row.mean_ns)),
    (Column::number("median_ns", "Median"), |row| Cell::MeanTime(row.median_ns)),
    (Column::number("min_ns", "Min").at(Screen), |row| Cell::MeanTime(row.min_ns)),
    (Column::number("max_ns", "Max").at(Screen), |row| Cell::MeanTime(row.max_ns)),
    (Column::number("stddev_ns", "Std dev").at(Screen), |row| {
        Cell::or(row.stddev_ns, Cell::MeanTime, "a single launch has none")
    }),
    (Column::number("typical_skip", "Typical").at(Raw), |row| {
        let skip = row.typical_skip.and_then(|skip| i64::try_from(skip).ok());
        Cell::or(skip, Cell::Count, "the input has no single launches")
    }),
];

/// A sentence in place of kernels, where there is none.
pub fn nothing(why: &str) -> Vec<Part> {
    vec![Part { name: "top", title: "Kernels by device time", blocks: vec![Block::Text(why.to_owned())] }]
}

/// The first `limit` kernels.
pub fn parts(kernels: &[TopKernel], limit: usize) -> Vec<Part> {
    let table = Table::new("top", FIELDS, kernels, limit).rest("--k N", kernels, |row| row.share);
    vec![Part { name: "top", title: "Kernels by device time", blocks: vec![Block::Table(table)] }]
}
