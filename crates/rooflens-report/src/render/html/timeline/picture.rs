//! The first step that is drawn, as a still picture: for readers without the script, and for print.

use rooflens_analyze::kernel_catalog::KernelClass;
use rooflens_analyze::ledger::{Line, is_needed};
use rooflens_analyze::timeline::{DrawnLane, DrawnTimeline, DrawnWindow, LaneKind};
use rooflens_schema::tables::PhaseKind;

use crate::block::Tone;
use crate::format;
use crate::render::html::words::escape;
use crate::section::{line_tone, words};
use crate::text;

const WIDTH: f64 = 1060.0;
const LEFT: f64 = 190.0;
const LANE: f64 = 20.0;
const LANES: usize = 12;
/// Narrower slices are drawn as one with the next.
const NARROW: f64 = 0.6;

pub(crate) fn median_step(timeline: &DrawnTimeline) -> Option<String> {
    let window = timeline.windows.first()?;
    let step = &timeline.steps[window.step?];
    let lanes: Vec<&DrawnLane> = window.lanes.iter().take(LANES).collect();
    let rows: String = lanes.iter().enumerate().map(|(at, lane)| row(timeline, window, lane, at)).collect();
    let number = step.number.unwrap_or(step.of_kind as i64);
    let is_one = timeline.steps.iter().filter(|other| other.kind == step.kind).count() < 2;
    let kind = match step.kind {
        PhaseKind::Step => String::new(),
        kind => format!("{} ", words(kind.as_str())),
    };
    let title = format!(
        "{kind}step {number}{}: {}",
        if is_one { "" } else { ", the median of its kind" },
        format::time(step.wall_ns() as f64)
    );
    let height = LANE * (lanes.len() + 1) as f64;
    let span = window.end_ns.saturating_sub(window.start_ns);
    let axis = format!(
        "<text x=\"{LEFT}\" y=\"{0:.1}\">0</text><text x=\"{WIDTH}\" y=\"{0:.1}\" text-anchor=\"end\">{1}</text>",
        height - 6.0,
        format::time(span as f64)
    );
    Some(format!(
        "<figure class=\"tl-still\"><figcaption><b>{0}</b></figcaption><div class=\"scroll\">\
         <svg class=\"lanes\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{0}\">{rows}{axis}</svg></div></figure>\n",
        escape(&title)
    ))
}

fn row(timeline: &DrawnTimeline, window: &DrawnWindow, lane: &DrawnLane, at: usize) -> String {
    let span = window.end_ns.saturating_sub(window.start_ns).max(1) as f64;
    let scale = (WIDTH - LEFT) / span;
    let y = LANE * at as f64;
    let title = escape(&text::elide(&text::clean(&lane.title), 30));
    let mut out = format!("<text x=\"0\" y=\"{:.1}\">{title}</text>", y + 14.0);
    let mut start = 0;
    let mut pending: Option<(f64, f64, Tone)> = None;
    let mut push = |pending: &mut Option<(f64, f64, Tone)>| {
        if let Some((from, to, tone)) = pending.take() {
            out.push_str(&format!(
                "<rect class=\"t-{}\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
                tone.as_str(),
                y + 2.0,
                (to - from).max(NARROW),
                LANE - 4.0
            ));
        }
    };
    for ((offset, dur), what) in lane.start.iter().zip(&lane.dur).zip(&lane.what) {
        start += offset;
        let from = LEFT + (start as f64 * scale).max(0.0);
        let to = (LEFT + start.saturating_add(*dur) as f64 * scale).min(WIDTH);
        let tone = tone(timeline, lane.kind, *what);
        match &mut pending {
            Some((_, reached, known)) if *known == tone && from - *reached < NARROW => *reached = to,
            _ => {
                push(&mut pending);
                pending = (to >= from).then_some((from, to, tone));
            }
        }
    }
    push(&mut pending);
    out
}

fn tone(timeline: &DrawnTimeline, kind: LaneKind, what: i32) -> Tone {
    let at = usize::try_from(what).unwrap_or(usize::MAX);
    match kind {
        LaneKind::Idle => Line::ALL.get(at).map_or(Tone::OtherIdle, |line| line_tone(*line)),
        LaneKind::Layers if what % 2 == 0 => Tone::Idle,
        LaneKind::Collectives => Tone::Communication,
        LaneKind::Stream => match timeline.names.get(at).and_then(|name| name.class) {
            Some(KernelClass::Communication) => Tone::Communication,
            Some(KernelClass::Memcpy | KernelClass::Memset) => Tone::Copy,
            Some(class) if !is_needed(class) => Tone::Unneeded,
            _ => Tone::Compute,
        },
        _ => Tone::OtherIdle,
    }
}
