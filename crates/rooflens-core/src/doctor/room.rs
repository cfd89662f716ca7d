//! The disk: whether runs can be written, and how much.

use std::path::Path;

use rooflens_collect::sample::host::free_bytes;

use super::{DoctorCheck, Machine};

/// A trace with stacks and shapes takes about a gigabyte a minute.
const COMFORTABLE_BYTES: u64 = 5_000_000_000;

pub(crate) fn checks(machine: &Machine) -> Vec<DoctorCheck> {
    vec![writable(&machine.folder), room(&machine.folder, free_bytes(&machine.folder))]
}

fn writable(folder: &Path) -> DoctorCheck {
    const NAME: &str = "writable folder";
    let probe = folder.join(format!(".rooflens-doctor-{}", std::process::id()));
    match std::fs::File::create_new(&probe) {
        Ok(_) => {
            // Left behind only where files can be made but not removed.
            let _ = std::fs::remove_file(&probe);
            DoctorCheck::ok(NAME, folder.display().to_string())
        }
        Err(error) => {
            let found = format!("{}: {error}", folder.display());
            DoctorCheck::missing(NAME, found, "give -o a writable folder; for a run: hydra.run.dir=FOLDER")
        }
    }
}

fn room(folder: &Path, free: Option<u64>) -> DoctorCheck {
    const NAME: &str = "free room";
    let Some(free) = free else { return DoctorCheck::ok(NAME, "not reported by this system") };
    let found = format!("{:.1} GB where {} is", free as f64 / 1e9, folder.display());
    if free >= COMFORTABLE_BYTES {
        return DoctorCheck::ok(NAME, found);
    }
    let hint =
        "output.keep_raw=false removes traces once they are read; hydra.run.dir=FOLDER writes elsewhere";
    DoctorCheck::warning(NAME, found, hint).needed("traces of a run")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::CheckStatus;

    #[test]
    fn little_room_is_told_before_it_is_none() {
        let here = Path::new("/runs");
        assert_eq!(room(here, Some(80_000_000_000)).found, "80.0 GB where /runs is");
        assert_eq!(room(here, Some(1_000_000_000)).status, CheckStatus::Warning);
        assert_eq!(room(here, None).status, CheckStatus::Ok);
        assert_eq!(writable(Path::new("/proc/nowhere")).status, CheckStatus::Missing);
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(writable(folder.path()).status, CheckStatus::Ok);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(free_bytes(folder.path()).is_some_and(|bytes| bytes > 0));
    }
}
