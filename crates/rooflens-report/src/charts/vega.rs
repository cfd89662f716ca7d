//! Charts as Vega-Lite specifications: for notebooks, and for those who want to change how a chart looks.

use serde_json::{Value as Json, json};

use super::{
    ChartData, ChartKind, CollectivesPlot, CountersPlot, HeatPlot, LatencyPlot, LedgerPlot, MemoryPlot,
    RooflinePlot, StepsPlot,
};
use crate::block::Tone;
use crate::figure::{FigurePaper, FigureTheme};

const SCHEMA: &str = "https://vega.github.io/schema/vega-lite/v5.json";
/// Nanoseconds in a second.
const GIGA: f64 = 1e9;
/// Height of a plot, of 800 pixels of width.
const HEIGHT: f64 = 400.0;
/// How far roofs reach beyond the points.
const BEYOND: f64 = 4.0;

/// Colours that people with colour vision deficiency tell apart, as in the figures.
const LIGHT: [&str; 7] = ["#2467b0", "#cb5213", "#14866d", "#b25a96", "#e0a10d", "#6cb6e4", "#98a2ad"];
const DARK: [&str; 7] = ["#4f96e3", "#f08149", "#37b394", "#d588bb", "#f0bd4a", "#9ad2f3", "#8b97a4"];

impl ChartData {
    /// The chart as a Vega-Lite specification with its data inside. Values are in base units: seconds, bytes, FLOP/s.
    #[must_use]
    pub fn vega_lite(&self, paper: FigurePaper) -> Json {
        let mut spec = match &self.kind {
            ChartKind::Roofline(plot) => roofline(plot),
            ChartKind::Ledger(plot) => ledger(plot, paper.theme),
            ChartKind::Steps(plot) => steps(plot),
            ChartKind::Layers(plot) => layers(plot),
            ChartKind::Counters(plot) => counters(plot, paper),
            ChartKind::Memory(plot) => memory(plot),
            ChartKind::Latency(plot) => latency(plot),
            ChartKind::Collectives(plot) => collectives(plot),
        };
        if let Some(spec) = spec.as_object_mut() {
            spec.insert("$schema".to_owned(), json!(SCHEMA));
            let mut title = json!({"text": self.title, "anchor": "start"});
            if !self.subtitle.is_empty() {
                title["subtitle"] = json!(self.subtitle);
            }
            spec.insert("title".to_owned(), title);
            spec.insert("config".to_owned(), config(paper.theme));
            // Charts of several plots have the size within.
            if !spec.contains_key("facet") {
                spec.insert("width".to_owned(), json!(paper.width()));
                spec.entry("height").or_insert(json!(HEIGHT));
            }
        }
        spec
    }
}

/// Without a theme of its own a specification is light: Vega-Lite does not know the reader's.
fn config(theme: FigureTheme) -> Json {
    let (page, ink, muted, line, colours) = match theme {
        FigureTheme::Auto | FigureTheme::Light => ("#ffffff", "#1b1f24", "#59636e", "#e8ebef", LIGHT),
        FigureTheme::Dark => ("#171b21", "#e6e9ed", "#98a3af", "#252c34", DARK),
    };
    let words = json!({"labelColor": muted, "titleColor": muted});
    json!({
        "background": page,
        "title": {"color": ink, "subtitleColor": muted},
        "axis": {"labelColor": muted, "titleColor": muted, "gridColor": line, "domainColor": muted,
            "tickColor": muted},
        "legend": words,
        "header": words,
        "view": {"stroke": line},
        "range": {"category": colours},
    })
}

/// An axis with prefixes before its unit, as `2 ms`.
fn axis(unit: &str) -> Json {
    // The signs must be those of the specification: Vega writes a comma where the reader's country has one.
    json!({"labelExpr": format!("format(datum.value, '~s') + '{unit}'")})
}

fn number(field: &str, title: &str, unit: &str) -> Json {
    json!({"field": field, "type": "quantitative", "title": title, "axis": axis(unit)})
}

fn log(field: &str, title: &str, unit: &str, base: u32) -> Json {
    let mut channel = number(field, title, unit);
    channel["scale"] = json!({"type": "log", "base": base, "nice": false});
    channel["axis"]["tickCount"] = json!(6);
    channel
}

fn word(field: &str, title: &str) -> Json {
    json!({"field": field, "type": "nominal", "title": title})
}

/// What is shown under the pointer: `(field, title, unit)`.
fn tips(fields: &[(&str, &str, &str)]) -> Json {
    let tip = |(field, title, unit): &(&str, &str, &str)| match *unit {
        "" => json!({"field": field, "title": title}),
        unit => {
            json!({"field": field, "type": "quantitative", "title": format!("{title} ({unit})"), "format": ".4~s"})
        }
    };
    fields.iter().map(tip).collect()
}

fn seconds(ns: i64) -> f64 {
    ns as f64 / GIGA
}

fn roofline(plot: &RooflinePlot) -> Json {
    let points: Vec<Json> = plot
        .points
        .iter()
        .map(|point| {
            json!({"name": point.name, "grain": point.grain, "class": point.class.replace('_', " "),
                "phase": point.phase, "layer": point.layer, "intensity": point.intensity(),
                "flops_per_s": point.flops_per_s(), "s": seconds(point.ns),
                "lost_s": point.lost_ns().map(seconds)})
        })
        .collect();
    let intensities = || plot.points.iter().map(super::RooflinePoint::intensity);
    let ridges = || {
        plot.bytes_per_s
            .into_iter()
            .flat_map(|rate| plot.peaks.iter().map(move |peak| peak.flops_per_s / rate))
    };
    let low = intensities().chain(ridges()).fold(f64::INFINITY, f64::min) / BEYOND;
    let high = intensities().chain(ridges()).fold(0.0, f64::max) * BEYOND;
    let roofs: Vec<Json> = plot
        .bytes_per_s
        .iter()
        .flat_map(|rate| plot.peaks.iter().map(move |peak| (*rate, peak)))
        .flat_map(|(rate, peak)| {
            let ridge = peak.flops_per_s / rate;
            [(low, low * rate), (ridge, peak.flops_per_s), (high, peak.flops_per_s)].map(|(x, y)| {
                json!({"roof": peak.precision, "intensity": x, "flops_per_s": y, "is_used": peak.is_used})
            })
        })
        .collect();
    let grains = ["operator", "kernel", "layer"];
    let grain = grains.iter().find(|grain| points.iter().any(|point| point["grain"] == **grain));
    json!({
        "params": [{"name": "grain", "value": grain, "bind": {"input": "select", "options": grains}}],
        "layer": [
            {"data": {"values": roofs}, "mark": {"type": "line", "interpolate": "linear"},
             "encoding": {
                "x": log("intensity", "Arithmetic intensity (FLOP/B)", "", 10),
                "y": log("flops_per_s", "Performance", "FLOP/s", 10),
                "detail": word("roof", "roof"), "order": {"field": "intensity"},
                "strokeDash": {"field": "is_used", "type": "nominal", "legend": null,
                    "scale": {"domain": [true, false], "range": [[1, 0], [4, 4]]}},
                "color": {"value": "#7d8896"},
                "tooltip": tips(&[("roof", "roof", ""), ("flops_per_s", "peak", "FLOP/s")])}},
            {"data": {"values": points}, "transform": [{"filter": "datum.grain == grain"}],
             "mark": {"type": "point", "filled": true, "opacity": 0.85},
             "encoding": {
                "x": log("intensity", "Arithmetic intensity (FLOP/B)", "", 10),
                "y": log("flops_per_s", "Performance", "FLOP/s", 10),
                "size": {"field": "s", "type": "quantitative", "title": "time (s)"},
                "color": word("class", "class"), "shape": word("class", "class"),
                "tooltip": tips(&[("name", "name", ""), ("phase", "phase", ""), ("s", "time", "s"),
                    ("lost_s", "lost", "s"), ("flops_per_s", "achieved", "FLOP/s"),
                    ("intensity", "intensity", "FLOP/B")])}},
        ],
    })
}

fn ledger(plot: &LedgerPlot, theme: FigureTheme) -> Json {
    let values: Vec<Json> = plot
        .phases
        .iter()
        .flat_map(|phase| {
            plot.lines.iter().zip(&phase.ns).enumerate().map(move |(place, (line, ns))| {
                json!({"phase": phase.phase, "line": line.title, "order": place, "s": seconds(*ns)})
            })
        })
        .collect();
    let lines: Vec<&str> = plot.lines.iter().map(|line| line.title.as_ref()).collect();
    let mut color = word("line", "");
    let colours: Vec<&str> = plot.lines.iter().map(|line| tone_colour(line.tone, theme)).collect();
    color["sort"] = json!(lines);
    color["scale"] = json!({"domain": lines, "range": colours});
    json!({
        "data": {"values": values}, "mark": "bar", "height": {"step": 36},
        "encoding": {
            "x": {"field": "s", "type": "quantitative", "title": "share of the phase's time",
                "stack": "normalize", "axis": {"format": ".0%"}},
            "y": {"field": "phase", "type": "nominal", "title": null, "sort": null},
            "color": color, "order": {"field": "order"},
            "tooltip": tips(&[("phase", "phase", ""), ("line", "line", ""), ("s", "time", "s")])},
    })
}

fn steps(plot: &StepsPlot) -> Json {
    let values: Vec<Json> = plot
        .groups
        .iter()
        .flat_map(|group| {
            group.points.iter().map(|point| {
                json!({"group": group.name, "rank": point.rank, "number": point.number, "s": seconds(point.ns)})
            })
        })
        .collect();
    json!({
        "data": {"values": values}, "mark": {"type": "point", "filled": true},
        "encoding": {
            "x": {"field": "number", "type": "quantitative", "title": "step"},
            "y": number("s", "duration", "s"), "color": word("group", ""), "shape": word("group", ""),
            "tooltip": tips(&[("group", "steps", ""), ("rank", "rank", ""), ("number", "step", ""),
                ("s", "duration", "s")])},
    })
}

fn layers(plot: &HeatPlot) -> Json {
    let value = if plot.has_floor { "lost time" } else { "time" };
    let values: Vec<Json> = plot
        .phases
        .iter()
        .flat_map(|phase| {
            phase.cells.iter().map(|cell| {
                json!({"phase": phase.phase.replace('_', " "), "layer": cell.layer,
                    "class": cell.class.replace('_', " "), "s": seconds(cell.ns),
                    "lost_s": seconds(cell.lost_ns())})
            })
        })
        .collect();
    let phases: Vec<String> = plot.phases.iter().map(|phase| phase.phase.replace('_', " ")).collect();
    let heat = json!({"field": "lost_s", "type": "quantitative", "title": format!("{value} (s)"),
        "aggregate": "sum", "legend": {"format": "~s"}, "scale": {"scheme": "blues", "domainMin": 0}});
    json!({
        "params": [{"name": "phase", "value": phases.first(), "bind": {"input": "select", "options": phases}}],
        "data": {"values": values}, "transform": [{"filter": "datum.phase == phase"}],
        "mark": "rect", "height": {"step": 20},
        "encoding": {
            "x": {"field": "layer", "type": "ordinal", "title": "layer", "axis": {"labelOverlap": true}},
            "y": {"field": "class", "type": "nominal", "title": null, "sort": null},
            "color": heat,
            "tooltip": tips(&[("phase", "phase", ""), ("layer", "layer", ""), ("class", "class", ""),
                ("s", "time", "s"), ("lost_s", value, "s")])},
    })
}

/// Every level has a row, since each has a unit of its own.
fn counters(plot: &CountersPlot, paper: FigurePaper) -> Json {
    let mut values = Vec::new();
    for subject in &plot.subjects {
        for level in &subject.levels {
            let unit = if level.unit == "1" { String::new() } else { format!(" ({})", level.unit) };
            values.extend(level.points.iter().map(|(ns, value)| {
                json!({"subject": subject.name, "level": format!("{}{unit}", level.title), "s": seconds(*ns),
                    "value": value})
            }));
        }
    }
    json!({
        "data": {"values": values},
        "facet": {"row": {"field": "level", "type": "nominal", "title": null, "sort": null,
            "header": {"labelAngle": 0, "labelAlign": "left", "labelOrient": "top", "labelAnchor": "start"}}},
        "spec": {"width": paper.width(), "height": 90, "mark": {"type": "line"},
            "encoding": {
                "x": number("s", "time", "s"),
                "y": {"field": "value", "type": "quantitative", "title": null, "axis": {"format": "~s"}},
                "color": word("subject", ""), "strokeDash": word("subject", ""),
                "tooltip": tips(&[("subject", "of", ""), ("level", "level", ""), ("s", "time", "s"),
                    ("value", "value", "")])}},
        "resolve": {"scale": {"y": "independent"}},
    })
}

fn memory(plot: &MemoryPlot) -> Json {
    let first = plot.devices.iter().filter_map(|device| device.points.first()).map(|point| point.0).min();
    let first = first.unwrap_or_default();
    let values: Vec<Json> = plot
        .devices
        .iter()
        .flat_map(|device| {
            let name = device.name();
            device.points.iter().map(
                move |(ts_ns, bytes)| json!({"device": name, "s": seconds(ts_ns - first), "bytes": bytes}),
            )
        })
        .collect();
    json!({
        "data": {"values": values}, "mark": {"type": "line", "interpolate": "step-after"},
        "encoding": {
            "x": number("s", "time", "s"), "y": number("bytes", "allocated", "B"),
            "color": word("device", ""), "strokeDash": word("device", ""),
            "tooltip": tips(&[("device", "device", ""), ("s", "time", "s"), ("bytes", "allocated", "B")])},
    })
}

fn latency(plot: &LatencyPlot) -> Json {
    let values: Vec<Json> = plot
        .lines()
        .into_iter()
        .flat_map(|(name, points)| {
            points
                .into_iter()
                .map(move |(rate, ns)| json!({"latency": name, "output_tokens_per_s": rate, "s": ns / GIGA}))
        })
        .collect();
    json!({
        "data": {"values": values}, "mark": {"type": "line", "point": true},
        "encoding": {
            "x": {"field": "output_tokens_per_s", "type": "quantitative", "title": "output tokens per second"},
            "y": log("s", "latency", "s", 10),
            "color": word("latency", ""), "strokeDash": word("latency", ""),
            "tooltip": tips(&[("latency", "latency", ""), ("output_tokens_per_s", "output tokens per second", ""),
                ("s", "latency", "s")])},
    })
}

fn collectives(plot: &CollectivesPlot) -> Json {
    let values: Vec<Json> = plot
        .points
        .iter()
        .map(|point| {
            json!({"line": point.line(), "bytes": point.bytes, "bus_bytes_per_s": point.bus_bytes_per_s,
                "count": point.count, "link_share": point.link_share})
        })
        .collect();
    let link: Vec<Json> = plot
        .link
        .iter()
        .map(|link| json!({"name": format!("links of {}", link.device), "bus_bytes_per_s": link.bytes_per_s}))
        .collect();
    let y = || log("bus_bytes_per_s", "bus bandwidth", "B/s", 10);
    json!({
        "layer": [
            {"data": {"values": values}, "mark": {"type": "line", "point": true},
             "encoding": {
                "x": log("bytes", "message size", "B", 2), "y": y(),
                "color": word("line", ""), "strokeDash": word("line", ""),
                "tooltip": tips(&[("line", "collective", ""), ("bytes", "message size", "B"),
                    ("bus_bytes_per_s", "bus bandwidth", "B/s"), ("count", "calls", ""),
                    ("link_share", "share of the links' rate", "")])}},
            {"data": {"values": link}, "mark": {"type": "rule", "strokeDash": [4, 3], "color": "#7d8896"},
             "encoding": {"y": y(), "tooltip": tips(&[("name", "", ""), ("bus_bytes_per_s", "rate", "B/s")])}},
        ],
    })
}

/// The colour that a tone has on pages and in figures.
fn tone_colour(tone: Tone, theme: FigureTheme) -> &'static str {
    let (light, dark) = match tone {
        Tone::Compute => ("#2467b0", "#4f96e3"),
        Tone::Attention => ("#b0611a", "#c97b3a"),
        Tone::Moe => ("#0e7c86", "#1f99a4"),
        Tone::Norm => ("#6b7fb5", "#7f92c9"),
        Tone::OtherKernels => ("#7a8692", "#6c7884"),
        Tone::Floor => ("#1f8a4c", "#48c27c"),
        Tone::Unneeded => ("#8e63c7", "#b394e6"),
        Tone::Communication => ("#14866d", "#37b394"),
        Tone::RankWait => ("#c9473f", "#ef7d74"),
        Tone::Copy => ("#6cb6e4", "#9ad2f3"),
        Tone::Idle => ("#dde2e8", "#323a44"),
        Tone::LaunchBound => ("#cb5213", "#f08149"),
        Tone::CpuBound => ("#e0a10d", "#f0bd4a"),
        Tone::Sync => ("#b25a96", "#d588bb"),
        Tone::Dependency => ("#55677a", "#b4c4d6"),
        Tone::Dispatch => ("#bda57e", "#bda57e"),
        Tone::OtherIdle => ("#98a2ad", "#74808d"),
        Tone::Plain => ("#3b7cc4", "#5b9ee6"),
    };
    if theme == FigureTheme::Dark { dark } else { light }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tones_have_the_colours_of_the_page() {
        let page = include_str!("../render/html/style.css");
        let (light, dark) = (include_str!("../figure/style.css"), include_str!("../figure/dark.css"));
        for &tone in Tone::ALL {
            for (theme, figure) in [(FigureTheme::Light, light), (FigureTheme::Dark, dark)] {
                let colour = tone_colour(tone, theme);
                assert!(page.contains(&format!("--{}: {colour};", tone.as_str())), "{tone:?}");
                assert!(figure.contains(&format!(".tone-{}{{color:{colour}}}", tone.as_str())), "{tone:?}");
            }
        }
    }
}
