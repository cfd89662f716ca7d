//! The runs of a sweep, side by side: a table, and figures over what was swept.

use crate::block::Level::Page;
use crate::block::{Block, Cell, Column, Drawing, Row, Table};
use crate::cost::FigureFile;
use crate::figure::{Axis, Bar, BarChart, FigureUnit, LineChart, LineSeries, Scale};
use crate::render::{Part, html, markdown};

/// Runs of a sweep.
#[derive(Debug, Clone, Default)]
pub struct Runs {
    /// Which sweep.
    pub title: String,
    /// What it comes to, in a few sentences.
    pub lead: String,
    /// What was swept.
    pub axes: Vec<SweptAxis>,
    /// What was measured.
    pub quantities: Vec<Quantity>,
    /// The jobs, in order.
    pub jobs: Vec<JobRow>,
    /// The two quantities that are weighed against each other, by index.
    pub weighed: Option<(usize, usize)>,
    /// Folder of the figures, from the page's own.
    pub figures: &'static str,
}

/// A key that was swept.
#[derive(Debug, Clone, Copy)]
pub struct SweptAxis {
    /// The key.
    pub key: &'static str,
    /// Whether its values are numbers.
    pub is_number: bool,
}

/// A number of each job.
#[derive(Debug, Clone, Copy)]
pub struct Quantity {
    /// Name for programs, with the unit.
    pub key: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// What it is.
    pub help: &'static str,
    /// In which unit.
    pub unit: FigureUnit,
    /// Begin of its figures' names; nothing where none is drawn.
    pub file: Option<&'static str>,
}

/// A job.
#[derive(Debug, Clone, Default)]
pub struct JobRow {
    /// Its number.
    pub number: usize,
    /// Its value on each axis; nothing where the job leaves it as it is.
    pub at: Vec<Option<String>>,
    /// How it ended, and why where it did not end well.
    pub status: String,
    /// Each quantity; nothing where it was not measured.
    pub values: Vec<Option<f64>>,
    /// Whether it is the best of all jobs.
    pub best: Vec<bool>,
    /// Whether no job is better in both of what is weighed; nothing where that is not known.
    pub is_front: Option<bool>,
    /// Its report, from the page's own folder.
    pub report: Option<String>,
}

const NOT_MEASURED: &str = "not measured by this job";
const AS_IT_IS: &str = "as in the config";

/// The page.
pub fn html(runs: &Runs) -> String {
    html::parts(
        &runs.title,
        &parts(runs),
        "A dash is a number that was not measured; ★ is the best of its column.",
    )
}

/// The same as Markdown.
pub fn markdown(runs: &Runs) -> String {
    markdown::parts(&runs.title, &parts(runs))
}

fn parts(runs: &Runs) -> Vec<Part> {
    let drawing = |(title, figure): (String, FigureFile)| {
        let path = format!("{}/{}", runs.figures, figure.file_name);
        Block::Drawing(Drawing { title, path, svg: figure.svg })
    };
    let mut parts = vec![
        Part { name: "verdict", title: "Verdict", blocks: vec![Block::Lead(runs.lead.clone())] },
        Part { name: "jobs", title: "Jobs", blocks: vec![Block::Table(table(runs))] },
    ];
    let drawn: Vec<Block> = drawn(runs).into_iter().map(drawing).collect();
    if !drawn.is_empty() {
        parts.push(Part { name: "figures", title: "Figures", blocks: drawn });
    }
    parts
}

fn table(runs: &Runs) -> Table {
    let mut columns = vec![Column::text("job", "job")];
    for axis in &runs.axes {
        let column = if axis.is_number { Column::number } else { Column::text };
        columns.push(column(axis.key, axis.key));
    }
    columns.push(Column::text("status", "status"));
    columns
        .extend(runs.quantities.iter().map(|found| Column::number(found.key, found.title).help(found.help)));
    columns.push(
        Column::text("front", "Pareto front")
            .at(Page)
            .help("Pareto-optimal: no other job has both more tokens per second and less time per token."),
    );
    Table::of_rows("jobs", columns, runs.jobs.iter().map(|job| row(runs, job)).collect())
}

fn row(runs: &Runs, job: &JobRow) -> Row {
    let number = job.number.to_string();
    let mut cells = vec![match &job.report {
        Some(path) => Cell::Link { words: number, path: path.clone() },
        None => Cell::text(number),
    }];
    for (axis, at) in runs.axes.iter().zip(&job.at) {
        cells.push(match at {
            None => Cell::missing(AS_IT_IS),
            Some(value) if axis.is_number => Cell::text(value),
            Some(value) => Cell::code(value),
        });
    }
    cells.push(Cell::text(&job.status));
    for (place, quantity) in runs.quantities.iter().enumerate() {
        let value = job.values.get(place).copied().flatten();
        let cell = Cell::or(value, |value| measured(value, quantity.unit), NOT_MEASURED);
        let best = value.is_some() && job.best.get(place) == Some(&true);
        cells.push(if best { Cell::Best(Box::new(cell)) } else { cell });
    }
    cells.push(match job.is_front {
        Some(true) => Cell::word("yes"),
        Some(false) => Cell::word("no"),
        None => Cell::missing(NOT_MEASURED),
    });
    Row::new(cells)
}

fn measured(value: f64, unit: FigureUnit) -> Cell {
    match unit {
        FigureUnit::Time => Cell::MeanTime(value),
        _ => Cell::Mean(value),
    }
}

/// The figures: over each axis of numbers, a line for each combination of the others; where words were
/// swept, a bar for each job; and what is weighed against each other.
pub fn figures(runs: &Runs) -> Vec<FigureFile> {
    drawn(runs).into_iter().map(|(_, figure)| figure).collect()
}

fn drawn(runs: &Runs) -> Vec<(String, FigureFile)> {
    let file = |title: &str, file_name: String, svg| (title.to_owned(), FigureFile { file_name, svg });
    let mut all = Vec::new();
    for (place, quantity) in runs.quantities.iter().enumerate() {
        let Some(name) = quantity.file.filter(|_| known(runs, place).next().is_some()) else { continue };
        for (axis, swept) in runs.axes.iter().enumerate().filter(|(_, swept)| swept.is_number) {
            let chart = lines(runs, axis, place, quantity);
            all.push(file(&chart.title, format!("{name}-by-{}.svg", file_word(swept.key)), chart.svg()));
        }
        if runs.axes.iter().any(|axis| !axis.is_number) {
            let chart = bars(runs, place, quantity);
            all.push(file(&chart.title, format!("{name}-by-job.svg"), chart.svg()));
        }
    }
    let front = runs.weighed.and_then(|(x, y)| front(runs, x, y));
    all.extend(front.map(|chart| file(&chart.title, "front.svg".to_owned(), chart.svg())));
    all
}

fn known(runs: &Runs, place: usize) -> impl Iterator<Item = f64> {
    runs.jobs.iter().filter_map(move |job| job.values.get(place).copied().flatten())
}

fn file_word(key: &str) -> String {
    key.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect()
}

fn place_of(runs: &Runs, job: &JobRow, without: Option<usize>) -> String {
    let pairs = runs.axes.iter().zip(&job.at).enumerate().filter(|(axis, _)| Some(*axis) != without);
    let words = pairs.map(|(_, (axis, at))| match at {
        Some(value) => format!("{}={value}", axis.key.rsplit('.').next().unwrap_or(axis.key)),
        None => format!("{} {AS_IT_IS}", axis.key),
    });
    words.collect::<Vec<String>>().join(", ")
}

fn lines(runs: &Runs, axis: usize, place: usize, quantity: &Quantity) -> LineChart {
    let mut series: Vec<LineSeries> = Vec::new();
    let mut least = f64::INFINITY;
    let mut most = 0.0_f64;
    for job in &runs.jobs {
        let Some(x) = job.at.get(axis).and_then(Option::as_ref).and_then(|at| at.parse::<f64>().ok()) else {
            continue;
        };
        (least, most) = (least.min(x), most.max(x));
        let (name, point) = (place_of(runs, job, Some(axis)), (x, job.values.get(place).copied().flatten()));
        match series.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push(point),
            None => series.push(LineSeries::new(name, [point])),
        }
    }
    let key = runs.axes[axis].key;
    let doubles = |x: f64| x > 0.0 && x.log2().fract() == 0.0;
    let at = series.iter().flat_map(|line| &line.points).map(|point| point.0);
    let is_log = at.into_iter().all(doubles) || (least > 0.0 && most >= 8.0 * least);
    let scale = if is_log { Scale::Log2 } else { Scale::Linear };
    LineChart {
        title: format!("{} over {key}", quantity.title),
        subtitle: quantity.help.to_owned(),
        x: Axis { label: key.to_owned(), unit: FigureUnit::Number, scale },
        y: Axis::linear(quantity.title, quantity.unit),
        series,
        ..LineChart::default()
    }
}

fn bars(runs: &Runs, place: usize, quantity: &Quantity) -> BarChart {
    let bar = |job: &JobRow| Bar {
        label: place_of(runs, job, None),
        values: vec![job.values.get(place).copied().flatten()],
        ..Bar::default()
    };
    BarChart {
        title: format!("{} of each job", quantity.title),
        subtitle: quantity.help.to_owned(),
        label: quantity.title.to_owned(),
        unit: quantity.unit,
        parts: vec![String::new()],
        bars: runs.jobs.iter().map(bar).collect(),
        ..BarChart::default()
    }
}

/// What is weighed against each other: the jobs that no other beats in both, joined, and the others.
fn front(runs: &Runs, x: usize, y: usize) -> Option<LineChart> {
    let (across, up) = (runs.quantities.get(x)?, runs.quantities.get(y)?);
    let (mut front, mut others) = (LineSeries::new("front", []), LineSeries::new("others", []));
    for job in &runs.jobs {
        let value = |place: usize| job.values.get(place).copied().flatten();
        let (Some(x), Some(y)) = (value(x), value(y)) else { continue };
        if job.is_front == Some(true) {
            front.points.push((x, Some(y)));
        } else {
            // A gap after each: these are not joined.
            others.points.extend([(x, Some(y)), (x, None)]);
        }
    }
    if front.points.len() + others.points.len() < 2 {
        return None;
    }
    Some(LineChart {
        title: format!("{} against {}", up.title, across.title),
        subtitle: "Pareto front: no other job is better in both".to_owned(),
        x: Axis::linear(across.title, across.unit),
        y: Axis::linear(up.title, up.unit),
        series: [front, others].into_iter().filter(|series| !series.points.is_empty()).collect(),
        ..LineChart::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TPOT: Quantity =
        Quantity { key: "tpot_ns", title: "TPOT", help: "", unit: FigureUnit::Time, file: Some("tpot") };
    const RATE: Quantity =
        Quantity { key: "rate", title: "tokens/s", help: "", unit: FigureUnit::Number, file: None };

    fn job(number: usize, batch: &str, values: [Option<f64>; 2]) -> JobRow {
        JobRow {
            number,
            at: vec![Some(batch.to_owned())],
            status: "complete".to_owned(),
            best: values.map(|value| value == Some(2e6)).to_vec(),
            values: values.to_vec(),
            is_front: values[0].map(|ns| ns < 4e6),
            report: Some(format!("{number}/report/index.html")),
        }
    }

    fn runs() -> Runs {
        Runs {
            title: "sweep".to_owned(),
            lead: "A <lead>.".to_owned(),
            axes: vec![SweptAxis { key: "runtime.batch_size", is_number: true }],
            quantities: vec![TPOT, RATE],
            jobs: vec![
                job(0, "1", [Some(2e6), Some(500.0)]),
                job(1, "2", [Some(3e6), Some(800.0)]),
                job(2, "4", [Some(5e6), Some(700.0)]),
                JobRow { status: "failed: <b>".to_owned(), report: None, ..job(3, "8", [None, None]) },
            ],
            weighed: Some((0, 1)),
            figures: "figures",
        }
    }

    #[test]
    fn a_failed_job_is_a_dash_and_never_zero() {
        let page = markdown(&runs());
        let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| ")).collect();
        assert_eq!(rows[2], "| [0](0/report/index.html) | 1 | complete | **2.00 ms** ★ | 500 | yes |");
        assert_eq!(rows[4], "| [2](2/report/index.html) | 4 | complete | 5.00 ms | 700 | no |");
        assert_eq!(rows[5], "| 3 | 8 | failed: &lt;b&gt; | – | – | – |");
        let page = html(&runs());
        assert!(page.contains("failed: &lt;b&gt;") && page.contains("A &lt;lead&gt;."));
        assert!(page.contains("<a href=\"0/report/index.html\">0</a>"));
    }

    #[test]
    fn numbers_are_lines_and_words_are_bars() {
        let names = |runs: &Runs| -> Vec<String> {
            figures(runs).into_iter().map(|figure| figure.file_name).collect()
        };
        assert_eq!(names(&runs()), ["tpot-by-runtime-batch_size.svg", "front.svg"]);
        let mut words = runs();
        words.axes[0].is_number = false;
        assert_eq!(names(&words), ["tpot-by-job.svg", "front.svg"]);
        // Three dots: the failed job has none.
        let figure = &figures(&runs())[0].svg;
        assert_eq!(figure.matches("<circle").count(), 3);
        let mut nothing = runs();
        nothing.jobs.iter_mut().for_each(|job| job.values = vec![None, None]);
        assert_eq!(names(&nothing), [""; 0]);
    }

    #[test]
    fn what_no_job_beats_is_joined() {
        let chart = front(&runs(), 0, 1).unwrap();
        assert_eq!(chart.series[0].points, [(2e6, Some(500.0)), (3e6, Some(800.0))]);
        assert_eq!(chart.series[1].points, [(5e6, Some(700.0)), (5e6, None)]);
    }
}
