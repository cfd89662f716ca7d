//! Rows and columns.

use std::borrow::{Borrow, Cow};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::block::{Cell, Tone};

/// Where a column appears.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
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

/// A column as a section declares it.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Name for programs, with the unit: the header in CSV.
    pub key: &'static str,
    pub(crate) title: &'static str,
    pub(crate) help: &'static str,
    pub(crate) number: bool,
    pub(crate) level: Level,
    pub(crate) bar: bool,
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

    pub(crate) const fn bar(key: &'static str, title: &'static str) -> Self {
        Column { bar: true, ..Column::number(key, title) }
    }

    /// Sets where it appears.
    pub const fn at(mut self, level: Level) -> Self {
        self.level = level;
        self
    }

    pub(crate) const fn help(mut self, help: &'static str) -> Self {
        self.help = help;
        self
    }
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TableColumn {
    /// Name for programs, with the unit: the header in CSV.
    pub key: Cow<'static, str>,
    /// Name for people.
    pub title: Cow<'static, str>,
    /// What it means; may be empty.
    pub help: Cow<'static, str>,
    /// Whether it holds numbers: these are aligned right and sort largest first.
    pub number: bool,
    /// Where it appears.
    pub level: Level,
    /// Whether a bar is drawn beside each value, which then is a share.
    pub bar: bool,
}

impl From<Column> for TableColumn {
    fn from(column: Column) -> Self {
        let Column { key, title, help, number, level, bar } = column;
        TableColumn { key: key.into(), title: title.into(), help: help.into(), number, level, bar }
    }
}

/// A column and how its cell is made from an item, on one line of a section.
pub type Field<T> = (Column, fn(&T) -> Cell);

/// Rows and columns.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Table {
    /// Name for programs, unique in the report.
    pub name: Cow<'static, str>,
    /// The columns.
    pub columns: Vec<TableColumn>,
    /// The rows.
    pub rows: Vec<Row>,
    /// What is not shown.
    pub left_out: Option<LeftOut>,
}

/// A row, and the rows it is made of.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// A cell for each column.
    pub cells: Vec<Cell>,
    /// Its parts, in the same columns; pages show them on demand.
    pub(crate) children: Vec<Row>,
    /// What its bar stands for.
    pub(crate) tone: Tone,
}

impl Row {
    /// A row without parts.
    pub fn new(cells: Vec<Cell>) -> Self {
        Row { cells, children: vec![], tone: Tone::Plain }
    }
}

/// Rows that are not shown.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// How many.
    pub(crate) rows: usize,
    /// What share of the whole they make up, where that has a meaning.
    pub(crate) share: Option<f64>,
    /// Where they are.
    pub(crate) place: Cow<'static, str>,
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
            place: "the JSON findings".into(),
        });
        Table {
            name: name.into(),
            columns: fields.iter().map(|(column, _)| (*column).into()).collect(),
            rows,
            left_out,
        }
    }

    /// A table whose rows are made already.
    pub fn of_rows(name: &'static str, columns: Vec<Column>, rows: Vec<Row>) -> Self {
        let columns = columns.into_iter().map(TableColumn::from).collect();
        Table { name: name.into(), columns, rows, left_out: None }
    }

    pub(crate) fn rest<T>(mut self, place: &'static str, items: &[T], share: impl Fn(&T) -> f64) -> Self {
        if let Some(left_out) = &mut self.left_out {
            left_out.place = place.into();
            left_out.share = Some(items[self.rows.len()..].iter().map(share).sum());
        }
        self
    }

    pub(crate) fn without(mut self, column: impl Fn(&TableColumn) -> bool, reason: &'static str) -> Self {
        for (index, _) in self.columns.iter().enumerate().filter(|(_, found)| column(found)) {
            for row in &mut self.rows {
                row.cells[index] = Cell::missing(reason);
                row.children.iter_mut().for_each(|child| child.cells[index] = Cell::missing(reason));
            }
        }
        self
    }

    /// The columns for a medium, by index: those of its level which have a value at all.
    pub fn shown(&self, level: Level) -> Vec<usize> {
        let of_level = |index: &usize| self.columns[*index].level <= level;
        (0..self.columns.len()).filter(of_level).filter(|index| self.hollow(*index).is_none()).collect()
    }

    pub(crate) fn hollow(&self, index: usize) -> Option<&str> {
        fn reason(row: &Row, index: usize) -> Option<&str> {
            if let Cell::Missing(reason) = &row.cells[index] { Some(reason) } else { None }
        }
        let first = self.rows.first().and_then(|row| reason(row, index))?;
        self.rows.iter().all(|row| reason(row, index).is_some()).then_some(first)
    }

    pub(crate) fn tones<T>(mut self, items: &[impl Borrow<T>], tone: impl Fn(&T) -> Tone) -> Self {
        for (row, item) in self.rows.iter_mut().zip(items) {
            row.tone = tone(item.borrow());
        }
        self
    }

    pub(crate) fn children<T>(mut self, items: &[T], children: impl Fn(&T) -> Vec<Vec<Cell>>) -> Self {
        for (row, item) in self.rows.iter_mut().zip(items) {
            row.children = children(item).into_iter().map(Row::new).collect();
        }
        self
    }
}
