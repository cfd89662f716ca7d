//! Operators as dots, and their names where these find a place.

use crate::figure::place::{Area, Places};
use crate::figure::roofline::{Content, Frame, INTENSITY, Operator, SPEED};
use crate::figure::sheet::{Sheet, Sign};
use crate::figure::svg::{self, LABEL, Point};
use crate::format;

/// Radius of the heaviest dot.
const LARGEST: f64 = 15.0;
/// Radius of a dot that hardly weighs anything.
const SMALLEST: f64 = 3.2;
/// Radius of all dots where none has a weight.
const USUAL: f64 = 5.0;
/// Dots that get a name or number.
const NAMED: usize = 60;
/// Width of a name.
const NAME: f64 = 170.0;
/// Size of a number.
const NUMBER: f64 = 11.0;

/// An operator's dot.
#[derive(Debug)]
pub struct Dot<'a> {
    operator: &'a Operator,
    /// Its middle.
    pub at: Point,
    /// Its radius.
    pub radius: f64,
    colour: usize,
}

/// Names that stand below the chart.
#[derive(Debug, Default)]
pub struct Numbered {
    /// Each with its number.
    pub names: Vec<(Sign, String)>,
    /// Dots that have not even a number.
    pub unnamed: usize,
}

/// The operator in words.
pub fn tip(operator: &Operator) -> String {
    let weight = match operator.weight.filter(|weight| weight.is_finite()) {
        Some(weight) if (0.0..=1.0).contains(&weight) => format!(", {}", format::share(weight)),
        _ => String::new(),
    };
    let (speed, intensity) = (SPEED.label(operator.flops_per_s), INTENSITY.label(operator.intensity));
    format!("{}: {speed} at {intensity}{weight}", svg::kept(&operator.label))
}

/// The dots, the heaviest first.
pub fn dots<'a>(content: &Content<'a>, frame: &Frame) -> Vec<Dot<'a>> {
    let weights = || content.operators.iter().filter_map(|operator| operator.weight);
    let heaviest = weights().filter(|weight| weight.is_finite()).fold(0.0, f64::max);
    let radius = |operator: &Operator| match operator.weight {
        Some(weight) if weight.is_finite() && heaviest > 0.0 => {
            ((weight / heaviest).max(0.0).sqrt() * LARGEST).max(SMALLEST)
        }
        _ if heaviest > 0.0 => SMALLEST,
        _ => USUAL,
    };
    let dot = |operator: &&'a Operator| Dot {
        operator,
        at: frame.at((operator.intensity, operator.flops_per_s)),
        radius: radius(operator),
        colour: content.groups.iter().position(|group| *group == operator.group).unwrap_or(0),
    };
    content.operators.iter().map(dot).collect()
}

/// Draws the dots, small ones upon large ones, and their names or numbers.
pub fn draw(sheet: &mut Sheet, dots: &[Dot<'_>], places: &mut Places) -> Numbered {
    for dot in dots {
        sheet.svg.disc(&format!("op {}", svg::colour(dot.colour)), dot.at, dot.radius, &tip(dot.operator));
    }
    let mut numbered = Numbered::default();
    let mut crowded = vec![];
    for (index, dot) in dots.iter().enumerate() {
        let words = svg::fitted(&dot.operator.label, LABEL, NAME);
        if words.is_empty() {
            continue;
        }
        let start =
            (index < NAMED).then(|| places.settle(&words, LABEL, &around(dot, &words, LABEL))).flatten();
        match start {
            Some(start) => sheet.svg.text("strong halo", start, &words),
            None => crowded.push(index),
        }
    }
    for index in crowded {
        let (number, dot) = (numbered.names.len() + 1, &dots[index]);
        let words = number.to_string();
        if index < NAMED && is_clear(dots, index, &words) {
            let start = (dot.at.0, dot.at.1 + NUMBER * 0.36);
            sheet.svg.text(&format!("on m on{}", dot.colour % svg::COLOURS), start, &words);
        } else if let Some(start) =
            (index < NAMED).then(|| places.settle(&words, NUMBER, &around(dot, &words, NUMBER))).flatten()
        {
            sheet.svg.text("strong halo", start, &words);
        } else {
            numbered.unnamed += 1;
            continue;
        }
        numbered.names.push((Sign::Number(number), dot.operator.label.clone()));
    }
    numbered
}

/// Whether a number fits into a dot that no other dot lies upon.
fn is_clear(dots: &[Dot<'_>], index: usize, words: &str) -> bool {
    let dot = &dots[index];
    let half = (svg::width(words, NUMBER) / 2.0).max(NUMBER / 2.0);
    half + 1.5 <= dot.radius
        && dots.iter().enumerate().all(|(other, near)| {
            let apart = (near.at.0 - dot.at.0).hypot(near.at.1 - dot.at.1);
            other == index || apart >= near.radius + half
        })
}

/// Where words can begin: beside, above, below, at the corners.
fn around(dot: &Dot<'_>, words: &str, size: f64) -> Vec<Point> {
    let ((x, y), wide) = (dot.at, svg::width(words, size));
    let off = dot.radius + 4.0;
    // From a corner the dot is farther away.
    let corner = dot.radius * 0.72 + 3.0;
    let (middle, above, below) = (y + size * 0.35, y - off, y + off + size * 0.75);
    let (high, low) = (y - corner, y + corner + size * 0.7);
    let near = [
        (x + off, middle),
        (x - off - wide, middle),
        (x - wide / 2.0, below),
        (x - wide / 2.0, above),
        (x + corner, low),
        (x + corner, high),
        (x - corner - wide, low),
        (x - corner - wide, high),
    ];
    near.into_iter().filter(|start| Area::of(words, size, *start).left > 0.0).collect()
}
