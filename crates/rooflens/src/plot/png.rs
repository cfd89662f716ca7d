//! Figures as dots: with fonts of our own, so that a picture is the same on every machine.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb::Database};

use super::no_picture;
use crate::error::CliError;

const FONTS: [&[u8]; 2] = [
    include_bytes!("../../vendor/inter/Inter-Regular.ttf"),
    include_bytes!("../../vendor/inter/Inter-SemiBold.ttf"),
];
const FAMILY: &str = "Inter";

pub(crate) fn picture(svg: &str, across: u32) -> Result<Vec<u8>, CliError> {
    let mut fonts = Database::new();
    for font in FONTS {
        fonts.load_font_data(font.to_vec());
    }
    fonts.set_sans_serif_family(FAMILY);
    let options = Options { font_family: FAMILY.to_owned(), fontdb: Arc::new(fonts), ..Options::default() };
    let tree = Tree::from_str(svg, &options).map_err(|source| no_picture(&source.to_string()))?;
    let scale = across as f32 / tree.size().width();
    let high = (tree.size().height() * scale).round() as u32;
    let mut dots =
        Pixmap::new(across, high.max(1)).ok_or_else(|| no_picture(&format!("{across} by {high} pixels")))?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut dots.as_mut());
    dots.encode_png().map_err(|source| no_picture(&source.to_string()))
}

#[cfg(test)]
mod tests {
    use rooflens_report::figure::{Bar, BarChart, FigurePaper, FigureSize, FigureTheme, FigureUnit};

    use super::*;

    /// Pixels that are not of the commonest colour.
    fn ink(png: &[u8]) -> (u32, u32, usize) {
        let dots = Pixmap::decode_png(png).unwrap();
        let page = dots.pixel(dots.width() / 2, 3).unwrap();
        let inked = dots.pixels().iter().filter(|pixel| **pixel != page).count();
        (dots.width(), dots.height(), inked)
    }

    #[test]
    fn words_and_bars_are_drawn_in_the_size_that_is_asked_for() {
        let chart = |title: &str| BarChart {
            title: title.to_owned(),
            unit: FigureUnit::Time,
            parts: vec!["one".to_owned(), "two".to_owned()],
            bars: vec![Bar::new("decode", [2e6, 1e6])],
            ..BarChart::default()
        };
        let drawn = |title: &str, size: FigureSize, theme| {
            let svg = chart(title).svg_on(FigurePaper { size, theme });
            ink(&picture(&svg, size.dots_across()).unwrap())
        };
        let (width, height, inked) = drawn("Time by phase", FigureSize::Slide, FigureTheme::Light);
        assert_eq!((width, height), (1_920, 1_080));
        let (_, _, without_title) = drawn("", FigureSize::Slide, FigureTheme::Light);
        assert!(inked > without_title + 1_000, "{inked} {without_title}: the title has no letters");
        assert_eq!(drawn("Time", FigureSize::Column, FigureTheme::Dark).0, 2_100);
        assert_eq!(drawn("Time", FigureSize::Page, FigureTheme::Light).0, 1_600);
    }

    #[test]
    fn what_is_no_figure_is_refused() {
        assert!(picture("<svg", 100).is_err());
    }
}
