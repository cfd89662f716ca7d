//! Defaults lists: which configs a composition is made of, in which order, mounted where.
//!
//! The lists are read into items, expanded into a tree (children last to first, since what a
//! later item overrides decides what an earlier one becomes), and the tree is written out first to
//! last.

mod book;
mod item;
mod tree;

use indexmap::IndexMap;

use crate::error::ComposeError;
use crate::overrides::Override;
use crate::request::ComposeWarning;
use crate::resolve::EvaluationSettings;
use crate::sources::Repository;

pub use tree::{DefaultEntry, DefaultsTree};

pub(crate) use item::{Item, read_items};

pub(crate) struct Defaults {
    pub(crate) entries: Vec<DefaultEntry>,
    pub(crate) tree: DefaultsTree,
    /// What was chosen for each group, by its override key, in the order of choosing.
    pub(crate) choices: IndexMap<String, Option<String>>,
    pub(crate) config_overrides: Vec<Override>,
    pub(crate) warnings: Vec<ComposeWarning>,
}

pub(crate) fn expand(
    repository: &Repository<'_>,
    settings: &EvaluationSettings,
    config_name: Option<&str>,
    overrides: &[Override],
    skip_missing: bool,
) -> Result<Defaults, ComposeError> {
    let (book, config_overrides) = book::ChoiceBook::open(repository, overrides)?;
    let mut builder = tree::Builder::new(repository, settings, book, skip_missing);
    let tree = builder.build(config_name)?;
    let entries = tree::flatten(&tree)?;
    let (book, warnings) = builder.finish();
    book.check_all_used()?;
    Ok(Defaults { entries, tree, choices: book.into_choices(), config_overrides, warnings })
}
