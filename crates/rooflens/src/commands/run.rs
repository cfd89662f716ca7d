//! `rooflens run`: a config, run with the profilers that it names, and analysed.

use std::path::PathBuf;

use rooflens_collect::execute::Processes;
use rooflens_compose::CompositionView;
use rooflens_core::error::ErrorKind;
use rooflens_core::exit::Exit;
use rooflens_core::project::{self, from_here};
use rooflens_core::run::{self, Planned, RunOutcome, RunRequest};

use crate::args::OutputFormat;
use crate::args::store::StoreArgs;
use crate::commands::config::{Info, shown, views};
use crate::config;
use crate::console::Console;
use crate::error::CliError;
use crate::{output, progress, show};

const EXAMPLES: &str = "\
Examples:
  rooflens run --model Qwen/Qwen3-0.6B               a model of the Hugging Face cache; needs no project
  rooflens run                                       the project's config as it is
  rooflens run runtime=vllm infer.max_new_tokens=64  another runtime, another value
  rooflens run model.path=models/qwen3-0.6b          another model: its checkpoint's weights
  rooflens run profiling=none                        headline numbers only, no profiler
  rooflens run --dry-run profiling=torch             the commands, to read or to paste into a shell
  rooflens run -m runtime.batch_size=1,2,4           a run for each value, and a table
  rooflens run --cfg job --resolve                   the composed config, without running it
  rooflens run --config-dir runs/first/tiny-random/20260102-030405/.rooflens   the same run again

Overrides: key=value, +key=value, ++key=value, ~key, group=option, as in Hydra 1.3";

/// Run a model with the profilers of a config, and show where the time goes
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Model: its folder, or its name in the Hugging Face cache, as Qwen/Qwen3-0.6B. Needs no project
    #[arg(long, value_name = "MODEL", help_heading = "Config")]
    model: Option<PathBuf>,
    /// Config folder; by default conf/ of the surrounding project. To repeat a run, give its `.rooflens` folder
    #[arg(long, visible_alias = "config-path", value_name = "DIR", help_heading = "Config")]
    config_dir: Option<PathBuf>,
    /// Name of the primary config
    #[arg(long, value_name = "NAME", default_value = "config", help_heading = "Config")]
    config_name: String,
    /// Run every job of a sweep
    #[arg(long, short, help_heading = "Config")]
    multirun: bool,
    /// Run one job, as without this flag
    #[arg(long, short, conflicts_with = "multirun", hide = true)]
    run: bool,
    /// Print the composed config without running it: the job's, Hydra's own, or both
    #[arg(long, short, value_parser = views(), value_name = "PART", num_args = 0..=1, default_missing_value = "job", help_heading = "Config")]
    cfg: Option<CompositionView>,
    /// With --cfg: resolve interpolations
    #[arg(long, help_heading = "Config")]
    resolve: bool,
    /// With --cfg: only the config at this path
    #[arg(long, short, value_name = "PATH", help_heading = "Config")]
    package: Option<String>,
    /// Print how the config is composed without running it
    #[arg(long, short, value_enum, value_name = "WHAT", num_args = 0..=1, default_missing_value = "all", conflicts_with = "cfg", help_heading = "Config")]
    info: Option<Info>,
    /// Print the plan as shell commands without running it
    #[arg(long, help_heading = "Output")]
    dry_run: bool,
    /// Also write Hydra's files: `.hydra/` of each job, `multirun.yaml` of a sweep
    #[arg(long, help_heading = "Output")]
    hydra: bool,
    /// Output format
    #[arg(long, value_parser = OutputFormat::text_or_json(), default_value = "text", help_heading = "Output")]
    format: OutputFormat,
    /// Unpack the Python package that workloads need and print its folder
    #[arg(long, conflicts_with_all = ["dry_run", "multirun"], help_heading = "Output")]
    python_package: bool,
    #[command(flatten)]
    store: StoreArgs,
    /// Overrides: group=option, key=value, +key=value, ~key
    #[arg(value_name = "OVERRIDES")]
    overrides: Vec<String>,
}

/// How a shell gets the folder of the Python package.
const PACKAGE: &str = "rooflens run --python-package";

pub(crate) fn run(args: Args, console: &Console) -> Result<Exit, CliError> {
    if args.python_package {
        let folder = run::unpack_package()?;
        output::text(&format!("{}\n", folder.display()))?;
        return Ok(Exit::Fine);
    }
    let is_json = args.format == OutputFormat::Json;
    let request = RunRequest {
        config_dir: args.config_dir,
        project: None,
        config_name: args.config_name,
        overrides: args.overrides,
        multirun: args.multirun,
        with_hydra: args.hydra,
    };
    let request = match &args.model {
        Some(model) => request.of_model(model)?,
        None => request,
    };
    if args.cfg.is_some() || args.info.is_some() || args.resolve || args.package.is_some() {
        let question = config::ConfigRequest {
            folder: request.config_dir.unwrap_or_else(project::configs),
            name: request.config_name,
            overrides: request.overrides,
            multirun: request.multirun,
            json: is_json,
            for_run: true,
        };
        let shown = shown(args.cfg.unwrap_or(CompositionView::Job), args.package, args.resolve, args.info);
        return config::show(&question, &shown, console).map(|()| Exit::Fine);
    }
    if args.dry_run {
        dry_run(&request, is_json, console)
    } else {
        execute(&request, args.store, is_json, console)
    }
}

/// Prints what would be done. Nothing is written.
fn dry_run(request: &RunRequest, is_json: bool, console: &Console) -> Result<Exit, CliError> {
    for job in &run::plan(request, &progress::observer(console, progress::MEASURING))?.jobs {
        match is_json {
            true => output::text(&job.plan.to_json())?,
            false => output::text(&job.plan.to_shell(&job.places, PACKAGE))?,
        }
    }
    Ok(Exit::Fine)
}

/// Runs every job, up to the one at which the user stops.
fn execute(
    request: &RunRequest,
    store: StoreArgs,
    is_json: bool,
    console: &Console,
) -> Result<Exit, CliError> {
    let observer = progress::observer(console, progress::MEASURING);
    let planned = run::reserve(request, &observer)?;
    let mut done: Vec<RunOutcome> = Vec::new();
    for job in planned.jobs.iter().take_while(|_| !observer.is_stopped()) {
        let one = planned.execute(job, &Processes::default(), &observer)?;
        if planned.is_sweep {
            console.say(&show::line(&one));
        }
        done.push(one);
    }
    show_all(&planned, &done, is_json, console)?;
    if observer.is_stopped() {
        return Ok(Exit::Interrupted);
    }
    let whole = done.iter().filter(|one| one.fault().is_none());
    store.add(whole.map(|one| one.folder.clone()).collect(), &observer, console)?;
    // The first failure counts.
    Ok(done.iter().find_map(RunOutcome::fault).map_or(Exit::Fine, |kind: ErrorKind| kind.into()))
}

fn show_all(
    planned: &Planned,
    done: &[RunOutcome],
    is_json: bool,
    console: &Console,
) -> Result<(), CliError> {
    let swept = planned.finish(done)?;
    if let Some(page) = swept.as_ref().and_then(|(_, page)| page.as_ref()) {
        console.say(&format!("report: {}", from_here(page).display()));
    }
    if is_json {
        return match (done, &swept) {
            ([one], None) => output::json(&one.document),
            (_, swept) => output::json(&swept.as_ref().map(|(sweep, _)| sweep)),
        };
    }
    match done {
        [one] if !planned.is_sweep => output::text(&show::screen(one, &console.screen(5))),
        all => output::text(&show::table(all)),
    }
}
