//! One HTML file that asks nothing of the network: styles, script and charts are inside.

mod block;
pub(crate) mod linked;
pub(crate) mod living;
mod svg;
mod table;
mod timeline;
mod words;

use rooflens_analyze::Findings;

use self::block::{Size, draw};
use self::timeline::PlaceIndex;
pub use self::words::{escape, prose};
use crate::block::{Block, Level, Mark};
use crate::charts::{self, ChartData, ChartInputs};
use crate::render::{Extras, LAST, Part, filled, with_more};
use crate::section::Detail;
use crate::sections;

/// Rows of a table; the rest is in Markdown and JSON.
const ROWS: usize = 500;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("page.js");
/// Nothing may be loaded, whatever a trace holds.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      base-uri 'none'; form-action 'none'";

const FOOTER: &str = "Times are wall time by the trace's clock; a dash is a number that was not measured.";

/// The findings as one HTML file.
pub fn document(findings: &Findings, title: &str, extras: Extras<'_>) -> String {
    let PageBody { links, html, has_timeline, charts } = body(findings, extras);
    let body = html + &living::scripts(&charts);
    Shell { title, links: &links, body: &body, footer: FOOTER, has_timeline, allowed: "" }.html()
}

fn body(findings: &Findings, extras: Extras<'_>) -> PageBody {
    let top = extras.top.map(|rows| rows.min(ROWS));
    let sections = filled(sections::ALL, findings, Detail::Page { rows: ROWS }, top);
    let mut sections = with_more(sections, extras.more);
    let inputs = ChartInputs { findings, sampled: extras.sampled, levels: &[] };
    let (charts, missing) = charts::all(&inputs);
    let end = sections.iter().position(|part| LAST.contains(&part.name)).unwrap_or(sections.len());
    living::add_parts(&mut sections, &charts, end);
    if let Some(part) = sections.iter_mut().find(|part| part.name == "missing") {
        part.blocks.extend(living::reasons(&missing));
    }
    let drawn = findings.timeline.as_ref();
    let places = drawn.map(PlaceIndex::new);
    let draw = |parts: &[Part]| draw_parts(parts, &charts, places.as_ref());
    // Behind what says in a sentence where the time went.
    let behind = sections.iter().position(|part| part.name == "verdict").map_or(0, |at| at + 1);
    let (before, after) = sections.split_at(behind);
    let timeline = drawn.map(|drawn| timeline::section(findings, drawn)).unwrap_or_default();
    let link = if timeline.is_empty() { "" } else { "<a href=\"#timeline\">Timeline</a>" };
    PageBody {
        links: [&*links(before), link, &*links(after)].concat(),
        html: [draw(before), timeline, draw(after)].concat(),
        has_timeline: drawn.is_some(),
        charts,
    }
}

struct PageBody {
    links: String,
    html: String,
    has_timeline: bool,
    charts: Vec<ChartData>,
}

fn draw_parts(parts: &[Part], charts: &[ChartData], places: Option<&PlaceIndex<'_>>) -> String {
    parts.iter().map(|part| draw_part(part, charts, places)).collect()
}

pub(crate) fn parts(title: &str, sections: &[Part], footer: &str) -> String {
    charted(title, sections, &[], footer)
}

pub(crate) fn charted(title: &str, sections: &[Part], charts: &[ChartData], footer: &str) -> String {
    let body = draw_parts(sections, charts, None) + &living::scripts(charts);
    Shell { title, links: &links(sections), body: &body, footer, ..Shell::default() }.html()
}

/// A chart alone, as one HTML file.
pub fn chart(title: &str, chart: &ChartData) -> String {
    let charts = std::slice::from_ref(chart);
    let mut parts = vec![];
    living::add_parts(&mut parts, charts, 0);
    charted(title, &parts, charts, FOOTER)
}

fn links(sections: &[Part]) -> String {
    let link = |part: &Part| format!("<a href=\"#{}\">{}</a>", part.name, escape(part.title));
    sections.iter().map(link).collect()
}

/// The file around what is shown: `title` is text, the others are HTML.
#[derive(Default)]
pub(crate) struct Shell<'a> {
    pub(crate) title: &'a str,
    pub(crate) links: &'a str,
    pub(crate) body: &'a str,
    pub(crate) footer: &'a str,
    /// What may be loaded beyond nothing.
    pub(crate) allowed: &'static str,
    pub(crate) has_timeline: bool,
}

impl Shell<'_> {
    pub(crate) fn html(&self) -> String {
        let Shell { links, body, footer, allowed, .. } = self;
        let title = escape(self.title);
        let (styles, script) = if self.has_timeline { (timeline::STYLE, timeline::SCRIPT) } else { ("", "") };
        let script = if script.is_empty() { String::new() } else { format!("<script>\n{script}</script>\n") };
        let version = env!("CARGO_PKG_VERSION");
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}{allowed}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{title}</title>\n<style>\n{STYLE}{styles}</style>\n\
             <script>document.documentElement.className = \"js\";</script>\n</head>\n<body>\n\
             <nav aria-label=\"Sections\"><b>Rooflens</b>{links}</nav>\n\
             <main>\n<p class=\"title\">{title}</p>\n{body}\
             <footer>Rooflens {version}, schema {schema}. {footer}</footer>\n</main>\n\
             <div id=\"tip\" role=\"status\" hidden></div>\n<script>\n{SCRIPT}</script>\n{script}</body>\n</html>\n",
            schema = rooflens_schema::SCHEMA_VERSION,
        )
    }
}

fn draw_part(part: &Part, charts: &[ChartData], places: Option<&PlaceIndex<'_>>) -> String {
    let Part { name, title, blocks } = part;
    let (figures, rest) = living::figures(part, charts);
    let rest = pictures_first(&rest);
    let mut out = format!("<section id=\"{name}\" aria-labelledby=\"{name}-title\">\n");
    // A sentence or a chart alone has its own heading.
    let speaks = blocks.is_empty() || matches!(blocks.first(), Some(Block::Lead(_)));
    let hidden = if speaks { " class=\"hidden\"" } else { "" };
    out.push_str(&format!("<h2 id=\"{name}-title\"{hidden}>{}</h2>\n<div class=\"items\">\n", escape(title)));
    out.push_str(&figures);
    for (heading, block, size) in sized(&rest) {
        let class = if size == Size::Half { "half" } else { "wide" };
        out.push_str(&format!("<div class=\"{class}\">\n"));
        if let Some(heading) = heading {
            out.push_str(&format!("<h3>{}</h3>\n", escape(heading)));
        }
        out.push_str(&draw(block, size, places));
        out.push_str("</div>\n");
    }
    out.push_str("</div>\n</section>\n");
    out
}

/// The blocks below each heading, pictures before words: one looks first and reads then.
fn pictures_first<'a>(blocks: &[&'a Block]) -> Vec<&'a Block> {
    let order = |block: &&Block| match block {
        Block::Heading(_) | Block::Lead(_) => 0,
        Block::Stack(_) | Block::Chart(_) | Block::Drawing(_) => 1,
        _ => 2,
    };
    let mut blocks = blocks.to_vec();
    blocks
        .chunk_by_mut(|_, next| !matches!(next, Block::Heading(_)))
        .for_each(|below| below.sort_by_key(order));
    blocks
}

fn sized<'a>(blocks: &[&'a Block]) -> Vec<(Option<&'a str>, &'a Block, Size)> {
    let mut items: Vec<(Option<&str>, &Block, Size)> = vec![];
    let mut heading = None;
    let mut paired = false;
    for (index, block) in blocks.iter().copied().enumerate() {
        if let Block::Heading(text) = block {
            heading = Some(text.as_str());
            continue;
        }
        let follower = blocks[index + 1..].iter().copied().find(|block| !matches!(block, Block::Heading(_)));
        let small = is_small(block);
        let alone = !paired && !follower.is_some_and(is_small);
        let wide = !small || alone;
        paired = !wide && !paired;
        items.push((heading.take(), block, if wide { Size::Wide } else { Size::Half }));
    }
    items
}

fn is_small(block: &Block) -> bool {
    match block {
        // Sentences need the whole width.
        Block::Table(table) => {
            table.shown(Level::Page).len() <= table::FEW_COLUMNS && !table::has_prose(table)
        }
        Block::Chart(chart) => chart.mark != Mark::Areas,
        Block::Drawing(_) => true,
        _ => false,
    }
}
