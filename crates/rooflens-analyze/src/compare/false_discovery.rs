//! Many questions at once: of a thousand kernels that did not change, fifty seem to at 5 %.

/// The p-values that Benjamini and Hochberg (1995) would compare with the rate of false discoveries: each
/// smallest-to-largest p times how many there are over its place, and never above a later one.
pub fn adjusted(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut out = vec![1.0; p_values.len()];
    let mut least: f64 = 1.0;
    for (place, &index) in order.iter().enumerate().rev() {
        least = least.min(p_values[index] * p_values.len() as f64 / (place + 1) as f64);
        out[index] = least;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        // Sorted 0.01, 0.02, 0.03, 0.5 times 4/1, 4/2, 4/3, 4/4: 0.04, 0.04, 0.04, 0.5.
        let found = adjusted(&[0.02, 0.5, 0.01, 0.03]);
        let expected = [0.04, 0.5, 0.04, 0.04];
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
        // The first alone would be 0.15; the second is 0.09, and p of less cannot weigh more.
        let found = adjusted(&[0.05, 0.06, 0.09]);
        assert!(found.iter().all(|p| (p - 0.09).abs() < 1e-12), "{found:?}");
        assert!(adjusted(&[]).is_empty());
    }
}
