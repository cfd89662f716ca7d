//! What the script draws from: numbers in columns, every name once.

use std::collections::{BTreeMap, HashMap};

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{Ledger, Trace};
use rooflens_analyze::ledger::Line;
use rooflens_analyze::timeline::{DrawnLane, DrawnName, DrawnStep, DrawnTimeline, DrawnWindow};
use rooflens_schema::tables::PhaseKind;
use serde::Serialize;

use crate::render::html::words::inert;
use crate::section::line_tone;
use crate::text;

/// Characters of a full name; kernels differ at both ends of theirs.
const NAME: usize = 220;
const SHORT_NAME: usize = 90;

/// Short name, full name where it is longer, class, and the mean lower bound of a call by kind of step.
type PageName = (String, Option<String>, Option<&'static str>, Option<BTreeMap<&'static str, f64>>);

#[derive(Serialize)]
struct PageTimeline<'a> {
    host: bool,
    ranks: usize,
    names: Vec<PageName>,
    classes: Vec<&'static str>,
    layers: &'a [i32],
    lines: Vec<(&'static str, &'static str, &'static str, &'static str)>,
    floor: Option<String>,
    steps: Vec<PageStep<'a>>,
    windows: Vec<PageWindow<'a>>,
    /// Name, whether it is an operator, window, lane, start since that of the window, duration.
    longest: Vec<(u32, u8, usize, usize, i64, i64)>,
}

#[derive(Serialize)]
struct PageStep<'a> {
    index: usize,
    number: i64,
    kind: &'static str,
    name: u32,
    /// In nanoseconds, as text: a script's numbers are exact only up to 2⁵³.
    start: String,
    wall: i64,
    /// Time that has no separate line.
    #[serde(skip_serializing_if = "is_zero")]
    others: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    excluded: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    window: Option<usize>,
    lines: &'a [i64],
    classes: &'a [i64],
    layers: &'a [i64],
}

#[derive(Serialize)]
struct PageWindow<'a> {
    rank: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<usize>,
    start: String,
    span: i64,
    lanes: Vec<PageLane<'a>>,
}

#[derive(Serialize)]
struct PageLane<'a> {
    kind: rooflens_analyze::timeline::LaneKind,
    title: String,
    start: &'a [i64],
    dur: &'a [i64],
    what: &'a [i32],
    #[serde(skip_serializing_if = "is_empty")]
    layer: &'a [i32],
    #[serde(skip_serializing_if = "is_empty")]
    operator: &'a [i32],
    #[serde(skip_serializing_if = "is_empty")]
    launch: &'a [i64],
    #[serde(skip_serializing_if = "is_empty")]
    wait: &'a [i64],
    #[serde(skip_serializing_if = "is_empty")]
    merged: &'a [(usize, usize, i64)],
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(ns: &i64) -> bool {
    *ns == 0
}

fn is_empty<T>(column: &&[T]) -> bool {
    column.is_empty()
}

/// The data block, which no text of a trace can end.
pub(crate) fn json(findings: &Findings, timeline: &DrawnTimeline) -> String {
    let ledger = findings.get::<Ledger>();
    let floors = ledger.map(floors).unwrap_or_default();
    let page = PageTimeline {
        host: timeline.is_host,
        ranks: findings.get::<Trace>().map_or(1, |trace| trace.ranks),
        names: timeline.names.iter().map(|of| name(of, &floors)).collect(),
        classes: timeline.classes.iter().map(|class| class.as_str()).collect(),
        layers: &timeline.layers,
        lines: Line::ALL
            .iter()
            .map(|line| (line.as_str(), line.title(), line.meaning(), line_tone(*line).as_str()))
            .collect(),
        floor: ledger
            .and_then(|ledger| ledger.floor_of.as_ref())
            .map(|of| text::clean(&format!("{} on {}", of.model, of.device))),
        steps: timeline.steps.iter().map(step).collect(),
        windows: timeline.windows.iter().map(window).collect(),
        longest: timeline
            .longest
            .iter()
            .map(|one| {
                let start = one.start_ns.saturating_sub(timeline.windows[one.window].start_ns);
                (one.name, u8::from(one.is_operator), one.window, one.lane, start, one.dur_ns)
            })
            .collect(),
    };
    // Columns of numbers and text: serialising cannot fail.
    let json = serde_json::to_string(&page).unwrap_or_else(|_| "null".to_owned());
    inert(&json)
}

type Floors<'a> = HashMap<&'a str, BTreeMap<&'static str, f64>>;

fn floors(ledger: &Ledger) -> Floors<'_> {
    let mut floors = Floors::new();
    for phase in &ledger.phases {
        let Some(kind) = PhaseKind::ALL.iter().find(|kind| kind.as_str() == phase.phase) else { continue };
        for kernel in phase.kernels.iter().filter(|kernel| kernel.count > 0 && kernel.achieved.is_some()) {
            let mean = kernel.floor_ns as f64 / kernel.count as f64;
            floors.entry(kernel.name.as_str()).or_default().insert(kind.as_str(), mean.round());
        }
    }
    floors
}

fn name(of: &DrawnName, floors: &Floors<'_>) -> PageName {
    let short = text::elide(&text::clean(&of.short_name), SHORT_NAME);
    let full = text::elide(&text::clean(&of.name), NAME);
    let full = (full != short).then_some(full);
    (short, full, of.class.map(|class| class.as_str()), floors.get(of.name.as_str()).cloned())
}

fn step(step: &DrawnStep) -> PageStep<'_> {
    PageStep {
        index: step.index,
        number: step.number.unwrap_or(step.of_kind as i64),
        kind: step.kind.as_str(),
        name: step.name,
        start: step.start_ns.to_string(),
        wall: step.wall_ns(),
        others: step.others_ns(),
        excluded: step.excluded.as_deref(),
        window: step.window,
        lines: &step.lines,
        classes: &step.classes,
        layers: &step.layers,
    }
}

fn window(window: &DrawnWindow) -> PageWindow<'_> {
    PageWindow {
        rank: window.rank,
        step: window.step,
        start: window.start_ns.to_string(),
        span: window.end_ns.saturating_sub(window.start_ns),
        lanes: window.lanes.iter().map(lane).collect(),
    }
}

fn lane(lane: &DrawnLane) -> PageLane<'_> {
    PageLane {
        kind: lane.kind,
        title: text::clean(&lane.title),
        start: &lane.start,
        dur: &lane.dur,
        what: &lane.what,
        layer: &lane.layer,
        operator: &lane.operator,
        launch: &lane.launch,
        wait: &lane.wait,
        merged: &lane.merged,
    }
}
