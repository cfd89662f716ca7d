//! The peaks of a device that nobody knows: measured once on a machine, and kept for its next runs.

use std::path::PathBuf;

use rooflens_collect::execute::Executor;
use rooflens_collect::package;
use rooflens_cost::hardware::Device;
use rooflens_ingest::formats::workload::WorkloadRecords;

use super::launch::PlannedJob;
use crate::error::Error;
use crate::hardware::{Measuring, file_name};
use crate::model::files::DeviceCatalog;
use crate::observer::SharedObserver;
use crate::project::HARDWARE;
use crate::saved;

/// Long enough for the fastest of several multiplications in each format.
const SECONDS: u64 = 10;

/// A device of this machine whose peaks an earlier run measured.
pub(crate) fn of_this_machine(name: &str) -> Option<Device> {
    let devices =
        DeviceCatalog::of_files(vec![file(name)].into_iter().filter(|file| file.is_file()).collect()).ok()?;
    devices.find(name).ok().cloned()
}

/// Measures the device that the workload ran on, where its peaks are wanted and not known. Which one that is, the
/// workload told. What fails here is said and no more: the run is there.
pub(crate) fn measure_unknown(
    job: &PlannedJob,
    workload: &WorkloadRecords,
    executor: &dyn Executor,
    observer: &SharedObserver,
) -> Result<(), Error> {
    let hardware = &job.settings.hardware;
    let is_wanted = hardware.measure && hardware.name.is_none() && job.plan.static_work().is_some();
    let Some(name) = workload.text("model", "device_name").filter(|_| is_wanted && !observer.is_stopped())
    else {
        return Ok(());
    };
    let is_known = DeviceCatalog::read(&job.places.project.join(HARDWARE))
        .is_ok_and(|devices| devices.find(name).is_ok());
    if is_known || of_this_machine(name).is_some() {
        return Ok(());
    }
    observer.info(&format!(
        "the peak rates of {name} are not known: measuring them, which takes about {SECONDS} seconds, once on this \
         machine"
    ));
    let how = Measuring {
        interpreter: job.settings.runtime.interpreter(),
        device: &hardware.device,
        seconds: SECONDS,
        project: job.places.project.clone(),
    };
    match how.measure(executor, observer) {
        // Under the name that the workload has for it, so that it is found by that.
        Ok(Some(peaks)) => {
            let path = file(name);
            if let Some(folder) = path.parent() {
                saved::make(folder)?;
            }
            saved::write(path, peaks.measured(Some(name), SECONDS).to_toml().as_bytes())
        }
        Ok(None) => Ok(()),
        Err(error) => {
            observer.warn(&format!("the peak rates of {name} could not be measured: {error}"));
            Ok(())
        }
    }
}

/// The folder of the cache, which is no folder of a project.
const FOLDER: &str = "measured-peaks";

/// Where the peaks of a device are kept. With fewer threads it reaches less, so that is another file.
fn file(device: &str) -> PathBuf {
    let told = std::env::var("OMP_NUM_THREADS").ok().and_then(|text| text.parse::<usize>().ok());
    let threads = told.or_else(|| std::thread::available_parallelism().ok().map(usize::from)).unwrap_or(1);
    let name = format!("{}-{threads}-threads.toml", file_name(device));
    package::cache_folder().join(FOLDER).join(name)
}
