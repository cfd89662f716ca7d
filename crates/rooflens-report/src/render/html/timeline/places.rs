//! Which rows of tables have a place in the timeline.

use std::collections::HashMap;

use rooflens_analyze::ledger::Line;
use rooflens_analyze::timeline::{DrawnTimeline, LaneKind};
use rooflens_schema::tables::GapCause;

use crate::block::{CellValue, Row, Table};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Kernel,
    Kernels,
    Operator,
    Class,
    Layer,
    Line,
    Cause,
    Kind,
    Call,
    Collective,
    Moment,
}

/// Tables whose rows have a place: the column that tells it.
const TABLES: &[(&str, &str, Place)] = &[
    ("kernels", "name", Place::Kernel),
    ("roofline_kernels", "kernel", Place::Kernel),
    ("roofline_shape_kernels", "kernel", Place::Kernel),
    ("roofline_operators", "kernels", Place::Kernels),
    ("roofline_shapes", "kernels", Place::Kernels),
    ("operators", "name", Place::Operator),
    ("classes", "class", Place::Class),
    ("ledger_classes", "class", Place::Class),
    ("roofline", "class", Place::Class),
    ("roofline_layers", "layer", Place::Layer),
    ("ledger", "line", Place::Line),
    ("gaps", "cause", Place::Cause),
    ("gap_hosts", "cause", Place::Cause),
    ("gap_examples", "ts_ns", Place::Moment),
    ("phases", "kind", Place::Kind),
    ("api_calls", "name", Place::Call),
    ("collectives", "name", Place::Collective),
    ("rank_waits", "rank", Place::Collective),
    ("slowest_phases", "ts_ns", Place::Moment),
];

pub(crate) struct PlaceIndex<'a> {
    timeline: &'a DrawnTimeline,
    names: HashMap<&'a str, usize>,
}

impl<'a> PlaceIndex<'a> {
    pub(crate) fn new(timeline: &'a DrawnTimeline) -> Self {
        let names = timeline.names.iter().enumerate().map(|(at, name)| (name.name.as_str(), at));
        PlaceIndex { timeline, names: names.collect() }
    }

    /// How the rows of a table say where they are; `None` where they are in no place.
    pub(crate) fn of_table(&self, table: &Table) -> Option<impl Fn(&Row) -> Option<String>> {
        let (_, key, place) = TABLES.iter().find(|(name, ..)| table.name == *name)?;
        let column = table.columns.iter().position(|column| column.key == *key)?;
        let rank = table.columns.iter().position(|column| column.key == "rank");
        Some(move |row: &Row| {
            self.place(*place, row.cells[column].value(), rank.map(|at| row.cells[at].value()))
        })
    }

    fn place(&self, place: Place, value: CellValue<'_>, rank: Option<CellValue<'_>>) -> Option<String> {
        match (place, value) {
            (Place::Kernel, CellValue::Text(name)) => self.longest(name, false),
            (Place::Kernels, CellValue::Text(names)) => self.drawn(self.first_of(names)?, LaneKind::Stream),
            (Place::Operator, CellValue::Text(name)) => self.longest(name, true),
            (Place::Class, CellValue::Text(class)) => {
                let known = self.timeline.classes.iter().any(|known| known.as_str() == class);
                known.then(|| format!("class {class}"))
            }
            (Place::Layer, CellValue::Whole(layer)) => {
                let known = self.timeline.layers.iter().any(|known| i64::from(*known) == layer);
                known.then(|| format!("layer {layer}"))
            }
            (Place::Line, CellValue::Text(title)) => {
                self.line(*Line::ALL.iter().find(|line| line.title() == title)?)
            }
            (Place::Cause, CellValue::Text(cause)) => {
                let cause = GapCause::ALL.iter().find(|known| known.as_str() == cause)?;
                self.line(Line::of_gap(*cause))
            }
            (Place::Kind, CellValue::Text(kind)) => {
                let known = self.timeline.steps.iter().any(|step| step.kind.as_str() == kind);
                known.then(|| format!("kind {kind}"))
            }
            (Place::Call, CellValue::Text(name)) => self.drawn(*self.names.get(name)?, LaneKind::Calls),
            (Place::Collective, _) => self.place(Place::Class, CellValue::Text("communication"), None),
            (Place::Moment, CellValue::Whole(ts_ns)) => self.moment(ts_ns, rank),
            _ => None,
        }
    }

    fn longest(&self, name: &str, is_operator: bool) -> Option<String> {
        let name = *self.names.get(name)?;
        let of = |one: &&rooflens_analyze::timeline::LongestCall| {
            one.name as usize == name && one.is_operator == is_operator
        };
        self.timeline.longest.iter().find(of)?;
        Some(format!("{} {name}", if is_operator { "operator" } else { "kernel" }))
    }

    /// The first of several names, full or short, behind each other. Names may have commas themselves.
    fn first_of(&self, names: &str) -> Option<usize> {
        let begins = |name: &str| {
            names.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(", "))
        };
        let known = self.timeline.names.iter().enumerate();
        let length = |name: &str| if begins(name) { name.len() } else { 0 };
        let known = known.map(|(at, name)| (length(&name.name).max(length(&name.short_name)), at));
        let (length, at) = known.max_by_key(|(length, at)| (*length, std::cmp::Reverse(*at)))?;
        (length > 0).then_some(at)
    }

    fn drawn(&self, name: usize, kind: LaneKind) -> Option<String> {
        let windows = self.timeline.windows.iter().filter(|window| window.step.is_some());
        let mut lanes = windows.flat_map(|window| &window.lanes).filter(|lane| lane.kind == kind);
        let known = lanes.any(|lane| lane.what.iter().any(|at| *at as usize == name));
        known.then(|| format!("name {name}"))
    }

    /// A line that some drawn step has time on; what lower bounds split is drawn as what it is without them.
    fn line(&self, line: Line) -> Option<String> {
        let line = match line {
            Line::Floor | Line::Inefficiency => Line::Kernels,
            Line::CommWait => Line::Communication,
            line => line,
        };
        let known = self.timeline.steps.iter().any(|step| step.lines[line as usize] > 0);
        known.then(|| format!("line {}", line as usize))
    }

    fn moment(&self, ts_ns: i64, rank: Option<CellValue<'_>>) -> Option<String> {
        let at = self.timeline.windows.iter().position(|window| {
            let of_rank = !matches!(rank, Some(CellValue::Whole(rank)) if rank != i64::from(window.rank));
            let drawn = window.lanes.iter().any(|lane| lane.kind != LaneKind::Operators);
            of_rank && drawn && window.step.is_some() && (window.start_ns..window.end_ns).contains(&ts_ns)
        })?;
        Some(format!("moment {at} {}", ts_ns - self.timeline.windows[at].start_ns))
    }
}
