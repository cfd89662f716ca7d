//! The files of an analysis.

use std::path::Path;

use rooflens_analyze::profiled::Profile;
use rooflens_report::block::{Block, Drawing};
use rooflens_report::cost::{csv, markdown};
use rooflens_report::profiled::{parts, roofline};
use rooflens_report::render::Part;
use serde::Serialize;

use crate::error::CliError;

/// The document; a folder that has it is one of ours.
const DOCUMENT: &str = "kernels.json";

/// Whether files may be written to a folder: a new or empty one, or one that an analysis wrote.
pub fn destination(folder: &Path) -> Result<(), CliError> {
    if folder.exists() && !folder.is_dir() {
        return Err(CliError::NotAFolder { path: folder.to_owned() });
    }
    let empty = std::fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none());
    if empty || folder.join(DOCUMENT).is_file() {
        Ok(())
    } else {
        Err(CliError::NotOurs { path: folder.to_owned() })
    }
}

/// Writes table, figure, page and document.
pub fn write(folder: &Path, profile: &Profile, document: &impl Serialize) -> Result<(), CliError> {
    let unwritable = |path: &Path| {
        let path = path.to_owned();
        move |source| CliError::Unwritable { path, source }
    };
    std::fs::create_dir_all(folder).map_err(unwritable(folder))?;
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(unwritable(&path))
    };
    let mut page = parts(profile, usize::MAX);
    write("kernels.csv", &csv(&page))?;
    if let Some(chart) = roofline(profile) {
        let svg = chart.svg();
        write("roofline.svg", &svg)?;
        let drawing = Drawing { title: chart.title, path: "roofline.svg".to_owned(), svg };
        page.insert(1, Part { name: "roofline", title: "Roofline", blocks: vec![Block::Drawing(drawing)] });
    }
    write("kernels.md", &markdown("Kernels under Nsight Compute", &page))?;
    let mut json = serde_json::to_string_pretty(document)
        .map_err(|error| CliError::Unwritable { path: folder.join(DOCUMENT), source: error.into() })?;
    json.push('\n');
    write(DOCUMENT, &json)
}
