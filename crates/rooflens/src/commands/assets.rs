//! `rooflens assets`: models and datasets that are stored elsewhere.

use std::path::PathBuf;

use clap::Subcommand;
use rooflens_collect::project::assets::variants::{SubsetRequest, VariantOrigin, VariantRequest};
use rooflens_core::exit::Exit;

use crate::args::ProjectArgs;
use crate::assets::{self, Assets, LinkRequest};
use crate::console::Console;
use crate::error::CliError;

const EXAMPLES: &str = "\
Examples:
  rooflens assets status                    what is present, what is missing, what to do next
  rooflens assets link --dry-run            what would be linked and unpacked
  rooflens assets link qwen3-0.6b --yes     links it without asking
  rooflens assets verify                    checks every file; exits with 1 if one is wrong
  rooflens assets subset coco subset-100 --samples 100 --shuffle --seed 7
  rooflens assets variant coco tokenized-qwen3 -- python scripts/tokenize.py
  rooflens assets readme coco               the first level of its source-data, in its README

bootstrap.yaml names them. Where they are stored: HF_SNAPSHOTS_ROOT, MODELS_ROOT, DATASETS_ROOT";

/// Link models and datasets into a project, check them, draw samples
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Create the links, unpack the archives, and show the status
    #[command(after_help = LINK_EXAMPLES)]
    Link(LinkArgs),
    /// Show which assets are present, and what to do next
    #[command(after_help = STATUS_EXAMPLES)]
    Status(Chosen),
    /// Check the files: required ones, JSON, safetensors, checksums
    #[command(after_help = VERIFY_EXAMPLES)]
    Verify(Chosen),
    /// Create a variant of a dataset: a reproducible sample of its files
    #[command(after_help = SUBSET_EXAMPLES)]
    Subset(SubsetArgs),
    /// Create a variant of a dataset with data of its own: tokenized, converted, filtered
    #[command(after_help = VARIANT_EXAMPLES)]
    Variant(VariantArgs),
    /// List the top-level entries of a dataset's source-data/ in its README.md
    #[command(after_help = README_EXAMPLES)]
    Readme(ReadmeArgs),
}

const STATUS_EXAMPLES: &str = "\
Examples:
  rooflens assets status
  rooflens assets status coco --format json";

const VERIFY_EXAMPLES: &str = "\
Examples:
  rooflens assets verify                  exits with 1 if a file is wrong or missing, variants included
  rooflens assets verify qwen3-0.6b";

/// Which assets.
#[derive(clap::Args)]
struct Chosen {
    /// Assets; all by default
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    project: ProjectArgs,
}

const LINK_EXAMPLES: &str = "\
Examples:
  rooflens assets link --dry-run                      what would be done
  DATASETS_ROOT=/data rooflens assets link coco       shows it, asks, does it
  rooflens assets link --yes --format json            in a script

A real file or folder is never replaced. A link that git would track is not created.";

#[derive(clap::Args)]
struct LinkArgs {
    #[command(flatten)]
    chosen: Chosen,
    /// Only print what would be done
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Do not ask for confirmation
    #[arg(short, long)]
    yes: bool,
}

const SUBSET_EXAMPLES: &str = "\
Examples:
  rooflens assets subset coco subset-100 --samples 100 --shuffle --seed 7
  rooflens assets subset coco subset-3x10 --epochs 3 --samples 10 --shuffle
  rooflens assets subset coco subset-hard --list hard.txt      only files of this list
  rooflens assets subset coco subset-5 --from subset-100 --samples 5

No file is copied: a variant is metadata.yaml and files.txt. The same options always give the same list.";

#[derive(clap::Args)]
struct SubsetArgs {
    /// Dataset, a folder of datasets/
    dataset: String,
    /// Name of the variant; one that begins with subset- is kept in git
    variant: String,
    /// Folder or variant of the dataset to draw from
    #[arg(long, value_name = "PARENT", default_value = "source-data", help_heading = "Sampling")]
    from: String,
    /// Draw from the files of this list only, one path per line
    #[arg(long, value_name = "FILE", help_heading = "Sampling")]
    list: Option<PathBuf>,
    /// Files per epoch; all by default
    #[arg(long, value_name = "N", help_heading = "Sampling")]
    samples: Option<u64>,
    /// Number of passes over the parent
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Sampling")]
    epochs: u64,
    /// Random order, different in each epoch
    #[arg(long, help_heading = "Sampling")]
    shuffle: bool,
    /// Seed of the random order
    #[arg(long, value_name = "N", default_value_t = 0, requires = "shuffle", help_heading = "Sampling")]
    seed: u64,
    /// Only print what would be written
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    project: ProjectArgs,
}

const VARIANT_EXAMPLES: &str = "\
Examples:
  rooflens assets variant coco tokenized-qwen3 -- python scripts/tokenize.py
  rooflens assets variant coco split-dev --from subset-100 -- python scripts/convert.py --to jsonl
  rooflens assets variant coco cleaned --transform 'duplicates removed by hand'

The command reads ROOFLENS_PARENT (the parent's folder; its file list is ROOFLENS_PARENT_LIST) and writes to \
ROOFLENS_OUTPUT, which becomes datasets/DATASET/NAME/data. It is started without a shell in the project's \
folder. If it fails, nothing is kept. metadata.yaml records parent, time, command, number of files, bytes \
and SHA-256; rooflens assets verify compares them. With --transform, the data already exists and only \
metadata.yaml is written.";

#[derive(clap::Args)]
struct VariantArgs {
    /// Dataset, a folder of datasets/
    dataset: String,
    /// Name of the variant; git keeps metadata.yaml of subset-*, split-*, tokenized-* and variant-*
    variant: String,
    /// Folder or variant of the dataset that it is made from
    #[arg(long, value_name = "PARENT", default_value = "source-data")]
    from: String,
    /// How the existing data was made
    #[arg(long, value_name = "TEXT", conflicts_with = "command", required_unless_present = "command")]
    transform: Option<String>,
    /// Only print what would be started
    #[arg(long)]
    dry_run: bool,
    /// Command that writes the data
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
    #[command(flatten)]
    project: ProjectArgs,
}

impl VariantArgs {
    fn request(self) -> VariantRequest {
        let transform = match self.transform {
            Some(text) => VariantOrigin::Description { text },
            None => VariantOrigin::Command { argv: self.command },
        };
        let (dataset, variant, parent) = (self.dataset, self.variant, self.from);
        VariantRequest { dataset, variant, parent, transform, created: assets::now() }
    }
}

const README_EXAMPLES: &str = "\
Examples:
  rooflens assets readme coco              writes the block between two marks, nothing else
  rooflens assets readme coco --check      exits with 1 if the block is not up to date";

#[derive(clap::Args)]
struct ReadmeArgs {
    /// Dataset, a folder of datasets/
    dataset: String,
    /// Write nothing; exit with 1 if the block is not up to date
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    project: ProjectArgs,
}

pub(crate) fn run(args: Args, console: &Console) -> Result<Exit, CliError> {
    let open = |chosen: &Chosen| Assets::open(&chosen.project.root()?, &chosen.names);
    match args.what {
        What::Status(chosen) => assets::status(&open(&chosen)?, chosen.project.is_json(), console),
        What::Verify(chosen) => {
            let opened = Assets::open_with_datasets(&chosen.project.root()?, &chosen.names)?;
            assets::verify(&opened, &chosen.names, chosen.project.is_json(), console)
        }
        What::Link(LinkArgs { chosen, dry_run, yes }) => {
            let question = LinkRequest { dry_run, yes, json: chosen.project.is_json() };
            assets::link(&open(&chosen)?, &question, console)
        }
        What::Subset(args) => {
            let SubsetArgs { dry_run, project, .. } = &args;
            let (root, json, dry_run) = (project.root()?, project.is_json(), *dry_run);
            assets::subset(&root, &args.request(), dry_run, json, console)
        }
        What::Variant(args) => {
            let VariantArgs { dry_run, project, .. } = &args;
            let (root, json, dry_run) = (project.root()?, project.is_json(), *dry_run);
            assets::variant(&root, &args.request(), dry_run, json, console)
        }
        What::Readme(ReadmeArgs { dataset, check, project }) => {
            assets::readme(&project.root()?, &dataset, check, project.is_json(), console)
        }
    }
}

impl SubsetArgs {
    fn request(self) -> SubsetRequest {
        SubsetRequest {
            dataset: self.dataset,
            variant: self.variant,
            parent: self.from,
            list: self.list,
            epochs: self.epochs,
            samples_per_epoch: self.samples,
            shuffle: self.shuffle,
            seed: self.seed,
            created: assets::now(),
        }
    }
}
