//! `rooflens assets subset`: a reproducible sample of a dataset's files.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use indicatif::DecimalBytes;
use rooflens_compose::clock::LocalTime;
use rooflens_core::document::assets::AssetsSubsetDocument;
use rooflens_core::exit::Exit;
use rooflens_core::text::counted;
use rooflens_project::assets::subset::{Metadata, Subset, SubsetRequest, plan_subset, write_subset};
use rooflens_project::assets::{Disk, Git, Ignored, Project, Tracking};

use crate::console::Console;
use crate::error::CliError;
use crate::output;

/// Makes the variant, or says which it would be.
pub fn answer(
    root: &Path,
    request: &SubsetRequest,
    dry_run: bool,
    json: bool,
    console: &Console,
) -> Result<Exit, CliError> {
    let project = Project::open(root, &Disk)?;
    let subset = plan_subset(&project, request)?;
    if !dry_run {
        write_subset(&project, &subset)?;
    }
    if json {
        output::json(&AssetsSubsetDocument::new(dry_run, &subset), console.is_read_by_people())?;
    } else if dry_run {
        output::text(&format!("{}{}", summary(&subset), subset.metadata.to_yaml()))?;
    } else {
        output::text(&summary(&subset))?;
    }
    let state = match (subset.is_there, dry_run) {
        (true, _) => "the same variant already exists; nothing was changed",
        (false, true) => "nothing was written",
        (false, false) => "",
    };
    if !state.is_empty() {
        console.say(state);
    }
    if Git.ignored(project.root(), &subset.folder.join(Metadata::FILE), false) == Ignored::Yes {
        console.say(&format!(
            "git ignores it; a name that begins with subset- is kept: subset-{}",
            request.variant
        ));
    }
    Ok(Exit::Fine)
}

/// Now, in UTC.
pub fn now() -> LocalTime {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    LocalTime::from_unix(i64::try_from(seconds).unwrap_or(i64::MAX), 0, 0)
}

fn summary(subset: &Subset) -> String {
    let (size, transform) = (&subset.metadata.size, &subset.metadata.transform);
    let epochs = match transform.epochs {
        1 => String::new(),
        epochs => format!(" in {epochs} epochs"),
    };
    let order = match subset.metadata.seed {
        Some(seed) => format!("shuffled by seed {seed}"),
        None => "in order".to_owned(),
    };
    format!(
        "{}: {}{epochs} of {} ({}), {order}, from {} of {}\n",
        subset.folder.display(),
        counted(size.samples, "sample"),
        counted(size.files, "file"),
        DecimalBytes(size.bytes),
        counted(transform.parent_files, "file"),
        subset.metadata.parent,
    )
}
