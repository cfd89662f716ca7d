//! `rooflens assets`: one function per subcommand, from the request to what is shown.

use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use indicatif::DecimalBytes;
use rooflens_collect::execute::transform;
use rooflens_collect::project::ProjectError;
use rooflens_collect::project::assets::readme::{
    DatasetTree, TreeEntry, first_level, plan_readme, write_readme,
};
use rooflens_collect::project::assets::variants::{
    METADATA, Subset, SubsetRequest, VariantFiles, VariantMetadata, VariantOrigin, VariantPlan,
    VariantRequest, VariantVerification, plan_subset, plan_variant, verify_variants, write_subset,
    write_variant,
};
use rooflens_collect::project::assets::{
    Action, AssetOutcome, AssetState, AssetStatus, AssetStep, AssetVerification, Bootstrap, FileProblem,
    Ignored, Project, Required, StepResult, Verdict, apply, failure, ignored, plan, status as look,
    verify as check,
};
use rooflens_compose::EnvironmentLookup;
use rooflens_compose::clock::LocalTime;
use rooflens_core::document::SchemaTag;
use rooflens_core::document::assets::{
    AssetsLinkDocument, AssetsPlanDocument, AssetsReadmeDocument, AssetsStatusDocument, AssetsSubsetDocument,
    AssetsVariantDocument, AssetsVerifyDocument,
};
use rooflens_core::error::Hint;
use rooflens_core::exit::Exit;
use rooflens_core::project::within;
use rooflens_core::shell::word;
use rooflens_core::text::{self, counted};

use crate::console::Console;
use crate::error::{CliError, exit_of};
use crate::{output, progress};

/// The file that names a project's assets.
const FILE: &str = "bootstrap.yaml";
/// How many findings of an asset are shown; JSON has all.
const FINDINGS_SHOWN: usize = 20;
/// How many entries a README lists: a flat dataset can have a million.
const ENTRIES_SHOWN: usize = 40;
/// Environment variables of a command that makes a variant.
const PARENT: &str = "ROOFLENS_PARENT";
const PARENT_LIST: &str = "ROOFLENS_PARENT_LIST";
const OUTPUT: &str = "ROOFLENS_OUTPUT";

/// A project, and the assets of it that a command is about.
pub(crate) struct Assets {
    project: Project,
    bootstrap: Bootstrap,
    environment: EnvironmentLookup,
}

impl Assets {
    /// The assets of these names; all if none are given.
    pub(crate) fn open(root: &Path, names: &[String]) -> Result<Self, CliError> {
        let file = within(root, FILE);
        if !file.is_file() {
            let hint = format!("rooflens init {} --force adds what is missing", word(root));
            return Err(CliError::usage(format!("there is no {}", file.display()), Hint::words(hint)));
        }
        let bootstrap = Bootstrap::load(&file)?.select(names)?;
        Ok(Self { project: Project::open(root)?, bootstrap, environment: environment() })
    }

    /// The same. A name can also be a dataset's folder that bootstrap.yaml does not have.
    pub(crate) fn open_with_datasets(root: &Path, names: &[String]) -> Result<Self, CliError> {
        let mut assets = Self::open(root, &[])?;
        let is_asset = |name: &String| assets.bootstrap.assets.iter().any(|asset| asset.name == *name);
        let is_folder = |name: &String| within(root, "datasets").join(name).is_dir();
        let chosen: Vec<String> =
            names.iter().filter(|name| is_asset(name) || !is_folder(name)).cloned().collect();
        if chosen.is_empty() && !names.is_empty() {
            assets.bootstrap.assets.clear();
        } else {
            assets.bootstrap = assets.bootstrap.select(&chosen)?;
        }
        Ok(assets)
    }

    fn look(&self) -> Vec<AssetStatus> {
        look(&self.project, &self.bootstrap, &self.environment)
    }
}

pub(crate) fn environment() -> EnvironmentLookup {
    Arc::new(|name| std::env::var(name).ok())
}

pub(crate) fn now() -> LocalTime {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    LocalTime::from_unix(i64::try_from(seconds).unwrap_or(i64::MAX), 0, 0)
}

/// Names as words of a command line, each with a blank before it.
fn as_words<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(|name| format!(" {}", word(Path::new(name)))).collect()
}

fn nothing(to_do: &str) -> String {
    format!("bootstrap.yaml names no models or datasets from elsewhere: nothing {to_do}\n")
}

/// Says what makes git keep a variant's metadata, if git ignores it.
fn say_if_ignored(project: &Project, folder: &Path, advice: &str, console: &Console) {
    if ignored(project.root(), &folder.join(METADATA), false) == Ignored::Yes {
        console.say(advice);
    }
}

pub(crate) struct LinkRequest {
    /// Change nothing.
    pub(crate) dry_run: bool,
    /// Do it without asking.
    pub(crate) yes: bool,
    pub(crate) json: bool,
}

pub(crate) fn link(assets: &Assets, request: &LinkRequest, console: &Console) -> Result<Exit, CliError> {
    let steps = plan(&assets.project, &assets.bootstrap, &assets.environment);
    if request.dry_run {
        return show_plan(steps, request.json, console);
    }
    let changes = steps.iter().filter(|step| step.action.is_change()).count();
    let question = format!("Make {}?", counted(changes, "change"));
    if changes > 0 && !console.agrees(request.yes, changes, &plan_text(&steps), &question)? {
        console.say("nothing was changed");
        return Ok(Exit::Gate);
    }
    let steps = progress::follow_assets(console, "unpacked", |watch| apply(&assets.project, &steps, watch));
    steps.iter().for_each(|outcome| show_outcome(outcome, console));
    let changes = steps.iter().filter(|outcome| outcome.result == StepResult::Done).count();
    console.say(&format!("{} made", counted(changes, "change")));
    let found = assets.look();
    let exit = failure(&steps).map_or(Exit::Fine, exit_of);
    let document =
        AssetsLinkDocument { schema: SchemaTag::new("assets-link"), changes, steps, assets: found };
    output::answer(request.json, &document, || status_text(&document.assets))?;
    advise(&document.assets, false, console);
    Ok(exit)
}

fn show_plan(steps: Vec<AssetStep>, json: bool, console: &Console) -> Result<Exit, CliError> {
    if json {
        let document = AssetsPlanDocument { schema: SchemaTag::new("assets-plan"), steps };
        output::json(&document)?;
        return Ok(Exit::Fine);
    }
    if steps.is_empty() {
        output::text(&nothing("to link"))?;
    }
    output::text(&plan_text(&steps))?;
    let hint = |step: &AssetStep| Some(format!("{}: {}", step.asset, step.problem.as_ref()?.hint.as_ref()?));
    let mut hints: Vec<String> = steps.iter().filter_map(hint).collect();
    // An asset and its archives lack the same.
    hints.dedup();
    hints.iter().for_each(|hint| console.say(hint));
    let changes = steps.iter().filter(|step| step.action.is_change()).count();
    console.say(&format!("{} would be made; nothing was done", counted(changes, "change")));
    Ok(Exit::Fine)
}

fn plan_text(steps: &[AssetStep]) -> String {
    let verb = |action| match action {
        Action::Link => "link",
        Action::Relink => "relink",
        Action::Extract => "unpack",
        Action::KeepLink | Action::KeepExtracted => "keep",
        Action::MissingSource => "missing",
        Action::Conflict => "blocked",
        Action::Refused => "refused",
    };
    let row =
        |step: &AssetStep| [verb(step.action).to_owned(), step.path.display().to_string(), detail(step)];
    text::aligned(&steps.iter().map(row).collect::<Vec<_>>())
}

fn detail(step: &AssetStep) -> String {
    let shown =
        |path: &Option<std::path::PathBuf>| path.as_deref().unwrap_or(Path::new("")).display().to_string();
    let to = shown(&step.to);
    match (&step.problem, step.action) {
        (Some(problem), _) => problem.to_string(),
        (None, Action::Relink) => format!("-> {to}, now -> {}", shown(&step.from)),
        (None, Action::Extract) => {
            format!("from {to} ({})", DecimalBytes(step.archive_bytes.unwrap_or_default()))
        }
        (None, Action::KeepExtracted) => "unpacked already".to_owned(),
        (None, _) => format!("-> {to}"),
    }
}

/// Shows the result of a step, unless the status after it shows the same.
fn show_outcome(outcome: &AssetOutcome, console: &Console) {
    let path = outcome.step.path.display();
    match (outcome.result, &outcome.extracted, &outcome.error) {
        (StepResult::Done, Some(what), _) => {
            console.detail(&format!("{path}: {} entries unpacked", what.entries));
        }
        (StepResult::Done, None, _) => console.detail(&format!("{path} {}", detail(&outcome.step))),
        (StepResult::Failed, _, Some(error)) => console.failure(&error.message, error.hint.as_deref()),
        (StepResult::NotReached, ..) => console.say(&format!("{path}: not reached")),
        (StepResult::Impossible, _, Some(error)) if outcome.step.action != Action::MissingSource => {
            console.failure(&format!("{path}: {error}"), error.hint.as_deref());
        }
        _ => {}
    }
}

/// Shows what exists of each asset, and what to do next. A missing asset is no failure.
pub(crate) fn status(assets: &Assets, json: bool, console: &Console) -> Result<Exit, CliError> {
    let found = assets.look();
    if json {
        let document = AssetsStatusDocument { schema: SchemaTag::new("assets-status"), assets: found };
        output::json(&document)?;
        return Ok(Exit::Fine);
    }
    output::text(&status_text(&found))?;
    advise(&found, true, console);
    Ok(Exit::Fine)
}

fn status_text(assets: &[AssetStatus]) -> String {
    if assets.is_empty() {
        return nothing("to link");
    }
    let state = |asset: &AssetStatus| match asset.state {
        AssetState::Missing if asset.source.is_some() => "not linked",
        AssetState::Missing => "not found",
        AssetState::LinkedElsewhere => "linked elsewhere",
        AssetState::BrokenLink => "broken link",
        AssetState::Unreadable => "unreadable",
        _ if !asset.required.iter().all(Required::is_met) => "incomplete",
        _ if !asset.is_unpacked() => "not unpacked",
        AssetState::Linked => "linked",
        AssetState::Real => "here",
    };
    let row = |asset: &AssetStatus| {
        let size = asset.size.map_or_else(String::new, |size| {
            let least = if size.is_complete { "" } else { "at least " };
            format!("{least}{}, {}", counted(size.files, "file"), DecimalBytes(size.bytes))
        });
        let target = asset.target.display();
        let place = match &asset.to {
            Some(to) => format!("{target} -> {}", to.display()),
            None => target.to_string(),
        };
        [asset.name.clone(), asset.kind.name().to_owned(), state(asset).to_owned(), size, place]
    };
    let head = ["ASSET", "KIND", "STATE", "SIZE", "WHERE"].map(str::to_owned);
    text::aligned(&std::iter::once(head).chain(assets.iter().map(row)).collect::<Vec<_>>())
}

/// Shows what is wrong with each asset, and the next command if `may_link`.
fn advise(assets: &[AssetStatus], may_link: bool, console: &Console) {
    let mut to_link = Vec::new();
    for asset in assets {
        asset.warnings.iter().for_each(|warning| console.warn(warning));
        let is_complete = asset.is_there() && asset.is_unpacked();
        if let Some(problem) = asset.problem.as_ref().filter(|_| !is_complete) {
            let hint = problem.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
            console.say(&format!("{}: {problem}{hint}", asset.name));
        } else if let (true, Some(unmet)) = (asset.is_there(), asset.required.iter().find(|it| !it.is_met()))
        {
            let fact = match unmet.empty.first() {
                Some(file) => format!("{file} is empty"),
                None => format!("no file matches {}", unmet.pattern),
            };
            console.say(&format!("{}: {fact}", asset.name));
        }
        let is_linkable =
            !matches!(asset.state, AssetState::Linked | AssetState::Real | AssetState::Unreadable);
        if asset.source.is_some() && (is_linkable || !asset.is_unpacked()) {
            to_link.push(asset.name.as_str());
        }
    }
    if may_link && !to_link.is_empty() {
        console.say(&format!("next: rooflens assets link{}", as_words(to_link)));
    }
}

/// Checks assets, and the variants of the named datasets or of all. The exit code shows whether all are sound.
pub(crate) fn verify(
    assets: &Assets,
    names: &[String],
    json: bool,
    console: &Console,
) -> Result<Exit, CliError> {
    let (verified, variants) = progress::follow_assets(console, "checked", |watch| {
        let verified = check(&assets.project, &assets.bootstrap, watch)?;
        verify_variants(&assets.project, names, watch).map(|variants| (verified, variants))
    })?;
    let sound = verified.iter().all(|asset| asset.verdict == Verdict::Sound)
        && variants.iter().all(|variant| variant.verdict == Verdict::Sound);
    if json {
        let schema = SchemaTag::new("assets-verify");
        let document = AssetsVerifyDocument { schema, sound, assets: verified, variants };
        output::json(&document)?;
    } else {
        output::text(&verify_text(&verified, &variants))?;
        let absent = verified.iter().filter(|asset| asset.verdict == Verdict::Absent);
        let absent: Vec<&str> = absent.map(|asset| asset.name.as_str()).collect();
        if !absent.is_empty() {
            console.say(&format!("next: rooflens assets link{}", as_words(absent)));
        }
    }
    Ok(if sound { Exit::Fine } else { Exit::Gate })
}

fn verify_text(assets: &[AssetVerification], variants: &[VariantVerification]) -> String {
    if assets.is_empty() && variants.is_empty() {
        return nothing("to verify");
    }
    let row = |name: String, kind: &str, verdict, checked: usize| {
        let (word, checked) = match verdict {
            Verdict::Sound => ("sound", counted(checked, "file")),
            Verdict::Faulty => ("faulty", counted(checked, "file")),
            Verdict::Absent => ("absent", String::new()),
        };
        [name, kind.to_owned(), word.to_owned(), checked]
    };
    let mut rows = vec![["ASSET", "KIND", "VERDICT", "CHECKED"].map(str::to_owned)];
    let mut below = vec![String::new()];
    for asset in assets {
        rows.push(row(asset.name.clone(), asset.kind.name(), asset.verdict, asset.files_checked));
        below.push(findings_text(&asset.findings));
    }
    for variant in variants {
        let name = format!("{}/{}", variant.dataset, variant.variant);
        rows.push(row(name, "variant", variant.verdict, variant.files_checked));
        below.push(findings_text(&variant.findings));
    }
    text::aligned(&rows).lines().zip(below).map(|(line, below)| format!("{line}\n{below}")).collect()
}

fn findings_text(findings: &[FileProblem]) -> String {
    let line = |it: &FileProblem| format!("  {}\n", text::printable(&format!("{}: {}", it.file, it.message)));
    let shown: String = findings.iter().take(FINDINGS_SHOWN).map(line).collect();
    match findings.len().saturating_sub(FINDINGS_SHOWN) {
        0 => shown,
        more => format!("{shown}  and {more} more; --format json has all\n"),
    }
}

/// Draws a reproducible sample of a dataset's files, or shows which it would be.
pub(crate) fn subset(
    root: &Path,
    request: &SubsetRequest,
    dry_run: bool,
    json: bool,
    console: &Console,
) -> Result<Exit, CliError> {
    let project = Project::open(root)?;
    let subset = plan_subset(&project, request)?;
    if !dry_run {
        write_subset(&project, &subset)?;
    }
    let document = AssetsSubsetDocument { schema: SchemaTag::new("assets-subset"), dry_run, subset };
    let subset = &document.subset;
    output::answer(json, &document, || {
        let metadata = if dry_run { subset.metadata.to_yaml() } else { String::new() };
        format!("{}{metadata}", subset_text(subset))
    })?;
    match (subset.is_there, dry_run) {
        (true, _) => console.say("the same variant already exists; nothing was changed"),
        (false, true) => console.say("nothing was written"),
        (false, false) => {}
    }
    let name = &request.variant;
    let advice = format!("git ignores it; a name that begins with subset- is kept: subset-{name}");
    say_if_ignored(&project, &subset.folder, &advice, console);
    Ok(Exit::Fine)
}

fn subset_text(subset: &Subset) -> String {
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

/// Makes a variant of transformed data with a command of the user's, or shows what would be started.
pub(crate) fn variant(
    root: &Path,
    request: &VariantRequest,
    dry_run: bool,
    json: bool,
    console: &Console,
) -> Result<Exit, CliError> {
    let project = Project::open(root)?;
    let plan = plan_variant(&project, request)?;
    let metadata = match dry_run {
        true => None,
        false => Some(progress::follow_assets(console, "checked", |watch| {
            let mut run =
                |parent: &VariantFiles, output: &Path| start(project.root(), request, parent, output);
            write_variant(&project, request, &plan, &mut run, watch)
        })?),
    };
    if json {
        let (schema, plan) = (SchemaTag::new("assets-variant"), plan.clone());
        output::json(&AssetsVariantDocument { schema, dry_run, plan, metadata })?;
    } else {
        output::text(&variant_text(request, &plan, metadata.as_ref()))?;
    }
    if dry_run {
        console.say("nothing was done");
    }
    let advice = "git ignores its metadata.yaml; a name that begins with subset-, split-, tokenized- or variant- \
                  keeps it";
    say_if_ignored(&project, &plan.folder, advice, console);
    Ok(Exit::Fine)
}

fn start(
    project: &Path,
    request: &VariantRequest,
    parent: &VariantFiles,
    output: &Path,
) -> Result<(), ProjectError> {
    let VariantOrigin::Command { argv } = &request.transform else { return Ok(()) };
    let mut variables = vec![(PARENT, parent.root.as_path()), (OUTPUT, output)];
    variables.extend(parent.list.as_deref().map(|list| (PARENT_LIST, list)));
    transform(argv, project, &variables).map_err(|error| {
        ProjectError::environment(format!("the command failed: {error}"))
            .hint("nothing was kept; fix it and run again")
    })
}

fn variant_text(request: &VariantRequest, plan: &VariantPlan, made: Option<&VariantMetadata>) -> String {
    let folder = plan.folder.display();
    match (made, &request.transform) {
        (Some(made), _) => {
            let (files, bytes) = (counted(made.size.files, "file"), DecimalBytes(made.size.bytes));
            format!("{folder}: {files} ({bytes}), from {}\n", made.parent)
        }
        (None, VariantOrigin::Description { text }) => {
            format!("{folder}: metadata.yaml would be written: from {}, {text}\n", request.parent)
        }
        (None, VariantOrigin::Command { argv }) => {
            let mut words = vec![
                format!("{PARENT}={}", word(&plan.parent_root)),
                format!("{OUTPUT}={}", word(&plan.folder.join("data"))),
            ];
            words.extend(plan.parent_list.as_ref().map(|list| format!("{PARENT_LIST}={}", word(list))));
            words.extend(argv.iter().map(|argument| word(Path::new(argument))));
            format!("{folder}: would be created by\n{}\n", words.join(" "))
        }
    }
}

/// Lists the top level of a dataset's source data in its README, or only compares it.
pub(crate) fn readme(
    root: &Path,
    dataset: &str,
    check: bool,
    json: bool,
    console: &Console,
) -> Result<Exit, CliError> {
    let project = Project::open(root)?;
    let tree = first_level(&project, dataset)?;
    let readme = plan_readme(&project, dataset, &readme_lines(&tree))?;
    if !check {
        write_readme(&project, &readme)?;
    }
    let is_current = readme.is_current;
    if json {
        let document = AssetsReadmeDocument { schema: SchemaTag::new("assets-readme"), check, readme, tree };
        output::json(&document)?;
    } else {
        let state = match (is_current, check) {
            (true, _) => "up to date",
            (false, true) => "not up to date",
            (false, false) => "written",
        };
        output::text(&format!("{}: {state}\n", readme.path.display()))?;
    }
    if check && !is_current {
        console.say(&format!("next: rooflens assets readme{}", as_words([dataset])));
        return Ok(Exit::Gate);
    }
    Ok(Exit::Fine)
}

fn readme_lines(tree: &DatasetTree) -> Vec<String> {
    let (shown, rest) = tree.entries.split_at(tree.entries.len().min(ENTRIES_SHOWN));
    let name = |entry: &TreeEntry| format!("{}{}", entry.name, if entry.is_folder { "/" } else { "" });
    let width = shown.iter().map(|entry| name(entry).chars().count()).max().unwrap_or_default();
    let mut lines = vec!["```text".to_owned(), format!("{}/", tree.folder)];
    for (number, entry) in (1..).zip(shown) {
        let branch = if number == tree.entries.len() { "└──" } else { "├──" };
        let size = match entry.is_folder {
            true => format!("{}, {}", counted(entry.files, "file"), DecimalBytes(entry.bytes)),
            false => DecimalBytes(entry.bytes).to_string(),
        };
        lines.push(format!("{branch} {:width$}  {size}", name(entry)));
    }
    if !rest.is_empty() {
        let (files, bytes) = rest.iter().fold((0, 0), |sum, one| (sum.0 + one.files, sum.1 + one.bytes));
        let (files, bytes) = (counted(files, "file"), DecimalBytes(bytes));
        lines.push(format!("└── … and {} more ({files}, {bytes})", rest.len()));
    }
    let least = if tree.size.is_complete { "" } else { "At least " };
    let total = format!("{least}{}, {}.", counted(tree.size.files, "file"), DecimalBytes(tree.size.bytes));
    lines.extend(["```".to_owned(), String::new(), total]);
    lines
}

#[cfg(test)]
mod tests {
    use rooflens_collect::project::assets::AssetSize;

    use super::*;

    #[test]
    fn the_readme_of_a_flat_dataset_is_cut() {
        let entry =
            |number: usize| TreeEntry { name: number.to_string(), is_folder: false, files: 1, bytes: 10 };
        let size = AssetSize { files: 100, bytes: 1000, is_complete: true };
        let tree = DatasetTree { folder: "source-data".into(), entries: (0..100).map(entry).collect(), size };
        let lines = readme_lines(&tree);
        assert_eq!(lines.len(), 2 + ENTRIES_SHOWN + 1 + 3);
        assert_eq!(lines[1 + ENTRIES_SHOWN], "├── 39  10 B");
        assert_eq!(lines[2 + ENTRIES_SHOWN], "└── … and 60 more (60 files, 600 B)");
        assert_eq!(lines.last().unwrap(), "100 files, 1.00 kB.");
    }
}
