//! Which kernels, and which kinds of kernels, take the time.

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{ClassStat, Classes, KernelStat, Kernels};

use crate::block::{Block, Cell, Column, Fact, Field, Level, Table};
use crate::format;
use crate::sections::{Detail, Section, words};

pub(super) struct KernelsSection;

/// Classes on one screen.
const SCREEN: usize = 5;
/// Beyond this share of unknown kernels, people should know.
const MUCH: f64 = 0.05;

impl Section for KernelsSection {
    fn name(&self) -> &'static str {
        "kernels"
    }
    fn title(&self) -> &'static str {
        "Kernels"
    }
    fn blocks(&self, findings: &Findings, detail: Detail) -> Vec<Block> {
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
}

/// The time by class and by library.
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
    (Column::text("name", "kernel"), |kernel| Cell::name(&kernel.short_name, &kernel.name)),
    (Column::text("short_name", "short name").at(Level::Raw), |kernel| Cell::code(&kernel.short_name)),
    (Column::text("kind", "kind").at(Level::Raw), |kernel| Cell::word(kernel.kind.as_str())),
    (Column::text("class", "class").at(Level::Screen), |kernel| Cell::word(&kernel.class)),
    (Column::text("library", "library").at(Level::Page), |kernel| {
        Cell::or(kernel.library.as_ref(), Cell::word, NO_WORD)
    }),
    (Column::text("dtype", "type").at(Level::Page), |kernel| {
        Cell::or(kernel.dtype.as_ref(), Cell::word, NO_WORD)
    }),
    (Column::number("count", "calls").at(Level::Screen), |kernel| Cell::count(kernel.count)),
    (Column::number("mean_ns", "mean").at(Level::Raw), |kernel| Cell::MeanTime(kernel.mean_ns)),
    (Column::number("min_ns", "shortest").at(Level::Raw), |kernel| Cell::Time(kernel.min_ns)),
    (Column::number("p50_ns", "median").at(Level::Screen), |kernel| Cell::MeanTime(kernel.p50_ns)),
    (Column::number("p99_ns", "p99").at(Level::Page), |kernel| Cell::Time(kernel.p99_ns)),
    (Column::number("max_ns", "longest").at(Level::Page), |kernel| Cell::Time(kernel.max_ns)),
    (Column::number("total_ns", "total").help("Sum of durations."), |kernel| Cell::Time(kernel.total_ns)),
    (Column::bar("share", "share").help("Fraction of the duration of all activities."), |kernel| {
        Cell::Share(kernel.share)
    }),
];

const CLASSES: &[Field<ClassStat>] = &[
    (Column::text("class", "class"), |stat| Cell::word(&stat.name)),
    GROUP[0],
    GROUP[1],
    GROUP[2],
    GROUP[3],
];

const LIBRARIES: &[Field<ClassStat>] = &[
    (Column::text("library", "library"), |stat| Cell::word(&stat.name)),
    GROUP[0],
    GROUP[1],
    GROUP[2],
    GROUP[3],
];

const GROUP: [Field<ClassStat>; 4] = [
    (Column::number("names", "kernels").help("Distinct kernel names."), |stat| Cell::count(stat.names)),
    (Column::number("count", "calls"), |stat| Cell::count(stat.count)),
    (Column::number("total_ns", "total").help("Sum of durations."), |stat| Cell::Time(stat.total_ns)),
    (Column::bar("share", "share").help("Fraction of the duration of all activities."), |stat| {
        Cell::Share(stat.share)
    }),
];
