//! Wholes and their parts.

use crate::block::Tone;
use crate::figure::axis::{Axis, Refusal, Refused, Scale};
use crate::figure::paper::FigurePaper;
use crate::figure::place::Area;
use crate::figure::ruler::{Ends, Ruler};
use crate::figure::sheet::{Sheet, Sign, number_of};
use crate::figure::svg::{self, LABEL, MARGIN};
use crate::figure::unit::FigureUnit;
use crate::format;

/// Height of a bar.
const BAR: f64 = 24.0;
/// From one bar to the next.
const ROW: f64 = 36.0;
/// Bars at most.
const MOST: usize = 60;
/// Width of a bar's name.
const NAME: f64 = 210.0;
/// Bold words are wider.
const BOLD: f64 = LABEL * 1.06;
/// Size of a value within its part.
const VALUE: f64 = 11.0;
/// Bars that the description names.
const TOLD: usize = 12;

/// One bar.
#[derive(Debug, Clone, Default)]
pub struct Bar {
    /// What the whole is.
    pub label: String,
    /// The length of each part, in the order of the parts' names; `None` where it is not known.
    pub values: Vec<Option<f64>>,
    /// What stands at its end; its length where this is empty.
    pub end: String,
}

impl Bar {
    /// A bar whose parts are all known.
    pub fn new(label: impl Into<String>, values: impl IntoIterator<Item = f64>) -> Self {
        Bar { label: label.into(), values: values.into_iter().map(Some).collect(), end: String::new() }
    }
}

/// Bars that each show the parts of a whole, from nothing upward.
///
/// At its end a bar bears its length, with `≥` where a part is not known.
#[derive(Debug, Clone, Default)]
pub struct BarChart {
    /// What it shows.
    pub title: String,
    /// Of what, under which assumptions; may be empty.
    pub subtitle: String,
    /// What the lengths are; may be empty.
    pub label: String,
    /// In which unit.
    pub unit: FigureUnit,
    /// What the parts are, in order.
    pub parts: Vec<String>,
    /// What they stand for, in the same order, where their colours say it; else colours go by place.
    pub tones: Vec<Tone>,
    /// The bars, from the top.
    pub bars: Vec<Bar>,
}

struct Drawn<'a> {
    label: &'a str,
    parts: Vec<(usize, f64)>,
    total: f64,
    whole: bool,
    said: &'a str,
}

impl Drawn<'_> {
    fn end(&self, unit: FigureUnit) -> String {
        if !self.said.is_empty() {
            return svg::kept(self.said);
        }
        match (self.parts.is_empty(), self.whole) {
            (true, _) => format::MISSING.to_owned(),
            (false, true) => unit.label(self.total),
            (false, false) => format!("≥ {}", unit.label(self.total)),
        }
    }
}

impl BarChart {
    /// The figure as SVG text, for a page.
    pub fn svg(&self) -> String {
        self.svg_on(FigurePaper::default())
    }

    /// The figure as SVG text.
    pub fn svg_on(&self, paper: FigurePaper) -> String {
        let mut refused = Refused::default();
        let bars: Vec<Drawn<'_>> =
            self.bars.iter().take(MOST).map(|bar| self.drawn(bar, &mut refused)).collect();
        let mut left_out = refused.remarks("below zero");
        left_out.extend(number_of(self.bars.len() - bars.len(), "bar", "bars"));
        let mut sheet = Sheet::new(paper, &self.title, &self.subtitle);
        sheet.legend(&self.legend());
        sheet.y += 8.0;
        let (plot, ruler) = self.frame(&bars, paper, sheet.y);
        sheet.axes(plot, (&ruler, &self.label), None);
        for (row, bar) in bars.iter().enumerate() {
            let top = plot.top + 6.0 + row as f64 * ROW;
            self.bar(&mut sheet, bar, &ruler, (plot.left, top));
        }
        sheet.svg.line("axis", (plot.left, plot.top), (plot.left, plot.bottom));
        if bars.is_empty() {
            sheet.nothing(plot);
        }
        sheet.finish(&self.title, &self.description(&bars), &left_out)
    }

    fn drawn<'a>(&self, bar: &'a Bar, refused: &mut Refused) -> Drawn<'a> {
        let axis = Axis::linear("", self.unit);
        let mut parts: Vec<(usize, f64)> = vec![];
        for (index, value) in bar.values.iter().enumerate() {
            let Some(value) = value else { continue };
            // Lengths add up, so none may be below zero.
            let refusal = axis.refuses(*value).or((*value < 0.0).then_some(Refusal::NotPositive));
            if refused.admits(&[refusal]) {
                parts.push((index, *value));
            }
        }
        let whole = parts.len() == bar.values.len();
        Drawn {
            label: &bar.label,
            total: parts.iter().map(|part| part.1).sum(),
            parts,
            whole,
            said: &bar.end,
        }
    }

    fn legend(&self) -> Vec<(Sign, String)> {
        let entry = |(index, name): (usize, &String)| (Sign::Square(self.class(index)), name.clone());
        self.parts.iter().enumerate().filter(|(_, name)| !name.trim().is_empty()).map(entry).collect()
    }

    fn frame(&self, bars: &[Drawn<'_>], paper: FigurePaper, top: f64) -> (Area, Ruler) {
        let widest = |words: &dyn Fn(&Drawn<'_>) -> String, size: f64| {
            bars.iter().map(|bar| svg::width(&words(bar), size)).fold(0.0, f64::max)
        };
        let names = widest(&|bar| svg::fitted(bar.label, LABEL, paper.name(NAME)), LABEL);
        let ends = widest(&|bar| bar.end(self.unit), BOLD);
        let (left, right) = (MARGIN + names + 10.0, paper.width() - MARGIN - ends - 8.0);
        let bottom = top + (bars.len() as f64 * ROW).max(ROW * 2.0);
        let longest = bars.iter().map(|bar| bar.total).fold(0.0, f64::max);
        let span = (0.0, if longest > 0.0 { longest } else { 1.0 });
        let ruler = Ruler::new(self.unit, Scale::Linear, span, Ends::Values, (left, right));
        (Area { left, top, right, bottom }, if longest > 0.0 { ruler } else { ruler.bare() })
    }

    fn bar(&self, sheet: &mut Sheet, bar: &Drawn<'_>, ruler: &Ruler, (left, top): svg::Point) {
        let baseline = top + BAR / 2.0 + 4.0;
        sheet.svg.text(
            "strong e",
            (left - 10.0, baseline),
            &svg::fitted(bar.label, LABEL, sheet.paper.name(NAME)),
        );
        let mut sum = 0.0;
        for (index, value) in &bar.parts {
            let (from, to) = (ruler.at(sum), ruler.at(sum + value));
            sum += value;
            if to - from < 0.005 {
                continue;
            }
            let words = self.unit.label(*value);
            let tip = format!("{}: {words}", self.part(*index));
            sheet.svg.rect(&format!("part {}", self.class(*index)), (from, top), (to - from, BAR), &tip);
            if svg::width(&words, VALUE) + 12.0 <= to - from {
                let on = match self.tones.get(*index) {
                    Some(tone) => format!("over-{}", tone.as_str()),
                    None if svg::round(*index) > 0 => "onpale".to_owned(),
                    None => format!("on{index}"),
                };
                sheet.svg.text(&format!("on m {on}"), ((from + to) / 2.0, baseline), &words);
            }
        }
        sheet.svg.text("own ink", (ruler.at(sum) + 7.0, baseline), &bar.end(self.unit));
    }

    fn class(&self, index: usize) -> String {
        match (self.tones.get(index), svg::round(index)) {
            (Some(tone), _) => format!("tone-{}", tone.as_str()),
            (None, 0) => svg::colour(index),
            (None, round) => format!("{} pale{round}", svg::colour(index)),
        }
    }

    fn part(&self, index: usize) -> String {
        self.parts.get(index).map_or_else(|| format!("part {}", index + 1), |name| svg::kept(name))
    }

    fn description(&self, bars: &[Drawn<'_>]) -> String {
        let mut words = "Bar chart.".to_owned();
        for bar in bars.iter().take(TOLD) {
            let parts = bar.parts.iter().filter(|part| part.1 > 0.0).take(TOLD);
            let parts: Vec<String> = parts
                .map(|(index, value)| format!("{} {}", self.part(*index), self.unit.label(*value)))
                .collect();
            words.push_str(&format!(
                " {}: {} ({}).",
                svg::kept(bar.label),
                bar.end(self.unit),
                parts.join(", ")
            ));
        }
        let more = bars.len().saturating_sub(TOLD);
        words + &number_of(more, "more bar.", "more bars.").map_or(String::new(), |more| format!(" {more}"))
    }
}
