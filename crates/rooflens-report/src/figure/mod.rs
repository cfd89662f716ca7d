//! Figures: one SVG file each, that needs nothing but itself.
//!
//! * `LineChart`: values over a swept quantity.
//! * `RooflineChart`: operators under the roofs of devices.
//! * [`BarChart`]: wholes and their parts.
//! * `HeatMap`: one value for each row and column.
//!
//! A figure is plain data with one method, `svg`. The same data give the same bytes. The text holds no
//! script, link or font, follows the reader's light or dark scheme, paints its own background so that
//! it is readable on any page, and has a title and a description for those who cannot see it. Names may
//! hold anything. What cannot be drawn (a zero on a logarithmic axis, a value that is not finite) is
//! left out and counted in a note below the figure.

mod axis;
mod bar;
mod heat;
mod line;
mod paper;
mod place;
mod roofline;
mod ruler;
mod sheet;
mod svg;
#[cfg(test)]
mod tests;
mod unit;
mod vega;

pub(crate) use axis::{Axis, Scale};
pub use bar::{Bar, BarChart};
pub(crate) use heat::HeatMap;
pub(crate) use line::{LineChart, LineSeries, ReferenceLine};
pub use paper::{FigurePaper, FigureSize, FigureTheme};
pub(crate) use roofline::{RooflineChart, RooflineDevice, RooflineOperator};
pub use unit::FigureUnit;

/// A chart as the figure that shows it.
pub(crate) enum Figure {
    Line(LineChart),
    Bar(BarChart),
    Heat(HeatMap),
    Roofline(RooflineChart),
}

impl Figure {
    pub(crate) fn svg_on(&self, paper: FigurePaper) -> String {
        match self {
            Figure::Line(chart) => chart.svg_on(paper),
            Figure::Bar(chart) => chart.svg_on(paper),
            Figure::Heat(chart) => chart.svg_on(paper),
            Figure::Roofline(chart) => chart.svg_on(paper),
        }
    }
}
