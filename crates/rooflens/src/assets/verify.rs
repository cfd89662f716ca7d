//! `rooflens assets verify`: whether what is there is whole.

use rooflens_project::assets::{AssetVerification, Verdict, Verification, verify};
use serde::Serialize;

use super::{Assets, as_words, status};
use crate::console::Console;
use crate::document::{SchemaTag, schema};
use crate::error::CliError;
use crate::exit::Exit;
use crate::{output, progress, table};

/// So many findings of an asset are shown; JSON has all.
const SHOWN: usize = 20;

#[derive(Serialize)]
struct Document<'a> {
    schema: SchemaTag,
    sound: bool,
    assets: &'a [AssetVerification],
}

/// Answers. The code tells whether all is well.
pub fn answer(assets: &Assets, json: bool, console: &Console) -> Result<Exit, CliError> {
    let verification = progress::follow_assets(console, "checked", |watch| {
        verify(&assets.project, &assets.bootstrap, watch)
    })
    .map_err(CliError::Assets)?;
    let sound = verification.is_sound();
    if json {
        let document = Document { schema: schema("assets-verify"), sound, assets: &verification.assets };
        output::json(&document, console.is_read_by_people())?;
    } else {
        output::text(&text(&verification))?;
        let absent: Vec<&str> = names(&verification, Verdict::Absent);
        if !absent.is_empty() {
            console.say(&format!("next: rooflens assets link{}", as_words(absent)));
        }
    }
    Ok(if sound { Exit::Fine } else { Exit::Gate })
}

fn names(verification: &Verification, verdict: Verdict) -> Vec<&str> {
    let alike = verification.assets.iter().filter(|asset| asset.verdict == verdict);
    alike.map(|asset| asset.name.as_str()).collect()
}

/// A line for each asset, and below it one for each finding.
fn text(verification: &Verification) -> String {
    if verification.assets.is_empty() {
        return status::nothing("to verify");
    }
    let head = ["ASSET", "KIND", "VERDICT", "CHECKED"].map(str::to_owned);
    let rows: Vec<[String; 4]> = std::iter::once(head).chain(verification.assets.iter().map(row)).collect();
    let findings = verification.assets.iter().map(findings);
    // The head has no findings.
    let below = std::iter::once(String::new()).chain(findings);
    table::aligned(&rows).lines().zip(below).map(|(line, below)| format!("{line}\n{below}")).collect()
}

fn row(asset: &AssetVerification) -> [String; 4] {
    let verdict = match asset.verdict {
        Verdict::Sound => "sound",
        Verdict::Faulty => "faulty",
        Verdict::Absent => "absent",
    };
    let checked = match asset.verdict {
        Verdict::Absent => String::new(),
        _ => table::counted(asset.files_checked, "file"),
    };
    let kind = asset.kind.plural().trim_end_matches('s').to_owned();
    [asset.name.clone(), kind, verdict.to_owned(), checked]
}

fn findings(asset: &AssetVerification) -> String {
    let shown = asset.findings.iter().take(SHOWN);
    let mut text: String = shown
        .map(|finding| format!("  {}\n", table::printable(&format!("{}: {}", finding.file, finding.problem))))
        .collect();
    if let Some(more) = asset.findings.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        text.push_str(&format!("  and {more} more; --format json has all\n"));
    }
    text
}
