//! One HTML file that asks nothing of the network: styles, script and charts are inside.

mod axis;
pub(crate) mod linked;
pub(crate) mod living;
mod svg;
mod table;
mod timeline;

use rooflens_analyze::Findings;

use crate::Extras;
use crate::block::{Block, Cell, Chart, Fact, Level, Mark, Remark, Series, Stack, Tone};
use crate::charts::{self, ChartData, ChartInputs};
use crate::format;
use crate::render::{LAST, Part, filled, with_more};
use crate::sections::{self, Detail};
use crate::text;
use timeline::PlaceIndex;

/// Rows of a table; the rest is in Markdown and JSON.
const ROWS: usize = 500;
/// Characters of a full name.
const LONGEST: usize = 4_000;
/// Characters of a sentence.
const SENTENCE: usize = 1_000;
/// A table of so few columns takes half of the page.
const FEW_COLUMNS: usize = 5;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("page.js");
/// Nothing may be loaded, whatever a trace holds.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      base-uri 'none'; form-action 'none'";

const FOOTER: &str = "Times are wall time by the trace's clock; a dash is a number that was not measured.";

/// The whole file.
pub(crate) fn document(findings: &Findings, title: &str, extras: Extras<'_>) -> String {
    let body = body(findings, extras);
    let scripts = living::scripts(&body.charts);
    let more: &[(&str, &str)] = &[(timeline::STYLE, timeline::SCRIPT)];
    let more = if body.has_timeline { more } else { &[] };
    shell_with(title, &body.links, &(body.html + &scripts), FOOTER, "", more)
}

/// What a page of findings holds.
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
    let around = Around { charts: &charts, places: places.as_ref() };
    // Behind what says in a sentence where the time went.
    let behind = sections.iter().position(|part| part.name == "verdict").map_or(0, |at| at + 1);
    let (before, after) = sections.split_at(behind);
    let timeline = drawn.map(|drawn| timeline::section(findings, drawn)).unwrap_or_default();
    let link = if timeline.is_empty() { "" } else { "<a href=\"#timeline\">Timeline</a>" };
    PageBody {
        links: [&*links(before), link, &*links(after)].concat(),
        html: [draw_parts(before, around), timeline, draw_parts(after, around)].concat(),
        has_timeline: drawn.is_some(),
        charts,
    }
}

/// What stands in a page, before it is known how its scripts come to it.
struct PageBody {
    links: String,
    html: String,
    has_timeline: bool,
    charts: Vec<ChartData>,
}

/// What the parts of a page refer to beside themselves.
#[derive(Clone, Copy, Default)]
struct Around<'a> {
    charts: &'a [ChartData],
    places: Option<&'a PlaceIndex<'a>>,
}

fn draw_parts(parts: &[Part], around: Around<'_>) -> String {
    parts.iter().map(|part| draw_part(part, around)).collect()
}

/// Parts as a whole file.
pub(crate) fn parts(title: &str, sections: &[Part], footer: &'static str) -> String {
    charted(title, sections, &[], footer)
}

/// Parts as a whole file, with living charts at the head of their sections.
pub(crate) fn charted(title: &str, sections: &[Part], charts: &[ChartData], footer: &'static str) -> String {
    let mut body = draw_parts(sections, Around { charts, places: None });
    body.push_str(&living::scripts(charts));
    shell(title, &links(sections), &body, footer, "")
}

/// A chart alone, as a whole file.
pub(crate) fn chart(title: &str, chart: &ChartData) -> String {
    let charts = std::slice::from_ref(chart);
    let mut parts = vec![];
    living::add_parts(&mut parts, charts, 0);
    charted(title, &parts, charts, FOOTER)
}

/// The list of sections.
fn links(sections: &[Part]) -> String {
    let link = |part: &Part| format!("<a href=\"#{}\">{}</a>", part.name, escape(part.title));
    sections.iter().map(link).collect()
}

/// The file around what is shown: `title` is text, the others are HTML; `allowed` is what may be loaded
/// beyond nothing.
pub(crate) fn shell(
    title: &str,
    links: &str,
    body: &str,
    footer: &'static str,
    allowed: &'static str,
) -> String {
    shell_with(title, links, body, footer, allowed, &[])
}

/// The same, with styles and scripts of what only some pages have.
fn shell_with(
    title: &str,
    links: &str,
    body: &str,
    footer: &'static str,
    allowed: &'static str,
    more: &[(&str, &str)],
) -> String {
    let title = escape(title);
    let styles: String = more.iter().map(|(style, _)| *style).collect();
    let scripts: String = more.iter().map(|(_, script)| format!("<script>\n{script}</script>\n")).collect();
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
         <div id=\"tip\" role=\"status\" hidden></div>\n<script>\n{SCRIPT}</script>\n{scripts}</body>\n</html>\n",
        schema = rooflens_schema::SCHEMA_VERSION,
    )
}

fn draw_part(part: &Part, around: Around<'_>) -> String {
    let Around { charts, places } = around;
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

/// How much of the page's width a block takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Size {
    Half,
    Wide,
}

/// Each block with the heading above it, small ones side by side.
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
        Block::Table(table) => table.shown(Level::Page).len() <= FEW_COLUMNS && !table::has_prose(table),
        Block::Chart(chart) => chart.mark != Mark::Areas,
        Block::Drawing(_) => true,
        _ => false,
    }
}

fn draw(block: &Block, size: Size, places: Option<&PlaceIndex<'_>>) -> String {
    match block {
        Block::Lead(sentences) => {
            let (first, rest) = text::first_sentence(sentences);
            let rest = match rest {
                "" => String::new(),
                rest => format!("<p class=\"after-lead\">{}</p>\n", prose(rest)),
            };
            format!("<p class=\"lead\">{}</p>\n{rest}", prose(first))
        }
        Block::Heading(heading) => format!("<h3>{}</h3>\n", escape(heading)),
        Block::Text(sentence) => format!("<p>{}</p>\n", prose(sentence)),
        Block::Steps(steps) => {
            let steps: String = steps.iter().map(|step| format!("<li>{}</li>\n", prose(step))).collect();
            format!("<div class=\"steps\"><h3>What to look at next</h3>\n<ol>\n{steps}</ol></div>\n")
        }
        Block::Lines(lines) => {
            let lines: String = lines.iter().map(|line| format!("<li>{}</li>\n", prose(line))).collect();
            format!("<ul>\n{lines}</ul>\n")
        }
        Block::Facts(facts) => {
            let fact = |fact: &Fact| {
                let help = title_attribute(&fact.help);
                let class = if matches!(fact.value, Cell::Text(_)) { " class=\"text\"" } else { "" };
                let (label, value) = (prose(&fact.label), table::value(&fact.value));
                format!("<div{help}><dt>{label}</dt><dd{class}>{value}</dd></div>\n")
            };
            format!("<dl class=\"facts\">\n{}</dl>\n", facts.iter().map(fact).collect::<String>())
        }
        Block::Table(table) => table::draw(table, places),
        Block::Stack(stack) => draw_stack(stack),
        Block::Chart(chart) => draw_chart(chart, size),
        Block::Remarks(remarks) => draw_remarks(remarks),
        Block::Drawing(drawing) => format!("<figure class=\"drawing\">{}</figure>\n", drawing.svg),
        Block::Folded { title, blocks } => {
            let inside: String = blocks.iter().map(|block| draw(block, size, places)).collect();
            format!("<details><summary>{}</summary>\n{inside}</details>\n", prose(title))
        }
    }
}

/// One bar has its legend below, with the numbers; several have theirs above, and a row each.
fn draw_stack(stack: &Stack) -> String {
    let swatch = |tone: Tone| format!("<i class=\"swatch t-{}\"></i>", tone.as_str());
    if let [bar] = stack.bars.as_slice() {
        let rows = stack.parts.iter().zip(bar.shares()).zip(&bar.parts_ns);
        let rows: String = rows
            .map(|(((tone, name), share), ns)| {
                let share = share.map_or(format::MISSING.to_owned(), format::share);
                let (swatch, name, time) = (swatch(*tone), escape(name), format::time(*ns as f64));
                format!("<li>{swatch}<span>{name}</span><b>{share}</b><small>{time}</small></li>\n")
            })
            .collect();
        let caption = format!("{}: {}", escape(&bar.label), format::time(bar.whole_ns as f64));
        return format!(
            "<figure class=\"stack\">{}<figcaption>{caption}</figcaption><ul>\n{rows}</ul></figure>\n",
            svg::stack(stack, bar)
        );
    }
    let legend: String = stack
        .parts
        .iter()
        .map(|(tone, name)| format!("<span>{}{}</span>", swatch(*tone), escape(name)))
        .collect();
    let head: String = stack.parts.iter().map(|(_, name)| format!("<th>{}</th>", escape(name))).collect();
    let rows: String = stack
        .bars
        .iter()
        .map(|bar| {
            let shares: String = bar
                .shares()
                .into_iter()
                .map(|share| share.map_or(format::MISSING.to_owned(), format::share))
                .map(|share| format!("<td class=\"n\">{share}</td>"))
                .collect();
            let (label, span) = (escape(&bar.label), format::time(bar.whole_ns as f64));
            let drawn = svg::stack(stack, bar);
            format!("<tr><th>{label}</th><td>{drawn}</td>{shares}<td class=\"n\">{span}</td></tr>\n")
        })
        .collect();
    format!(
        "<div class=\"legend\">{legend}</div>\n<div class=\"scroll\"><table class=\"stack\"><thead class=\"hidden\"><tr>\
         <th>device</th><th>time</th>{head}<th>span</th></tr></thead><tbody>\n{rows}</tbody></table></div>\n"
    )
}

fn draw_chart(chart: &Chart, size: Size) -> String {
    let legend: String = if chart.series.len() > 1 {
        let entry = |series: &Series| {
            format!(
                "<span><i class=\"swatch t-{}\"></i>{}</span>",
                series.tone.as_str(),
                escape(&series.label)
            )
        };
        chart.series.iter().map(entry).collect()
    } else {
        format!("<span>{}, {}</span>", escape(&chart.y.0), escape(&chart.x.0))
    };
    let title = escape(&text::elide(&text::clean(&chart.title), 80));
    let drawn = svg::chart(chart, if size == Size::Half { 520.0 } else { 1060.0 });
    format!("<figure><figcaption><b>{title}</b>{legend}</figcaption>{drawn}</figure>\n")
}

fn draw_remarks(remarks: &[Remark]) -> String {
    let remark = |remark: &Remark| {
        let grade = remark.grade.as_str();
        let class = grade.replace(' ', "-");
        let often = remark.how_often();
        let source = if remark.source.is_empty() {
            String::new()
        } else {
            format!(" <small>{}</small>", escape(&text::elide(&text::clean(&remark.source), 120)))
        };
        let (code, message) = (escape(&remark.code.replace('_', " ")), escape(&remark.message));
        format!(
            "<li><span class=\"grade {class}\">{grade}</span><div><b>{code}</b> {often}{source}<p>{message}</p></div></li>\n"
        )
    };
    format!("<ul class=\"remarks\">\n{}</ul>\n", remarks.iter().map(remark).collect::<String>())
}

fn title_attribute(help: &str) -> String {
    if help.is_empty() { String::new() } else { format!(" title=\"{}\"", escape(help)) }
}

/// A sentence, with what stands between backticks as code.
pub(crate) fn prose(sentence: &str) -> String {
    let piece =
        |(words, is_code)| if is_code { format!("<code>{}</code>", escape(words)) } else { escape(words) };
    text::pieces(&text::clip(sentence, SENTENCE)).into_iter().map(piece).collect()
}

/// Text that is only text, in content and in attributes.
pub(crate) fn escape(words: &str) -> String {
    text::without_markup(&text::clip(&text::clean(words), LONGEST))
}
