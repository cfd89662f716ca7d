//! What a closed loop hides: while a request stalls, its user sends nothing, so that the requests that would have
//! waited too are missing from the percentiles (coordinated omission). They are put back as HdrHistogram does, at the
//! pace at which the user sends otherwise.

use super::series::median;

/// A request of a user in a closed loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserRequest {
    /// When it was sent.
    pub sent_ns: i64,
    /// When its first token arrived; `None` where none did.
    pub first_token_ns: Option<i64>,
}

/// A cycle may take so much longer than the median before a request is late.
const TOLERANCE: f64 = 1.5;
/// Most requests that one stall may have kept from being sent.
const MOST_MISSED: i64 = 100_000;

/// TTFT in ns as arrivals at a constant pace would have seen it: puts back what each user did not send. Requests of a
/// user are in the order of sending. A request that follows one that took longer than the others is expected one
/// interval after it, and further ones every interval until it was sent; they get their first token when it did.
/// `None` if no user sent two requests.
pub fn corrected_ttft(users: &[Vec<UserRequest>]) -> Option<Vec<f64>> {
    let pairs = users.iter().flat_map(|user| user.windows(2));
    let cycles: Vec<f64> =
        pairs.map(|pair| pair[1].sent_ns.saturating_sub(pair[0].sent_ns).max(0) as f64).collect();
    let interval_ns =
        (!cycles.is_empty()).then(|| median(&cycles) as i64).filter(|interval| *interval > 0)?;
    let mut ttft_ns = Vec::new();
    for user in users {
        let before = std::iter::once(None).chain(user.iter().map(Some));
        for (request, before) in user.iter().zip(before) {
            let mut seen_from = |expected_ns: i64| {
                let since = |ns: i64| ns.saturating_sub(expected_ns).max(0) as f64;
                ttft_ns.extend(request.first_token_ns.map(since));
            };
            let cycle = before.map(|before| (before, request.sent_ns.saturating_sub(before.sent_ns)));
            match cycle.filter(|(_, cycle)| *cycle as f64 > TOLERANCE * interval_ns as f64) {
                None => seen_from(request.sent_ns),
                Some((before, cycle)) => {
                    // The last of them is due before the request was sent.
                    let due = ((cycle - 1) / interval_ns).clamp(1, MOST_MISSED);
                    for number in 1..=due {
                        seen_from(before.sent_ns.saturating_add(number * interval_ns));
                    }
                }
            }
        }
    }
    Some(ttft_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn request(sent: i64, first: i64) -> UserRequest {
        UserRequest { sent_ns: sent * MS, first_token_ns: Some(first * MS) }
    }

    #[test]
    fn a_stall_of_two_seconds_by_hand() {
        // Every 500 ms, first token after 50 ms. The third stalls for 2 s after its first token: it takes 2,500 ms,
        // and those due at 1,500, 2,000, 2,500 and 3,000 wait for the fourth, sent at 3,500.
        let user = vec![
            request(0, 50),
            request(500, 550),
            request(1_000, 1_050),
            request(3_500, 3_550),
            request(4_000, 4_050),
        ];
        let found = corrected_ttft(std::slice::from_ref(&user)).unwrap();
        let ms: Vec<f64> = found.iter().map(|ns| ns / 1e6).collect();
        assert_eq!(ms, [50.0, 50.0, 50.0, 2_050.0, 1_550.0, 1_050.0, 550.0, 50.0]);
        // The raw TTFT shows nothing of it.
        assert!(user.iter().all(|one| one.first_token_ns.unwrap() - one.sent_ns == 50 * MS));
    }

    #[test]
    fn a_steady_user_is_left_alone() {
        let user: Vec<UserRequest> = (0..20).map(|at| request(at * 100 + at % 3, at * 100 + 20)).collect();
        assert_eq!(corrected_ttft(&[user.clone(), user]).unwrap().len(), 40);
        assert_eq!(corrected_ttft(&[vec![request(0, 1)]]), None);
        assert_eq!(corrected_ttft(&[vec![request(0, 1); 3]]), None);
        assert_eq!(corrected_ttft(&[]), None);
    }
}
