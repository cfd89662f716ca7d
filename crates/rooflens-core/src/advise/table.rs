//! Advice from a table of kernels, as `nsys stats` prints it.

use std::path::Path;

use rooflens_analyze::ledger::summary::{ASSUMED, KernelTableContext, of_summary};

use super::{AdviceRequest, Compared, refresh};
use crate::analysis::AnalyzedInput;
use crate::error::Error;
use crate::kernels::read_timeline;
use crate::model::{ModelRecord, peaks};
use crate::observer::SharedObserver;

/// What a table tells, and what that rests on.
pub fn analyze(
    path: &Path,
    request: &AdviceRequest,
    assumed: &mut Vec<String>,
    observer: &SharedObserver,
) -> Result<AnalyzedInput, Error> {
    let (Some(wall_ns), Some(steps)) = (request.wall_ns, request.steps) else {
        return Err(Error::NoWallTime { path: path.to_owned() });
    };
    let read = read_timeline(&[path.to_owned()], None, observer)?;
    let batch = request.model.batch.unwrap_or(1);
    assumed.push(ASSUMED.to_owned());
    if request.model.batch.is_none() {
        assumed.push("batch size 1 is assumed: --batch sets another".to_owned());
    }
    let known = KernelTableContext { wall_ns, steps, batch: i64::try_from(batch).ok(), kv_tokens: None };
    let mut findings = of_summary(&read.kernels, &known).map_err(|reason| Error::WrongWallTime { reason })?;
    let record = request.model.record(&findings)?;
    let joined = record.as_ref().map_or(Ok(None), |record| record.join(&mut findings))?;
    let peaks = peaks::join(&mut findings, record.as_ref().and_then(ModelRecord::named_device));
    refresh(&mut findings, None, joined.as_ref(), peaks);
    Ok(AnalyzedInput { findings, compared: Compared { record, joined }, stopped: false })
}
