//! Roofs: a slope where bytes limit, a level line for each peak, and the ridge between them.

use crate::figure::place::{Area, Places};
use crate::figure::roofline::{BANDWIDTH, Frame, INTENSITY, Roof, SPEED};
use crate::figure::sheet::Sheet;
use crate::figure::svg::{self, Point, SMALL};

/// Width of a name.
const NAME: f64 = 150.0;
/// Bold words are wider.
const BOLD: f64 = svg::LABEL * 1.06;

/// What can be attained, as an area.
pub fn shade(sheet: &mut Sheet, roof: &Roof<'_>, frame: &Frame) {
    let Some((_, peak)) = roof.peaks.first() else { return };
    let mut corners = outline(roof, *peak, frame).to_vec();
    corners.extend([(frame.plot.right, frame.plot.bottom), (frame.plot.left, frame.plot.bottom)]);
    sheet.svg.path("under", &(svg::steps(&corners) + "Z"));
}

/// Start, ridge and end of a roof.
fn outline(roof: &Roof<'_>, peak: f64, frame: &Frame) -> [Point; 3] {
    let (low, high) = frame.span;
    [frame.at((low, low * roof.bytes_per_s)), frame.at((roof.ridge(peak), peak)), frame.at((high, peak))]
}

/// All roofs and their words.
pub fn draw(sheet: &mut Sheet, roofs: &[Roof<'_>], frame: &Frame, places: &mut Places) {
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
            let at = INTENSITY.label(roof.ridge(*peak));
            let tip = format!("{} {}: ridge at {at}", svg::kept(roof.name), svg::kept(name));
            places.take(Area::around(ridge, 5.0));
            sheet.svg.disc(&format!("ring {}", first_class(&roof.class)), ridge, 3.5, &tip);
        }
    }
    for roof in roofs {
        for peak in &roof.peaks {
            name_peak(sheet, roof, *peak, roofs.len() > 1, frame, places);
        }
    }
    if let [only] = roofs {
        name_slope(sheet, only, frame, places);
    }
    for roof in roofs {
        for (_, peak) in &roof.peaks {
            name_ridge(sheet, roof, *peak, frame, places);
        }
    }
}

/// A ring has no dashes.
fn first_class(class: &str) -> &str {
    class.split(' ').next().unwrap_or_default()
}

fn name_peak(
    sheet: &mut Sheet,
    roof: &Roof<'_>,
    (name, peak): (&str, f64),
    with_device: bool,
    frame: &Frame,
    places: &mut Places,
) {
    let [_, ridge, end] = outline(roof, peak, frame);
    let device = if with_device { svg::fitted(roof.name, BOLD, NAME) + " " } else { String::new() };
    let words = format!("{device}{} · {}", svg::fitted(name, BOLD, NAME), SPEED.label(peak));
    let wide = svg::width(&words, BOLD);
    let room = (end.0 - 4.0 - wide - ridge.0).max(0.0);
    let starts: Vec<Point> = (0..5)
        .map(|step| end.0 - 4.0 - wide - room * f64::from(step) / 5.0)
        .flat_map(|x| [(x, end.1 - 6.0), (x, end.1 + 15.0)])
        .collect();
    if let Some(start) = places.settle(&words, BOLD, &starts) {
        sheet.svg.text(&format!("own halo {}", roof.ink), start, &words);
    }
}

/// The bandwidth along the slope, where no dot is.
fn name_slope(sheet: &mut Sheet, roof: &Roof<'_>, frame: &Frame, places: &mut Places) {
    let Some((_, peak)) = roof.peaks.first() else { return };
    let [start, ridge, _] = outline(roof, *peak, frame);
    let words = format!("{} · {}", svg::fitted(roof.name, BOLD, NAME), BANDWIDTH.label(roof.bytes_per_s));
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

/// The intensity of the ridge, near the axis.
fn name_ridge(sheet: &mut Sheet, roof: &Roof<'_>, peak: f64, frame: &Frame, places: &mut Places) {
    let [_, (x, top), _] = outline(roof, peak, frame);
    let words = INTENSITY.label(roof.ridge(peak));
    let wide = svg::width(&words, SMALL);
    let rows = (0..4).map(|row| frame.plot.bottom - 8.0 - f64::from(row) * 17.0).filter(|y| *y > top + 20.0);
    let starts: Vec<Point> = rows.flat_map(|y| [(x + 5.0, y), (x - 5.0 - wide, y)]).collect();
    if let Some(start) = places.settle(&words, SMALL, &starts) {
        sheet.svg.text("halo", start, &words);
    }
}
