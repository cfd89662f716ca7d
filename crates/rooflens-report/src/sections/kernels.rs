//! Which kernels, and which kinds of kernels, take the time.

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{ClassStat, Classes, KernelStat, Kernels};

use crate::block::Level::{Page, Raw, Screen};
use crate::block::{Block, Cell, Column, Fact, Field, Table};
use crate::format;
use crate::section::{Detail, words};

/// Classes on one screen.
const SCREEN: usize = 5;
/// Beyond this share of unknown kernels, people should know.
const MUCH: f64 = 0.05;

pub(super) fn blocks(findings: &Findings, detail: Detail) -> Vec<Block> {
    let kernels = findings.get::<Kernels>().map(|kernels| kernels.0.as_slice()).unwrap_or_default();
    let table = (!kernels.is_empty()).then(|| {
        let table = Table::new("kernels", FIELDS, kernels, detail.rows());
        Block::Table(table.rest("kernels.md and the JSON findings", kernels, |kernel| kernel.share))
    });
    let classes = findings.get::<Classes>().map(|classes| groups(classes, detail)).unwrap_or_default();
    if detail.is_screen() {
        return table.into_iter().chain(classes).collect();
    }
    let heading = (!classes.is_empty() && table.is_some()).then(|| Block::Heading("By name".to_owned()));
    classes.into_iter().chain(heading).chain(table).collect()
}

fn groups(classes: &Classes, detail: Detail) -> Vec<Block> {
    let mut blocks = vec![];
    if classes.unclassified_share > MUCH {
        let share = format::share(classes.unclassified_share);
        blocks.push(Block::Text(format!("{share} of the device time is in kernels of unknown class.")));
    }
    for (heading, name, fields, stats) in [
        ("By class", "classes", CLASSES, &classes.by_class),
        ("By library", "libraries", LIBRARIES, &classes.by_library),
    ] {
        if stats.is_empty() || (detail.is_screen() && name != "classes") {
            continue;
        }
        blocks.push(Block::Heading(heading.to_owned()));
        blocks.push(if detail.is_screen() {
            let fact = |stat: &ClassStat| Fact::new(words(&stat.name), Cell::Share(stat.share));
            Block::Facts(stats.iter().take(SCREEN).map(fact).collect())
        } else {
            let table = Table::new(name, fields, stats, detail.rows());
            Block::Table(table.rest("the JSON findings", stats, |stat| stat.share))
        });
    }
    blocks
}

const NO_WORD: &str = "not in the kernel's name";

const FIELDS: &[Field<KernelStat>] = &[
    (Column::text("name", "kernel"), |row| Cell::name(&row.short_name, &row.name)),
    (Column::text("short_name", "short name").at(Raw), |row| Cell::code(&row.short_name)),
    (Column::text("kind", "kind").at(Raw), |row| Cell::word(row.kind.as_str())),
    (Column::text("class", "class").at(Screen), |row| Cell::word(&row.class)),
    (Column::text("library", "library").at(Page), |row| Cell::or(row.library.as_ref(), Cell::word, NO_WORD)),
    (Column::text("dtype", "type").at(Page), |row| Cell::or(row.dtype.as_ref(), Cell::word, NO_WORD)),
    (Column::number("count", "calls").at(Screen), |row| Cell::count(row.count)),
    (Column::number("mean_ns", "mean").at(Raw), |row| Cell::MeanTime(row.mean_ns)),
    (Column::number("min_ns", "shortest").at(Raw), |row| Cell::Time(row.min_ns)),
    (Column::number("p50_ns", "median").at(Screen), |row| Cell::MeanTime(row.p50_ns)),
    (Column::number("p99_ns", "p99").at(Page), |row| Cell::Time(row.p99_ns)),
    (Column::number("max_ns", "longest").at(Page), |row| Cell::Time(row.max_ns)),
    (Column::number("total_ns", "total").help("Sum of durations."), |row| Cell::Time(row.total_ns)),
    (Column::bar("share", "share").help("Fraction of the duration of all activities."), |row| {
        Cell::Share(row.share)
    }),
];

const CLASSES: &[Field<ClassStat>] =
    &[(Column::text("class", "class"), |row| Cell::word(&row.name)), GROUP[0], GROUP[1], GROUP[2], GROUP[3]];

const LIBRARIES: &[Field<ClassStat>] = &[
    (Column::text("library", "library"), |row| Cell::word(&row.name)),
    GROUP[0],
    GROUP[1],
    GROUP[2],
    GROUP[3],
];

const GROUP: [Field<ClassStat>; 4] = [
    (Column::number("names", "kernels").help("Distinct kernel names."), |row| Cell::count(row.names)),
    (Column::number("count", "calls"), |row| Cell::count(row.count)),
    (Column::number("total_ns", "total").help("Sum of durations."), |row| Cell::Time(row.total_ns)),
    (Column::bar("share", "share").help("Fraction of the duration of all activities."), |row| {
        Cell::Share(row.share)
    }),
];
