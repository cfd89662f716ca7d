//! Roofs: a slope where bytes limit, a level line for each peak, and the ridge between them.

use crate::figure::paper::FigurePaper;
use crate::figure::place::{self, Area, OccupiedAreas};
use crate::figure::roofline::{Frame, Roof};
use crate::figure::sheet::Sheet;
use crate::figure::svg::{self, MARGIN, Point, SMALL};
use crate::figure::unit::FigureUnit;

/// Width of a name.
const NAME: f64 = 150.0;
/// From the plot to the words next to it.
const BESIDE: f64 = 10.0;
/// Peaks that have words.
const PEAKS: usize = 22;
/// From a name above a height to the next.
const TWO_LINES: f64 = 33.0;
/// Bold words are wider.
const BOLD: f64 = svg::LABEL * 1.06;

pub(crate) fn shade(sheet: &mut Sheet, roof: &Roof<'_>, frame: &Frame) {
    let Some((_, peak)) = roof.peaks.first() else { return };
    let mut corners = outline(roof, *peak, frame).to_vec();
    corners.extend([(frame.plot.right, frame.plot.bottom), (frame.plot.left, frame.plot.bottom)]);
    sheet.svg.path("under", &(svg::steps(&corners) + "Z"));
}

fn outline(roof: &Roof<'_>, peak: f64, frame: &Frame) -> [Point; 3] {
    let (low, high) = frame.span;
    [frame.at((low, low * roof.bytes_per_s)), frame.at((roof.ridge(peak), peak)), frame.at((high, peak))]
}

pub(crate) fn draw(sheet: &mut Sheet, roofs: &[Roof<'_>], frame: &Frame, places: &mut OccupiedAreas) {
    for roof in roofs {
        for (index, (_, peak)) in roof.peaks.iter().enumerate() {
            let [start, ridge, end] = outline(roof, *peak, frame);
            // The highest peak has the whole slope; others begin at it.
            let points = if index == 0 { vec![start, ridge, end] } else { vec![ridge, end] };
            places.take_line(&points);
            sheet.svg.line("drop", ridge, (ridge.0, frame.plot.bottom));
            sheet.svg.path(&format!("line roof {}", roof.class), &svg::steps(&points));
        }
    }
    for roof in roofs {
        for (name, peak) in &roof.peaks {
            let [_, ridge, _] = outline(roof, *peak, frame);
            let at = roof.intensity(roof.ridge(*peak));
            let tip = format!("{} {}: ridge at {at}", svg::kept(roof.name), svg::kept(name));
            places.take(Area::around(ridge, 5.0));
            sheet.svg.disc(&format!("ring {}", first_class(&roof.class)), ridge, 3.5, &tip);
        }
    }
    name_peaks(sheet, roofs, frame);
    if let [only] = roofs {
        name_slope(sheet, only, frame, places);
    }
    name_ridges(sheet, roofs, frame, places);
}

fn first_class(class: &str) -> &str {
    class.split(' ').next().unwrap_or_default()
}

fn peaks<'a>(
    roofs: &'a [Roof<'a>],
    paper: FigurePaper,
) -> impl Iterator<Item = (&'a Roof<'a>, f64, String, String)> {
    let with_device = roofs.len() > 1;
    roofs.iter().flat_map(move |roof| {
        roof.peaks.iter().map(move |(name, peak)| {
            let name = svg::kept(name);
            let words = if with_device { format!("{} {name}", svg::kept(roof.name)) } else { name };
            (roof, *peak, svg::fitted(&words, BOLD, paper.name(NAME)), roof.speed(*peak))
        })
    })
}

pub(crate) fn margin(roofs: &[Roof<'_>], paper: FigurePaper) -> f64 {
    let widths =
        peaks(roofs, paper).map(|(_, _, name, high)| svg::width(&name, BOLD).max(svg::width(&high, SMALL)));
    MARGIN + widths.fold(0.0, f64::max) + BESIDE
}

fn name_peaks(sheet: &mut Sheet, roofs: &[Roof<'_>], frame: &Frame) {
    let plot = frame.plot;
    let named: Vec<(&Roof<'_>, f64, String, String)> = peaks(roofs, sheet.paper).take(PEAKS).collect();
    let wanted: Vec<f64> = named.iter().map(|(_, peak, _, _)| frame.y.at(*peak)).collect();
    let gap = ((plot.bottom - plot.top) / named.len().max(1) as f64).min(TWO_LINES);
    let heights = place::spread(&wanted, gap, (plot.top, plot.bottom));
    for (((roof, _, name, high), end), height) in named.iter().zip(wanted).zip(heights) {
        let x = plot.right + BESIDE;
        if (height - end).abs() > 3.0 {
            sheet.svg.line(&format!("lead {}", roof.ink), (plot.right + 1.0, end), (x - 3.0, height));
        }
        sheet.svg.text(&format!("own {}", roof.ink), (x, height + 4.0), name);
        if gap >= TWO_LINES {
            sheet.svg.text("note", (x, height + 18.0), high);
        }
    }
}

/// The bandwidth along the slope, where no dot is.
fn name_slope(sheet: &mut Sheet, roof: &Roof<'_>, frame: &Frame, places: &mut OccupiedAreas) {
    let Some((_, peak)) = roof.peaks.first() else { return };
    let [start, ridge, _] = outline(roof, *peak, frame);
    let words = roof.words(&svg::fitted(roof.name, BOLD, sheet.paper.name(NAME)));
    let (dx, dy) = (ridge.0 - start.0, ridge.1 - start.1);
    let length = dx.hypot(dy);
    let (along, across) = ((dx / length, dy / length), (dy / length, -dx / length));
    let wide = svg::width(&words, BOLD);
    let at = |far: f64, off: f64| {
        (start.0 + along.0 * far + across.0 * off, start.1 + along.1 * far + across.1 * off)
    };
    // A sloping text is many small areas.
    let areas = |far: f64, off: f64| -> Vec<Area> {
        let count = (wide / 6.0).ceil() as usize;
        (0..=count).map(|index| Area::around(at(far + index as f64 * 6.0, off), 4.0)).collect()
    };
    let steps = ((length - wide - 20.0) / 12.0).max(0.0) as usize;
    let places_along = (0..=steps).map(|step| 12.0 + step as f64 * 12.0);
    let free = places_along
        .flat_map(|far| [(far, 12.0, 7.0), (far, -13.0, -16.0)])
        .find(|(far, middle, _)| areas(*far, *middle).iter().all(|area| places.is_free(area)));
    if let Some((far, middle, baseline)) = free {
        areas(far, middle).into_iter().for_each(|area| places.take(area));
        let degrees = dy.atan2(dx).to_degrees();
        sheet.svg.sloping(&format!("own halo {}", roof.ink), at(far, baseline), degrees, &words);
    }
}

/// The intensity of each ridge, near the axis, where it can belong to no other.
fn name_ridges(sheet: &mut Sheet, roofs: &[Roof<'_>], frame: &Frame, places: &mut OccupiedAreas) {
    let ridges: Vec<(&Roof<'_>, f64, Point)> = roofs
        .iter()
        .flat_map(|roof| roof.peaks.iter().map(move |(_, peak)| (roof, roof.ridge(*peak))))
        .map(|(roof, ridge)| (roof, ridge, frame.at((ridge, ridge * roof.bytes_per_s))))
        .collect();
    let crosses = |area: &Area| ridges.iter().any(|(_, _, at)| area.left < at.0 && at.0 < area.right);
    for (roof, ridge, (x, top)) in &ridges {
        // The unit stands at the axis too.
        let short = FigureUnit::Number.label(*ridge);
        let forms = if ridges.len() > 2 { vec![short] } else { vec![roof.intensity(*ridge), short] };
        for words in forms {
            let wide = svg::width(&words, SMALL);
            let rows =
                (0..3).map(|row| frame.plot.bottom - 8.0 - f64::from(row) * 17.0).filter(|y| *y > top + 20.0);
            let mut starts: Vec<Point> = rows.flat_map(|y| [(x + 5.0, y), (x - 5.0 - wide, y)]).collect();
            starts.retain(|start| !crosses(&Area::of(&words, SMALL, *start)));
            if let Some(start) = places.settle(&words, SMALL, &starts) {
                sheet.svg.text(&format!("ridge halo {}", roof.ink), start, &words);
                break;
            }
        }
    }
}
