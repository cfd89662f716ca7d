//! The rows of each pane: device time summed by what the pane shows, within what was chosen before.

use std::collections::BTreeMap;

use rooflens_analyze::analyses::{Ledger, PhaseLedger};
use rooflens_core::overview::{Overview, OverviewCell, OverviewStep};
use rooflens_report::format;
use rooflens_schema::tables::PhaseKind;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TopPane {
    Ledger,
    Kernels,
    Steps,
    Layers,
    /// Classes of kernels: reached from a phase, a step or a layer.
    Classes,
}

impl TopPane {
    /// Those that keys lead to.
    pub(crate) const TABS: [TopPane; 4] =
        [TopPane::Ledger, TopPane::Kernels, TopPane::Steps, TopPane::Layers];

    pub(crate) fn title(self) -> &'static str {
        match self {
            TopPane::Ledger => "Ledger",
            TopPane::Kernels => "Kernels",
            TopPane::Steps => "Steps",
            TopPane::Layers => "Layers",
            TopPane::Classes => "Classes",
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TopScope {
    /// A phase; the inner nothing is what belongs to none.
    pub(crate) phase: Option<Option<PhaseKind>>,
    pub(crate) step: Option<u32>,
    /// A layer; the inner nothing is what belongs to none.
    pub(crate) layer: Option<Option<i32>>,
    pub(crate) class: Option<&'static str>,
}

impl TopScope {
    fn takes(&self, overview: &Overview, cell: &OverviewCell) -> bool {
        self.phase.is_none_or(|phase| cell.phase == phase)
            && self.step.is_none_or(|step| cell.step == Some(step))
            && self.layer.is_none_or(|layer| cell.layer == layer)
            && self.class.is_none_or(|class| overview.times.kernels[cell.kernel as usize].class == class)
    }

    pub(crate) fn words(&self, overview: &Overview) -> Vec<String> {
        let step = self.step.and_then(|step| overview.times.steps.get(step as usize));
        let step = step.map(|step| match step.phase {
            PhaseKind::Step => format!("step {}", step.number),
            phase => format!("{} step {}", word(phase.as_str()), step.number),
        });
        let phase = self.phase.filter(|_| step.is_none()).map(phase_word);
        let layer = self.layer.map(layer_word);
        phase.into_iter().chain(step).chain(layer).chain(self.class.map(word)).collect()
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TopValue {
    Text(String),
    /// A time, ns.
    Time(f64),
    Count(i64),
    /// A share, 0 to 1.
    Share(f64),
    /// It was not measured.
    Missing,
}

impl TopValue {
    pub(crate) fn shown(&self) -> String {
        match self {
            TopValue::Text(text) => text.clone(),
            TopValue::Time(ns) => format::time(*ns),
            TopValue::Count(count) => format::count(*count),
            TopValue::Share(share) => format::share(*share),
            TopValue::Missing => "–".to_owned(),
        }
    }

    /// What it is sorted by, where it is a number.
    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            TopValue::Time(number) | TopValue::Share(number) => Some(*number),
            TopValue::Count(count) => Some(*count as f64),
            TopValue::Text(_) | TopValue::Missing => None,
        }
    }
}

/// A row, and where it leads.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TopRow {
    pub(crate) values: Vec<TopValue>,
    /// The pane behind it; nothing where it is the last.
    pub(crate) leads_to: Option<(TopPane, TopScope)>,
    pub(crate) detail: Vec<String>,
}

pub(crate) fn columns(pane: TopPane) -> &'static [&'static str] {
    match pane {
        TopPane::Ledger => &["phase", "steps", "time", "share", "median step", "longest"],
        TopPane::Classes => &["class", "calls", "time", "share"],
        TopPane::Kernels => &["kernel", "class", "calls", "time", "share", "mean", "longest"],
        TopPane::Steps => &["step", "rank", "time", "busy", "launches"],
        TopPane::Layers => &["layer", "calls", "time", "share"],
    }
}

/// The column that a pane is sorted by at first, and whether the largest comes first.
pub(crate) fn first_order(pane: TopPane) -> (usize, bool) {
    match pane {
        TopPane::Ledger | TopPane::Classes => (2, true),
        TopPane::Kernels => (3, true),
        // In the order of time, and of the model.
        TopPane::Steps | TopPane::Layers => (0, false),
    }
}

/// The rows of a pane, in their own order.
pub(crate) fn rows(pane: TopPane, scope: &TopScope, overview: &Overview) -> Vec<TopRow> {
    match pane {
        TopPane::Ledger => phases(scope, overview),
        TopPane::Classes => {
            summed(scope, overview, |cell| overview.times.kernels[cell.kernel as usize].class)
                .into_iter()
                .map(|(class, sum, share)| {
                    let scope = TopScope { class: Some(class), ..scope.clone() };
                    sum.row(vec![TopValue::Text(word(class))], share, Some((TopPane::Kernels, scope)), false)
                })
                .collect()
        }
        TopPane::Layers => summed(scope, overview, |cell| (cell.layer.is_none(), cell.layer))
            .into_iter()
            .map(|((_, layer), sum, share)| {
                let scope = TopScope { layer: Some(layer), ..scope.clone() };
                sum.row(
                    vec![TopValue::Text(layer_word(layer))],
                    share,
                    Some((TopPane::Classes, scope)),
                    false,
                )
            })
            .collect(),
        TopPane::Kernels => summed(scope, overview, |cell| cell.kernel)
            .into_iter()
            .map(|(kernel, sum, share)| {
                let kernel = &overview.times.kernels[kernel as usize];
                let names =
                    vec![TopValue::Text(kernel.short_name.clone()), TopValue::Text(word(kernel.class))];
                let mut row = sum.row(names, share, None, true);
                row.detail = vec![kernel.name.clone()];
                row
            })
            .collect(),
        TopPane::Steps => steps(scope, overview),
    }
}

#[derive(Default, Clone, Copy)]
struct TopSum {
    count: u64,
    total_ns: i64,
    max_ns: i64,
}

impl TopSum {
    fn row(
        self,
        mut values: Vec<TopValue>,
        share: f64,
        leads_to: Option<(TopPane, TopScope)>,
        has_spread: bool,
    ) -> TopRow {
        values.extend([
            TopValue::Count(self.count as i64),
            TopValue::Time(self.total_ns as f64),
            TopValue::Share(share),
        ]);
        if has_spread {
            let mean = self.total_ns as f64 / self.count.max(1) as f64;
            values.extend([TopValue::Time(mean), TopValue::Time(self.max_ns as f64)]);
        }
        TopRow { values, leads_to, detail: Vec::new() }
    }
}

/// Device time by a key, with the share of all that is in scope.
fn summed<K: Ord>(
    scope: &TopScope,
    overview: &Overview,
    key: impl Fn(&OverviewCell) -> K,
) -> Vec<(K, TopSum, f64)> {
    let mut sums: BTreeMap<K, TopSum> = BTreeMap::new();
    let mut all = 0;
    for cell in overview.times.cells.iter().filter(|cell| scope.takes(overview, cell)) {
        let sum = sums.entry(key(cell)).or_default();
        sum.count += cell.count;
        sum.total_ns = sum.total_ns.saturating_add(cell.total_ns);
        sum.max_ns = sum.max_ns.max(cell.max_ns);
        all += i128::from(cell.total_ns);
    }
    let share = |ns: i64| if all > 0 { ns as f64 / all as f64 } else { 0.0 };
    sums.into_iter().map(|(key, sum)| (key, sum, share(sum.total_ns))).collect()
}

/// The phases of the ledger, with the lines of each as detail.
fn phases(scope: &TopScope, overview: &Overview) -> Vec<TopRow> {
    let Some(ledger) = overview.analyzed.findings.get::<Ledger>() else { return Vec::new() };
    let row = |phase: &PhaseLedger| {
        let kind = PhaseKind::ALL.iter().copied().find(|kind| kind.as_str() == phase.phase);
        let inner = TopScope { phase: Some(kind), ..scope.clone() };
        let has_kernels = overview.times.cells.iter().any(|cell| inner.takes(overview, cell));
        let step = |ns: Option<i64>| ns.map_or(TopValue::Missing, |ns| TopValue::Time(ns as f64));
        TopRow {
            values: vec![
                TopValue::Text(word(&phase.phase)),
                TopValue::Count(phase.steps as i64),
                TopValue::Time(phase.wall_ns as f64),
                TopValue::Share(phase.share),
                step(phase.step.as_ref().map(|step| step.p50_ns)),
                step(phase.step.as_ref().map(|step| step.max_ns)),
            ],
            leads_to: has_kernels.then_some((TopPane::Classes, inner)),
            detail: phase
                .lines
                .iter()
                .map(|line| {
                    let share = line.ns as f64 / phase.wall_ns.max(1) as f64;
                    format!(
                        "{:<24}{:>10}{:>8}",
                        line.line.title(),
                        format::time(line.ns as f64),
                        format::share(share)
                    )
                })
                .collect(),
        }
    };
    ledger.phases.iter().map(row).collect()
}

fn steps(scope: &TopScope, overview: &Overview) -> Vec<TopRow> {
    // Once over all cells, not once for each step.
    let mut behind: Vec<Option<TopPane>> = vec![None; overview.times.steps.len()];
    for cell in &overview.times.cells {
        if let Some(pane) = cell.step.and_then(|step| behind.get_mut(step as usize)) {
            let is_layered = cell.layer.is_some() || *pane == Some(TopPane::Layers);
            *pane = Some(if is_layered { TopPane::Layers } else { TopPane::Classes });
        }
    }
    let steps = (0..).zip(&overview.times.steps).zip(behind);
    let steps = steps.filter(|((_, step), _)| scope.phase.is_none_or(|phase| phase == Some(step.phase)));
    let row = |((at, step), pane): ((u32, &OverviewStep), Option<TopPane>)| {
        let excluded = step.excluded.as_ref().map(|why| format!("left out of statistics: {}", word(why)));
        let busy = |ns: i64| TopValue::Share(ns as f64 / step.dur_ns.max(1) as f64);
        TopRow {
            values: vec![
                TopValue::Text(format!("{} {}", word(step.phase.as_str()), step.number)),
                TopValue::Count(i64::from(step.rank)),
                TopValue::Time(step.dur_ns as f64),
                step.busy_ns.map_or(TopValue::Missing, busy),
                step.launches.map_or(TopValue::Missing, TopValue::Count),
            ],
            leads_to: pane.map(|pane| (pane, TopScope { step: Some(at), ..TopScope::default() })),
            detail: std::iter::once(step.name.clone()).chain(excluded).collect(),
        }
    };
    steps.map(row).collect()
}

fn word(word: &str) -> String {
    word.replace('_', " ")
}

fn phase_word(phase: Option<PhaseKind>) -> String {
    phase.map_or_else(|| "outside".to_owned(), |phase| word(phase.as_str()))
}

fn layer_word(layer: Option<i32>) -> String {
    layer.map_or_else(|| "no layer".to_owned(), |layer| format!("layer {layer}"))
}
