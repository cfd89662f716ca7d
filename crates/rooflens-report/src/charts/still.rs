//! Charts as figures: for paper, for slides, and for readers without a script.

use std::collections::BTreeMap;

use super::{
    ChartData, ChartKind, CollectivesPlot, CountersPlot, HeatPlot, LatencyPlot, LedgerPlot, MemoryPlot,
    PointGrain, RooflinePlot, StepsPlot,
};
use crate::figure::{
    Axis, Bar, BarChart, FigureUnit, HeatMap, LineChart, LineSeries, ReferenceLine, RooflineChart,
    RooflineDevice, RooflineOperator,
};

impl ChartData {
    /// The chart as one SVG file.
    #[must_use]
    pub fn svg(&self) -> String {
        match &self.kind {
            ChartKind::Roofline(plot) => self.roofline(plot),
            ChartKind::Ledger(plot) => self.ledger(plot),
            ChartKind::Steps(plot) => self.steps(plot),
            ChartKind::Layers(plot) => self.layers(plot),
            ChartKind::Counters(plot) => self.counters(plot),
            ChartKind::Memory(plot) => self.memory(plot),
            ChartKind::Latency(plot) => self.latency(plot),
            ChartKind::Collectives(plot) => self.collectives(plot),
        }
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

    fn roofline(&self, plot: &RooflinePlot) -> String {
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
            weight: "share of time".to_owned(),
            normalised: false,
        }
        .svg()
    }

    fn ledger(&self, plot: &LedgerPlot) -> String {
        BarChart {
            title: self.title.to_string(),
            subtitle: self.subtitle.clone(),
            label: "time".to_owned(),
            unit: FigureUnit::Time,
            parts: plot.lines.iter().map(|line| line.title.to_string()).collect(),
            bars: plot
                .phases
                .iter()
                .map(|phase| Bar::new(phase.phase.clone(), phase.ns.iter().map(|ns| *ns as f64)))
                .collect(),
        }
        .svg()
    }

    fn steps(&self, plot: &StepsPlot) -> String {
        let series = plot.groups.iter().map(|group| {
            let points = group.points.iter().enumerate();
            LineSeries::new(
                group.name.clone(),
                points.map(|(index, point)| (index as f64, Some(point.ns as f64))),
            )
        });
        let x = Axis::linear("steps in order of start", FigureUnit::Number);
        let mut chart = self.lines(x, Axis::linear("duration", FigureUnit::Time), series.collect());
        if let [group] = plot.groups.as_slice() {
            let rule = |(name, ns): (&str, Option<i64>)| Some(ReferenceLine::new(ns? as f64, name));
            chart.y_rules =
                [("p50", group.p50_ns), ("p99", group.p99_ns)].into_iter().filter_map(rule).collect();
        }
        chart.svg()
    }

    fn layers(&self, plot: &HeatPlot) -> String {
        let Some(phase) = plot.phases.first() else { return String::new() };
        let mut cells: BTreeMap<(usize, usize), f64> = BTreeMap::new();
        for cell in &phase.cells {
            let column = phase.layers.iter().position(|layer| *layer == cell.layer);
            let row = phase.classes.iter().position(|class| *class == cell.class);
            if let Some(at) = column.zip(row) {
                *cells.entry(at).or_default() += cell.lost_ns() as f64;
            }
        }
        HeatMap {
            title: self.title.to_string(),
            subtitle: format!("{}; {}", phase.phase.replace('_', " "), self.subtitle),
            label: "layer".to_owned(),
            value: if plot.has_floor { "lost time" } else { "time" }.to_owned(),
            unit: FigureUnit::Time,
            columns: phase.layers.iter().map(ToString::to_string).collect(),
            rows: phase.classes.iter().map(|class| class.replace('_', " ")).collect(),
            cells,
        }
        .svg()
    }

    /// One level fits a figure: the first of each subject, which is power or processor use.
    fn counters(&self, plot: &CountersPlot) -> String {
        let column = plot.subjects.first().and_then(|subject| subject.levels.first());
        let Some(first) = column else { return String::new() };
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
        self.lines(x, Axis::linear(first.title.clone(), unit), series.collect()).svg()
    }

    fn memory(&self, plot: &MemoryPlot) -> String {
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
        self.lines(x, Axis::linear("allocated", FigureUnit::Bytes), series.collect()).svg()
    }

    fn latency(&self, plot: &LatencyPlot) -> String {
        let series = plot.lines().into_iter().map(|(name, points)| {
            LineSeries::new(name, points.into_iter().map(|(rate, ns)| (rate, Some(ns))))
        });
        let x = Axis::linear("output tokens per second", FigureUnit::Number);
        self.lines(x, Axis::log10("latency", FigureUnit::Time), series.collect()).svg()
    }

    fn collectives(&self, plot: &CollectivesPlot) -> String {
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
        chart.svg()
    }
}
