//! Does one sample tend to be larger than another? The rank-sum test of Mann and Whitney: only the order of
//! values counts, so a few that are far off do no harm.

/// Sizes up to whose product the distribution is counted exactly where no two values are equal.
const EXACT: usize = 400;

/// The two-sided p-value. `None` where a sample is empty.
///
/// Counted exactly for small samples without ties; else by the normal distribution with corrections for ties
/// and continuity.
pub fn rank_sum(a: &[f64], b: &[f64]) -> Option<f64> {
    let (n, m) = (a.len(), b.len());
    if n == 0 || m == 0 {
        return None;
    }
    let mut all: Vec<(f64, bool)> =
        a.iter().map(|value| (*value, true)).chain(b.iter().map(|value| (*value, false))).collect();
    all.sort_by(|x, y| x.0.total_cmp(&y.0));
    let (mut ranks_of_a, mut ties) = (0.0, 0.0);
    let mut at = 0;
    while at < all.len() {
        let same = all[at..].iter().take_while(|value| value.0 == all[at].0).count();
        // Equal values share the mean of their ranks.
        let rank = at as f64 + (same as f64 + 1.0) / 2.0;
        ranks_of_a += rank * all[at..at + same].iter().filter(|value| value.1).count() as f64;
        ties += (same as f64).powi(3) - same as f64;
        at += same;
    }
    let u = ranks_of_a - (n * (n + 1)) as f64 / 2.0;
    let product = (n * m) as f64;
    let lower = u.min(product - u);
    if ties == 0.0 && n * m <= EXACT {
        return Some((2.0 * tail(n, m, lower as usize)).min(1.0));
    }
    let count = (n + m) as f64;
    let variance = product / 12.0 * (count + 1.0 - ties / (count * (count - 1.0)));
    if variance <= 0.0 {
        return Some(1.0); // all values are equal
    }
    let z = ((product / 2.0 - lower - 0.5) / variance.sqrt()).max(0.0);
    Some(normal_tails(z))
}

/// The smallest p-value that samples of these sizes can have: all values of one are above those of the other.
pub fn least_rank_sum(n: usize, m: usize) -> f64 {
    // Two of the C(n + m, n) orders.
    (1..=n).fold(2.0, |p, place| p * place as f64 / (m + place) as f64)
}

/// The probability that U is at most `limit`: of all orders of n and m values, how many have it. The number
/// with U = u is that with the largest value taken from either side.
fn tail(n: usize, m: usize, limit: usize) -> f64 {
    // ways[j][u]: orders of the first i values of one side and j of the other.
    let width = n * m + 1;
    let mut ways = vec![vec![0.0; width]; m + 1];
    ways.iter_mut().for_each(|row| row[0] = 1.0);
    for _ in 0..n {
        for j in 1..=m {
            let before = ways[j - 1].clone();
            let row = &mut ways[j];
            // A value of the first side above j of the other adds j.
            for u in (0..width).rev() {
                row[u] = before[u] + if u >= j { row[u - j] } else { 0.0 };
            }
        }
    }
    let all: f64 = ways[m].iter().sum();
    ways[m][..=limit.min(width - 1)].iter().sum::<f64>() / all
}

/// The probability that a normal deviate is at least this far from 0, on either side.
pub(crate) fn normal_tails(z: f64) -> f64 {
    libm::erfc(z.abs() / std::f64::consts::SQRT_2)
}

// Many questions at once: of a thousand kernels that did not change, fifty seem to at 5 %.

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
    fn the_least_is_that_of_samples_that_do_not_overlap() {
        for (n, m) in [(4, 4), (4, 7), (9, 9)] {
            let a: Vec<f64> = (0..n).map(f64::from).collect();
            let b: Vec<f64> = (100..100 + m).map(f64::from).collect();
            let least = least_rank_sum(n as usize, m as usize);
            assert!((rank_sum(&a, &b).unwrap() - least).abs() < 1e-12, "{n} and {m}");
        }
    }

    fn is(found: Option<f64>, expected: f64) {
        assert!(found.is_some_and(|found| (found - expected).abs() < 1e-12), "{found:?} is not {expected}");
    }

    #[test]
    fn small_samples_are_counted() {
        // Of the 20 orders of 3 and 3, one has all of a below all of b, and one all above.
        is(rank_sum(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]), 2.0 / 20.0);
        // U = 1: two of 20 orders have U ≤ 1.
        is(rank_sum(&[1.0, 2.0, 4.0], &[3.0, 5.0, 6.0]), 4.0 / 20.0);
        // 4 and 4: 2 / 70.
        is(rank_sum(&[5.0, 6.0, 7.0, 8.0], &[1.0, 2.0, 3.0, 4.0]), 2.0 / 70.0);
        // 2 and 3: orders by U are 1, 1, 2, 2, 2, 1, 1. U = 2 of [1, 4] over [2, 3, 5]: 2 × 4 / 10.
        is(rank_sum(&[1.0, 4.0], &[2.0, 3.0, 5.0]), 0.8);
    }

    #[test]
    fn ties_and_large_samples_are_normal() {
        // scipy.stats.mannwhitneyu([1, 1, 2, 3], [2, 3, 3, 4], method="asymptotic").pvalue
        is(rank_sum(&[1.0, 1.0, 2.0, 3.0], &[2.0, 3.0, 3.0, 4.0]), 0.134_169_180_128_125_84);
        // scipy.stats.mannwhitneyu(range(0, 60, 2), range(11, 71, 2), method="asymptotic").pvalue
        let even: Vec<f64> = (0..30).map(|i| f64::from(2 * i)).collect();
        let odd: Vec<f64> = (0..30).map(|i| f64::from(2 * i + 11)).collect();
        is(rank_sum(&even, &odd), 0.027_086_318_388_295_935);
        is(rank_sum(&[7.0; 9], &[7.0; 5]), 1.0);
        assert_eq!(rank_sum(&[], &[1.0]), None);
    }

    #[test]
    fn normal_tails_are_those_of_scipy() {
        // 2 * scipy.stats.norm.sf(z)
        for (z, expected) in [
            (0.0, 1.0),
            (0.1, 0.920_344_325_445_942),
            (-1.0, 0.317_310_507_862_914_15),
            (1.959_963_984_540_054, 0.05),
            (5.0, 5.733_031_437_583_866e-7),
            (8.0, 1.244_192_114_854_348e-15),
            (20.0, 5.507_248_237_212_311e-89),
        ] {
            let found = normal_tails(z);
            assert!((found / expected - 1.0).abs() < 1e-12, "{z}: {found} is not {expected}");
        }
    }

    #[test]
    fn many_questions_by_hand() {
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
