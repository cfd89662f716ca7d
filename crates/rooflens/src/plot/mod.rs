//! Charts as files.

#[cfg(feature = "png")]
mod png;

use std::path::Path;

use rooflens_core::plot::ChartsDocument;
use rooflens_report::chart_page;
use rooflens_report::charts::ChartData;
use rooflens_report::figure::{FigurePaper, FigureTheme};

#[cfg(not(feature = "png"))]
use crate::absent::png;
use crate::error::CliError;

/// What a chart is written as, by the ending of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChartFile {
    Svg,
    Png,
    Html,
    VegaLite,
    Json,
}

impl ChartFile {
    /// By the name of the file.
    pub(crate) fn of(path: &Path) -> Result<Self, CliError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        // The longer ending first.
        let endings = [
            (".vl.json", ChartFile::VegaLite),
            (".json", ChartFile::Json),
            (".svg", ChartFile::Svg),
            (".png", ChartFile::Png),
            (".html", ChartFile::Html),
        ];
        let found = endings.iter().find(|(ending, _)| name.ends_with(ending));
        let (_, file) = found.ok_or_else(|| CliError::ChartEnding { path: path.to_owned() })?;
        if *file == ChartFile::Png {
            png::is_built_in()?;
        }
        Ok(*file)
    }

    /// Whether it has a size and colours of its own.
    pub(crate) fn has_look(self) -> bool {
        matches!(self, ChartFile::Svg | ChartFile::Png | ChartFile::VegaLite)
    }

    /// The content of the file.
    pub(crate) fn content(
        self,
        document: &ChartsDocument,
        chart: &ChartData,
        paper: FigurePaper,
    ) -> Result<Vec<u8>, CliError> {
        Ok(match self {
            ChartFile::Svg => chart.svg_on(paper).into_bytes(),
            ChartFile::Png => {
                // Dots cannot follow the reader.
                let theme = if paper.theme == FigureTheme::Auto { FigureTheme::Light } else { paper.theme };
                png::picture(&chart.svg_on(FigurePaper { theme, ..paper }), paper.size.dots_across())?
            }
            ChartFile::Html => chart_page(&document.title, chart).into_bytes(),
            ChartFile::VegaLite => pretty(&chart.vega_lite(paper))?,
            ChartFile::Json => pretty(document)?,
        })
    }
}

fn pretty(document: &impl serde::Serialize) -> Result<Vec<u8>, CliError> {
    let mut text = serde_json::to_vec_pretty(document)
        .map_err(|source| CliError::Picture { reason: source.to_string() })?;
    text.push(b'\n');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_says_what_is_written() {
        let of = |name: &str| ChartFile::of(Path::new(name)).ok();
        assert_eq!(of("a.vl.json"), Some(ChartFile::VegaLite));
        assert_eq!(of("a.json"), Some(ChartFile::Json));
        assert_eq!(of("out/A.SVG"), Some(ChartFile::Svg));
        assert_eq!(of("a.png"), Some(ChartFile::Png));
        assert_eq!(of("a.html"), Some(ChartFile::Html));
        assert_eq!(of("a.pdf"), None);
        assert_eq!(of("svg"), None);
    }
}
