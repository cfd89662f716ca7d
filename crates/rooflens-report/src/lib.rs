//! Findings to pixels: lays findings out for people.
//!
//! [`sections`] pick from the findings what is worth showing and say it in [`block`]s; [`render`]
//! turns the same blocks into a screen for the terminal, Markdown, HTML and CSV. Nothing is computed
//! here but layout and rounding ([`mod@format`]), and text from a trace is hostile until it went through
//! [`text`]. The same findings give the same bytes.
//!
//! * [`terminal`]: one screen, never wider than asked.
//! * [`markdown`]: `report.md`, `operators.md`, `kernels.md`.
//! * [`html`]: `index.html`, one file that asks nothing of the network.
//! * [`sampled`]: what devices and host did meanwhile, a part for Markdown and HTML.
//! * [`csv`]: a table for programs.
//! * [`predictions`]: a model's answers; [`runs`]: the runs of a sweep, side by side.
//! * [`profiled`]: launches under Nsight Compute; [`top`]: the kernels of a timeline,
//!   [`by_range`]: and of the ranges that launched them.
//! * [`advice`]: what to change, and a changed model next to the one that ran.
//! * [`compare`]: two runs side by side; [`trend`]: a number over many runs.
//! * [`mod@bench`]: a load test, or several levels of one.
//! * [`charts`]: what charts show, as data; pages make them living ones.
//! * [`figure`]: line, roofline and bar charts, each one SVG file.
//!
//! ```
//! use rooflens_report::format;
//!
//! assert_eq!(format::time(1_234_567.0), "1.23 ms");
//! let findings = rooflens_analyze::Findings::default();
//! let page = rooflens_report::html(&findings, "A <trace>");
//! assert!(page.contains("A &lt;trace&gt;"));
//! ```

pub mod advice;
pub mod bench;
pub mod block;
pub mod by_range;
pub mod charts;
pub mod compare;
pub mod cost;
pub mod figure;
pub mod format;
pub mod predictions;
pub mod profiled;
pub mod profiled_figures;
pub mod profiled_metrics;
pub mod render;
pub mod run;
pub mod run_tables;
pub mod runs;
pub mod sampled;
mod section;
pub mod sections;
pub mod text;
pub mod top;
pub mod trend;

pub use render::html::linked::{
    AssetUse, PAGE_ASSETS, PageAsset, PageFrame, findings as linked_findings, fragment as linked_fragment,
    parts as linked_parts,
};
pub use render::html::{
    chart as chart_page, document as html_with, escape as escape_html, prose as sentence_html,
};
pub use render::markdown::{MarkdownPage, page as markdown_with};
pub use render::terminal::{TerminalOptions, screen as terminal};
pub use render::{Extras, Part, whole as parts};

use rooflens_analyze::Findings;

use crate::block::Block;
use crate::section::Detail;

/// A page of the findings in GitHub-flavoured Markdown.
pub fn markdown(findings: &Findings, page: MarkdownPage) -> String {
    markdown_with(findings, page, Extras::default())
}

/// The findings as one HTML file.
pub fn html(findings: &Findings, title: &str) -> String {
    html_with(findings, title, Extras::default())
}

macro_rules! csv_tables {
    ($(#[doc = $doc:literal] $variant:ident = $name:literal,)*) => {
        /// A table that can be had as CSV.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum CsvTable {
            $(#[doc = $doc] $variant,)*
        }

        impl CsvTable {
            /// Every table.
            pub const ALL: &'static [CsvTable] = &[$(CsvTable::$variant,)*];

            /// Its name: that of its section, and more where the section has several.
            pub fn name(self) -> &'static str {
                match self {
                    $(CsvTable::$variant => $name,)*
                }
            }
        }
    };
}

csv_tables! {
    /// Device activities by name.
    Kernels = "kernels",
    /// Framework operators by name.
    Operators = "operators",
    /// Steps and phases by group.
    Phases = "phases",
    /// Idle time by cause.
    Gaps = "gaps",
    /// Devices.
    Devices = "devices",
    /// Classes of kernels of the phase with the most time, with what they achieved.
    Roofline = "roofline",
    /// The same by operator of the model.
    RooflineOperators = "roofline_operators",
    /// The same by kernel.
    RooflineKernels = "roofline_kernels",
    /// The same by layer.
    RooflineLayers = "roofline_layers",
    /// Matmuls by recorded shapes, with what they achieved.
    RooflineShapes = "roofline_shapes",
    /// The same by kernel.
    RooflineShapeKernels = "roofline_shape_kernels",
}

/// A table of the findings as RFC 4180 CSV, every row and column, times in nanoseconds. Empty where
/// there is no such finding.
pub fn csv(findings: &Findings, table: CsvTable) -> String {
    let section = table.name().split('_').next().and_then(sections::find);
    let blocks = section.map(|section| section.blocks(findings, Detail::Full)).unwrap_or_default();
    let wanted = blocks.iter().find_map(|block| match block {
        Block::Table(found) if found.name == table.name() => Some(found),
        _ => None,
    });
    wanted.map(render::csv::table).unwrap_or_default()
}
