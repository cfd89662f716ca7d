//! The base unit of a metric, by its name: a `.ncu-rep` file has values without units.
//!
//! A name is a counter, what its instances were made one by (`sum`, `avg`, `min`, `max`), and what that was
//! divided by. Held against what `ncu --import --print-units base` shows by `oracles/check_ncu.py`.

/// The unit, in Nsight Compute's word; nothing where the name does not tell.
pub(crate) fn base_unit(metric: &str) -> Option<&'static str> {
    let metric = metric.strip_prefix("pmsampling:").unwrap_or(metric);
    let mut parts = metric.split('.');
    let counter = parts.next()?;
    if metric.contains(".pct") || counter.ends_with("_pct") {
        return Some("%");
    }
    let word = counter.split_once("__").map_or(counter, |(_, word)| word);
    if counter.starts_with("launch__shared_mem_per_block") {
        return Some("byte/block");
    }
    if counter.starts_with("launch__registers_per_thread") {
        return Some("register/thread");
    }
    if word.starts_with("sass_average_data_bytes_per_sector") {
        return Some("byte/sector");
    }
    let rolled_up = parts.next().filter(|word| matches!(*word, "sum" | "avg" | "min" | "max"))?;
    let quantity = quantity(counter, word)?;
    match (rolled_up, parts.next(), parts.next()) {
        (_, None, _) => Some(quantity),
        (_, Some("per_second"), None) => per_second(quantity),
        // Warps in a cycle are warps to it.
        (_, Some("per_cycle_elapsed" | "per_cycle_active" | "peak_sustained"), None) => per_cycle(quantity),
        (_, Some("peak_sustained" | "peak_sustained_elapsed"), Some("per_second")) => per_second(quantity),
        _ => None,
    }
}

fn quantity(counter: &str, word: &str) -> Option<&'static str> {
    let has = |part: &str| word.contains(part);
    if counter.contains("__average") {
        None
    } else if has("time_duration") {
        Some("ns")
    } else if has("bytes") {
        Some("byte")
    } else if has("_sectors") || word.starts_with("sectors") {
        Some("sector")
    } else if word.starts_with("cycles_") || has("_cycles_") {
        Some("cycle")
    } else if word.starts_with("warps_") {
        Some("warp")
    } else if has("thread_inst_executed") || has("sass_inst_executed") || word.starts_with("inst_") {
        Some("inst")
    } else if counter.starts_with("lts__t_requests") {
        Some("request")
    } else {
        None
    }
}

fn per_second(quantity: &str) -> Option<&'static str> {
    Some(match quantity {
        "byte" => "byte/s",
        "sector" => "sector/s",
        "cycle" => "hz",
        "inst" => "inst/s",
        _ => return None,
    })
}

fn per_cycle(quantity: &str) -> Option<&'static str> {
    Some(match quantity {
        "byte" => "byte/cycle",
        "sector" => "sector/cycle",
        "inst" => "inst/cycle",
        "warp" => "warp",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_that_ncu_shows() {
        let shown = [
            ("gpu__time_duration.sum", Some("ns")),
            ("dram__bytes_read.sum", Some("byte")),
            ("dram__bytes.sum.per_second", Some("byte/s")),
            ("dram__bytes.sum.peak_sustained", Some("byte/cycle")),
            ("sm__cycles_elapsed.avg.per_second", Some("hz")),
            ("smsp__warps_eligible.avg.per_cycle_active", Some("warp")),
            ("sm__throughput.avg.pct_of_peak_sustained_elapsed", Some("%")),
            ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", Some("sector")),
            ("derived__smsp__inst_executed_op_branch_pct", Some("%")),
            ("launch__registers_per_thread", Some("register/thread")),
            ("launch__grid_size", None),
            ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", None),
            ("Something New", None),
            ("", None),
        ];
        for (metric, unit) in shown {
            assert_eq!(base_unit(metric), unit, "{metric}");
        }
    }
}
