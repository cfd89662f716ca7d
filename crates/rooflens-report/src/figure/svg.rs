//! SVG text: marks, words and numbers, everything escaped and rounded.

use crate::figure::paper::{FigurePaper, FigureSize, FigureTheme};
use crate::text;

/// Free space around a figure.
pub(crate) const MARGIN: f64 = 24.0;
/// Font size of ticks and notes.
pub(crate) const SMALL: f64 = 11.5;
/// Font size of labels.
pub(crate) const LABEL: f64 = 12.0;
/// Font size of the title.
pub(crate) const TITLE: f64 = 16.0;
/// Colours before they come again.
pub(crate) const COLOURS: usize = 7;

/// Columns of a name that is kept in full, where there is no room to show it.
const LONGEST: usize = 300;

/// Width of the narrowest characters, in ems.
const NARROW: f64 = 0.32;

pub(super) const STYLE: &str = include_str!("style.css");
/// What is other in the dark.
pub(super) const DARK: &str = include_str!("dark.css");

pub(crate) type Point = (f64, f64);

#[derive(Debug, Default)]
pub(crate) struct Svg {
    body: String,
}

impl Svg {
    /// Words; the class says at which end they are held.
    pub(crate) fn text(&mut self, class: &str, (x, y): Point, words: &str) {
        let (x, y) = (number(x), number(y));
        self.body
            .push_str(&format!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{}</text>\n", escape(words)));
    }

    pub(crate) fn sloping(&mut self, class: &str, (x, y): Point, degrees: f64, words: &str) {
        let (x, y, degrees) = (number(x), number(y), number(degrees));
        self.body.push_str(&format!(
            "<text class=\"{class}\" transform=\"translate({x} {y}) rotate({degrees})\">{}</text>\n",
            escape(words)
        ));
    }

    pub(crate) fn path(&mut self, class: &str, steps: &str) {
        self.body.push_str(&format!("<path class=\"{class}\" d=\"{steps}\"/>\n"));
    }

    pub(crate) fn line(&mut self, class: &str, from: Point, to: Point) {
        self.path(class, &steps(&[from, to]));
    }

    pub(crate) fn disc(&mut self, class: &str, (x, y): Point, radius: f64, tip: &str) {
        let (x, y, radius, tip) = (number(x), number(y), number(radius), tip_of(tip));
        let shape = format!("<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"");
        self.body.push_str(&closed(&shape, "circle", &tip));
    }

    pub(crate) fn rect(&mut self, class: &str, at: Point, size: (f64, f64), tip: &str) {
        self.shape(class, at, size, "", tip);
    }

    /// A rectangle of which so much can be seen, 0 to 1.
    pub(crate) fn tinted(&mut self, class: &str, at: Point, size: (f64, f64), tint: f64, tip: &str) {
        self.shape(class, at, size, &format!(" fill-opacity=\"{}\"", number(tint)), tip);
    }

    fn shape(&mut self, class: &str, (x, y): Point, (width, height): (f64, f64), more: &str, tip: &str) {
        let [x, y, width, height] = [x, y, width, height].map(number);
        let place = format!("x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"");
        self.body.push_str(&closed(&format!("<rect class=\"{class}\" {place}{more}"), "rect", &tip_of(tip)));
    }

    /// The whole file.
    pub fn finish(self, height: f64, paper: FigurePaper, title: &str, description: &str) -> String {
        let (frame, [width, height]) = paper.shown(height);
        let [left, top, wide, high] = frame.map(number);
        let place =
            if left == "0" && top == "0" { String::new() } else { format!("x=\"{left}\" y=\"{top}\" ") };
        // Paper has no corners to round.
        let round = if paper.size == FigureSize::Page { " rx=\"8\"" } else { "" };
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"rf\" role=\"img\" \
             viewBox=\"{left} {top} {wide} {high}\" width=\"{width}\" height=\"{height}\">\n\
             <title>{}</title>\n<desc>{}</desc>\n<style>\n{STYLE}{}</style>\n\
             <rect class=\"page\" {place}width=\"{wide}\" height=\"{high}\"{round}/>\n{}</svg>\n",
            escape(&kept(title)),
            escape(description),
            colours(paper.theme),
            self.body
        )
    }
}

fn colours(theme: FigureTheme) -> String {
    match theme {
        FigureTheme::Auto => format!("@media screen and (prefers-color-scheme:dark){{\n{DARK}}}\n"),
        FigureTheme::Light => String::new(),
        FigureTheme::Dark => DARK.to_owned(),
    }
}

fn closed(shape: &str, name: &str, tip: &str) -> String {
    if tip.is_empty() { format!("{shape}/>\n") } else { format!("{shape}>{tip}</{name}>\n") }
}

fn tip_of(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!("<title>{}</title>", escape(words)) }
}

pub(crate) fn steps(points: &[Point]) -> String {
    let mut out = String::new();
    for (index, (x, y)) in points.iter().enumerate() {
        let letter = if index == 0 { 'M' } else { 'L' };
        out.push_str(&format!("{letter}{} {}", number(*x), number(*y)));
    }
    out
}

fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    if !value.is_finite() || text == "-0.00" {
        return "0".to_owned();
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Words for an XML file: no markup, and no character that XML forbids.
fn escape(words: &str) -> String {
    text::without_markup(&text::clean(words).replace(['\u{fffe}', '\u{ffff}'], ""))
}

pub(crate) fn kept(words: &str) -> String {
    text::elide(text::clean(words).trim(), LONGEST)
}

pub(crate) fn width(words: &str, size: f64) -> f64 {
    let ems: f64 = words
        .chars()
        .map(|c| match c {
            'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '|' | '\'' | '!' | ' ' | '\u{a0}' | '·' => {
                NARROW
            }
            'f' | 'r' | 't' | '(' | ')' | '[' | ']' | '-' | '/' | '"' => 0.41,
            'm' | 'w' | 'M' | 'W' | '@' | '%' | '…' => 0.95,
            'A'..='Z' | '&' | '<' | '>' | '=' | '+' => 0.72,
            c if text::char_width(c) > 1 => 1.05,
            _ => 0.62,
        })
        .sum();
    ems * size
}

pub(crate) fn fitted(words: &str, size: f64, pixels: f64) -> String {
    let words = kept(words);
    // No more than the narrowest characters would allow.
    let mut columns = text::width(&words).min((pixels / (NARROW * size)) as usize + 1);
    let mut shown = text::elide(&words, columns);
    while width(&shown, size) > pixels && columns > 1 {
        columns -= 1;
        shown = text::elide(&words, columns);
    }
    shown
}

/// Words in lines of at most so many pixels; what is over is cut.
pub(crate) fn wrapped(words: &str, size: f64, pixels: f64, lines: usize) -> Vec<String> {
    let mut out: Vec<String> = vec![];
    let words = kept(words);
    let mut rest: Vec<&str> = words.split_whitespace().collect();
    while !rest.is_empty() && out.len() < lines {
        let fits = |count: &usize| width(&rest[..*count].join(" "), size) <= pixels;
        let taken =
            if out.len() + 1 == lines { rest.len() } else { (1..=rest.len()).rev().find(fits).unwrap_or(1) };
        out.push(fitted(&rest[..taken].join(" "), size, pixels));
        rest.drain(..taken);
    }
    out
}

pub(crate) fn colour(index: usize) -> String {
    format!("c{}", index % COLOURS)
}

pub(crate) fn round(index: usize) -> usize {
    (index / COLOURS).min(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(number(1.0), "1");
        assert_eq!(number(100.0), "100");
        assert_eq!(number(-0.001), "0");
        assert_eq!(number(12.346), "12.35");
        assert_eq!(number(f64::NAN), "0");
    }

    #[test]
    fn words_are_only_words() {
        assert_eq!(escape("<a b=\"c\">'&\u{0}\u{ffff}"), "&lt;a b=&quot;c&quot;&gt;&#39;&amp;");
    }

    #[test]
    fn words_fit() {
        assert_eq!(fitted("short", 12.0, 100.0), "short");
        let long = fitted(&"long name ".repeat(500), 12.0, 100.0);
        assert!(width(&long, 12.0) <= 100.0 && long.contains('…'));
        assert_eq!(wrapped("one two three", 12.0, 50.0, 3), ["one two", "three"]);
        assert_eq!(wrapped("", 12.0, 50.0, 2), [""; 0]);
    }
}
