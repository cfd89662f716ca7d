//! Progress of work with assets: each step counts its bytes from zero.

use std::path::Path;

use rooflens_collect::project::assets::AssetObserver;

use super::reading::Reading;
use crate::console::Console;
use crate::interrupt::Presses;

struct Assets {
    reading: Reading,
    presses: Presses,
}

/// Does `work` with assets and shows its progress. Ctrl-C ends it early and undoes what is half done.
pub(crate) fn follow_assets<T>(
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
    fn unpacks(&mut self, archive: &Path) {
        self.reading.name(format!("unpacking {}", archive.display()));
    }

    fn goes_on(&mut self, bytes: u64, total: Option<u64>) {
        self.reading.set(bytes, total);
    }

    fn should_stop(&self) -> bool {
        self.presses.count() > 0
    }
}
