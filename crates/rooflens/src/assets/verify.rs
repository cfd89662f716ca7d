//! `rooflens assets verify`: whether what is there is whole.

use rooflens_core::document::assets::AssetsVerifyDocument;
use rooflens_core::exit::Exit;
use rooflens_core::text;
use rooflens_project::assets::variant::{VariantVerification, verify_variants};
use rooflens_project::assets::{AssetVerification, FileProblem, Verification, VerificationResult, verify};

use super::{Assets, as_words, status};
use crate::console::Console;
use crate::error::CliError;
use crate::{output, progress};

/// So many findings of an asset are shown; JSON has all.
const SHOWN: usize = 20;

/// Answers. The code tells whether all is well. Variants are those of the named datasets, or all.
pub fn answer(assets: &Assets, names: &[String], json: bool, console: &Console) -> Result<Exit, CliError> {
    let (verification, variants) = progress::follow_assets(console, "checked", |watch| {
        let verification = verify(assets.project(), &assets.bootstrap, watch)?;
        verify_variants(assets.project(), names, watch).map(|variants| (verification, variants))
    })?;
    let sound = verification.is_sound()
        && variants.iter().all(|variant| variant.verdict == VerificationResult::Sound);
    if json {
        let document = AssetsVerifyDocument::new(sound, &verification.assets, &variants);
        output::json(&document, console.is_read_by_people())?;
    } else {
        output::text(&text(&verification, &variants))?;
        let absent: Vec<&str> = alike(&verification, VerificationResult::Absent);
        if !absent.is_empty() {
            console.say(&format!("next: rooflens assets link{}", as_words(absent)));
        }
    }
    Ok(if sound { Exit::Fine } else { Exit::Gate })
}

fn alike(verification: &Verification, verdict: VerificationResult) -> Vec<&str> {
    let alike = verification.assets.iter().filter(|asset| asset.verdict == verdict);
    alike.map(|asset| asset.name.as_str()).collect()
}

/// A line for each asset and variant, and below it one for each finding.
fn text(verification: &Verification, variants: &[VariantVerification]) -> String {
    if verification.assets.is_empty() && variants.is_empty() {
        return status::nothing("to verify");
    }
    let head = ["ASSET", "KIND", "VERDICT", "CHECKED"].map(str::to_owned);
    let rows = std::iter::once(head).chain(verification.assets.iter().map(row));
    let rows: Vec<[String; 4]> = rows.chain(variants.iter().map(variant_row)).collect();
    let findings = verification.assets.iter().map(|asset| &asset.findings);
    let findings = findings.chain(variants.iter().map(|variant| &variant.findings)).map(|all| shown(all));
    // The head has no findings.
    let below = std::iter::once(String::new()).chain(findings);
    text::aligned(&rows).lines().zip(below).map(|(line, below)| format!("{line}\n{below}")).collect()
}

fn row(asset: &AssetVerification) -> [String; 4] {
    let checked = match asset.verdict {
        VerificationResult::Absent => String::new(),
        _ => text::counted(asset.files_checked, "file"),
    };
    let kind = asset.kind.plural().trim_end_matches('s').to_owned();
    [asset.name.clone(), kind, word(asset.verdict).to_owned(), checked]
}

fn variant_row(variant: &VariantVerification) -> [String; 4] {
    let name = format!("{}/{}", variant.dataset, variant.variant);
    let checked = text::counted(variant.files_checked, "file");
    [name, "variant".to_owned(), word(variant.verdict).to_owned(), checked]
}

fn word(verdict: VerificationResult) -> &'static str {
    match verdict {
        VerificationResult::Sound => "sound",
        VerificationResult::Faulty => "faulty",
        VerificationResult::Absent => "absent",
    }
}

fn shown(findings: &[FileProblem]) -> String {
    let shown = findings.iter().take(SHOWN);
    let mut text: String = shown
        .map(|finding| format!("  {}\n", text::printable(&format!("{}: {}", finding.file, finding.problem))))
        .collect();
    if let Some(more) = findings.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        text.push_str(&format!("  and {more} more; --format json has all\n"));
    }
    text
}
