//! An answer on disk.

use std::path::Path;

use rooflens_cost::document::OperatorFacts;
use rooflens_report::cost::FigureFile;
use rooflens_schema::RunDir;
use rooflens_schema::parquet_io::write_table;
use rooflens_schema::tables::{ModelOpRow, ModelOps};
use serde::Serialize;

use super::answer::One;
use crate::error::Error;
use crate::saved::{destination, make, write as write_file, write_json};

/// The run directory at `folder`, if an answer may be written there: also where an earlier one stands.
pub fn folder(folder: &Path) -> Result<RunDir, Error> {
    let ours = ["static_compute.json", "cost_sweep.json"];
    if ours.iter().any(|name| folder.join("report").join(name).is_file()) {
        return Ok(RunDir::new(folder));
    }
    destination(folder)
}

/// Saves one design: `tables/model_ops.parquet`, `report/static_compute.{json,md}`.
pub fn write(run: &RunDir, one: &One, document: &impl Serialize, page: &str) -> Result<(), Error> {
    write_table(run, &model_ops(one)).map_err(Error::unwritable_tables)?;
    let report = run.report();
    make(&report)?;
    write_json(report.join("static_compute.json"), document)?;
    write_file(report.join("static_compute.md"), page.as_bytes())
}

pub(crate) fn write_sweep(
    run: &RunDir,
    document: &impl Serialize,
    page: &str,
    csv: &str,
) -> Result<(), Error> {
    let report = run.report();
    make(&report)?;
    write_json(report.join("cost_sweep.json"), document)?;
    write_file(report.join("cost_sweep.md"), page.as_bytes())?;
    write_file(report.join("cost_sweep.csv"), csv.as_bytes())
}

fn model_ops(one: &One) -> ModelOps {
    let mut table = ModelOps::default();
    for phase in &one.document.phases {
        for operator in &phase.operators {
            let layers: Vec<Option<u32>> = match operator.at.as_slice() {
                [] => vec![None; operator.count as usize],
                at => at.iter().copied().map(Some).collect(),
            };
            for layer in layers {
                table.push(row(phase.phase.as_str(), operator, layer));
            }
        }
    }
    table
}

fn row(phase: &str, operator: &OperatorFacts, layer: Option<u32>) -> ModelOpRow {
    let whole = |value: u128| i64::try_from(value).unwrap_or(i64::MAX);
    let part = if layer.is_some() { "layers" } else { operator.layers.as_str() };
    ModelOpRow {
        phase: phase.to_owned(),
        layer: layer.and_then(|layer| i32::try_from(layer).ok()).into(),
        part: part.to_owned(),
        name: operator.name.to_string(),
        class: operator.class.to_string(),
        flops_as_counted: whole(operator.flops.as_counted),
        flops_useful: whole(operator.flops.useful),
        flops_issued: whole(operator.flops.issued),
        vector_flops: whole(operator.vector_flops),
        weight_bytes: whole(operator.bytes.weights),
        kv_read_bytes: whole(operator.bytes.kv_read),
        kv_write_bytes: whole(operator.bytes.kv_write),
        activation_bytes: whole(operator.bytes.activations),
        link_bytes: whole(operator.link_bytes),
        floor_ns: operator.seconds.map(|seconds| seconds.bound * 1e9),
        dtype: operator.dtype.to_string(),
        storage: operator.storage.clone(),
        formula: operator.formula.to_string(),
    }
}

/// Writes figures into a folder and creates the folder if necessary.
pub(crate) fn write_figures(folder: &Path, figures: &[FigureFile]) -> Result<(), Error> {
    make(folder)?;
    figures.iter().try_for_each(|figure| write_file(folder.join(&figure.file_name), figure.svg.as_bytes()))
}
