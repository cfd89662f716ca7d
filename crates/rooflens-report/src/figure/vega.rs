//! Figures as Vega-Lite specifications: for notebooks, and for those who want to change how a chart looks.

use serde_json::{Value as Json, json};

use super::svg::{COLOURS, DARK, STYLE, colour};
use super::{
    BarChart, Figure, FigurePaper, FigureTheme, FigureUnit, HeatMap, LineChart, RooflineChart, Scale,
};

const SCHEMA: &str = "https://vega.github.io/schema/vega-lite/v5.json";
/// Height of a plot, of 800 pixels of width.
const HEIGHT: f64 = 400.0;
/// How far roofs reach beyond the points, as a factor.
const BEYOND: f64 = 4.0;
const GREY: &str = "#7d8896";

impl Figure {
    /// A specification with its data inside. Values are in base units: seconds, bytes, FLOP/s.
    pub(crate) fn vega_lite(&self, paper: FigurePaper) -> Json {
        let (title, subtitle, mut spec) = match self {
            Figure::Line(chart) => (&chart.title, &chart.subtitle, lines(chart)),
            Figure::Bar(chart) => (&chart.title, &chart.subtitle, bars(chart, paper.theme)),
            Figure::Heat(chart) => (&chart.title, &chart.subtitle, heat(chart)),
            Figure::Roofline(chart) => (&chart.title, &chart.subtitle, roofline(chart)),
        };
        spec["$schema"] = json!(SCHEMA);
        spec["title"] = json!({"text": title, "subtitle": subtitle, "anchor": "start"});
        spec["config"] = config(paper.theme);
        spec["width"] = json!(paper.width());
        if spec["height"].is_null() {
            spec["height"] = json!(HEIGHT);
        }
        spec
    }
}

/// A specification without a theme is light: Vega-Lite does not know the reader's theme.
fn config(theme: FigureTheme) -> Json {
    let (page, ink, muted, line) = match theme {
        FigureTheme::Auto | FigureTheme::Light => ("#ffffff", "#1b1f24", "#59636e", "#e8ebef"),
        FigureTheme::Dark => ("#171b21", "#e6e9ed", "#98a3af", "#252c34"),
    };
    let words = json!({"labelColor": muted, "titleColor": muted});
    let axis = json!({"labelColor": muted, "titleColor": muted, "gridColor": line, "domainColor": muted,
        "tickColor": muted});
    let colours: Vec<&str> = (0..COLOURS).map(|index| styled(&colour(index), theme)).collect();
    json!({"background": page, "title": {"color": ink, "subtitleColor": muted}, "axis": axis, "legend": words,
        "header": words, "view": {"stroke": line}, "range": {"category": colours},
        "mark": {"tooltip": {"content": "data"}}})
}

/// The colour of a class in the style of the figures.
fn styled(class: &str, theme: FigureTheme) -> &'static str {
    let style = if theme == FigureTheme::Dark { DARK } else { STYLE };
    let rule = style.find(&format!(".{class}")).map_or("", |at| &style[at..]);
    rule.split_once("{color:").and_then(|(_, rest)| rest.split('}').next()).unwrap_or(GREY)
}

/// From values of a unit to numbers of its base unit. Shares stay from 0 to 1.
fn factor(unit: FigureUnit) -> f64 {
    if unit == FigureUnit::Time { 1e-9 } else { 1.0 }
}

/// An axis with prefixes before its unit, as `2 ms`.
fn axis(field: &str, title: &str, unit: FigureUnit, scale: Scale) -> Json {
    // Not `format` alone: Vega writes a comma where the reader's country has one.
    let ticks = match unit {
        FigureUnit::Share => json!({"format": ".0%"}),
        FigureUnit::Number => json!({}),
        unit => json!({"labelExpr": format!("format(datum.value, '~s') + '{}'", unit.name())}),
    };
    let mut channel = json!({"field": field, "type": "quantitative", "title": title, "axis": ticks});
    if scale != Scale::Linear {
        let base = if scale == Scale::Log2 { 2 } else { 10 };
        channel["scale"] = json!({"type": "log", "base": base, "nice": false});
        channel["axis"]["tickCount"] = json!(6);
    }
    channel
}

fn word(field: &str) -> Json {
    json!({"field": field, "type": "nominal", "title": null, "sort": null})
}

fn data(values: impl Iterator<Item = Json>) -> Json {
    json!({"values": values.collect::<Vec<Json>>()})
}

fn lines(chart: &LineChart) -> Json {
    let (across, up) = (factor(chart.x.unit), factor(chart.y.unit));
    let points = chart.series.iter().flat_map(|line| {
        line.points.iter().enumerate().map(move |(order, (x, y))| {
            json!({"series": line.name, "order": order, "x": x * across, "y": y.map(|y| y * up)})
        })
    });
    let x = || axis("x", &chart.x.label, chart.x.unit, chart.x.scale);
    let y = || axis("y", &chart.y.label, chart.y.unit, chart.y.scale);
    let series = json!({"data": data(points), "mark": {"type": "line", "point": true},
        "encoding": {"x": x(), "y": y(), "color": word("series"), "strokeDash": word("series"),
            "order": {"field": "order"}}});
    let x_rules = chart.x_rules.iter().map(|rule| ("x", rule, rule.at * across, x()));
    let y_rules = chart.y_rules.iter().map(|rule| ("y", rule, rule.at * up, y()));
    let rules = x_rules.chain(y_rules).map(|(field, rule, at, axis)| {
        json!({"data": {"values": [{"name": rule.label, field: at}]}, "encoding": {field: axis},
            "mark": {"type": "rule", "strokeDash": [4, 3], "color": GREY}})
    });
    json!({"layer": std::iter::once(series).chain(rules).collect::<Vec<Json>>()})
}

fn bars(chart: &BarChart, theme: FigureTheme) -> Json {
    let scale = factor(chart.unit);
    let values = chart.bars.iter().flat_map(|bar| {
        chart.parts.iter().zip(&bar.values).enumerate().map(move |(order, (part, value))| {
            json!({"bar": bar.label, "part": part, "order": order, "value": value.map(|value| value * scale)})
        })
    });
    let mut color = word("part");
    if !chart.tones.is_empty() {
        let tones = chart.tones.iter().map(|tone| styled(&format!("tone-{}", tone.as_str()), theme));
        color["scale"] = json!({"domain": chart.parts, "range": tones.collect::<Vec<&str>>()});
    }
    let x = axis("value", &chart.label, chart.unit, Scale::Linear);
    json!({"data": data(values), "mark": "bar", "height": {"step": 36},
        "encoding": {"x": x, "y": word("bar"), "color": color, "order": {"field": "order"}}})
}

fn heat(map: &HeatMap) -> Json {
    let cells = map.cells.iter().map(|((column, row), value)| {
        json!({"column": map.columns.get(*column), "row": map.rows.get(*row), "value": value * factor(map.unit)})
    });
    let title = format!("{} ({})", map.value, map.unit.name());
    let x = json!({"field": "column", "type": "ordinal", "title": map.label, "sort": null,
        "axis": {"labelOverlap": true}});
    let color = json!({"field": "value", "type": "quantitative", "title": title, "legend": {"format": "~s"},
        "scale": {"scheme": "blues", "domainMin": 0}});
    json!({"data": data(cells), "mark": "rect", "height": {"step": 20},
        "encoding": {"x": x, "y": word("row"), "color": color}})
}

fn roofline(chart: &RooflineChart) -> Json {
    let points = chart.operators.iter().map(|one| {
        json!({"name": one.label, "group": one.group, "weight": one.weight, "x": one.intensity, "y": one.flops_per_s})
    });
    let peaks = || chart.devices.iter().flat_map(|of| of.flops_per_s.iter().map(move |peak| (of, peak)));
    let places = || {
        let ridges = peaks().map(|(of, (_, peak))| peak / of.bytes_per_s);
        chart.operators.iter().map(|one| one.intensity).chain(ridges)
    };
    let low = places().fold(f64::INFINITY, f64::min) / BEYOND;
    let high = places().fold(0.0, f64::max) * BEYOND;
    let roofs = peaks().flat_map(|(of, (name, peak))| {
        [(low, low * of.bytes_per_s), (peak / of.bytes_per_s, *peak), (high, *peak)]
            .map(|(x, y)| json!({"roof": format!("{} {name}", of.name), "x": x, "y": y}))
    });
    let x = || axis("x", "Arithmetic intensity (FLOP/B)", FigureUnit::Number, Scale::Log10);
    let y = || axis("y", "Performance", FigureUnit::Si("FLOP/s"), Scale::Log10);
    let size = json!({"field": "weight", "type": "quantitative", "title": chart.weight});
    json!({"layer": [
        {"data": data(roofs), "mark": {"type": "line", "color": GREY},
         "encoding": {"x": x(), "y": y(), "detail": word("roof"), "order": {"field": "x"}}},
        {"data": data(points), "mark": {"type": "point", "filled": true, "opacity": 0.85},
         "encoding": {"x": x(), "y": y(), "color": word("group"), "shape": word("group"), "size": size}},
    ]})
}
