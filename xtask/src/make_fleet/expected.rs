//! Rows that a query has to give, and the arithmetic behind them.

pub(super) use rooflens_store::day_of as day;
use serde_json::{Value, json};

/// The quantile of sorted values, interpolated linearly between neighbours.
pub(super) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let position = (sorted.len() - 1) as f64 * share;
    let below = position.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (position - position.floor()) * (sorted[above] - sorted[below])
}

/// Values in their order.
pub(super) fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// What a query gives with these parameters, in these columns, in any order. Columns have blanks between them.
pub(super) fn expected(query: &str, parameters: &[(&str, &str)], columns: &str, rows: Vec<Value>) -> Value {
    let columns: Vec<&str> = columns.split_whitespace().collect();
    let parameters: serde_json::Map<String, Value> =
        parameters.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    json!({"query": query, "parameters": parameters, "columns": columns, "rows": rows})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_quantiles() {
        assert_eq!(day(0), "1970-01-01");
        assert_eq!(day(1_790_812_800_000_000_000), "2026-10-01");
        assert_eq!(day(1_709_164_800_000_000_000), "2024-02-29");
        assert_eq!(quantile(&[1.0, 2.0, 4.0, 8.0], 0.5), 3.0);
        assert_eq!(quantile(&[1.0, 2.0], 0.99), 1.99);
        assert_eq!(quantile(&[7.0], 0.99), 7.0);
    }
}
