//! Prints every metric of a `.ncu-rep` file or of what `ncu --csv` printed, a JSON object for each launch: for
//! comparing with `ncu --import`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program")]

use std::time::Instant;

use rooflens_ingest::ncu::{self, MetricValue};
use rooflens_schema::Notes;
use serde_json::{Map, Value as Json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args().skip(1) {
        let begin = Instant::now();
        let launches = ncu::read_all(&[path.clone().into()], &Notes::default())?;
        eprintln!("{path}: {:.1} ms", begin.elapsed().as_secs_f64() * 1e3);
        for launch in &launches {
            let mut metrics = Map::new();
            let mut units = Map::new();
            for (name, metric) in &launch.metrics {
                let value = match &metric.value {
                    Some(MetricValue::Whole(whole)) => (*whole).into(),
                    Some(MetricValue::Number(number)) if number.is_finite() => (*number).into(),
                    // What JSON has no number for.
                    Some(MetricValue::Number(other)) => other.to_string().to_lowercase().into(),
                    Some(MetricValue::Text(text)) => text.clone().into(),
                    None => Json::Null,
                };
                metrics.insert(name.clone(), value);
                if let Some(unit) = &metric.unit {
                    units.insert(name.clone(), unit.clone().into());
                }
            }
            let document = serde_json::json!({"name": launch.name, "metrics": metrics, "units": units});
            println!("{document}");
        }
    }
    Ok(())
}
