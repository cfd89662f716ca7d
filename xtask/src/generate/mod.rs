//! The documentation that is made from what it documents.

mod claims;
mod hardware;
mod lists;
mod markdown;
mod parity;
mod program;
mod tables;
mod verdicts;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::workspace;

const COMMAND: &str = "cargo xtask generate";

/// What to do.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Write nothing; fail where a page is not what it would be.
    #[arg(long)]
    check: bool,
    /// The program to ask for its help and its screen [default: built from the tree].
    #[arg(long, value_name = "BIN")]
    rooflens: Option<PathBuf>,
}

/// A page: its file, and how its text is made, given the program.
type Page = (&'static str, fn(&Path) -> Result<String>);

/// The page that needs the corpus of real traces.
const VERDICTS: &str = "docs/verdicts.md";

const PAGES: &[Page] = &[
    ("docs/reference/tables.md", |_| reference(tables::tables()?)),
    ("docs/reference/store.md", |_| reference(tables::store()?)),
    ("docs/reference/analyses.md", |_| reference(lists::analyses()?)),
    ("docs/reference/kernel-classes.md", |_| reference(lists::kernel_classes()?)),
    ("docs/reference/cost.md", |_| reference(lists::cost()?)),
    ("docs/reference/hardware.md", |_| reference(hardware::page()?)),
    ("docs/reference/families.md", |_| reference(lists::families()?)),
    ("docs/reference/cli.md", |program| reference(program::command_line(program)?)),
    ("README.md", program::readme),
    ("docs/accuracy.md", |_| claims::page()),
    ("docs/parity.md", |_| reference(parity::page()?)),
];

/// Writes every page, or, with `check`, fails where one is not as it would be written.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let program = match &arguments.rooflens {
        Some(program) => program.clone(),
        None => workspace::program("dev")?,
    };
    let check = arguments.check;
    let mut stale = Vec::new();
    let mut pages =
        PAGES.iter().map(|(file, page)| Ok((*file, page(&program)?))).collect::<Result<Vec<_>>>()?;
    match verdicts::page(&program)? {
        Some(text) => pages.push((VERDICTS, reference(text)?)),
        None => println!("left out {VERDICTS}: it needs the corpus, which ROOFLENS_CORPUS names"),
    }
    for (file, text) in pages {
        if workspace::read(file).is_ok_and(|old| old == text) {
            continue;
        }
        if !check {
            let path = workspace::root().join(file);
            std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
        stale.push(file);
    }
    match (stale.is_empty(), check) {
        (true, _) => println!("every page is up to date"),
        (false, false) => println!("wrote {}", stale.join(", ")),
        (false, true) => bail!("not up to date: {}\nhint: {COMMAND}", stale.join(", ")),
    }
    Ok(())
}

fn reference(text: String) -> Result<String> {
    Ok(format!("<!-- Made by `{COMMAND}`: change the source, not this page. -->\n\n{text}"))
}
