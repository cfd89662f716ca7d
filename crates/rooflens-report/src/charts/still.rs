//! Charts as figures: for paper, for slides, and for readers without a script.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::{
    ChartData, ChartKind, CollectivesPlot, CountersPlot, HeatPlot, LatencyPlot, LedgerPlot, MemoryPlot,
    PhaseBar, PointGrain, RooflinePlot, StepsPlot,
};
use crate::figure::{
    Axis, Bar, BarChart, Figure, FigurePaper, FigureUnit, HeatMap, LineChart, LineSeries, ReferenceLine,
    RooflineChart, RooflineDevice, RooflineOperator,
};
use crate::format;

impl ChartData {
    /// The chart as one SVG file, for a page.
    pub fn svg(&self) -> String {
        self.svg_on(FigurePaper::default())
    }

    /// The chart as one SVG file.
    pub fn svg_on(&self, paper: FigurePaper) -> String {
        self.figure().map_or_else(String::new, |figure| figure.svg_on(paper))
    }

    /// The chart as a Vega-Lite specification with its data inside. Values are in base units: seconds, bytes, FLOP/s.
    pub fn vega_lite(&self, paper: FigurePaper) -> Json {
        self.figure().map_or(Json::Null, |figure| figure.vega_lite(paper))
    }

    fn figure(&self) -> Option<Figure> {
        Some(match &self.kind {
            ChartKind::Roofline(plot) => Figure::Roofline(self.roofline(plot)),
            ChartKind::Ledger(plot) => Figure::Bar(self.ledger(plot)),
            ChartKind::Steps(plot) => Figure::Line(self.steps(plot)),
            ChartKind::Layers(plot) => Figure::Heat(self.layers(plot)?),
            ChartKind::Counters(plot) => Figure::Line(self.counters(plot)?),
            ChartKind::Memory(plot) => Figure::Line(self.memory(plot)),
            ChartKind::Latency(plot) => Figure::Line(self.latency(plot)),
            ChartKind::Collectives(plot) => Figure::Line(self.collectives(plot)),
        })
    }

    fn lines(&self, x: Axis, y: Axis, series: Vec<LineSeries>) -> LineChart {
        LineChart {
            title: self.title.to_string(),
            subtitle: self.subtitle.clone(),
            x,
            y,
            series,
            ..LineChart::default()
        }
    }

    fn roofline(&self, plot: &RooflinePlot) -> RooflineChart {
        let of_grain = |grain| plot.points.iter().filter(move |point| point.grain == grain);
        let grain = [PointGrain::Operator, PointGrain::Kernel, PointGrain::Layer]
            .into_iter()
            .find(|grain| of_grain(*grain).next().is_some())
            .unwrap_or(PointGrain::Kernel);
        let total: i64 = of_grain(grain).map(|point| point.ns).sum();
        let operators = of_grain(grain).map(|point| RooflineOperator {
            label: point.name.clone(),
            intensity: point.intensity(),
            flops_per_s: point.flops_per_s(),
            weight: Some(point.ns as f64 / total.max(1) as f64),
            group: point.class.replace('_', " "),
            told: None,
        });
        let peaks = plot.peaks.iter().map(|peak| (peak.precision.as_str(), peak.flops_per_s));
        let device = plot.bytes_per_s.filter(|_| !plot.peaks.is_empty()).map(|bytes_per_s| {
            RooflineDevice::new(plot.device.clone().unwrap_or_default(), bytes_per_s, peaks)
        });
        RooflineChart {
            title: self.title.to_string(),
            subtitle: self.subtitle.clone(),
            devices: device.into_iter().collect(),
            operators: operators.collect(),
            weight: "share of the time of all dots".to_owned(),
            normalised: false,
        }
    }

    fn ledger(&self, plot: &LedgerPlot) -> BarChart {
        // As shares: phases differ by orders of magnitude.
        let bar = |phase: &PhaseBar| {
            let shares = phase.ns.iter().map(|ns| *ns as f64 / phase.wall_ns as f64);
            Bar { end: format::time(phase.wall_ns as f64), ..Bar::new(phase.phase.clone(), shares) }
        };
        BarChart {
            title: self.title.to_string(),
            subtitle: self.subtitle.clone(),
            label: "share of the phase's time".to_owned(),
            unit: FigureUnit::Share,
            parts: plot.lines.iter().map(|line| line.title.to_string()).collect(),
            tones: plot.lines.iter().map(|line| line.tone).collect(),
            bars: plot.phases.iter().map(bar).collect(),
        }
    }

    fn steps(&self, plot: &StepsPlot) -> LineChart {
        // The group with the most time, as a page shows it first: others have durations of another kind.
        let mut of_ranks: BTreeMap<Option<i32>, Vec<(f64, Option<f64>)>> = BTreeMap::new();
        for point in plot.groups.iter().take(1).flat_map(|group| &group.points) {
            of_ranks.entry(point.rank).or_default().push((point.number as f64, Some(point.ns as f64)));
        }
        let name = plot.groups.first().map(|group| group.name.clone()).unwrap_or_default();
        let has_ranks = of_ranks.len() > 1;
        let series = of_ranks.into_iter().map(|(rank, points)| {
            let name = rank.filter(|_| has_ranks).map_or_else(|| name.clone(), |rank| format!("rank {rank}"));
            LineSeries::new(name, points)
        });
        let x = Axis::linear("step", FigureUnit::Number);
        let mut chart = self.lines(x, Axis::linear("duration", FigureUnit::Time), series.collect());
        if let Some(group) = plot.groups.first() {
            let rule = |(name, ns): (&str, Option<i64>)| Some(ReferenceLine::new(ns? as f64, name));
            chart.y_rules =
                [("p50", group.p50_ns), ("p99", group.p99_ns)].into_iter().filter_map(rule).collect();
        }
        chart
    }

    fn layers(&self, plot: &HeatPlot) -> Option<HeatMap> {
        let phase = plot.phases.first()?;
        let mut cells: BTreeMap<(usize, usize), f64> = BTreeMap::new();
        for cell in &phase.cells {
            let column = phase.layers.iter().position(|layer| *layer == cell.layer);
            let row = phase.classes.iter().position(|class| *class == cell.class);
            if let Some(at) = column.zip(row) {
                *cells.entry(at).or_default() += cell.lost_ns() as f64;
            }
        }
        Some(HeatMap {
            title: self.title.to_string(),
            subtitle: format!("{}; {}: {}", self.subtitle, phase.phase.replace('_', " "), phase.about()),
            label: "layer".to_owned(),
            value: if plot.has_floor { "lost time" } else { "time" }.to_owned(),
            unit: FigureUnit::Time,
            columns: phase.layers.iter().map(ToString::to_string).collect(),
            rows: phase.classes.iter().map(|class| class.replace('_', " ")).collect(),
            cells,
        })
    }

    /// One level fits a figure: the first of each subject, which is power or processor use.
    fn counters(&self, plot: &CountersPlot) -> Option<LineChart> {
        let first = plot.subjects.first()?.levels.first()?;
        let series = plot.subjects.iter().filter_map(|subject| {
            let level = subject.levels.iter().find(|level| level.column == first.column)?;
            let points = level.points.iter().map(|(ns, value)| (*ns as f64, Some(*value)));
            Some(LineSeries::new(subject.name.clone(), points))
        });
        let unit = match &*first.unit {
            "W" => FigureUnit::Si("W"),
            "Hz" => FigureUnit::Si("Hz"),
            "B" => FigureUnit::Bytes,
            "1" => FigureUnit::Share,
            _ => FigureUnit::Number,
        };
        let x = Axis::linear("time", FigureUnit::Time);
        Some(self.lines(x, Axis::linear(first.title.clone(), unit), series.collect()))
    }

    fn memory(&self, plot: &MemoryPlot) -> LineChart {
        let first = plot.devices.iter().filter_map(|device| device.points.first()).map(|point| point.0).min();
        let first = first.unwrap_or_default();
        let series = plot.devices.iter().map(|device| {
            // It keeps its value until the next point.
            let pairs = device.points.windows(2);
            let steps = pairs.flat_map(|pair| [(pair[0].0, pair[0].1), (pair[1].0, pair[0].1)]);
            let steps = steps.chain(device.points.last().copied());
            let points = steps.map(|(ts_ns, bytes)| ((ts_ns - first) as f64, Some(bytes as f64)));
            LineSeries::new(device.name(), points)
        });
        let x = Axis::linear("time", FigureUnit::Time);
        self.lines(x, Axis::linear("allocated", FigureUnit::Bytes), series.collect())
    }

    fn latency(&self, plot: &LatencyPlot) -> LineChart {
        let series = plot.lines().into_iter().map(|(name, points)| {
            LineSeries::new(name, points.into_iter().map(|(rate, ns)| (rate, Some(ns))))
        });
        let x = Axis::linear("output tokens per second", FigureUnit::Number);
        self.lines(x, Axis::log10("latency", FigureUnit::Time), series.collect())
    }

    fn collectives(&self, plot: &CollectivesPlot) -> LineChart {
        let mut by_name: BTreeMap<String, Vec<(f64, Option<f64>)>> = BTreeMap::new();
        for point in &plot.points {
            let line = by_name.entry(point.line()).or_default();
            line.push((point.bytes as f64, Some(point.bus_bytes_per_s)));
        }
        let series = by_name.into_iter().map(|(name, points)| LineSeries::new(name, points));
        let x = Axis::log2("message size", FigureUnit::Bytes);
        let y = Axis::log10("bus bandwidth", FigureUnit::Si("B/s"));
        let mut chart = self.lines(x, y, series.collect());
        let rule = |link: &super::LinkRate| {
            ReferenceLine::new(link.bytes_per_s, format!("links of {}", link.device))
        };
        chart.y_rules = plot.link.iter().map(rule).collect();
        chart
    }
}
