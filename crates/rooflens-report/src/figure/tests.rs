//! Figures: what they look like, and that nothing can break them.

use super::*;

const HARM: &str = "</text><script>alert('1')</script>&\"\u{0}\u{1b}[31m\u{202e}\u{ffff}\n漢字 🦀";

#[test]
fn a_line_chart() {
    let chart = LineChart {
        title: "Time over batch".to_owned(),
        x: Axis::log2("Batch size", FigureUnit::Number),
        y: Axis::linear("Time", FigureUnit::Si("s")),
        series: vec![
            LineSeries::new("a<b", [(1.0, Some(1e-3)), (2.0, Some(1.5e-3)), (4.0, None), (8.0, Some(4e-3))]),
            LineSeries::new("c", [(0.0, Some(1e-3)), (2.0, Some(2e-3)), (8.0, Some(3.9e-3))]),
        ],
        x_rules: vec![ReferenceLine::new(4.0, "compute-bound")],
        ..LineChart::default()
    };
    insta::assert_snapshot!(marks(&chart.svg()));
}

#[test]
fn a_roofline_chart() {
    let mut chart = roofline();
    chart.operators.truncate(3);
    insta::assert_snapshot!(marks(&chart.svg()));
}

#[test]
fn a_bar_chart() {
    let mut chart = bars();
    chart.bars.drain(..2);
    insta::assert_snapshot!(marks(&chart.svg()));
}

/// Values that break things, and some that do not.
const VALUES: [f64; 16] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::MAX,
    f64::MIN,
    f64::MIN_POSITIVE,
    5e-324,
    1e-9,
    1.0 + 1e-15,
    1e18,
    1e100,
    3.0,
];

#[test]
fn any_line_chart_is_well_formed() {
    let scales = [Scale::Linear, Scale::Log2, Scale::Log10];
    let units =
        [FigureUnit::Number, FigureUnit::Si("s"), FigureUnit::Bytes, FigureUnit::Time, FigureUnit::Share];
    for (turn, x_scale) in scales.into_iter().enumerate() {
        for (other, y_scale) in scales.into_iter().enumerate() {
            for count in [0, 1, 2, 3, 7, 16] {
                let values = |start: usize| (0..count).map(move |index| VALUES[(start + index * 5) % 16]);
                let points = |start| values(start).zip(values(start + 7)).map(|(x, y)| (x, Some(y)));
                let chart = LineChart {
                    title: HARM.repeat(9),
                    subtitle: HARM.to_owned(),
                    x: Axis { label: HARM.to_owned(), unit: units[(turn + count) % 5], scale: x_scale },
                    y: Axis { label: HARM.to_owned(), unit: units[(other + count) % 5], scale: y_scale },
                    series: (0..count).map(|start| LineSeries::new(HARM, points(start))).collect(),
                    x_rules: values(2).map(|at| ReferenceLine::new(at, HARM)).collect(),
                    y_rules: values(3).map(|at| ReferenceLine::new(at, HARM.repeat(20))).collect(),
                };
                assert_well_formed(&chart.svg());
                assert_eq!(chart.svg(), chart.svg());
            }
        }
    }
}

#[test]
fn any_roofline_chart_is_well_formed() {
    for start in 0..16 {
        let value = |index: usize| VALUES[(start + index * 3) % 16];
        let device = |index: usize| {
            let peaks = [(HARM, value(index)), ("", value(index + 1)), ("bf16", 1e15)];
            RooflineDevice::new(HARM, value(index + 2), peaks)
        };
        let operator = |index: usize| RooflineOperator {
            label: HARM.repeat(index % 4),
            intensity: value(index),
            flops_per_s: value(index + 1),
            weight: [None, Some(value(index + 2))][index % 2],
            group: HARM.repeat(index % 5),
            told: None,
        };
        let chart = RooflineChart {
            normalised: false,
            title: HARM.to_owned(),
            devices: (0..start % 5).map(device).collect(),
            operators: (0..start * 3).map(operator).collect(),
            weight: HARM.to_owned(),
            ..RooflineChart::default()
        };
        assert_well_formed(&chart.svg());
    }
}

#[test]
fn any_bar_chart_is_well_formed() {
    for start in 0..16 {
        let values =
            |bar: usize| (0..bar).map(move |index| VALUES[(start + bar + index) % 16]).collect::<Vec<f64>>();
        let chart = BarChart {
            title: HARM.to_owned(),
            label: HARM.to_owned(),
            parts: vec![HARM.repeat(3); start],
            bars: (0..start * 5).map(|bar| Bar::new(HARM.repeat(bar), values(bar))).collect(),
            ..BarChart::default()
        };
        assert_well_formed(&chart.svg());
    }
}

#[test]
fn what_is_not_drawn_is_counted() {
    let points = [(0.0, Some(1.0)), (1.0, Some(f64::NAN)), (2.0, Some(1.0)), (4.0, Some(2.0)), (5.0, None)];
    let chart = LineChart {
        x: Axis::log10("x", FigureUnit::Number),
        series: vec![LineSeries::new("a", points), LineSeries::new("b", [])],
        x_rules: vec![ReferenceLine::new(1e9, "far")],
        ..LineChart::default()
    };
    let svg = chart.svg();
    let note = "Not drawn: 1 value not above zero on a logarithmic axis, 1 value not finite, \
                1 series without values, the line \u{201c}far\u{201d} at 1G.";
    assert!(svg.contains(note), "{svg}");
}

#[test]
fn a_great_many_values_are_drawn_in_time() {
    let points = (0..50_000).map(|x| (f64::from(x), Some(f64::from(x % 977))));
    let line = LineChart { series: vec![LineSeries::new("a", points)], ..sweep() };
    let operators =
        (0..5_000).map(|index| operator(&format!("op {index}"), 1.0 + f64::from(index), 0.1, "g"));
    let roofline = RooflineChart { operators: operators.collect(), ..roofline() };
    for svg in [line.svg(), roofline.svg()] {
        assert_well_formed(&svg);
        assert!(svg.len() < 1_000_000, "{} bytes", svg.len());
    }
}

#[test]
fn fifty_series_have_a_short_legend() {
    let svg = many().svg();
    assert!(svg.contains(" more</text>"));
    assert_well_formed(&svg);
}

fn sweep() -> LineChart {
    let step = |bandwidth: f64, peak: f64, most: i32| {
        (0..=9).map(move |power| {
            let batch = 2_f64.powi(power);
            (batch, (power <= most).then(|| (141e9 + batch * 0.7e9) / bandwidth + batch * 141e9 / peak))
        })
    };
    LineChart {
        title: "Time of a decode step".to_owned(),
        subtitle: "Llama 3.1 70B in bf16, context 4,096, tensor parallel over 4 devices".to_owned(),
        x: Axis::log2("Batch size", FigureUnit::Number),
        y: Axis::log10("Time of a step", FigureUnit::Si("s")),
        series: vec![
            LineSeries::new("A100 SXM", step(4.0 * 2.04e12, 4.0 * 312e12, 6)),
            LineSeries::new("H100 SXM", step(4.0 * 3.35e12, 4.0 * 989e12, 8)),
            LineSeries::new("H200", step(4.0 * 4.8e12, 4.0 * 989e12, 9)),
            LineSeries::new("B200", step(4.0 * 8.0e12, 4.0 * 2_250e12, 9)),
        ],
        x_rules: vec![ReferenceLine::new(296.0, "H100 compute-bound from batch 296")],
        y_rules: vec![ReferenceLine::new(50e-3, "SLO 50 ms")],
    }
}

fn h100() -> RooflineDevice {
    RooflineDevice::new("H100 SXM", 3.35e12, [("bf16", 989e12), ("fp8", 1_979e12)])
}

fn operator(label: &str, intensity: f64, weight: f64, group: &str) -> RooflineOperator {
    let flops_per_s = (intensity * 3.35e12).min(989e12) * if group == "attention" { 0.8 } else { 1.0 };
    RooflineOperator {
        label: label.to_owned(),
        intensity,
        flops_per_s,
        weight: Some(weight),
        group: group.to_owned(),
        told: None,
    }
}

fn roofline() -> RooflineChart {
    RooflineChart {
        normalised: false,
        title: "A decode step under the roof".to_owned(),
        subtitle: "Llama 3.1 8B, batch 64, context 4,096".to_owned(),
        devices: vec![h100()],
        operators: vec![
            operator("mlp.gate_up", 63.0, 0.31, "linear"),
            operator("mlp.down", 62.0, 0.155, "linear"),
            operator("attn.qkv", 61.0, 0.066, "linear"),
            operator("attn.out", 60.5, 0.044, "linear"),
            operator("attention", 3.9, 0.34, "attention"),
            operator("lm_head", 63.5, 0.06, "linear"),
            operator("rms_norm", 0.75, 0.008, "elementwise"),
            operator("rope", 1.1, 0.004, "elementwise"),
            operator("silu_mul", 0.5, 0.006, "elementwise"),
            operator("prefill mlp", 1_900.0, 0.05, "linear"),
        ],
        weight: "share of time".to_owned(),
    }
}

fn bars() -> BarChart {
    BarChart {
        title: "Where a decode step goes".to_owned(),
        subtitle: "Batch 32, context 8,192, one device each".to_owned(),
        label: "Time of a step".to_owned(),
        unit: FigureUnit::Si("s"),
        parts: ["linear", "attention", "norm and activation", "communication", "launch"]
            .map(str::to_owned)
            .into(),
        bars: vec![
            Bar::new("A100 SXM", [8.1e-3, 5.2e-3, 0.6e-3, 0.9e-3, 0.3e-3]),
            Bar::new("H100 SXM", [4.9e-3, 3.1e-3, 0.4e-3, 0.5e-3, 0.3e-3]),
            Bar::new("H200", [3.4e-3, 2.2e-3, 0.3e-3, 0.5e-3, 0.3e-3]),
            Bar {
                label: "B200".to_owned(),
                values: vec![Some(2.0e-3), Some(1.3e-3), Some(0.2e-3), None, Some(0.3e-3)],
                ..Bar::default()
            },
        ],
        ..BarChart::default()
    }
}

fn many() -> LineChart {
    let points = |index: usize| (0..20).map(move |x| (f64::from(x), Some(f64::from(x) * index as f64)));
    LineChart {
        title: "Fifty lines".to_owned(),
        x: Axis::linear("x", FigureUnit::Number),
        y: Axis::linear("y", FigureUnit::Bytes),
        series: (0..50)
            .map(|index| LineSeries::new(format!("configuration {index}"), points(index)))
            .collect(),
        ..LineChart::default()
    }
}

/// The marks, without the style that all figures share.
fn marks(svg: &str) -> String {
    let (before, rest) = svg.split_once("<style>").unwrap_or((svg, ""));
    let (_, after) = rest.split_once("</style>").unwrap_or_default();
    format!("{before}<style/>{after}")
}

/// Elements nest, attributes are quoted, and there is no bare `<` or `&` nor anything XML forbids.
fn assert_well_formed(svg: &str) {
    let mut open: Vec<&str> = vec![];
    let mut rest = svg;
    while let Some(start) = rest.find('<') {
        assert_text(&rest[..start]);
        let Some((tag, after)) = rest[start + 1..].split_once('>') else { panic!("a tag does not end") };
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
            continue;
        }
        let (body, closed) = tag.strip_suffix('/').map_or((tag, false), |body| (body, true));
        assert!(!body.contains('<') && body.matches('"').count() % 2 == 0, "{tag}");
        for value in body.split('"').skip(1).step_by(2) {
            assert_text(value);
            assert!(!value.contains("NaN") && !value.contains("inf"), "{tag}");
        }
        if !closed {
            open.push(body.split_once(' ').map_or(body, |(name, _)| name));
        }
    }
    assert!(open.is_empty() && rest.trim().is_empty(), "{open:?} {rest}");
    let forbidden = |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{fffe}' | '\u{ffff}');
    assert!(!svg.contains(forbidden));
    for word in ["<script", "<a ", "<image", "href", "url(", "@import"] {
        assert!(!svg.contains(word), "{word}");
    }
    assert_eq!(svg.matches("http").count(), 1, "the name space");
}

fn assert_text(text: &str) {
    for piece in text.split('&').skip(1) {
        let name = piece.split_once(';').map_or("nothing", |(name, _)| name);
        assert!(["amp", "lt", "gt", "quot", "#39"].contains(&name), "{name}");
    }
}
