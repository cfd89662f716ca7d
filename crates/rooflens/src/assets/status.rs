//! `rooflens assets status`: what is there of each asset, and what to type next.

use indicatif::DecimalBytes;
use rooflens_core::document::assets::AssetsStatusDocument;
use rooflens_core::exit::Exit;
use rooflens_core::text;
use rooflens_project::assets::{
    Asset, AssetStatus, AssetStatusReport, AssetWarning, ExtractionState, LinkState, Located, Required,
    status,
};

use super::{Assets, as_words, steps};
use crate::console::Console;
use crate::error::CliError;
use crate::output;

/// What is said where there are no assets.
pub fn nothing(to_do: &str) -> String {
    format!("bootstrap.yaml names no models or datasets from elsewhere: nothing {to_do}\n")
}

/// Answers. What is missing is reported, and is not a failure: the exit code is 0.
pub fn answer(assets: &Assets, json: bool, console: &Console) -> Result<Exit, CliError> {
    let status = status(&assets.project, &assets.bootstrap, &assets.surroundings());
    if json {
        output::json(&AssetsStatusDocument::new(&status.assets), console.is_read_by_people())?;
        return Ok(Exit::Fine);
    }
    output::text(&text(&status))?;
    advise(assets, &status, true, console);
    Ok(Exit::Fine)
}

/// A line for each asset.
pub fn text(status: &AssetStatusReport) -> String {
    if status.assets.is_empty() {
        return nothing("to link");
    }
    let head = ["ASSET", "KIND", "STATE", "SIZE", "WHERE"].map(str::to_owned);
    let rows: Vec<[String; 5]> = std::iter::once(head).chain(status.assets.iter().map(row)).collect();
    text::aligned(&rows)
}

fn row(asset: &AssetStatus) -> [String; 5] {
    let size = asset.size.map_or_else(String::new, |size| {
        let least = if size.is_complete { "" } else { "at least " };
        format!("{least}{}, {}", text::counted(size.files, "file"), DecimalBytes(size.bytes))
    });
    let place = match &asset.state {
        LinkState::Linked { to } | LinkState::LinkedElsewhere { to } | LinkState::BrokenLink { to } => {
            format!("{} -> {}", asset.target.display(), to.display())
        }
        _ => asset.target.display().to_string(),
    };
    let kind = asset.kind.plural().trim_end_matches('s').to_owned();
    [asset.name.clone(), kind, state(asset).to_owned(), size, place]
}

fn state(asset: &AssetStatus) -> &'static str {
    match &asset.state {
        LinkState::Missing if is_found(asset) => "not linked",
        LinkState::Missing => "not found",
        LinkState::LinkedElsewhere { .. } => "linked elsewhere",
        LinkState::BrokenLink { .. } => "broken link",
        LinkState::Unreadable { .. } => "unreadable",
        _ if !asset.required.iter().all(Required::is_met) => "incomplete",
        _ if !is_unpacked(asset) => "not unpacked",
        LinkState::Linked { .. } => "linked",
        LinkState::Real { .. } => "here",
    }
}

fn is_found(asset: &AssetStatus) -> bool {
    matches!(asset.source, Located::At { .. })
}

fn is_unpacked(asset: &AssetStatus) -> bool {
    asset.extractions.iter().all(|extraction| extraction.state == ExtractionState::Extracted)
}

/// Tells what is wrong with each asset, and the next command where `may_link` says that linking is one.
pub fn advise(assets: &Assets, status: &AssetStatusReport, may_link: bool, console: &Console) {
    let mut to_link = Vec::new();
    for (asset, found) in assets.bootstrap.assets.iter().zip(&status.assets) {
        found.warnings.iter().for_each(|warning| console.warn(&warned(warning)));
        if let Some(problem) = problem(asset, found) {
            console.say(&format!("{}: {problem}", found.name));
        }
        let is_linkable = !matches!(found.state, LinkState::Real { .. } | LinkState::Unreadable { .. });
        let is_linked = matches!(found.state, LinkState::Linked { .. });
        if is_found(found) && ((is_linkable && !is_linked) || !is_unpacked(found)) {
            to_link.push(found.name.as_str());
        }
    }
    if may_link && !to_link.is_empty() {
        console.say(&format!("next: rooflens assets link{}", as_words(to_link)));
    }
}

/// What is wrong that linking does not mend, and what helps.
fn problem(asset: &Asset, found: &AssetStatus) -> Option<String> {
    let is_there = matches!(found.state, LinkState::Linked { .. } | LinkState::Real { .. });
    match (&found.state, &found.source) {
        (LinkState::Unreadable { error }, _) => {
            let hint = error.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
            Some(format!("{}{hint}", error.message))
        }
        (_, Located::Nowhere { absence, looked_at }) if !is_there || !is_unpacked(found) => {
            let hint = absence.hint(asset).map(|hint| format!("; {hint}")).unwrap_or_default();
            Some(format!("{}{hint}", steps::absent(absence, looked_at)))
        }
        _ if is_there => found.required.iter().find(|required| !required.is_met()).map(unmet),
        _ => None,
    }
}

fn unmet(required: &Required) -> String {
    match required.empty.first() {
        Some(file) => format!("{file} is empty"),
        None => format!("no file matches {}", required.pattern),
    }
}

fn warned(warning: &AssetWarning) -> String {
    match warning {
        AssetWarning::GitWouldTrack { ignore_line, .. } => {
            format!("{warning}; add this line to .gitignore: {ignore_line}")
        }
        AssetWarning::Leftover { .. } => format!("{warning}; it may be removed"),
        AssetWarning::Unreadable { .. } => warning.to_string(),
    }
}
