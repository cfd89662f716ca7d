//! Figures: one SVG file each, that needs nothing but itself.
//!
//! * [`LineChart`]: values over a swept quantity.
//! * [`RooflineChart`]: operators under the roofs of devices.
//! * [`BarChart`]: wholes and their parts.
//! * `HeatMap`: one value for each row and column.
//!
//! A figure is plain data with one method, `svg`. The same data give the same bytes. The text holds no
//! script, link or font, follows the reader's light or dark scheme, paints its own background so that
//! it is readable on any page, and has a title and a description for those who cannot see it. Names may
//! hold anything. What cannot be drawn (a zero on a logarithmic axis, a value that is not finite) is
//! left out and counted in a note below the figure.
//!
//! ```
//! use rooflens_report::figure::{Axis, FigureUnit, LineChart, LineSeries, ReferenceLine};
//!
//! let chart = LineChart {
//!     title: "Time of a decode step".to_owned(),
//!     x: Axis::log2("Batch size", FigureUnit::Number),
//!     y: Axis::log10("Time", FigureUnit::Si("s")),
//!     series: vec![LineSeries::new("H100", [(1.0, Some(4.1e-3)), (2.0, Some(4.2e-3)), (4.0, None)])],
//!     x_rules: vec![ReferenceLine::new(2.0, "compute-bound from batch 2")],
//!     ..LineChart::default()
//! };
//! let svg = chart.svg();
//! assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
//! ```

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
mod unit;

pub use axis::{Axis, Scale};
pub use bar::{Bar, BarChart};
pub(crate) use heat::HeatMap;
pub use line::{LineChart, LineSeries, ReferenceLine};
pub use paper::{FigurePaper, FigureSize, FigureTheme};
pub use roofline::{RooflineChart, RooflineDevice, RooflineOperator};
pub use unit::FigureUnit;
