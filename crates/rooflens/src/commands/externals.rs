//! `rooflens externals`: reference sources under `third_party/`, pinned in one lock.

use clap::Subcommand;
use clap::builder::TypedValueParser;
use rooflens_collect::project::externals::{AddRequest, SourceKind, SyncRequest};
use rooflens_core::exit::Exit;

use crate::args::{ProjectArgs, one_of};
use crate::console::Console;
use crate::error::CliError;
use crate::externals;

const EXAMPLES: &str = "\
Examples:
  rooflens externals add https://github.com/Dao-AILab/flash-attention --revision v2.8.3
  rooflens externals add https://github.com/vllm-project/vllm --path csrc/attention
  rooflens externals add Qwen/Qwen3-0.6B        a model's code and configs, from the hub's cache
  rooflens externals status                     how each differs from the lock
  rooflens externals sync                       makes third_party/ equal to the lock
  rooflens externals update                     moves those that follow a branch to its newest commit
  rooflens externals guard                      refuses commits that edit them";

/// Pin third-party sources under third_party/, to read beside a profile
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Pin a source and fetch it, or move a pinned one to another revision
    #[command(after_help = ADD_EXAMPLES)]
    Add(AddArgs),
    /// Make third_party/ equal to the lock
    #[command(after_help = SYNC_EXAMPLES)]
    Sync(SyncArgs),
    /// Move sources to the newest commit of the branch or tag that they follow
    #[command(after_help = UPDATE_EXAMPLES)]
    Update(UpdateArgs),
    /// Show how each source differs from the lock
    #[command(after_help = STATUS_EXAMPLES)]
    Status(StatusArgs),
    /// Install the pre-commit hook that refuses edits of sources
    #[command(after_help = GUARD_EXAMPLES)]
    Guard(ProjectArgs),
}

const ADD_EXAMPLES: &str = "\
Examples:
  rooflens externals add https://github.com/Dao-AILab/flash-attention --revision v2.8.3
  rooflens externals add https://github.com/vllm-project/vllm --path csrc/attention --name vllm
  rooflens externals add Qwen/Qwen3-0.6B        a model's code and configs, from the hub's cache
  rooflens externals add /opt/src/vllm --kind link

Kinds: submodule (the whole repository; the default) · subtree (part of this repository) · sparse (some paths of a large one; the default with --path) · hub (the default for org/name and hf://…) · link (a symbolic link to a checkout of this machine, which git ignores)
A submodule has ignore = dirty, update = none and shallow = true in .gitmodules; what you set there is kept.
The hub's cache: HF_SNAPSHOTS_ROOT, HF_HUB_CACHE, HF_HOME/hub, ~/.cache/huggingface/hub";

#[derive(clap::Args)]
struct AddArgs {
    /// Address or folder of a git repository, or a repository of the Hugging Face hub
    #[arg(value_name = "URL|REPO")]
    url: String,
    /// How to store it
    #[arg(long, value_name = "KIND", value_parser = kinds())]
    kind: Option<SourceKind>,
    /// Name and folder; the last part of the address by default
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Branch, tag or full commit; the default branch by default
    #[arg(long, value_name = "REVISION")]
    revision: Option<String>,
    /// File or folder to take; may be repeated
    #[arg(long = "path", value_name = "PATH")]
    paths: Vec<String>,
    #[command(flatten)]
    how: How,
    #[command(flatten)]
    project: ProjectArgs,
}

const SYNC_EXAMPLES: &str = "\
Examples:
  rooflens externals sync --dry-run       print every step, run none
  rooflens externals sync vllm            this one
  rooflens externals sync --force         discards edits, too";

#[derive(clap::Args)]
struct SyncArgs {
    /// Sources; all by default
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    how: How,
    #[command(flatten)]
    project: ProjectArgs,
}

const UPDATE_EXAMPLES: &str = "\
Examples:
  rooflens externals update --dry-run      which are behind, and by which commits
  rooflens externals update vllm --yes     this one, without asking

A source with local edits is refused. A source that is pinned to a commit is not moved. The lock records the \
new commit and, as previous, the old one.";

#[derive(clap::Args)]
struct UpdateArgs {
    /// Sources; all by default
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Only print what would be done
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Do not ask for confirmation
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    project: ProjectArgs,
}

#[derive(clap::Args)]
struct How {
    /// Only print what would be done
    #[arg(long)]
    dry_run: bool,
    /// Discard local edits and conflicting files
    #[arg(long)]
    force: bool,
}

const STATUS_EXAMPLES: &str = "\
Examples:
  rooflens externals status
  rooflens externals status --staged      what the pre-commit hook asks";

const GUARD_EXAMPLES: &str = "\
Examples:
  rooflens externals guard      extends an existing hook, never replaces it";

#[derive(clap::Args)]
struct StatusArgs {
    /// List staged edits that the lock does not allow, and exit with 1 if there are any
    #[arg(long)]
    staged: bool,
    #[command(flatten)]
    project: ProjectArgs,
}

fn kinds() -> impl TypedValueParser<Value = SourceKind> {
    one_of(SourceKind::ALL.iter().map(|kind| (kind.name(), *kind)))
}

pub(crate) fn run(args: Args, console: &Console) -> Result<Exit, CliError> {
    let open = |project: &ProjectArgs| externals::open(&project.root()?);
    match args.what {
        What::Status(StatusArgs { staged: true, project }) => {
            externals::staged(&open(&project)?, project.is_json(), console)
        }
        What::Status(StatusArgs { project, .. }) => {
            externals::status(&open(&project)?, project.is_json(), console)
        }
        What::Guard(project) => externals::guard(&open(&project)?, project.is_json(), console),
        What::Sync(SyncArgs { names, how: How { dry_run, force }, project }) => {
            let request = SyncRequest { names, dry_run, force };
            externals::sync(&open(&project)?, &request, project.is_json(), console)
        }
        What::Update(UpdateArgs { names, dry_run, yes, project }) => {
            let question = externals::UpdateRequest { names, dry_run, yes, json: project.is_json() };
            externals::update(&open(&project)?, &question, console)
        }
        What::Add(AddArgs { url, kind, name, revision, paths, how: How { dry_run, force }, project }) => {
            let url = externals::address(url);
            let kind = kind.unwrap_or_else(|| SourceKind::default_for(&url, &paths));
            let request = AddRequest { kind, url, revision, name, paths, dry_run, force };
            externals::add(&open(&project)?, &request, project.is_json(), console)
        }
    }
}
