//! Products of a trace as the cost model knows them.

use rooflens_analyze::analyses::ProductStat;
use rooflens_analyze::product::is_fp32;
use rooflens_cost::measured::{TimelineSide, Traced};

use super::run_phase;

/// The products of steps, and on which side their time was measured.
pub(crate) fn traced(products: &[ProductStat]) -> (Vec<Traced>, TimelineSide) {
    let on_device = products.iter().any(|row| row.device_ns > 0);
    let timeline = if on_device { TimelineSide::Device } else { TimelineSide::Host };
    let row = |row: &ProductStat| {
        Some(Traced {
            phase: run_phase(row.phase)?,
            layer: row.layer.and_then(|layer| u32::try_from(layer).ok()),
            part: row.part.to_string(),
            module: row.module.clone().unwrap_or_default(),
            operator: row.operator.clone(),
            count: row.count as u64,
            flops: row.flops,
            heads: row.heads,
            kv_elements: row.kv_elements,
            is_fp32: is_fp32(&row.dtypes),
            ns: if on_device { row.device_ns } else { row.host_ns },
        })
    };
    (products.iter().filter_map(row).collect(), timeline)
}
