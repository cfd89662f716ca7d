//! The Hugging Face cache: where it is, and how `huggingface_hub` lays it out.
//!
//! ```text
//! models--org--name/
//!   refs/main                     the commit a branch or tag was at when it was downloaded, as text
//!   snapshots/<commit>/config.json -> ../../blobs/<hash>
//!   blobs/<hash>
//! ```

use std::path::{Path, PathBuf};

use rooflens_compose::EnvironmentLookup;

use crate::written_path::{absolute, by_variable};

/// The variable of this program's own; the others are `huggingface_hub`'s.
pub(crate) const OWN_VARIABLE: &str = "HF_SNAPSHOTS_ROOT";

/// The caches to look in, in this order, each once: `$HF_SNAPSHOTS_ROOT`, `$HF_HUB_CACHE`,
/// `$HUGGINGFACE_HUB_CACHE`, `$HF_HOME/hub`, what a file of the project says, and the default. The
/// first is ours and therefore meant. Relative paths start from the project.
#[must_use]
pub fn folders(environment: &EnvironmentLookup, project: &Path, of_file: Option<&str>) -> Vec<PathBuf> {
    let variable = |name: &str| by_variable(environment, project, name);
    let default_home = variable("XDG_CACHE_HOME")
        .or_else(|| variable("HOME").map(|home| home.join(".cache")))
        .map(|cache| cache.join("huggingface"));
    let candidates = [
        variable(OWN_VARIABLE),
        variable("HF_HUB_CACHE"),
        variable("HUGGINGFACE_HUB_CACHE"),
        variable("HF_HOME").map(|home| home.join("hub")),
        of_file.map(|path| absolute(environment, project, path)),
        default_home.map(|home| home.join("hub")),
    ];
    let mut caches = Vec::new();
    for cache in candidates.into_iter().flatten() {
        if !caches.contains(&cache) {
            caches.push(cache);
        }
    }
    caches
}

/// The folder of a repository in a cache. `shelf` is `models`, `datasets` or `spaces`.
pub(crate) fn repository_folder(shelf: &str, id: &str) -> String {
    format!("{shelf}--{}", id.replace('/', "--"))
}

/// The file that has the commit of a branch or tag.
pub(crate) fn reference(repository: &Path, revision: &str) -> PathBuf {
    repository.join("refs").join(revision)
}

/// The folder of the snapshots, one for each commit.
pub(crate) fn snapshots(repository: &Path) -> PathBuf {
    repository.join("snapshots")
}
