//! The tables of a run as CSV, where `output.formats` has `csv`: operators, kernels by name as `nsys stats`
//! sums them, and the kernels that Nsight Compute profiled. What a run has not, it has no file for.

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{Kernels, Operators};
use rooflens_analyze::top::KernelTotals;
use rooflens_collect::settings::Output;
use rooflens_report::run_tables;
use rooflens_schema::RunDir;
use rooflens_schema::parquet_io::RunReader;

use crate::error::Error;
use crate::saved;

/// Operators by name.
const OPERATORS: &str = "ops.csv";
/// Kernels by name: the report `cuda_gpu_kern_sum` of `nsys stats`.
const KERNELS: &str = "summary_cuda_gpu_kern_sum.csv";
/// Launches that Nsight Compute profiled.
const PROFILED: &str = "kernels.csv";

/// Writes them into the report.
pub fn write(run: &RunDir, output: &Output, findings: Option<&Findings>) -> Result<(), Error> {
    if !output.formats.iter().any(|format| format == "csv") {
        return Ok(());
    }
    let folder = run.report();
    saved::make(&folder)?;
    let kernels = findings.and_then(Findings::get::<Kernels>).filter(|kernels| !kernels.0.is_empty());
    if let Some(operators) = findings.and_then(Findings::get::<Operators>) {
        let text = run_tables::operators(operators, kernels.is_some());
        saved::write(folder.join(OPERATORS), text.as_bytes())?;
    }
    if kernels.is_some() {
        let reader = RunReader::open(run).map_err(Error::UnreadableRun)?;
        let mut top = KernelTotals::default();
        for rank in reader.each_rank() {
            top.rank(&rank.map_err(Error::UnreadableRun)?, None);
        }
        let text = run_tables::kernel_summary(top.finish());
        saved::write(folder.join(KERNELS), text.as_bytes())?;
    }
    // The analysis of the profile writes its tables already; scripts look for this one beside the others.
    if let Ok(text) = std::fs::read(folder.join("kernels").join(PROFILED)) {
        saved::write(folder.join(PROFILED), &text)?;
    }
    Ok(())
}
