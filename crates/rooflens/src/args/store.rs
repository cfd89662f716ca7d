//! Which store, and what a run is filed as.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rooflens_core::Error;
use rooflens_core::fleet::{AddRunsRequest, StoreAddedDocument, add};
use rooflens_core::observer::SharedObserver;
use rooflens_core::text::counted;

use crate::console::Console;
use crate::error::CliError;

/// Where the store is that is named nowhere else.
const ENVIRONMENT: &str = "ROOFLENS_STORE";

pub(crate) fn address(given: Option<String>) -> Result<String, CliError> {
    let named = given.filter(|store| !store.is_empty()).or_else(named_store);
    let missing = || Error::usage(format!("which store? add --store DIR, or set {ENVIRONMENT}"));
    Ok(named.ok_or_else(missing)?)
}

pub(crate) fn named_store() -> Option<String> {
    std::env::var(ENVIRONMENT).ok().filter(|store| !store.is_empty())
}

pub(crate) fn day(text: &str) -> Result<String, String> {
    match rooflens_core::fleet::is_day(text) {
        true => Ok(text.to_owned()),
        false => Err("write it as 2026-11-17".to_owned()),
    }
}

/// Adds the run of a command to a store when it ends.
#[derive(clap::Args, Clone)]
pub(crate) struct StoreArgs {
    /// Add the run to this store, too: a folder, s3://bucket/prefix, gs://… or az://…
    #[arg(long, value_name = "STORE", help_heading = "Output")]
    store: Option<String>,
    #[command(flatten)]
    filing: FilingArgs,
}

/// What a run is filed as.
#[derive(clap::Args, Clone)]
pub(crate) struct FilingArgs {
    /// Tenant that the run belongs to in the store
    #[arg(long, value_name = "NAME", default_value = rooflens_core::fleet::DEFAULT_TENANT, help_heading = "Store")]
    tenant: String,
    /// Set a column of the run in the store, such as runtime_version=0.12.0, node=gpu17 or label=release-3, in place of what the run itself says; may be repeated
    #[arg(long = "set", value_name = "COLUMN=VALUE", value_parser = pair, help_heading = "Store")]
    set: Vec<(String, String)>,
}

pub(crate) fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write COLUMN=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

impl FilingArgs {
    pub(crate) fn request(self, runs: Vec<PathBuf>, store: String, day: Option<String>) -> AddRunsRequest {
        let set: BTreeMap<String, String> = self.set.into_iter().collect();
        AddRunsRequest { runs, store, tenant: self.tenant, day, set }
    }
}

impl StoreArgs {
    pub(crate) fn is_given(&self) -> bool {
        self.store.is_some()
    }

    /// Adds runs, where there is a store.
    pub(crate) fn add(
        self,
        runs: Vec<PathBuf>,
        observer: &SharedObserver,
        console: &Console,
    ) -> Result<(), CliError> {
        let Some(store) = self.store else { return Ok(()) };
        let added = add(&self.filing.request(runs, store, None), observer)?;
        say(&added, console);
        match added.failed.len() {
            0 => Ok(()),
            failed => {
                let fact = format!("{} not added to the store", counted(failed, "run"));
                Err(Error::data(fact).into())
            }
        }
    }
}

/// Says what was added, and what could not be.
pub(crate) fn say(added: &StoreAddedDocument, console: &Console) {
    for failed in &added.failed {
        console.warn(&format!("not added: {}: {}", failed.run, failed.why));
        failed.hint.iter().for_each(|hint| console.say(&format!("hint: {hint}")));
    }
    if added.is_new && !added.runs.is_empty() {
        console.say(&format!("new store: {}", added.store));
    }
    for run in &added.runs {
        let what = if run.was_there { "is in the store already" } else { "added" };
        console.say(&format!("{what}: {} ({}, tenant {})", run.run_id, run.day, run.tenant));
        if run.is_undated {
            console.warn(&format!(
                "{} does not say when it began: it is filed under {} (with `rooflens store add --day DAY` it would be under that day)",
                run.run_id, run.day
            ));
        }
    }
}
