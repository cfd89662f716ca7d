//! Which launches Nsight Compute profiles: the timeline of the step before tells.

use rooflens_collect::ExecuteError;
use rooflens_collect::plan::{RunFolders, RunStage};
use rooflens_collect::profilers::ncu::CHOSEN;
use rooflens_collect::settings::NcuSettings;
use rooflens_schema::{Notes, RunDir, Severity, Stage};

use crate::kernels;
use crate::observer::Unobserved;

/// A name that no kernel has: nothing is profiled, and Nsight Compute says so.
const NONE: &str = "::regex:^no kernel in the timeline$:";

/// Writes the choice where the step looks for it. The timeline holds the phase that was captured, or all.
pub(crate) fn write(places: &RunFolders, settings: &NcuSettings, notes: &Notes) -> Result<(), ExecuteError> {
    let timeline = RunDir::new(&places.run).raw(RunStage::Nsys.name()).join("report.sqlite");
    let quiet = Unobserved::shared();
    let kernels = kernels::read_timeline(&[timeline], None, &quiet).map(|read| read.kernels);
    let kernels = kernels.unwrap_or_default();
    let all = kernels.len();
    let (kernels, failed) = match kernels::matching(kernels, &settings.kernel) {
        Ok(kernels) => (kernels, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    let most = usize::try_from(settings.top_kernels).unwrap_or(usize::MAX).min(kernels.len());
    let text = if kernels.is_empty() {
        let why = match (all, failed) {
            (_, Some(error)) => error.to_string(),
            (0, None) => "the timeline has no kernel".to_owned(),
            (all, None) => format!("pipeline.ncu.kernel matches none of the {all} kernels of the timeline"),
        };
        let message = format!("{why}: Nsight Compute has nothing to profile");
        notes.add(Stage::Collect, Severity::Warning, "no_kernels", "ncu", message);
        NONE.to_owned()
    } else {
        kernels::filter(&kernels[..most], settings.launches_per_kernel)
    };
    let path = places.run.join(CHOSEN);
    let folder = path.parent().map(std::fs::create_dir_all).unwrap_or(Ok(()));
    folder
        .and_then(|()| std::fs::write(&path, text + "\n"))
        .map_err(|source| ExecuteError::unwritable(path, source))
}
