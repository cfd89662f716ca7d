//! What a section is made of. A block says what there is to show and in which unit; each renderer
//! decides how it looks. Values stay exact here: rounding happens in [`crate::format`].

use std::borrow::Borrow;

use crate::format;

/// A piece of a section.
#[derive(Debug, Clone)]
pub enum Block {
    /// The sentence everything begins with.
    Lead(String),
    /// A heading inside a section.
    Heading(String),
    /// A paragraph.
    Text(String),
    /// An ordered list of sentences.
    Steps(Vec<String>),
    /// A few named values.
    Facts(Vec<Fact>),
    /// Rows and columns.
    Table(Table),
    /// Bars that each show the parts of a whole.
    Stack(Stack),
    /// Values over time or in order.
    Chart(Chart),
    /// Problems and checks.
    Remarks(Vec<Remark>),
}

/// A named value.
#[derive(Debug, Clone)]
pub struct Fact {
    /// What it is; empty where the value says it.
    pub label: String,
    /// How much.
    pub value: Cell,
    /// What it means; may be empty.
    pub help: &'static str,
}

impl Fact {
    /// A fact whose label explains itself.
    pub fn new(label: impl Into<String>, value: Cell) -> Self {
        Fact { label: label.into(), value, help: "" }
    }

    /// A fact that needs no label.
    pub fn plain(words: impl Into<String>) -> Self {
        Fact::new("", Cell::text(words))
    }

    /// Adds what it means.
    pub fn help(mut self, help: &'static str) -> Self {
        self.help = help;
        self
    }
}

/// A value with its unit.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Not measured, and why.
    Missing(&'static str),
    /// A duration in nanoseconds.
    Time(i64),
    /// A mean duration in nanoseconds.
    MeanTime(f64),
    /// A moment in nanoseconds since the run's clock base, shown precisely enough to find it.
    At(i64),
    /// Bytes.
    Bytes(i64),
    /// A number of things.
    Count(i64),
    /// A mean number of things.
    Mean(f64),
    /// A part of a whole, 0 to 1.
    Share(f64),
    /// A signed change relative to a whole, as 0.03 for three percent more.
    Change(f64),
    /// GB/s.
    Rate(f64),
    /// A word for programs, shown without its underscores.
    Word(String),
    /// Words.
    Text(String),
    /// Something from a program: an identifier, a shape, a path.
    Code {
        /// What is shown.
        short: String,
        /// What it stands for, where that is longer.
        full: Option<String>,
    },
}

impl Cell {
    /// The value, or a dash with the reason.
    pub fn or<T>(value: Option<T>, cell: impl FnOnce(T) -> Cell, reason: &'static str) -> Cell {
        value.map_or(Cell::Missing(reason), cell)
    }

    /// A count of things in memory.
    pub fn count(value: usize) -> Cell {
        Cell::Count(i64::try_from(value).unwrap_or(i64::MAX))
    }

    /// A word for programs.
    pub fn word(value: impl Into<String>) -> Cell {
        Cell::Word(value.into())
    }

    /// Words.
    pub fn text(value: impl Into<String>) -> Cell {
        Cell::Text(value.into())
    }

    /// Something from a program.
    pub fn code(value: impl Into<String>) -> Cell {
        Cell::Code { short: value.into(), full: None }
    }

    /// A short name that stands for a longer one.
    pub fn name(short: &str, full: &str) -> Cell {
        let full = (short != full).then(|| full.to_owned());
        Cell::Code { short: short.to_owned(), full }
    }
}

/// Where a column appears.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Everywhere.
    Essential,
    /// On pages, and on the terminal where there is room; the rightmost goes first.
    Screen,
    /// On pages only.
    Page,
    /// In CSV only.
    Raw,
}

/// A column of a table.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Name for programs, with the unit: the header in CSV.
    pub key: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// What it means; may be empty.
    pub help: &'static str,
    /// Whether it holds numbers: these are aligned right and sort largest first.
    pub number: bool,
    /// Where it appears.
    pub level: Level,
    /// Whether a bar is drawn beside each value, which then is a share.
    pub bar: bool,
}

impl Column {
    /// A column of words.
    pub const fn text(key: &'static str, title: &'static str) -> Self {
        Column { key, title, help: "", number: false, level: Level::Essential, bar: false }
    }

    /// A column of numbers.
    pub const fn number(key: &'static str, title: &'static str) -> Self {
        Column { number: true, ..Column::text(key, title) }
    }

    /// A column of shares with bars.
    pub const fn bar(key: &'static str, title: &'static str) -> Self {
        Column { bar: true, ..Column::number(key, title) }
    }

    /// Sets where it appears.
    pub const fn at(mut self, level: Level) -> Self {
        self.level = level;
        self
    }

    /// Adds what it means.
    pub const fn help(mut self, help: &'static str) -> Self {
        self.help = help;
        self
    }
}

/// A column and how its cell is made from an item, on one line of a section.
pub type Field<T> = (Column, fn(&T) -> Cell);

/// Rows and columns.
#[derive(Debug, Clone)]
pub struct Table {
    /// Name for programs, unique in the report.
    pub name: &'static str,
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows.
    pub rows: Vec<Row>,
    /// What is not shown.
    pub left_out: Option<LeftOut>,
}

/// A row, and the rows it is made of.
#[derive(Debug, Clone)]
pub struct Row {
    /// A cell for each column.
    pub cells: Vec<Cell>,
    /// Its parts, in the same columns; pages show them on demand.
    pub children: Vec<Row>,
    /// What its bar stands for.
    pub tone: Tone,
}

impl Row {
    /// A row without parts.
    pub fn new(cells: Vec<Cell>) -> Self {
        Row { cells, children: vec![], tone: Tone::Plain }
    }
}

/// Rows that are not shown.
#[derive(Debug, Clone)]
pub struct LeftOut {
    /// How many.
    pub rows: usize,
    /// What share of the whole they make up, where that has a meaning.
    pub share: Option<f64>,
    /// Where they are.
    pub place: &'static str,
}

impl Table {
    /// The first `limit` items, a row each.
    pub fn new<T>(name: &'static str, fields: &[Field<T>], items: &[impl Borrow<T>], limit: usize) -> Self {
        let shown = items.len().min(limit);
        let rows = items[..shown]
            .iter()
            .map(|item| fields.iter().map(|(_, cell)| cell(item.borrow())).collect())
            .map(Row::new)
            .collect();
        let left_out = (items.len() > shown).then(|| LeftOut {
            rows: items.len() - shown,
            share: None,
            place: "the JSON findings",
        });
        Table { name, columns: fields.iter().map(|(column, _)| *column).collect(), rows, left_out }
    }

    /// Says where the rows left out are, and what they make up in all.
    pub fn rest<T>(mut self, place: &'static str, items: &[T], share: impl Fn(&T) -> f64) -> Self {
        if let Some(left_out) = &mut self.left_out {
            left_out.place = place;
            left_out.share = Some(items[self.rows.len()..].iter().map(share).sum());
        }
        self
    }

    /// Marks columns whose numbers were not measured, and why.
    pub fn without(mut self, column: impl Fn(&Column) -> bool, reason: &'static str) -> Self {
        for (index, _) in self.columns.iter().enumerate().filter(|(_, found)| column(found)) {
            for row in &mut self.rows {
                row.cells[index] = Cell::Missing(reason);
                row.children.iter_mut().for_each(|child| child.cells[index] = Cell::Missing(reason));
            }
        }
        self
    }

    /// The columns for a medium, by index: those of its level which have a value at all.
    pub fn shown(&self, level: Level) -> Vec<usize> {
        let of_level = |index: &usize| self.columns[*index].level <= level;
        (0..self.columns.len()).filter(of_level).filter(|index| self.hollow(*index).is_none()).collect()
    }

    /// Why a column has no value in any row.
    pub fn hollow(&self, index: usize) -> Option<&'static str> {
        let reason =
            |row: &Row| if let Cell::Missing(reason) = row.cells[index] { Some(reason) } else { None };
        let first = self.rows.first().and_then(reason)?;
        self.rows.iter().all(|row| reason(row).is_some()).then_some(first)
    }

    /// Says what each row's bar stands for.
    pub fn tones<T>(mut self, items: &[impl Borrow<T>], tone: impl Fn(&T) -> Tone) -> Self {
        for (row, item) in self.rows.iter_mut().zip(items) {
            row.tone = tone(item.borrow());
        }
        self
    }

    /// Adds the parts of each row, in the table's columns.
    pub fn children<T>(mut self, items: &[T], children: impl Fn(&T) -> Vec<Vec<Cell>>) -> Self {
        for (row, item) in self.rows.iter_mut().zip(items) {
            row.children = children(item).into_iter().map(Row::new).collect();
        }
        self
    }
}

/// What a part of a bar or chart stands for: the renderers give each its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Compute kernels.
    Compute,
    /// Communication that compute does not hide.
    Communication,
    /// Copies that nothing hides.
    Copy,
    /// Nothing runs.
    Idle,
    /// Nothing runs, since the host launches too slowly.
    LaunchBound,
    /// Nothing runs, since the host does something else.
    CpuBound,
    /// Nothing runs, since the host waited for the device.
    Sync,
    /// Nothing runs, for another reason.
    OtherIdle,
    /// No meaning beyond the chart itself.
    Plain,
}

impl Tone {
    /// Name for style sheets.
    pub fn as_str(self) -> &'static str {
        match self {
            Tone::Compute => "compute",
            Tone::Communication => "communication",
            Tone::Copy => "copy",
            Tone::Idle => "idle",
            Tone::LaunchBound => "launch",
            Tone::CpuBound => "cpu",
            Tone::Sync => "sync",
            Tone::OtherIdle => "other",
            Tone::Plain => "plain",
        }
    }
}

/// Bars that each show the parts of a whole, in nanoseconds.
#[derive(Debug, Clone)]
pub struct Stack {
    /// What the parts are, in order.
    pub parts: Vec<(Tone, String)>,
    /// The bars.
    pub bars: Vec<StackBar>,
}

/// One bar.
#[derive(Debug, Clone)]
pub struct StackBar {
    /// What the whole is.
    pub label: String,
    /// Length of each part.
    pub parts_ns: Vec<i64>,
    /// Length of the whole.
    pub whole_ns: i64,
}

impl StackBar {
    /// Each part as a share of the whole; `None` where the whole is nothing.
    pub fn shares(&self) -> Vec<Option<f64>> {
        let whole = self.whole_ns as f64;
        self.parts_ns.iter().map(|part| (whole > 0.0).then(|| *part as f64 / whole)).collect()
    }
}

/// How the values of a chart are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Filled, each series upon the one before.
    Areas,
    /// A filled line that keeps its value until the next point.
    Steps,
    /// A dot a value, with their distribution at the side.
    Points,
    /// A column a value.
    Columns,
}

/// What the numbers on an axis are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Time,
    /// Bytes.
    Bytes,
    /// 0 to 1.
    Share,
    /// An index.
    Index,
}

/// Values over time or in order.
#[derive(Debug, Clone)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// The horizontal axis: how values lie along it, as `over time`, and its unit.
    pub x: (&'static str, Unit),
    /// The vertical axis: what the values are, and their unit.
    pub y: (&'static str, Unit),
    /// How it is drawn.
    pub mark: Mark,
    /// The values.
    pub series: Vec<Series>,
    /// Values worth a line across the chart.
    pub rules: Vec<(&'static str, f64)>,
}

/// One set of values.
#[derive(Debug, Clone)]
pub struct Series {
    /// What they are.
    pub label: String,
    /// What they stand for.
    pub tone: Tone,
    /// `(x, y)`, by x.
    pub points: Vec<(f64, f64)>,
}

/// How good or bad a remark is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// As it should be.
    Ok,
    /// Worth knowing.
    Info,
    /// A number may mislead.
    Warning,
    /// Something is not there.
    DataLoss,
}

impl Grade {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Grade::Ok => "ok",
            Grade::Info => "info",
            Grade::Warning => "warning",
            Grade::DataLoss => "data loss",
        }
    }
}

/// A problem or a check.
#[derive(Debug, Clone)]
pub struct Remark {
    /// How bad.
    pub grade: Grade,
    /// A stable word.
    pub code: String,
    /// How often, where the sentence does not tell.
    pub count: Option<i64>,
    /// Where; may be empty.
    pub source: String,
    /// A sentence.
    pub message: String,
}

impl Remark {
    /// `×3`; nothing where it was met once or the sentence tells.
    pub fn how_often(&self) -> String {
        match self.count {
            Some(count) if count != 1 => format!("×{}", format::count(count)),
            _ => String::new(),
        }
    }
}
