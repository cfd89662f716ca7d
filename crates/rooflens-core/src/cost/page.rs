//! An answer for people and for programs: screen, page, table, document, figures, files.

use std::borrow::Cow;
use std::path::Path;

use rooflens_report::cost::{
    FigureFile, Points, SweepPointRef, compared, csv, design, design_figures, differing_operators, markdown,
    operators, points, sweep_figures,
};
use rooflens_report::render::Part;
use rooflens_schema::RunDir;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::answer::{self, Answer, CostAxis, CostSweep, One};
use super::saved;
use crate::document::{SchemaTag, Tagged, read_both};
use crate::error::Error;

/// The JSON document of an answer.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum AnswerDocument<'a> {
    /// Of one design.
    One(Box<CostDocument<'a>>),
    /// Of many points.
    Sweep(CostSweepDocument<'a>),
}

/// The JSON document of one design: what it costs, perhaps beside the one that it is compared with.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CostDocument<'a> {
    /// `rooflens.cost`.
    pub(crate) schema: SchemaTag,
    /// The design.
    #[serde(flatten)]
    pub(crate) answer: Cow<'a, One>,
}

/// The JSON document of many points.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CostSweepDocument<'a> {
    /// `rooflens.cost-sweep`.
    pub(crate) schema: SchemaTag,
    /// The points.
    #[serde(flatten)]
    pub(crate) answer: Cow<'a, CostSweep>,
}

impl<'de> Deserialize<'de> for CostDocument<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (Tagged { schema }, answer) = read_both(deserializer)?;
        Ok(CostDocument { schema, answer: Cow::Owned(answer) })
    }
}

impl<'de> Deserialize<'de> for CostSweepDocument<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (Tagged { schema }, answer) = read_both(deserializer)?;
        Ok(CostSweepDocument { schema, answer: Cow::Owned(answer) })
    }
}

const SCREEN_ROWS: usize = 14;
const SCREEN_POINTS: usize = 40;

impl Answer {
    /// For programs.
    pub fn document(&self) -> AnswerDocument<'_> {
        match self {
            Answer::One(one) => AnswerDocument::One(Box::new(CostDocument {
                schema: SchemaTag::new("cost"),
                answer: Cow::Borrowed(one.as_ref()),
            })),
            Answer::Sweep(sweep) => AnswerDocument::Sweep(CostSweepDocument {
                schema: SchemaTag::new("cost-sweep"),
                answer: Cow::Borrowed(sweep),
            }),
        }
    }

    /// For a screen: what is shown, and how many rows a table has there.
    pub fn screen(&self, every_operator: bool) -> (Vec<Part>, usize) {
        match self {
            Answer::One(one) => (parts(one, SCREEN_ROWS, every_operator), SCREEN_ROWS),
            Answer::Sweep(sweep) => (points(&swept(sweep), SCREEN_POINTS), SCREEN_POINTS),
        }
    }

    /// All of it, with every row of its tables.
    pub fn parts(&self) -> Vec<Part> {
        match self {
            Answer::One(one) => parts(one, usize::MAX, true),
            Answer::Sweep(sweep) => points(&swept(sweep), usize::MAX),
        }
    }

    /// All of it as a page in Markdown.
    pub fn markdown(&self) -> String {
        match self {
            Answer::One(one) => page(one),
            Answer::Sweep(sweep) => markdown("Cost by point", &points(&swept(sweep), usize::MAX)),
        }
    }

    /// Its operators, what differs between two designs, or the points of a sweep as comma-separated values.
    pub fn csv(&self) -> String {
        match self {
            Answer::One(one) => {
                let alone = || operators(&one.document, false);
                csv(&one.differences.as_ref().map_or_else(alone, differing_operators))
            }
            Answer::Sweep(sweep) => csv(&points(&swept(sweep), usize::MAX)),
        }
    }

    /// Its figures; a sweep over no number has none.
    pub(crate) fn figures(&self) -> Vec<FigureFile> {
        match self {
            Answer::One(one) => design_figures(&one.names.design, &one.document),
            Answer::Sweep(sweep) => sweep_figures(&swept(sweep)),
        }
    }

    /// Writes the figures into a folder. Answers whether there is any.
    pub fn write_figures(&self, folder: &Path) -> Result<bool, Error> {
        let drawn = self.figures();
        saved::write_figures(folder, &drawn)?;
        Ok(!drawn.is_empty())
    }

    /// Saves the answer into a run.
    pub fn save(&self, run: &RunDir, with_figures: bool) -> Result<(), Error> {
        let (document, page) = (self.document(), self.markdown());
        match self {
            Answer::One(one) => saved::write(run, one, &document, &page)?,
            Answer::Sweep(_) => saved::write_sweep(run, &document, &page, &self.csv())?,
        }
        if with_figures { self.write_figures(&run.report()).map(drop) } else { Ok(()) }
    }
}

fn parts(one: &One, rows: usize, every_operator: bool) -> Vec<Part> {
    let name = &one.names.design;
    let mut parts = design(name, &one.document, rows);
    if let (Some(base), Some(differences)) = (&one.names.base, &one.differences) {
        parts = compared((name, base), &one.document, differences, one.balance.as_ref(), parts, rows);
    }
    if every_operator {
        let assumptions = parts.pop();
        parts.extend(operators(&one.document, true));
        parts.extend(assumptions);
    }
    parts
}

fn page(one: &One) -> String {
    let title = match &one.names.base {
        Some(base) => format!("{} against {base}", one.names.design),
        None => format!("Cost of {}", one.names.design),
    };
    markdown(&title, &parts(one, usize::MAX, true))
}

fn swept(sweep: &CostSweep) -> Points<'_> {
    fn point(
        answer::SweepPoint { at, summary, phases, targets, balance }: &answer::SweepPoint,
    ) -> SweepPointRef<'_> {
        SweepPointRef { at, summary, phases, targets, balance: balance.as_ref() }
    }
    let usable = |usable: &answer::Usable| Some((usable.hardware.clone(), usable.bytes?));
    Points {
        fixed: fixed(&sweep.fixed),
        axes: sweep.axes.iter().map(|axis| name_for_good(&axis.name)).collect(),
        points: sweep.points.iter().map(point).collect(),
        impossible: sweep.impossible.first().map(|first| (sweep.impossible.len(), first.reason.as_str())),
        usable: sweep.usable_bytes.iter().filter_map(usable).collect(),
        assumptions: &sweep.assumptions,
    }
}

fn fixed(axes: &[CostAxis]) -> String {
    let words = axes.iter().filter_map(|CostAxis { name, values }| {
        let value = values.first()?;
        match (name.as_str(), value.as_str()) {
            ("tp" | "pp" | "ep" | "dp", "1") => None,
            ("config" | "hardware" | "dtype", value) => Some(value.to_owned()),
            ("prefill", tokens) => Some(format!("prompt {tokens}")),
            (name, value) => Some(format!("{name} {value}")),
        }
    });
    words.collect::<Vec<String>>().join(", ")
}

/// Columns are named for the life of the program; the names of keys that are swept over, too.
fn name_for_good(name: &str) -> &'static str {
    Box::leak(name.to_owned().into_boxed_str())
}
