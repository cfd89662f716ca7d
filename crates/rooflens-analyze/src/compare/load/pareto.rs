//! Throughput against interactivity: which operating points of a server are worth choosing?

/// An operating point, as one rate or concurrency of a sweep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OperatingPoint {
    /// Output tokens per second and device.
    pub tokens_per_s_per_device: f64,
    /// Output tokens per second and user.
    pub tokens_per_s_per_user: f64,
}

/// The points that no other beats in one number without losing in the other, by falling throughput. Equal points
/// count once; points that are not finite do not count. Indices into `points`.
pub fn pareto_front(points: &[OperatingPoint]) -> Vec<usize> {
    let is_finite = |at: &usize| {
        points[*at].tokens_per_s_per_device.is_finite() && points[*at].tokens_per_s_per_user.is_finite()
    };
    let mut order: Vec<usize> = (0..points.len()).filter(is_finite).collect();
    order.sort_by(|&a, &b| {
        let by_throughput = points[b].tokens_per_s_per_device.total_cmp(&points[a].tokens_per_s_per_device);
        by_throughput.then(points[b].tokens_per_s_per_user.total_cmp(&points[a].tokens_per_s_per_user))
    });
    let mut best = f64::NEG_INFINITY;
    order.retain(|&at| {
        let is_better = points[at].tokens_per_s_per_user > best;
        best = best.max(points[at].tokens_per_s_per_user);
        is_better
    });
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let point =
            |(device, user)| OperatingPoint { tokens_per_s_per_device: device, tokens_per_s_per_user: user };
        let points: Vec<OperatingPoint> = [
            (100.0, 50.0),
            (200.0, 40.0),
            (150.0, 30.0),
            (200.0, 35.0),
            (300.0, 10.0),
            (100.0, 50.0),
            (f64::NAN, 90.0),
        ]
        .map(point)
        .into();
        // (150, 30) loses to (200, 40), (200, 35) too.
        assert_eq!(pareto_front(&points), [4, 1, 0]);
        assert!(pareto_front(&[]).is_empty());
    }
}
