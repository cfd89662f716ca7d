//! The timeline of steps: what the script draws them from, a picture of the median step for readers without it, and
//! which rows of tables have a place in it.

mod data;
mod picture;
mod places;

pub(crate) use places::PlaceIndex;

use rooflens_analyze::Findings;
use rooflens_analyze::timeline::{DrawnTimeline, LaneKind};

use crate::format;
use crate::render::html::words::escape;

pub(crate) const STYLE: &str = include_str!("timeline.css");
/// The parts of the script, in order: one function around them all.
pub(crate) const SCRIPT: &str = concat!(
    "\"use strict\";\n(() => {\n",
    include_str!("script/core.js"),
    include_str!("script/steps.js"),
    include_str!("script/draw.js"),
    include_str!("script/select.js"),
    include_str!("script/panels.js"),
    include_str!("script/compare.js"),
    include_str!("script/go.js"),
    include_str!("script/perfetto.js"),
    include_str!("script/start.js"),
    "})();\n"
);

pub(crate) fn section(findings: &Findings, timeline: &DrawnTimeline) -> String {
    let data = data::json(findings, timeline);
    let what = if timeline.is_host { "host" } else { "device" };
    let left_out = match timeline.steps_left_out {
        0 => String::new(),
        more => format!(" {} more steps are not listed.", format::count(more as i64)),
    };
    let about = match timeline.steps.is_empty() {
        true => "No steps are known: the longest calls are drawn with their neighbours.".to_owned(),
        false => format!(
            "Steps on the {what}'s timeline, each from its first activity to the end of its last. The time ledger \
             also counts the gap before a step, and counts time for one step only where several overlap.{left_out}"
        ),
    };
    let has_others = timeline
        .windows
        .iter()
        .any(|window| window.lanes.iter().any(|lane| lane.kind == LaneKind::Collectives));
    let others = match has_others {
        true => {
            " Collectives of other ranks are drawn from where the same step begins there, whatever their clocks say."
        }
        false => "",
    };
    let still = picture::median_step(timeline).unwrap_or_default();
    format!(
        "<section id=\"timeline\" aria-labelledby=\"timeline-title\">\n<h2 id=\"timeline-title\">Timeline</h2>\n\
         <div id=\"timeline-view\"></div>\n{still}<p class=\"aside\">{}</p>\n\
         <script type=\"application/json\" id=\"timeline-data\">{data}</script>\n</section>\n",
        escape(&(about + others))
    )
}
