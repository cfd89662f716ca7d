//! Living charts of a page: their data, and the scripts that draw them in place of still pictures.

use crate::block::Block;
use crate::charts::{self, ChartData, ChartSource, MissingChart};
use crate::format;
use crate::render::Part;
use crate::render::html::block::{Size, draw};
use crate::render::html::words::{escape, inert, prose};

/// Apache ECharts, built as `vendor/echarts/build` says.
pub(crate) const LIBRARY: &str = include_str!("../../../vendor/echarts/echarts.min.js");

/// Our own scripts, in order: one function around them all. They run after the library and below the data.
pub(crate) const SCRIPT: &str = concat!(
    "\"use strict\";\n(() => {\n",
    include_str!("charts/core.js"),
    include_str!("charts/roofline.js"),
    include_str!("charts/ledger.js"),
    include_str!("charts/steps.js"),
    include_str!("charts/layers.js"),
    include_str!("charts/over_time.js"),
    include_str!("charts/rates.js"),
    include_str!("charts/live.js"),
    "})();\n"
);

fn source(chart: &ChartData) -> Option<&'static ChartSource> {
    charts::find(&chart.name)
}

pub(super) fn add_parts(parts: &mut Vec<Part>, charts: &[ChartData], end: usize) {
    let mut end = end;
    for source in charts.iter().filter_map(source) {
        if parts.iter().all(|part| part.name != source.section) {
            parts.insert(end, Part { name: source.section, title: source.title, blocks: vec![] });
            end += 1;
        }
    }
}

pub(super) fn reasons(missing: &[MissingChart]) -> Option<Block> {
    let line = |chart: &MissingChart| format!("{}: {}.", chart.title, chart.reason);
    (!missing.is_empty()).then(|| Block::Folded {
        title: format!("{} without data", format::plural(missing.len() as i64, "chart")),
        blocks: vec![Block::Lines(missing.iter().map(line).collect())],
    })
}

pub(super) fn figures<'a>(part: &'a Part, charts: &[ChartData]) -> (String, Vec<&'a Block>) {
    let mut rest: Vec<&Block> = part.blocks.iter().collect();
    let mut out = String::new();
    for chart in charts {
        let Some(source) = source(chart).filter(|source| source.section == part.name) else { continue };
        let (replaced, kept): (Vec<&Block>, Vec<&Block>) =
            rest.into_iter().partition(|block| (source.replaces)(block));
        rest = kept;
        // Not twice on a page: below the chart, the words of its section say it.
        let is_said = rest.iter().any(|block| says(block, &chart.subtitle));
        out.push_str(&figure(chart, if is_said { "" } else { &chart.subtitle }, &replaced));
    }
    (out, rest)
}

fn says(block: &Block, sentence: &str) -> bool {
    matches!(block, Block::Text(text) if text.trim_end_matches('.') == sentence)
}

fn figure(chart: &ChartData, subtitle: &str, replaced: &[&Block]) -> String {
    let still = match replaced {
        [] => chart.svg(),
        [only] => draw(only, Size::Wide, None),
        many => many.iter().map(|block| draw(block, Size::Half, None)).collect(),
    };
    let few = if replaced.len() > 1 { " pair" } else { "" };
    let subtitle = match subtitle {
        "" => String::new(),
        words => format!("<span>{}</span>", prose(words)),
    };
    format!(
        "<div class=\"wide\">\n<figure class=\"living\" data-chart=\"{}\"><figcaption><b>{}</b>{subtitle}</figcaption>\n\
         <div class=\"still{few}\">\n{still}</div></figure>\n</div>\n",
        escape(&chart.name),
        escape(&chart.title)
    )
}

pub(super) fn scripts(charts: &[ChartData]) -> String {
    if charts.is_empty() {
        return String::new();
    }
    format!(
        "{}<script id=\"charts-library\">\n{LIBRARY}</script>\n<script id=\"charts-script\">\n{SCRIPT}</script>\n",
        data(charts)
    )
}

pub(super) fn data(charts: &[ChartData]) -> String {
    if charts.is_empty() {
        return String::new();
    }
    let data = serde_json::to_string(charts).unwrap_or_else(|_| "[]".to_owned());
    format!("<script type=\"application/json\" id=\"charts-data\">{}</script>\n", inert(&data))
}
