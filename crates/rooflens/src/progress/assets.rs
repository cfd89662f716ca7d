//! Progress of work with assets, whose steps count their bytes anew.

use rooflens_project::assets::{Action, AssetObserver, AssetStep, StepProgress};

use super::reading::Reading;
use crate::console::Console;
use crate::interrupt::Presses;

struct Assets {
    reading: Reading,
    presses: Presses,
}

/// Does `work` with assets and shows its progress. Ctrl-C ends it early and undoes what is half done.
pub fn follow_assets<T>(
    console: &Console,
    done: &'static str,
    work: impl FnOnce(&mut dyn AssetObserver) -> T,
) -> T {
    let presses = Presses::watch(console, "undoing what is half done");
    let mut assets = Assets { reading: Reading::of(console, done), presses };
    let outcome = work(&mut assets);
    assets.reading.finish();
    outcome
}

impl AssetObserver for Assets {
    fn begins(&mut self, step: &AssetStep) {
        if let Action::Extract { archive, .. } = &step.action {
            self.reading.name(format!("unpacking {}", archive.display()));
        }
    }

    fn goes_on(&mut self, progress: StepProgress) {
        self.reading.set(progress.bytes, progress.total_bytes);
    }

    fn should_stop(&self) -> bool {
        self.presses.count() > 0
    }
}
