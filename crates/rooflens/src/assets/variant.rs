//! `rooflens assets variant`: transformed data, made by a command of the user's, and their metadata.

use std::path::Path;

use indicatif::DecimalBytes;
use rooflens_collect::execute::{TransformError, transform};
use rooflens_core::document::assets::AssetsVariantDocument;
use rooflens_core::exit::Exit;
use rooflens_core::shell;
use rooflens_core::text::counted;
use rooflens_project::assets::variant::{
    Transforming, VariantMetadata, VariantOrigin, VariantPlan, VariantRequest, plan_variant, write_variant,
};
use rooflens_project::assets::{AssetError, AssetFault, Disk, Git, Ignored, Project, Tracking};

use crate::console::Console;
use crate::error::CliError;
use crate::{output, progress};

/// Environment variables of the command.
const PARENT: &str = "ROOFLENS_PARENT";
const PARENT_LIST: &str = "ROOFLENS_PARENT_LIST";
const OUTPUT: &str = "ROOFLENS_OUTPUT";

/// Makes the variant, or says what would be started.
pub fn answer(
    root: &Path,
    request: &VariantRequest,
    dry_run: bool,
    json: bool,
    console: &Console,
) -> Result<Exit, CliError> {
    let project = Project::open(root, &Disk)?;
    let plan = plan_variant(&project, request)?;
    let metadata = match dry_run {
        true => None,
        false => Some(make(&project, request, &plan, console)?),
    };
    if json {
        let document = AssetsVariantDocument::new(dry_run, &plan, metadata.as_ref());
        output::json(&document, console.is_read_by_people())?;
    } else {
        output::text(&text(request, &plan, metadata.as_ref()))?;
    }
    if dry_run {
        console.say("nothing was done");
    }
    if Git.ignored(project.root(), &plan.folder.join(VariantMetadata::FILE), false) == Ignored::Yes {
        console.say(
            "git ignores its metadata.yaml; a name that begins with subset-, split-, tokenized- or variant- \
             keeps it",
        );
    }
    Ok(Exit::Fine)
}

fn make(
    project: &Project,
    request: &VariantRequest,
    plan: &VariantPlan,
    console: &Console,
) -> Result<VariantMetadata, CliError> {
    let mut run = |paths: &Transforming<'_>| start(project.root(), request, paths);
    progress::follow_assets(console, "checked", |watch| {
        write_variant(project, request, plan, &mut run, watch)
    })
    .map_err(CliError::from)
}

fn start(project: &Path, request: &VariantRequest, paths: &Transforming<'_>) -> Result<(), AssetError> {
    let VariantOrigin::Command { argv } = &request.transform else { return Ok(()) };
    let mut env = vec![(PARENT, paths.parent_root), (OUTPUT, paths.output)];
    env.extend(paths.parent_list.map(|list| (PARENT_LIST, list)));
    transform(argv, project, &env).map_err(|error: TransformError| {
        AssetError::from(AssetFault::TransformFailed { problem: error.to_string() })
    })
}

fn text(request: &VariantRequest, plan: &VariantPlan, metadata: Option<&VariantMetadata>) -> String {
    let folder = plan.folder.display();
    match (metadata, &request.transform) {
        (Some(made), _) => {
            let (files, bytes) = (counted(made.files, "file"), DecimalBytes(made.bytes));
            format!("{folder}: {files} ({bytes}), from {}\n", made.parent)
        }
        (None, VariantOrigin::Description { text }) => {
            format!("{folder}: metadata.yaml would be written: from {}, {text}\n", request.parent)
        }
        (None, VariantOrigin::Command { argv }) => {
            let mut words = vec![
                format!("{PARENT}={}", shell::word(&plan.parent_root)),
                format!("{OUTPUT}={}", shell::word(&plan.folder.join("data"))),
            ];
            words
                .extend(plan.parent_list.as_ref().map(|list| format!("{PARENT_LIST}={}", shell::word(list))));
            words.extend(argv.iter().map(|word| shell::word(Path::new(word))));
            format!("{folder}: would be created by\n{}\n", words.join(" "))
        }
    }
}
