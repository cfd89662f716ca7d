//! Blocks as pieces of a page.

use crate::block::{Block, Cell, Chart, Fact, Remark, Series, Stack, Tone};
use crate::format;
use crate::render::html::timeline::PlaceIndex;
use crate::render::html::words::{escape, prose, title_attribute};
use crate::render::html::{svg, table};
use crate::text;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    Half,
    Wide,
}

pub(crate) fn draw(block: &Block, size: Size, places: Option<&PlaceIndex<'_>>) -> String {
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
