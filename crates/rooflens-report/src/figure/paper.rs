//! What a figure is drawn on: how wide, how large, and in which colours.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Width of a figure on a page, in pixels.
pub(crate) const WIDTH: f64 = 800.0;
/// A name has this much room on the narrowest paper.
const LEAST_NAME: f64 = 96.0;

/// A plot on the narrowest paper has this much of its height on a page.
const LEAST_HEIGHT: f64 = 0.72;

/// Colours of a figure. All are told apart by people with colour vision deficiency.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FigureTheme {
    /// As the reader's system has it.
    #[default]
    Auto,
    /// On white.
    Light,
    /// On near black.
    Dark,
}

/// What a figure is made for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FigureSize {
    /// A page on a screen: 800 pixels wide, as high as it needs.
    #[default]
    Page,
    /// A slide: 16:9, 1920 by 1080 pixels.
    Slide,
    /// One column of a paper: 3.5 inches wide, words of 7 points.
    Column,
    /// Both columns of a paper: 7 inches wide, words of 7 points.
    Columns,
}

impl FigureSize {
    /// Every size.
    pub const ALL: &'static [FigureSize] =
        &[FigureSize::Page, FigureSize::Slide, FigureSize::Column, FigureSize::Columns];

    /// Stable word.
    pub fn as_str(self) -> &'static str {
        match self {
            FigureSize::Page => "page",
            FigureSize::Slide => "slide",
            FigureSize::Column => "column",
            FigureSize::Columns => "columns",
        }
    }

    /// Pixels across, of a picture made of dots: sharp on screens, 600 per inch on paper.
    pub fn dots_across(self) -> u32 {
        match self {
            FigureSize::Page => 1_600,
            FigureSize::Slide => 1_920,
            FigureSize::Column => 2_100,
            FigureSize::Columns => 4_200,
        }
    }

    /// Pixels in which it is laid out: fewer make words larger.
    fn width(self) -> f64 {
        match self {
            FigureSize::Page | FigureSize::Slide => WIDTH,
            FigureSize::Column => 420.0,
            FigureSize::Columns => 840.0,
        }
    }
}

/// What a figure is drawn on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FigurePaper {
    /// What it is made for.
    pub size: FigureSize,
    /// Its colours.
    pub theme: FigureTheme,
}

impl FigurePaper {
    pub(crate) fn width(self) -> f64 {
        self.size.width()
    }

    pub(super) fn name(self, on_a_page: f64) -> f64 {
        (on_a_page * self.width() / WIDTH).clamp(LEAST_NAME, on_a_page)
    }

    pub(super) fn height(self, on_a_page: f64) -> f64 {
        on_a_page * (self.width() / WIDTH).clamp(LEAST_HEIGHT, 1.0)
    }

    /// The part of the drawing that is shown, as `(left, top, width, height)`, and the `(width, height)` that it is
    /// shown in.
    pub(super) fn shown(self, height: f64) -> ([f64; 4], [String; 2]) {
        let width = self.width();
        let pixels = |value: f64| format!("{value}");
        match self.size {
            FigureSize::Page => ([0.0, 0.0, width, height], [pixels(width), pixels(height)]),
            FigureSize::Slide => {
                // As large as fits, in the middle.
                let (wide, high) = (width.max(height * 16.0 / 9.0), height.max(width * 9.0 / 16.0));
                let frame = [-(wide - width) / 2.0, -(high - height) / 2.0, wide, high];
                (frame, [pixels(1_920.0), pixels(1_080.0)])
            }
            FigureSize::Column | FigureSize::Columns => {
                let inches = |value: f64| format!("{:.3}in", value / 120.0);
                ([0.0, 0.0, width, height], [inches(width), inches(height)])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slide_is_wide_however_high_the_figure_is() {
        let paper = FigurePaper { size: FigureSize::Slide, ..FigurePaper::default() };
        for height in [120.0, 450.0, 900.0] {
            let ([left, top, wide, high], size) = paper.shown(height);
            assert!((wide / high - 16.0 / 9.0).abs() < 1e-9);
            assert!(left <= 0.0 && left + wide >= 800.0 && top <= 0.0 && top + high >= height);
            assert_eq!(size, ["1920", "1080"]);
        }
    }

    #[test]
    fn paper_is_measured_in_inches() {
        let paper = |size| FigurePaper { size, ..FigurePaper::default() };
        assert_eq!(paper(FigureSize::Column).shown(240.0).1, ["3.500in", "2.000in"]);
        assert_eq!(paper(FigureSize::Columns).shown(240.0).1, ["7.000in", "2.000in"]);
        assert_eq!(paper(FigureSize::Page).shown(240.0).1, ["800", "240"]);
    }
}
