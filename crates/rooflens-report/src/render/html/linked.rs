//! Pages of a server: the same blocks, with styles and scripts as separate files, so that no script need be allowed
//! inside a page.

use rooflens_analyze::Findings;

use super::{FOOTER, PageBody, SCRIPT, STYLE, body, draw_part, escape, living, timeline};
use crate::charts::ChartData;
use crate::render::{Extras, Part};

/// Runs before the page is drawn: what needs a script may be shown.
const START: &str = "document.documentElement.className = \"js\";\n";

/// A file that linked pages refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageAsset {
    /// Name of the file.
    pub name: &'static str,
    /// When it is loaded.
    pub use_as: AssetUse,
    /// Its text.
    pub text: &'static str,
}

impl PageAsset {
    /// A file with its text.
    pub const fn new(name: &'static str, use_as: AssetUse, text: &'static str) -> Self {
        PageAsset { name, use_as, text }
    }

    /// Its media type.
    pub fn media_type(&self) -> &'static str {
        if self.name.ends_with(".css") { "text/css" } else { "text/javascript" }
    }
}

/// How a page uses a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssetUse {
    /// A style sheet.
    Style,
    /// A script that runs before the page is drawn.
    EarlyScript,
    /// A script that runs when the page is there.
    Script,
    /// A style sheet of pages with a timeline.
    TimelineStyle,
    /// A script of pages with a timeline.
    TimelineScript,
    /// A script of pages with living charts.
    ChartScript,
}

/// Every file that a linked page needs, in the order in which it refers to them.
pub const PAGE_ASSETS: &[PageAsset] = &[
    PageAsset::new("style.css", AssetUse::Style, STYLE),
    PageAsset::new("start.js", AssetUse::EarlyScript, START),
    PageAsset::new("page.js", AssetUse::Script, SCRIPT),
    PageAsset::new("timeline.css", AssetUse::TimelineStyle, timeline::STYLE),
    PageAsset::new("timeline.js", AssetUse::TimelineScript, timeline::SCRIPT),
    PageAsset::new("echarts.js", AssetUse::ChartScript, living::LIBRARY),
    PageAsset::new("charts.js", AssetUse::ChartScript, living::SCRIPT),
];

/// What stands around the parts of a linked page.
#[derive(Debug, Clone, Copy, Default)]
pub struct PageFrame<'a> {
    /// Its title, as text.
    pub title: &'a str,
    /// Files by their address, in their order.
    pub assets: &'a [(AssetUse, String)],
    /// Other pages of the server: name, address, and whether it is this one.
    pub site: &'a [(&'a str, &'a str, bool)],
    /// HTML above the parts.
    pub before: &'a str,
    /// HTML below them.
    pub after: &'a str,
    /// The last line.
    pub footer: &'a str,
}

/// The findings as a page of a server, which gives its style and scripts as files.
pub fn findings(findings: &Findings, extras: Extras<'_>, frame: &PageFrame<'_>) -> String {
    let PageBody { links, html, has_timeline, charts } = body(findings, extras);
    let footer = if frame.footer.is_empty() { FOOTER } else { frame.footer };
    page(&links, html, &charts, has_timeline, &PageFrame { footer, ..*frame })
}

/// Parts as a page of a server, with living charts at the head of their sections.
pub fn parts(parts: &[Part], charts: &[ChartData], frame: &PageFrame<'_>) -> String {
    let (links, body) = drawn(parts, charts);
    page(&links, body, charts, false, frame)
}

/// Parts alone, to be put into a page of a server.
pub fn fragment(parts: &[Part]) -> String {
    drawn(parts, &[]).1
}

fn drawn(parts: &[Part], charts: &[ChartData]) -> (String, String) {
    let (mut links, mut body) = (String::new(), String::new());
    for (at, part) in parts.iter().enumerate() {
        let before = parts[..at].iter().filter(|other| other.name == part.name).count();
        let drawn = draw_part(part, charts, None);
        // Comparisons with several runs have the same part several times.
        let (id, drawn) = match before {
            0 => (part.name.to_owned(), drawn),
            times => renamed(part.name, times + 1, &drawn),
        };
        links.push_str(&format!("<a href=\"#{id}\">{}</a>", escape(part.title)));
        body.push_str(&drawn);
    }
    (links, body)
}

fn renamed(name: &str, number: usize, drawn: &str) -> (String, String) {
    let id = format!("{name}-{number}");
    let title = drawn.replace(&format!("\"{name}-title\""), &format!("\"{id}-title\""));
    let drawn = title.replacen(&format!("<section id=\"{name}\""), &format!("<section id=\"{id}\""), 1);
    (id, drawn)
}

fn page(
    links: &str,
    body: String,
    charts: &[ChartData],
    has_timeline: bool,
    frame: &PageFrame<'_>,
) -> String {
    let (title, body) = (escape(frame.title), body + &living::data(charts));
    let asset = |(use_as, address): &(AssetUse, String)| {
        let address = escape(address);
        let is_needed = match use_as {
            AssetUse::TimelineStyle | AssetUse::TimelineScript => has_timeline,
            AssetUse::ChartScript => !charts.is_empty(),
            _ => true,
        };
        match use_as {
            _ if !is_needed => String::new(),
            AssetUse::Style | AssetUse::TimelineStyle => {
                format!("<link rel=\"stylesheet\" href=\"{address}\">\n")
            }
            AssetUse::EarlyScript => format!("<script src=\"{address}\"></script>\n"),
            AssetUse::Script | AssetUse::TimelineScript | AssetUse::ChartScript => {
                format!("<script defer src=\"{address}\"></script>\n")
            }
        }
    };
    let assets: String = frame.assets.iter().map(asset).collect();
    let other = |(name, address, is_here): &(&str, &str, bool)| {
        let here = if *is_here { " class=\"current\" aria-current=\"page\"" } else { "" };
        format!("<a href=\"{}\"{here}>{}</a>", escape(address), escape(name))
    };
    let site: String = frame.site.iter().map(other).collect();
    let sections = match links.is_empty() {
        true => String::new(),
        false => format!("<span class=\"within\">On this page</span>{links}"),
    };
    let (before, after, footer) = (frame.before, frame.after, escape(frame.footer));
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
         <link rel=\"icon\" href=\"data:,\">\n{assets}</head>\n<body>\n\
         <nav aria-label=\"Pages\"><b>Rooflens</b>{site}{sections}</nav>\n\
         <main>\n<p class=\"title\">{title}</p>\n{before}{body}{after}\
         <footer>Rooflens {version}. {footer}</footer>\n</main>\n\
         <div id=\"tip\" role=\"status\" hidden></div>\n</body>\n</html>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Block;

    #[test]
    fn a_linked_page_has_no_script_inside() {
        let part = |words: &str| Part {
            name: "comparison",
            title: "Comparison",
            blocks: vec![Block::Text(words.to_owned())],
        };
        let assets = [(AssetUse::Style, "/a.css".to_owned()), (AssetUse::Script, "/b.js".to_owned())];
        let site = [("Runs", "/", true)];
        let frame = PageFrame { title: "<b>", assets: &assets, site: &site, ..PageFrame::default() };
        let drawn = parts(&[part("<script>"), part("two")], &[], &frame);
        assert_eq!(drawn.matches("<script").count(), 1);
        assert!(drawn.contains("<script defer src=\"/b.js\"></script>"));
        assert!(drawn.contains("&lt;script&gt;") && drawn.contains("<title>&lt;b&gt;</title>"));
        assert!(drawn.contains("<section id=\"comparison-2\" aria-labelledby=\"comparison-2-title\">"));
        assert!(drawn.contains("<h2 id=\"comparison-2-title\""));
    }
}
