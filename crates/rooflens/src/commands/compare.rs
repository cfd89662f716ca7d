//! `rooflens compare`: what changed between runs, and is it more than chance.

use std::path::PathBuf;

use clap::ValueHint;
use rooflens_core::compare::{self, Comparison, ExportFormat, Gate};
use rooflens_core::error::Hint;
use rooflens_core::exit::Exit;
use rooflens_core::fleet::checkout;
use rooflens_core::run_index::RunFilter;
use rooflens_core::saved;
use rooflens_core::shell::word;
use rooflens_report::compare::html;

use crate::args::OutputFormat;
use crate::console::Console;
use crate::error::CliError;
use crate::output::{self, Page};
use crate::progress;
use crate::runs::{holds_runs, names_store};

const EXAMPLES: &str = "\
Examples:
  rooflens compare runs/before runs/after
  rooflens compare main/ one/ two/                         each against the first
  rooflens compare before.json.gz after.json.gz            two traces: kernels and steps
  rooflens compare main/ change/ --fail-on 'tpot_p50>+3%'  exits 1 if it is significantly slower
  rooflens compare runs/ --where model~qwen                the last two runs of a folder
  rooflens compare runs/ --by tag=main,change              two groups of runs, each run a round
  rooflens compare label=main label=change --store team-store
  rooflens compare main/ change/ --format md > comment.md  for a pull request

A difference counts as a change if it passes all of these: the 95 % confidence interval of the ratio excludes \
1; a rank-sum test over the rounds and a test of the medians of blocks of rounds both give p < 0.05, corrected \
for the number of metrics or kernels; and it is larger than the drift between the first and second half of \
either run. The smallest detectable change is shown. Runs need at least 4 measured rounds per side (`repeats`). \
Runs on different devices, batch sizes or engines are compared anyway, and the difference is reported. A gate \
in percent fails only if a significant change exceeds its threshold, and always if the comparison is invalid. \
Gates need metrics that both sides measured: see `rooflens list metrics`.";

/// Compare runs or traces: what changed, whether it is significant, and where it comes from
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Run directories or traces: the baseline, then what is compared with it; or one folder of runs
    #[arg(value_name = "INPUT", required = true, num_args = 1.., value_hint = ValueHint::AnyPath)]
    inputs: Vec<PathBuf>,
    /// Take inputs that are no paths from this store: ids of runs, or COLUMN=VALUE,… for the newest matching run
    #[arg(long, value_name = "STORE")]
    store: Option<String>,
    /// Only runs of the folder for which this holds, as model~qwen or 'tpot_p50_ns<20ms'; may be repeated
    #[arg(long = "where", value_name = "CONDITION", conflicts_with_all = ["store", "baseline"])]
    only: Vec<String>,
    /// Compare two groups of the folder's runs: those with the two values of this column, or with the two that are named, the baseline first [default: the last two runs]
    #[arg(long, value_name = "COLUMN[=A,B]", conflicts_with_all = ["store", "baseline"])]
    by: Option<String>,
    /// The baseline; the first input by default
    #[arg(long, value_name = "INPUT", value_hint = ValueHint::AnyPath)]
    baseline: Option<PathBuf>,
    /// Exit with 1 if this holds: METRIC>+3%, METRIC<-2%, METRIC>20ms; may be repeated
    #[arg(long, value_name = "GATE")]
    fail_on: Vec<String>,
    /// Write the metrics of the last input for a service: github-action-benchmark or bencher
    #[arg(long, num_args = 2, value_names = ["KIND", "FILE"], help_heading = "Output")]
    export: Vec<String>,
    #[command(flatten)]
    output: OutputArgs,
}

/// How a comparison is shown.
#[derive(clap::Args)]
struct OutputArgs {
    /// Write an HTML page to this file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    html: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "text", help_heading = "Output")]
    format: OutputFormat,
    /// Maximum rows of each table
    #[arg(long, value_name = "N", default_value_t = 12, help_heading = "Output")]
    limit: usize,
}

pub(crate) fn run(args: Args, console: &Console) -> Result<Exit, CliError> {
    let gates = args.fail_on.iter().map(|text| Gate::parse(text)).collect::<Result<Vec<_>, _>>()?;
    let exports = args.export.chunks_exact(2);
    let exports = exports.map(|pair| Ok((ExportFormat::named(&pair[0])?, PathBuf::from(&pair[1]))));
    let exports = exports.collect::<Result<Vec<_>, CliError>>()?;
    let inputs: Vec<PathBuf> = args.baseline.into_iter().chain(args.inputs).collect();
    let filter = RunFilter::parse(&args.only)?;
    let observer = progress::observer(console, progress::READING);
    if let Some(store) = inputs.iter().find(|input| args.store.is_none() && names_store(input)) {
        let (shown, store) = (store.display(), word(store));
        let hint = Hint::leading(
            format!("rooflens runs {store} lists their ids; then"),
            format!("rooflens compare ID ID --store {store}"),
        );
        return Err(CliError::usage(
            format!("{shown} is a store: name its runs that are to be compared"),
            hint,
        ));
    }
    let chooses = !filter.is_empty() || args.by.is_some();
    let folder = match inputs.as_slice() {
        [folder] if args.store.is_none() && holds_runs(folder, chooses) => Some(folder),
        _ if chooses => return Err(CliError::not_one_folder()),
        _ => None,
    };
    if let Some(folder) = folder {
        let sides = compare::read_folder(folder, &filter, args.by.as_deref(), &observer)?;
        sides.notes.iter().for_each(|note| console.warn(note));
        return answer(&sides.compare(&gates)?, &args.output, &exports, console);
    }
    let fetched = args.store.map(|store| checkout(&store, &inputs, &observer)).transpose()?;
    fetched.iter().flat_map(|fetched| &fetched.notes).for_each(|note| console.warn(note));
    let inputs = fetched.as_ref().map_or(&inputs, |fetched| &fetched.paths);
    let sides = compare::read(inputs, &observer)?;
    answer(&compare::compare(sides, &gates)?, &args.output, &exports, console)
}

fn answer(
    comparison: &Comparison,
    output: &OutputArgs,
    exports: &[(ExportFormat, PathBuf)],
    console: &Console,
) -> Result<Exit, CliError> {
    show(comparison, output.limit, output.format, console)?;
    if let Some(path) = &output.html {
        saved::write(path.clone(), html(&comparison.parts(usize::MAX)).as_bytes())?;
        console.say(&format!("page: {}", path.display()));
    }
    if let Some(last) = comparison.sides.last() {
        exports.iter().try_for_each(|(export, path)| export.write(last, path))?;
    }
    judge(comparison, console);
    Ok(if comparison.is_failed() { Exit::Gate } else { Exit::Fine })
}

pub(crate) fn show(
    comparison: &Comparison,
    limit: usize,
    format: OutputFormat,
    console: &Console,
) -> Result<(), CliError> {
    let parts = || comparison.parts(limit);
    let document = comparison.document();
    let page = Page { title: "Comparison", limit, screen: &parts, whole: &parts, document };
    output::page(&page, format, console)
}

/// Says which gates failed, and which could not have.
pub(crate) fn judge(comparison: &Comparison, console: &Console) {
    for result in &comparison.gates {
        if result.failed {
            let why = match comparison.is_unlike(result) {
                true => ": the runs are not comparable, as the comparison says",
                false => "",
            };
            console.judged(&format!("failed: {} in {}{why}", result.gate, result.b));
        } else if result.could_tell == Some(false) {
            console.warn(&format!(
                "{} in {} passed, but a change this small could not have been detected: the rounds vary more",
                result.gate, result.b
            ));
        }
    }
}
