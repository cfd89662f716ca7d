//! Jobs held against each other: the best of each number, and who is beaten by nobody.

/// Whether less or more is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Better {
    /// Times.
    Less,
    /// Rates.
    More,
}

/// Which values are the best; none where they do not differ.
pub(crate) fn best(values: &[Option<f64>], better: Better) -> Vec<bool> {
    let known = || values.iter().flatten().copied();
    let best = match better {
        Better::Less => known().reduce(f64::min),
        Better::More => known().reduce(f64::max),
    };
    let is_choice = known().any(|value| Some(value) != best);
    values.iter().map(|value| is_choice && value.is_some() && *value == best).collect()
}

/// Of pairs of which the first is better small and the second better large: whether no other pair is at
/// least as good in both and better in one. Nothing where one of the two is not known.
pub(crate) fn front(pairs: &[(Option<f64>, Option<f64>)]) -> Vec<Option<bool>> {
    let beats = |one: (f64, f64), other: (f64, f64)| {
        one.0 <= other.0 && one.1 >= other.1 && (one.0 < other.0 || one.1 > other.1)
    };
    let known = |pair: &(Option<f64>, Option<f64>)| Some((pair.0?, pair.1?));
    let is_front = |own| !pairs.iter().filter_map(known).any(|other| beats(other, own));
    pairs.iter().map(|pair| known(pair).map(is_front)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_measured_is_never_best() {
        assert_eq!(best(&[None, Some(3.0), Some(2.0), Some(2.0)], Better::Less), [false, false, true, true]);
        assert_eq!(best(&[None, Some(3.0), Some(2.0)], Better::More), [false, true, false]);
        assert_eq!(best(&[None, Some(3.0), Some(3.0)], Better::More), [false; 3]);
        assert_eq!(best(&[], Better::More), [false; 0]);
    }

    #[test]
    fn the_front_by_hand() {
        let pair = |x: f64, y: f64| (Some(x), Some(y));
        // (1, 10) and (2, 30) stay; (2, 20) has the time of one and less; (3, 30) takes longer for as much.
        let pairs = [pair(1.0, 10.0), pair(2.0, 30.0), pair(2.0, 20.0), pair(3.0, 30.0), (None, Some(99.0))];
        assert_eq!(front(&pairs), [Some(true), Some(true), Some(false), Some(false), None]);
        // Equals do not beat each other.
        assert_eq!(front(&[pair(1.0, 1.0), pair(1.0, 1.0)]), [Some(true), Some(true)]);
    }
}
