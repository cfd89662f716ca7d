//! Lines across the whole chart, and their words.

use crate::figure::axis::{Axis, Scale};
use crate::figure::line::{Content, Frame, ReferenceLine};
use crate::figure::place::{Area, OccupiedAreas};
use crate::figure::sheet::Sheet;
use crate::figure::svg::{self, Point, SMALL};

/// The span with the rules that lie in it or not far from it, those rules, and what is said of the others.
pub(crate) fn include<'a>(
    values: (f64, f64),
    rules: &'a [ReferenceLine],
    axis: &Axis,
) -> ((f64, f64), Vec<&'a ReferenceLine>, Vec<String>) {
    let place = |value: f64| if axis.scale == Scale::Linear { value } else { value.log10() };
    // As far beyond the values as these are wide.
    let reach = (place(values.1) - place(values.0)).max(if axis.scale == Scale::Linear { 0.0 } else { 0.3 });
    let is_near = |rule: &&ReferenceLine| {
        let at = place(rule.at);
        axis.refuses(rule.at).is_none() && at >= place(values.0) - reach && at <= place(values.1) + reach
    };
    let (near, far): (Vec<&ReferenceLine>, Vec<&ReferenceLine>) = rules.iter().partition(is_near);
    let span = near.iter().fold(values, |(low, high), rule| (low.min(rule.at), high.max(rule.at)));
    let said = far.iter().map(|rule| {
        let at = axis.unit.label(rule.at);
        format!("the line \u{201c}{}\u{201d} at {at}", svg::fitted(&rule.label, SMALL, 300.0))
    });
    (span, near, said.collect())
}

/// The rules with their names.
pub(crate) fn draw(sheet: &mut Sheet, content: &Content<'_>, frame: &Frame, places: &mut OccupiedAreas) {
    let plot = frame.plot;
    for rule in &content.x_rules {
        let x = frame.x.at(rule.at);
        sheet.svg.line("rule", (x, plot.top), (x, plot.bottom));
        places.take_line(&[(x, plot.top), (x, plot.bottom)]);
    }
    for rule in &content.y_rules {
        let y = frame.y.at(rule.at);
        sheet.svg.line("rule", (plot.left, y), (plot.right, y));
        places.take_line(&[(plot.left, y), (plot.right, y)]);
    }
    for rule in &content.x_rules {
        let x = frame.x.at(rule.at);
        let rows = (0..12).map(|row| plot.top + 14.0 + f64::from(row) * 24.0);
        let starts = |wide: f64| rows.flat_map(|y| [(x + 6.0, y), (x - 6.0 - wide, y)]).collect();
        word(sheet, places, rule, plot, starts);
    }
    for rule in &content.y_rules {
        let y = frame.y.at(rule.at);
        let starts = |wide: f64| {
            let room = plot.right - plot.left - wide - 12.0;
            let columns = (0..7).map(|column| plot.left + 8.0 + room * f64::from(column) / 6.0);
            columns.flat_map(|x| [(x, y - 6.0), (x, y + 14.0)]).collect()
        };
        word(sheet, places, rule, plot, starts);
    }
}

/// A rule's name at the first place that is free, else at one where it only crosses lines, else at its
/// first place.
fn word(
    sheet: &mut Sheet,
    places: &mut OccupiedAreas,
    rule: &ReferenceLine,
    plot: Area,
    starts: impl FnOnce(f64) -> Vec<Point>,
) {
    let words = svg::fitted(&rule.label, SMALL, (plot.right - plot.left) * 0.45);
    let starts: Vec<Point> = starts(svg::width(&words, SMALL));
    let within = |start: &&Point| start.0 >= plot.left && start.0 + svg::width(&words, SMALL) <= plot.right;
    let found = places.settle(&words, SMALL, &starts).or_else(|| {
        let readable = |start: &&Point| places.hides_nothing(&Area::of(&words, SMALL, **start));
        starts.iter().filter(within).find(readable).or_else(|| starts.iter().find(within)).copied()
    });
    if let Some(start) = found.filter(|_| !words.is_empty()) {
        places.take(Area::of(&words, SMALL, start));
        sheet.svg.text("halo", start, &words);
    }
}
