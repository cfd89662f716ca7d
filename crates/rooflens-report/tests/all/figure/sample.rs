//! Figures of a plausible model.

use rooflens_report::figure::{
    Axis, Bar, BarChart, FigureUnit, LineChart, LineSeries, ReferenceLine, RooflineChart, RooflineDevice,
    RooflineOperator,
};

pub fn sweep() -> LineChart {
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

pub fn h100() -> RooflineDevice {
    RooflineDevice::new("H100 SXM", 3.35e12, [("bf16", 989e12), ("fp8", 1_979e12)])
}

pub fn operator(label: &str, intensity: f64, weight: f64, group: &str) -> RooflineOperator {
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

pub fn roofline() -> RooflineChart {
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

pub fn bars() -> BarChart {
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

pub fn many() -> LineChart {
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
