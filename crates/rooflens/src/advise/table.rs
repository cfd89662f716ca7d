//! Advice from a table of kernels, as `nsys stats` prints it.

use std::path::Path;

use rooflens_analyze::Findings;
use rooflens_analyze::ledger::summary::{ASSUMED, Known, of_summary};

use super::{Question, refresh};
use crate::console::Console;
use crate::error::CliError;
use crate::floors::Joined;
use crate::kernels::read_timeline;

/// The findings of a table, and what they rest on.
pub fn findings(
    path: &Path,
    question: &Question,
    assumed: &mut Vec<String>,
    console: &Console,
) -> Result<(Findings, Option<Joined>), CliError> {
    let (Some(wall_ns), Some(steps)) = (question.wall_ns, question.steps) else {
        return Err(CliError::NoWallTime { path: path.to_owned() });
    };
    let read = read_timeline(&[path.to_owned()], None, console)?;
    let batch = question.floor.batch.unwrap_or(1);
    assumed.push(ASSUMED.to_owned());
    if question.floor.batch.is_none() {
        assumed.push("a step is taken to have one sequence: --batch tells another number".to_owned());
    }
    let known = Known { wall_ns, steps, batch: i64::try_from(batch).ok(), kv_tokens: None };
    let mut findings =
        of_summary(&read.kernels, &known).map_err(|reason| CliError::WrongWallTime { reason })?;
    let joined = question.floor.join(&mut findings)?;
    refresh(&mut findings, None, joined.as_ref());
    Ok((findings, joined))
}
