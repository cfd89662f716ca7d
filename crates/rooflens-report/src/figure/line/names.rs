//! Names of lines at their ends.

use crate::figure::line::{Content, Drawn, Frame};
use crate::figure::paper::FigurePaper;
use crate::figure::place::{self, OccupiedAreas};
use crate::figure::sheet::Sheet;
use crate::figure::svg::{self, COLOURS, LABEL, MARGIN, Point};

/// Lines that bear their names.
pub(crate) const MOST: usize = 6;

/// Width of a name.
const NAME: f64 = 180.0;
/// Bold words are wider.
const BOLD: f64 = LABEL * 1.06;
/// From a name to the next below.
const ROW: f64 = 16.0;
/// From the plot to the names beside it.
const BESIDE: f64 = 10.0;
/// A line that ends within this share of the plot's width from its edge has its name beside the plot.
const NEAR: f64 = 0.01;

/// Width of the names beside the plot.
pub(crate) fn margin(content: &Content<'_>, paper: FigurePaper) -> f64 {
    // A single place lies in the middle.
    let is_last = |end: (f64, f64)| content.x.0 < content.x.1 && end.0 >= content.x.1;
    let beside = content.series.iter().filter(|drawn| last(drawn).is_some_and(is_last));
    let widest = beside.map(|drawn| svg::width(&name(drawn, paper), BOLD)).fold(0.0, f64::max);
    widest + BESIDE + MARGIN
}

fn name(drawn: &Drawn<'_>, paper: FigurePaper) -> String {
    svg::fitted(drawn.name, BOLD, paper.name(NAME))
}

fn last(drawn: &Drawn<'_>) -> Option<(f64, f64)> {
    drawn.runs.last().and_then(|run| run.last()).copied()
}

/// The lines' names at their ends; nothing where one of them finds no place.
pub(crate) fn draw(
    sheet: &mut Sheet,
    content: &Content<'_>,
    frame: &Frame,
    places: &mut OccupiedAreas,
) -> Option<()> {
    let plot = frame.plot;
    let ends: Vec<(&Drawn<'_>, Point)> =
        content.series.iter().filter_map(|drawn| Some((drawn, frame.at(last(drawn)?)))).collect();
    let edge = plot.right - NEAR * (plot.right - plot.left);
    let (beside, inside): (Vec<_>, Vec<_>) = ends.into_iter().partition(|(_, end)| end.0 >= edge);
    let wanted: Vec<f64> = beside.iter().map(|(_, end)| end.1).collect();
    let heights = place::spread(&wanted, ROW, (plot.top, plot.bottom));
    for ((drawn, end), height) in beside.iter().zip(heights) {
        let class = format!("t{}", drawn.index % COLOURS);
        if (height - end.1).abs() > 3.0 {
            let knee = plot.right + BESIDE - 3.0;
            sheet.svg.line(&format!("lead {class}"), (end.0 + 4.0, end.1), (knee, height));
        }
        sheet.svg.text(
            &format!("own {class}"),
            (plot.right + BESIDE, height + 4.0),
            &name(drawn, sheet.paper),
        );
    }
    for (drawn, end) in inside {
        let words = name(drawn, sheet.paper);
        let wide = svg::width(&words, BOLD);
        let starts = [
            (end.0 + 9.0, end.1 + 4.0),
            (end.0 + 5.0, end.1 - 9.0),
            (end.0 + 5.0, end.1 + 17.0),
            (end.0 - wide / 2.0, end.1 - 10.0),
            (end.0 - wide / 2.0, end.1 + 19.0),
            (end.0 - wide, end.1 - 10.0),
            (end.0 - wide, end.1 + 19.0),
        ];
        let start = places.settle(&words, BOLD, &starts)?;
        sheet.svg.text(&format!("own halo t{}", drawn.index % COLOURS), start, &words);
    }
    Some(())
}
