//! What all figures share: heading, legend, axes, notes, from top to bottom.

use crate::figure::paper::FigurePaper;
use crate::figure::place::Area;
use crate::figure::ruler::Ruler;
use crate::figure::svg::{self, LABEL, MARGIN, SMALL, Svg, TITLE};

/// Rows of a legend.
const ROWS: usize = 4;
/// Height of a row of the legend.
const ROW: f64 = 19.0;
/// Width of a name in a legend.
const NAME: f64 = 230.0;
/// From one name of a legend to the next sign.
const GAP: f64 = 20.0;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Sign {
    Line(String),
    Disc(String),
    Square(String),
    Number(usize),
    Nothing,
}

impl Sign {
    fn width(&self) -> f64 {
        match self {
            Sign::Line(_) => 28.0,
            Sign::Disc(_) | Sign::Square(_) => 17.0,
            Sign::Number(number) => svg::width(&number.to_string(), LABEL) + 6.0,
            Sign::Nothing => 0.0,
        }
    }
}

pub(crate) struct Sheet {
    pub(crate) svg: Svg,
    /// All above is taken.
    pub(crate) y: f64,
    pub(crate) paper: FigurePaper,
}

impl Sheet {
    pub(crate) fn new(paper: FigurePaper, title: &str, subtitle: &str) -> Self {
        let mut sheet = Sheet { svg: Svg::default(), y: MARGIN - 6.0, paper };
        for line in svg::wrapped(title, TITLE * 1.05, sheet.inner(), 2) {
            sheet.y += 21.0;
            sheet.svg.text("title", (MARGIN, sheet.y - 5.0), &line);
        }
        for line in svg::wrapped(subtitle, 12.5, sheet.inner(), 2) {
            sheet.y += 17.0;
            sheet.svg.text("sub", (MARGIN, sheet.y - 4.0), &line);
        }
        sheet.y += 6.0;
        sheet
    }

    pub(crate) fn width(&self) -> f64 {
        self.paper.width()
    }

    fn inner(&self) -> f64 {
        self.width() - 2.0 * MARGIN
    }

    /// Signs and names in rows; what does not fit is counted. Returns how many are shown.
    pub(crate) fn legend(&mut self, entries: &[(Sign, String)]) -> usize {
        if entries.is_empty() {
            return 0;
        }
        let (mut x, mut row, mut shown) = (MARGIN, 0, 0);
        for (index, (sign, name)) in entries.iter().enumerate() {
            let name = svg::fitted(name, LABEL, NAME);
            let wide = sign.width() + svg::width(&name, LABEL);
            let more = format!("and {} more", entries.len() - index);
            let reserve =
                if index + 1 < entries.len() { GAP + svg::width("and 999 more", LABEL) } else { 0.0 };
            if row + 1 < ROWS && x + wide > self.width() - MARGIN {
                (x, row) = (MARGIN, row + 1);
            } else if row + 1 == ROWS && x + wide + reserve > self.width() - MARGIN {
                self.svg.text("name", (x, self.row(row)), &more);
                break;
            }
            let baseline = self.row(row);
            self.sign(sign, (x, baseline));
            self.svg.text("name", (x + sign.width(), baseline), &name);
            x += wide + GAP;
            shown = index + 1;
        }
        self.y = self.row(row) + 8.0;
        shown
    }

    pub(crate) fn key_room<'a>(&self, names: impl Iterator<Item = &'a str>) -> usize {
        let (mut x, mut row, mut shown) = (MARGIN, 0, 0);
        for name in names {
            let wide = Sign::Number(shown + 1).width() + svg::width(&svg::fitted(name, LABEL, NAME), LABEL);
            let edge = self.width() - MARGIN;
            if row + 1 < ROWS && x + wide > edge {
                (x, row) = (MARGIN, row + 1);
            } else if row + 1 == ROWS && x + wide + GAP + svg::width("and 999 more", LABEL) > edge {
                break;
            }
            x += wide + GAP;
            shown += 1;
        }
        shown
    }

    fn row(&self, row: usize) -> f64 {
        self.y + 13.0 + row as f64 * ROW
    }

    fn sign(&mut self, sign: &Sign, (x, baseline): svg::Point) {
        let middle = baseline - 4.0;
        match sign {
            Sign::Line(class) => self.svg.line(&format!("line {class}"), (x, middle), (x + 20.0, middle)),
            Sign::Disc(class) => self.svg.disc(&format!("op {class}"), (x + 5.0, middle), 5.5, ""),
            Sign::Square(class) => {
                self.svg.rect(&format!("part {class}"), (x, middle - 5.5), (11.0, 11.0), "");
            }
            Sign::Number(number) => self.svg.text("strong", (x, baseline), &number.to_string()),
            Sign::Nothing => {}
        }
    }

    pub(crate) fn caption(&mut self, words: &str) {
        if !words.trim().is_empty() {
            self.y += 17.0;
            self.svg.text("name", (MARGIN, self.y - 3.0), &svg::fitted(words, LABEL, self.inner()));
        }
        self.y += 10.0;
    }

    pub(crate) fn axes(&mut self, plot: Area, level: (&Ruler, &str), upright: Option<&Ruler>) {
        for (value, name) in upright.iter().flat_map(|ruler| &ruler.ticks) {
            let y = upright.map_or(0.0, |ruler| ruler.at(*value));
            self.svg.line("grid", (plot.left, y), (plot.right, y));
            self.svg.text("e", (plot.left - 8.0, y + 4.0), name);
        }
        let (ruler, label) = level;
        for (value, name) in &ruler.ticks {
            let x = ruler.at(*value);
            self.svg.line("grid", (x, plot.top), (x, plot.bottom));
            self.svg.text("m", (x, plot.bottom + 18.0), name);
        }
        self.minor(&ruler.minor, |value| {
            let x = ruler.at(value);
            [(x, plot.bottom), (x, plot.bottom + 3.0)]
        });
        if let Some(ruler) = upright {
            self.minor(&ruler.minor, |value| {
                let y = ruler.at(value);
                [(plot.left - 3.0, y), (plot.left, y)]
            });
            self.svg.line("axis", (plot.left, plot.bottom), (plot.right, plot.bottom));
        }
        self.y = plot.bottom + 24.0;
        if !label.trim().is_empty() {
            self.y += 18.0;
            let x = (plot.left + plot.right) / 2.0;
            self.svg.text("name m", (x, self.y - 4.0), &svg::fitted(label, LABEL, plot.right - plot.left));
        }
        self.y += 4.0;
    }

    fn minor(&mut self, values: &[f64], ends: impl Fn(f64) -> [svg::Point; 2]) {
        let path: String = values.iter().map(|value| svg::steps(&ends(*value))).collect();
        if !path.is_empty() {
            self.svg.path("minor", &path);
        }
    }

    pub(crate) fn nothing(&mut self, plot: Area) {
        let middle = ((plot.left + plot.right) / 2.0, (plot.top + plot.bottom) / 2.0);
        self.svg.text("sub m halo", middle, "No values to draw");
    }

    /// Ends the file with what was left out.
    pub fn finish(mut self, title: &str, description: &str, left_out: &[String]) -> String {
        let mut description = description.to_owned();
        if !left_out.is_empty() {
            let note = format!("Not drawn: {}.", left_out.join(", "));
            self.y += 4.0;
            for line in svg::wrapped(&note, SMALL, self.inner(), 3) {
                self.y += 16.0;
                self.svg.text("note", (MARGIN, self.y - 4.0), &line);
            }
            description = format!("{description} {note}");
        }
        self.svg.finish((self.y + 14.0).round(), self.paper, title, description.trim())
    }
}

pub(crate) fn number_of(count: usize, one: &str, many: &str) -> Option<String> {
    let noun = if count == 1 { one } else { many };
    (count > 0).then(|| format!("{} {noun}", crate::format::count(count as i64)))
}
