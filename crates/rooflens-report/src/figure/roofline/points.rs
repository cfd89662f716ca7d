//! Operators as dots, and their names where these find a place.

use crate::figure::place::{Area, OccupiedAreas};
use crate::figure::roofline::{Content, Frame, INTENSITY, RooflineOperator, SPEED};
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
/// How much farther from a crowded dot its name may stand, at the end of a line.
const FARTHER: [f64; 6] = [0.0, 12.0, 24.0, 36.0, 50.0, 66.0];
/// Size of a number.
const NUMBER: f64 = 11.0;

pub(crate) struct Dot<'a> {
    operator: &'a RooflineOperator,
    pub(crate) at: Point,
    pub(crate) radius: f64,
    colour: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Numbered {
    pub(crate) names: Vec<(Sign, String)>,
    pub(crate) unnamed: usize,
}

pub(crate) fn tip(operator: &RooflineOperator) -> String {
    let weight = match operator.weight.filter(|weight| weight.is_finite()) {
        Some(weight) if (0.0..=1.0).contains(&weight) => format!(", {}", format::share(weight)),
        _ => String::new(),
    };
    if let Some(told) = &operator.told {
        return format!("{}: {}{weight}", svg::kept(&operator.label), svg::kept(told));
    }
    let (speed, intensity) = (SPEED.label(operator.flops_per_s), INTENSITY.label(operator.intensity));
    format!("{}: {speed} at {intensity}{weight}", svg::kept(&operator.label))
}

pub(crate) fn dots<'a>(content: &Content<'a>, frame: &Frame) -> Vec<Dot<'a>> {
    let weights = || content.operators.iter().filter_map(|operator| operator.weight);
    let heaviest = weights().filter(|weight| weight.is_finite()).fold(0.0, f64::max);
    let radius = |operator: &RooflineOperator| match operator.weight {
        Some(weight) if weight.is_finite() && heaviest > 0.0 => {
            ((weight / heaviest).max(0.0).sqrt() * LARGEST).max(SMALLEST)
        }
        _ if heaviest > 0.0 => SMALLEST,
        _ => USUAL,
    };
    let dot = |operator: &&'a RooflineOperator| Dot {
        operator,
        at: frame.at((operator.intensity, operator.flops_per_s)),
        radius: radius(operator),
        colour: content.groups.iter().position(|group| *group == operator.group).unwrap_or(0),
    };
    content.operators.iter().map(dot).collect()
}

/// Draws the dots, small ones upon large ones, and their names or numbers.
pub(crate) fn draw(sheet: &mut Sheet, dots: &[Dot<'_>], places: &mut OccupiedAreas) -> Numbered {
    for dot in dots {
        sheet.svg.disc(&format!("op {}", svg::colour(dot.colour)), dot.at, dot.radius, &tip(dot.operator));
    }
    let named: Vec<&Dot<'_>> = dots.iter().filter(|dot| !svg::kept(&dot.operator.label).is_empty()).collect();
    let mut numbered = Numbered { unnamed: named.len().saturating_sub(NAMED), ..Numbered::default() };
    let mut crowded = vec![];
    for dot in named.into_iter().take(NAMED) {
        if !write(sheet, dot, &svg::fitted(&dot.operator.label, LABEL, NAME), &FARTHER, places) {
            crowded.push(dot);
        }
    }
    let most = sheet.key_room(crowded.iter().map(|dot| dot.operator.label.as_str()));
    for (place, dot) in crowded.into_iter().enumerate() {
        // A number without its name says nothing.
        if place >= most {
            numbered.unnamed += 1;
            continue;
        }
        let number = numbered.names.len() + 1;
        let words = number.to_string();
        if is_clear(dots, dot, &words) {
            let start = (dot.at.0, dot.at.1 + NUMBER * 0.36);
            sheet.svg.text(&format!("on m on{}", dot.colour % svg::COLOURS), start, &words);
        } else if !write(sheet, dot, &words, &FARTHER[..3], places) {
            numbered.unnamed += 1;
            continue;
        }
        numbered.names.push((Sign::Number(number), dot.operator.label.clone()));
    }
    numbered
}

fn write(sheet: &mut Sheet, dot: &Dot<'_>, words: &str, farther: &[f64], places: &mut OccupiedAreas) -> bool {
    for far in farther.iter().copied() {
        for start in around(dot, words, far) {
            let area = Area::of(words, LABEL, start);
            // From the edge of the dot to the side of the words that is nearest.
            let end =
                (dot.at.0.clamp(area.left, area.right), dot.at.1.clamp(area.top + 2.0, area.bottom - 1.0));
            let (dx, dy) = (end.0 - dot.at.0, end.1 - dot.at.1);
            let share = (dot.radius / dx.hypot(dy).max(dot.radius)).min(1.0);
            let edge = (dot.at.0 + dx * share, dot.at.1 + dy * share);
            if !places.is_free(&area) || (far > 0.0 && !places.is_open(edge, end)) {
                continue;
            }
            places.take_words(area);
            if far > 0.0 {
                places.take_line(&[edge, end]);
                sheet.svg.line("lead ink", edge, end);
            }
            sheet.svg.text("strong halo", start, words);
            return true;
        }
    }
    false
}

fn is_clear(dots: &[Dot<'_>], dot: &Dot<'_>, words: &str) -> bool {
    let half = (svg::width(words, NUMBER) / 2.0).max(NUMBER / 2.0);
    half + 1.5 <= dot.radius
        && dots.iter().all(|near| {
            let apart = (near.at.0 - dot.at.0).hypot(near.at.1 - dot.at.1);
            std::ptr::eq(near, dot) || apart >= near.radius + half
        })
}

fn around(dot: &Dot<'_>, words: &str, far: f64) -> [Point; 8] {
    let ((x, y), wide) = (dot.at, svg::width(words, LABEL));
    let off = dot.radius + 4.0 + far;
    // From a corner the dot is farther away.
    let corner = dot.radius * 0.72 + 3.0 + far * 0.8;
    let (middle, above, below) = (y + LABEL * 0.35, y - off, y + off + LABEL * 0.75);
    let (high, low) = (y - corner, y + corner + LABEL * 0.7);
    [
        (x + off, middle),
        (x - off - wide, middle),
        (x - wide / 2.0, below),
        (x - wide / 2.0, above),
        (x + corner, low),
        (x + corner, high),
        (x - corner - wide, low),
        (x - corner - wide, high),
    ]
}
