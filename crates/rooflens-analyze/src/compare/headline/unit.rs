//! What the value of a metric is, by its key.

/// What a metric is measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricUnit {
    /// Nanoseconds.
    Time,
    /// A part of a whole, 0 to 1.
    Share,
    /// So many per second, in this unit.
    Rate(&'static str),
    /// Another number, or one of which nothing is known.
    Number,
}

impl MetricUnit {
    /// The unit of a headline metric. Keys of other metrics and of columns say it themselves, by how they end or begin.
    #[must_use]
    pub fn of(key: &str) -> Self {
        if let Some(metric) = super::find(key) {
            return metric.unit();
        }
        let is_share = key.ends_with("_share") || key.ends_with("_rate");
        if key.ends_with("_ns") {
            MetricUnit::Time
        } else if is_share || key.starts_with("mfu") || key.starts_with("mbu") {
            MetricUnit::Share
        } else {
            MetricUnit::Number
        }
    }
}

#[cfg(test)]
mod tests {
    use super::MetricUnit;

    #[test]
    fn keys_tell_their_unit() {
        let units = [
            ("tpot_p50_ns", MetricUnit::Time),
            ("tpot_p50", MetricUnit::Time),
            ("decode_step_p50_ns", MetricUnit::Time),
            ("requests_per_s", MetricUnit::Rate("requests/s")),
            ("output_tokens_per_s_per_user", MetricUnit::Rate("tokens/s")),
            ("error_rate", MetricUnit::Share),
            ("mbu_decode", MetricUnit::Share),
            ("device_busy_share", MetricUnit::Share),
            ("accuracy", MetricUnit::Number),
        ];
        for (key, unit) in units {
            assert_eq!(MetricUnit::of(key), unit, "{key}");
        }
        let titles = [
            ("tpot_p50_ns", "TPOT p50"),
            ("decode_step_p50_ns", "decode step p50"),
            ("step_p50_ns", "step p50"),
            ("mbu_decode", "MBU of decode"),
            ("device_busy_share", "device busy"),
            ("accuracy_p50", "accuracy_p50"),
        ];
        for (key, title) in titles {
            assert_eq!(super::super::title_of(key), title);
        }
    }
}
