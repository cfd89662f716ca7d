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
//! * [`advice`]: what to change, and a changed model beside the one that ran.
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
pub mod sections;
pub mod text;
pub mod top;
pub mod trend;

pub use render::Part;
pub use render::html::linked::{AssetUse, PAGE_ASSETS, PageAsset, PageFrame};
pub use render::terminal::TerminalOptions;

use rooflens_analyze::Findings;

use crate::block::Block;
use crate::charts::ChartData;
use crate::sections::Detail;

/// The findings on one screen, beginning with the verdict.
pub fn terminal(findings: &Findings, options: &TerminalOptions) -> String {
    render::terminal::screen(findings, options)
}

/// Every part of the report, with every row of its tables.
pub fn parts(findings: &Findings) -> Vec<Part> {
    render::whole(findings)
}

/// Text as it stands in HTML.
pub fn escape_html(text: &str) -> String {
    render::html::escape(text)
}

/// The same, with what stands between backticks as code.
#[must_use]
pub fn sentence_html(sentence: &str) -> String {
    render::html::prose(sentence)
}

/// A Markdown file of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkdownPage {
    /// Everything, long tables cut.
    Report,
    /// Every operator with its shapes.
    Operators,
    /// Every kernel, by class and by library.
    Kernels,
}

impl MarkdownPage {
    /// Every page.
    pub const ALL: &'static [MarkdownPage] =
        &[MarkdownPage::Report, MarkdownPage::Operators, MarkdownPage::Kernels];

    /// Its file name in the report's folder.
    pub fn file_name(self) -> &'static str {
        match self {
            MarkdownPage::Report => "report.md",
            MarkdownPage::Operators => "operators.md",
            MarkdownPage::Kernels => "kernels.md",
        }
    }
}

/// What a report has beside the findings of a trace.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extras<'a> {
    /// Parts that do not come from a trace.
    pub more: &'a [Part],
    /// Rows of the tables of kernels and operators, in the report and on the page.
    pub top: Option<usize>,
    /// What was sampled while a run went on, for charts.
    pub sampled: Option<&'a rooflens_analyze::sampled::Sampled>,
}

/// A page of the findings in GitHub-flavoured Markdown.
pub fn markdown(findings: &Findings, page: MarkdownPage) -> String {
    markdown_with(findings, page, Extras::default())
}

/// The same, with more than the trace tells.
pub fn markdown_with(findings: &Findings, page: MarkdownPage, extras: Extras<'_>) -> String {
    render::markdown::page(findings, page, extras)
}

/// The findings as one HTML file.
pub fn html(findings: &Findings, title: &str) -> String {
    html_with(findings, title, Extras::default())
}

/// The same, with more than the trace tells.
pub fn html_with(findings: &Findings, title: &str, extras: Extras<'_>) -> String {
    render::html::document(findings, title, extras)
}

/// The findings as a page of a server, which gives its style and scripts as files.
pub fn linked_findings(findings: &Findings, extras: Extras<'_>, frame: &PageFrame<'_>) -> String {
    render::html::linked::findings(findings, extras, frame)
}

/// Parts as a page of a server, with living charts at the head of their sections.
pub fn linked_parts(parts: &[Part], charts: &[ChartData], frame: &PageFrame<'_>) -> String {
    render::html::linked::parts(parts, charts, frame)
}

/// A chart alone, as one HTML file.
pub fn chart_page(title: &str, chart: &ChartData) -> String {
    render::html::chart(title, chart)
}

/// Parts alone, to be put into a page of a server.
pub fn linked_fragment(parts: &[Part]) -> String {
    render::html::linked::fragment(parts)
}

/// A table that can be had as CSV.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CsvTable {
    /// Device activities by name.
    Kernels,
    /// Framework operators by name.
    Operators,
    /// Steps and phases by group.
    Phases,
    /// Idle time by cause.
    Gaps,
    /// Devices.
    Devices,
    /// Classes of kernels of the phase with the most time, with what they achieved.
    Roofline,
    /// The same by operator of the model.
    RooflineOperators,
    /// The same by kernel.
    RooflineKernels,
    /// The same by layer.
    RooflineLayers,
    /// Matmuls by recorded shapes, with what they achieved.
    RooflineShapes,
    /// The same by kernel.
    RooflineShapeKernels,
}

impl CsvTable {
    /// Every table.
    pub const ALL: &'static [CsvTable] = &[
        CsvTable::Kernels,
        CsvTable::Operators,
        CsvTable::Phases,
        CsvTable::Gaps,
        CsvTable::Devices,
        CsvTable::Roofline,
        CsvTable::RooflineOperators,
        CsvTable::RooflineKernels,
        CsvTable::RooflineLayers,
        CsvTable::RooflineShapes,
        CsvTable::RooflineShapeKernels,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            CsvTable::Kernels => "kernels",
            CsvTable::Operators => "operators",
            CsvTable::Phases => "phases",
            CsvTable::Gaps => "gaps",
            CsvTable::Devices => "devices",
            CsvTable::Roofline => "roofline",
            CsvTable::RooflineOperators => "roofline_operators",
            CsvTable::RooflineKernels => "roofline_kernels",
            CsvTable::RooflineLayers => "roofline_layers",
            CsvTable::RooflineShapes => "roofline_shapes",
            CsvTable::RooflineShapeKernels => "roofline_shape_kernels",
        }
    }

    /// The section that it stands in.
    fn section(self) -> &'static str {
        self.name().split('_').next().unwrap_or_default()
    }
}

/// A table of the findings as RFC 4180 CSV, every row and column, times in nanoseconds. Empty where
/// there is no such finding.
pub fn csv(findings: &Findings, table: CsvTable) -> String {
    let blocks = sections::find(table.section())
        .map(|section| section.blocks(findings, Detail::Full))
        .unwrap_or_default();
    let wanted = blocks.iter().find_map(|block| match block {
        Block::Table(found) if found.name == table.name() => Some(found),
        _ => None,
    });
    wanted.map(render::csv::table).unwrap_or_default()
}
