//! Figures: what they look like, and that nothing can break them.

mod sample;
mod xml;

use rooflens_report::figure::{
    Axis, Bar, BarChart, FigureUnit, LineChart, LineSeries, ReferenceLine, RooflineChart, RooflineDevice,
    RooflineOperator, Scale,
};

use self::sample::{bars, h100, many, operator, roofline, sweep};
use self::xml::{assert_well_formed, marks};

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

/// Writes figures to look at: `cargo test -p rooflens-report --test all -- --ignored --nocapture figure::`.
#[test]
#[ignore = "for people with a browser"]
fn gallery() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let mut fleet = roofline();
    fleet.devices = vec![
        h100(),
        RooflineDevice::new("A100 SXM", 2.04e12, [("bf16", 312e12)]),
        RooflineDevice::new("MI300X", 5.3e12, [("bf16", 1_307e12)]),
    ];
    let mut peaks = fleet.clone();
    peaks.operators.clear();
    let mut crowded = roofline();
    for index in 0..40 {
        let intensity = 40.0 + f64::from(index);
        crowded.operators.push(operator(&format!("layer.{index}.proj"), intensity, 0.01, "linear"));
    }
    let mut linear = sweep();
    linear.x = Axis::linear("Batch size", FigureUnit::Number);
    linear.y = Axis::linear("Time of a step", FigureUnit::Si("s"));
    linear.series.extend((0..5).map(|index| {
        LineSeries::new(
            format!("variant {index}"),
            [(1.0, Some(0.01)), (512.0, Some(0.02 * f64::from(index)))],
        )
    }));
    let one = LineChart { series: vec![LineSeries::new("one", [(4.0, Some(2.0))])], ..LineChart::default() };
    let values = |bar: usize| (0..bar % 24).map(move |part| 1e9 * ((bar * 7 + part * 5) % 11) as f64);
    let hostile = BarChart {
        title: HARM.repeat(9),
        label: HARM.to_owned(),
        unit: FigureUnit::Bytes,
        parts: (0..24).map(|part| format!("{part} {HARM}")).collect(),
        bars: (0..24).map(|bar| Bar::new(HARM.repeat(bar % 3 + 1), values(bar))).collect(),
        ..BarChart::default()
    };
    let figures = [
        ("line", sweep().svg()),
        ("line-linear", linear.svg()),
        ("line-many", many().svg()),
        ("line-one", one.svg()),
        ("line-nothing", LineChart::default().svg()),
        ("roofline", roofline().svg()),
        ("roofline-fleet", fleet.svg()),
        ("roofline-peaks", peaks.svg()),
        ("roofline-crowded", crowded.svg()),
        ("bar", bars().svg()),
        ("bar-many", hostile.svg()),
    ];
    for (name, svg) in figures {
        let path = folder.join(format!("{name}.svg"));
        std::fs::write(&path, svg).unwrap();
        println!("{}", path.display());
    }
}
