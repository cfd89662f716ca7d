//! Finds the highest rate within an SLO: the rate doubles until a load test fails, then the range is halved.

use std::collections::BTreeMap;

/// How to search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchOptions {
    /// First rate.
    pub start: f64,
    /// Highest rate to try.
    pub most: f64,
    /// Width of the range at the end, as a share of its lower end.
    pub resolution: f64,
}

impl Default for SearchOptions {
    fn default() -> Self {
        SearchOptions { start: 1.0, most: 1e6, resolution: 0.05 }
    }
}

/// Most load tests: twice what halving to the finest resolution takes.
const MOST_TESTS: usize = 100;
/// How often the first rate is halved before nothing is found.
const MOST_HALVINGS: i32 = 10;
/// How much the rate grows as long as the SLO is met.
const GROWTH: f64 = 2.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SearchEnd {
    Found,
    NothingMet,
    HighestMet,
    /// Above, the client could not keep up, so the server's limit is not known.
    ClientLimit,
    Unstable,
}

/// What a search found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchResult {
    pub(crate) end: SearchEnd,
    /// Highest rate that met the SLO.
    pub highest_met: Option<f64>,
    /// Lowest rate that did not, or at which the client was the limit.
    pub lowest_not_met: Option<f64>,
}

impl SearchResult {
    /// In a sentence.
    pub fn words(&self) -> String {
        let rate = |rate: Option<f64>| rate.map_or("none".to_owned(), |rate| format!("{rate:.3} requests/s"));
        let (met, not_met) = (rate(self.highest_met), rate(self.lowest_not_met));
        match self.end {
            SearchEnd::Found => format!("the SLO is met up to {met} and not at {not_met}"),
            SearchEnd::NothingMet => format!("no rate met the SLO: the lowest tried was {not_met}"),
            SearchEnd::HighestMet => format!("the SLO is met at {met}, the highest rate to try"),
            SearchEnd::ClientLimit => {
                format!(
                    "the SLO is met at {met}; at {not_met} the client could not keep up, so the server may hold more"
                )
            }
            SearchEnd::Unstable => {
                format!(
                    "load tests at the same rate disagree: the SLO was met at {met}, and not at {not_met}"
                )
            }
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Tests {
    met: usize,
    not_met: usize,
    is_invalid: bool,
}

impl Tests {
    /// Whether the SLO is met there; `None` where as many load tests say so as say no.
    fn verdict(self) -> Option<bool> {
        if self.is_invalid {
            Some(false)
        } else {
            (self.met != self.not_met).then_some(self.met > self.not_met)
        }
    }
}

/// A search under way. Ask for [`RateSearch::next_rate`], run a load test, tell [`RateSearch::observe`].
#[derive(Debug, Clone)]
pub struct RateSearch {
    options: SearchOptions,
    /// By the bits of a positive rate, which sort as the rate does.
    tests: BTreeMap<u64, Tests>,
    observed: usize,
}

impl RateSearch {
    /// Begins a search.
    pub fn new(options: SearchOptions) -> Self {
        let positive = |value: f64, other: f64| if value > 0.0 && value.is_finite() { value } else { other };
        let usual = SearchOptions::default();
        let most = positive(options.most, usual.most);
        let options = SearchOptions {
            start: positive(options.start, usual.start).min(most),
            most,
            resolution: positive(options.resolution, usual.resolution),
        };
        RateSearch { options, tests: BTreeMap::new(), observed: 0 }
    }

    /// The rate of the next load test; `None` at the end.
    pub fn next_rate(&self) -> Option<f64> {
        self.step().ok()
    }

    /// What was found; `None` before the end.
    pub fn result(&self) -> Option<SearchResult> {
        self.step().err()
    }

    /// The outcome of a load test: whether it met the SLO, or was invalid since the client could not keep up.
    pub fn observe(&mut self, rate: f64, is_met: bool, is_invalid: bool) {
        if !(rate > 0.0 && rate.is_finite()) {
            return;
        }
        self.observed += 1;
        let tests = self.tests.entry(rate.to_bits()).or_default();
        tests.is_invalid |= is_invalid;
        tests.met += usize::from(is_met && !is_invalid);
        tests.not_met += usize::from(!is_met && !is_invalid);
    }

    fn step(&self) -> Result<f64, SearchResult> {
        let rates = || self.tests.iter().map(|(bits, tests)| (f64::from_bits(*bits), *tests));
        let is_not_met = |tests: Tests| tests.verdict() == Some(false);
        let lowest_not_met = rates().find(|(_, tests)| is_not_met(*tests)).map(|(rate, _)| rate);
        let highest_met =
            rates().filter(|(_, tests)| tests.verdict() == Some(true)).map(|(rate, _)| rate).next_back();
        let end = |end| SearchResult { end, highest_met: self.below(lowest_not_met), lowest_not_met };
        if self.observed >= MOST_TESTS {
            return Err(end(SearchEnd::Unstable));
        }
        // As many load tests say yes as say no: one more decides.
        if let Some((tied, _)) = rates().find(|(_, tests)| tests.verdict().is_none()) {
            return Ok(tied);
        }
        // A rate met the SLO and a lower one did not: the lower one is repeated, unless it has been.
        if let (Some(failed), Some(met)) = (lowest_not_met, highest_met)
            && failed < met
            && let Some(tests) = self.tests.get(&failed.to_bits())
            && tests.met + tests.not_met == 1
            && !tests.is_invalid
        {
            return Ok(failed);
        }
        match (self.below(lowest_not_met), lowest_not_met) {
            (None, None) => Ok(self.options.start),
            (Some(met), None) if met >= self.options.most => {
                self.confirmed(met).ok_or(end(SearchEnd::HighestMet))
            }
            (Some(met), None) => Ok((met * GROWTH).min(self.options.most)),
            (None, Some(failed)) if failed <= self.options.start / 2.0_f64.powi(MOST_HALVINGS) => {
                Err(end(SearchEnd::NothingMet))
            }
            (None, Some(failed)) => Ok(failed / 2.0),
            (Some(met), Some(failed)) if failed / met - 1.0 > self.options.resolution => {
                Ok((met + failed) / 2.0)
            }
            (Some(met), Some(failed)) => {
                let is_client = self.tests.get(&failed.to_bits()).is_some_and(|tests| tests.is_invalid);
                let why = if is_client { SearchEnd::ClientLimit } else { SearchEnd::Found };
                self.confirmed(met).ok_or(end(why))
            }
        }
    }

    fn below(&self, limit: Option<f64>) -> Option<f64> {
        let met = self.tests.iter().filter(|(_, tests)| tests.verdict() == Some(true));
        let mut rates = met.map(|(bits, _)| f64::from_bits(*bits));
        rates.rfind(|rate| limit.is_none_or(|limit| *rate < limit))
    }

    /// The rate to repeat, where it must be.
    /// The highest rate that met the SLO is repeated before it is believed.
    fn confirmed(&self, met: f64) -> Option<f64> {
        let once = self.tests.get(&met.to_bits()).is_some_and(|tests| tests.met + tests.not_met == 1);
        once.then_some(met)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(options: SearchOptions, mut server: impl FnMut(f64) -> (bool, bool)) -> (SearchResult, Vec<f64>) {
        let mut search = RateSearch::new(options);
        let mut tried = Vec::new();
        while let Some(rate) = search.next_rate() {
            let (is_met, is_invalid) = server(rate);
            search.observe(rate, is_met, is_invalid);
            tried.push(rate);
        }
        (search.result().unwrap(), tried)
    }

    #[test]
    fn the_limit_is_found() {
        let options = SearchOptions { start: 10.0, ..SearchOptions::default() };
        let (found, tried) = run(options, |rate| (rate <= 73.0, false));
        assert_eq!(tried[..4], [10.0, 20.0, 40.0, 80.0]);
        assert_eq!(tried[4..], [60.0, 70.0, 75.0, 72.5, 72.5]);
        let expected =
            SearchResult { end: SearchEnd::Found, highest_met: Some(72.5), lowest_not_met: Some(75.0) };
        assert_eq!(found, expected);
        assert_eq!(found.words(), "the SLO is met up to 72.500 requests/s and not at 75.000 requests/s");
        // From above, any limit is bracketed as narrowly.
        for limit in [0.3, 1.0, 7.7, 512.0, 99_999.0] {
            let (found, _) = run(options, |rate| (rate <= limit, false));
            let (met, failed) = (found.highest_met.unwrap(), found.lowest_not_met.unwrap());
            assert!(met <= limit && limit < failed && failed / met <= 1.05, "{limit}: {found:?}");
        }
    }

    #[test]
    fn a_search_says_why_it_found_nothing() {
        let (found, tried) = run(SearchOptions::default(), |_| (false, false));
        assert_eq!((found.end, found.highest_met, tried.len()), (SearchEnd::NothingMet, None, 11));
        let most = SearchOptions { most: 50.0, ..SearchOptions::default() };
        let (found, _) = run(most, |_| (true, false));
        assert_eq!((found.end, found.highest_met), (SearchEnd::HighestMet, Some(50.0)));
        // Met where it was valid, but the client gives up at 30.
        let (found, _) = run(SearchOptions::default(), |rate| (true, rate > 30.0));
        assert_eq!(found.end, SearchEnd::ClientLimit);
        assert!(found.highest_met.unwrap() <= 30.0 && found.lowest_not_met.unwrap() > 30.0, "{found:?}");
        assert!(found.words().contains("the client could not keep up"), "{}", found.words());
        // Nothing sensible in, a search of sorts out.
        let odd = SearchOptions { start: f64::NAN, most: -1.0, resolution: 0.0 };
        assert_eq!(RateSearch::new(odd).next_rate(), Some(1.0));
    }

    #[test]
    fn luck_is_not_believed() {
        let options = SearchOptions { start: 10.0, ..SearchOptions::default() };
        // The truth is 50; at 60 the first load test is lucky.
        let mut lucky = true;
        let (found, tried) = run(options, |rate| {
            let is_met = rate <= 50.0 || (rate > 60.0 && rate < 63.0 && std::mem::take(&mut lucky));
            (is_met, false)
        });
        assert!(
            found.highest_met.unwrap() <= 50.0 && found.lowest_not_met.unwrap() > 50.0,
            "{found:?} {tried:?}"
        );
        // At 20 the first one is unlucky: what is below is found, and repeating 20 is not asked for; a user who tries
        // 40 in between shows the contradiction.
        let mut search = RateSearch::new(options);
        search.observe(10.0, true, false);
        search.observe(20.0, false, false);
        search.observe(40.0, true, false);
        assert_eq!(search.next_rate(), Some(20.0));
        search.observe(20.0, true, false);
        assert_eq!(search.next_rate(), Some(20.0), "one each: a third decides");
        search.observe(20.0, true, false);
        assert_eq!(search.next_rate(), Some(80.0));
    }

    #[test]
    fn a_server_of_mere_chance_ends_too() {
        let mut random = crate::compare::random::Random::new(2);
        for _ in 0..50 {
            let (found, tried) =
                run(SearchOptions::default(), |_| (random.below(2) == 0, random.below(20) == 0));
            assert!(tried.len() <= MOST_TESTS && !found.words().is_empty());
        }
    }
}
