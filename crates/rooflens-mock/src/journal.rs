//! What the server did, request by request, on the wall clock.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use serde::Serialize;

pub(crate) fn unix_ns(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// One request.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ServedRequest {
    /// In the order of arrival, from 0.
    pub(crate) number: u64,
    pub(crate) path: String,
    pub(crate) stream: bool,
    /// When its head arrived, by the kernel.
    pub arrival_ns: i64,
    pub(crate) received_ns: Option<i64>,
    /// When work on it began: when it was complete, or when it got a slot. Tokens are due from here on.
    pub(crate) started_ns: Option<i64>,
    /// Tokens of its prompt.
    pub prompt_tokens: u64,
    pub(crate) max_tokens: u64,
    /// Tokens that were written.
    pub output_tokens: u64,
    pub(crate) reasoning_tokens: u64,
    /// What went wrong by intent.
    pub fault: Option<&'static str>,
    pub(crate) status: Option<u16>,
    /// Whether the answer was given to its last byte.
    pub complete: bool,
    /// When each part with tokens was written.
    pub writes_ns: Vec<i64>,
    /// Tokens in each of them.
    pub write_tokens: Vec<u32>,
}

#[derive(Debug, Default)]
pub(crate) struct Journal {
    keeps_writes: bool,
    served: Mutex<Vec<ServedRequest>>,
}

/// The log of a server as a document.
#[derive(Debug, Serialize)]
pub struct ServerLog {
    /// Sums of all requests.
    pub totals: ServedTotals,
    /// In the order of arrival.
    pub requests: Vec<ServedRequest>,
}

/// Sums of all requests.
#[derive(Debug, Default, Serialize, PartialEq, Eq)]
pub struct ServedTotals {
    /// Requests for tokens, embeddings or ranks.
    pub requests: u64,
    /// Answered to the last byte.
    pub complete: u64,
    /// Tokens of prompts that were worked on.
    pub prompt_tokens: u64,
    /// Tokens that were written.
    pub output_tokens: u64,
    pub(crate) reasoning_tokens: u64,
    /// Requests by what went wrong by intent.
    pub faults: BTreeMap<&'static str, u64>,
    /// `/start_profile` calls.
    pub profiles_started: u64,
    /// `/stop_profile` calls.
    pub profiles_stopped: u64,
}

impl Journal {
    pub(crate) fn new(keeps_writes: bool) -> Self {
        Journal { keeps_writes, served: Mutex::default() }
    }

    pub(crate) fn log(&self) -> ServerLog {
        let mut requests = self.served.lock().unwrap_or_else(PoisonError::into_inner).clone();
        requests.sort_by_key(|request| request.number);
        let mut totals = ServedTotals::default();
        for request in &requests {
            totals.requests += 1;
            totals.complete += u64::from(request.complete);
            if request.started_ns.is_some() {
                totals.prompt_tokens += request.prompt_tokens;
            }
            totals.output_tokens += request.output_tokens;
            totals.reasoning_tokens += request.reasoning_tokens;
            if let Some(fault) = request.fault {
                *totals.faults.entry(fault).or_default() += 1;
            }
        }
        ServerLog { totals, requests }
    }
}

/// A request in progress; it goes into the journal when nobody needs it any longer.
pub(crate) struct OpenRequest {
    entry: RefCell<ServedRequest>,
    journal: Arc<Journal>,
}

impl OpenRequest {
    pub(crate) fn new(journal: Arc<Journal>, entry: ServedRequest) -> Rc<Self> {
        Rc::new(OpenRequest { entry: RefCell::new(entry), journal })
    }

    pub(crate) fn update(&self, change: impl FnOnce(&mut ServedRequest)) {
        change(&mut self.entry.borrow_mut());
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        let mut served = self.journal.served.lock().unwrap_or_else(PoisonError::into_inner);
        served.push(self.entry.take());
    }
}

pub(crate) struct PartWritten {
    pub(crate) request: Rc<OpenRequest>,
    pub(crate) tokens: u32,
    pub(crate) reasoning: u32,
}

impl PartWritten {
    pub(crate) fn at(&self, time: SystemTime) {
        let keeps = self.request.journal.keeps_writes;
        self.request.update(|entry| {
            entry.output_tokens += u64::from(self.tokens);
            entry.reasoning_tokens += u64::from(self.reasoning);
            if keeps {
                entry.writes_ns.push(unix_ns(time));
                entry.write_tokens.push(self.tokens);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn sums_are_those_of_ended_requests_in_the_order_of_arrival() {
        let journal = Arc::new(Journal::new(true));
        let entry = |number, started_ns, fault| ServedRequest {
            number,
            prompt_tokens: 10,
            started_ns,
            fault,
            ..ServedRequest::default()
        };
        let second = OpenRequest::new(journal.clone(), entry(1, Some(5), None));
        let first = OpenRequest::new(journal.clone(), entry(0, None, Some("hang")));
        let in_progress = OpenRequest::new(journal.clone(), entry(2, Some(9), None));
        let at = SystemTime::UNIX_EPOCH + Duration::from_nanos(17);
        PartWritten { request: second.clone(), tokens: 4, reasoning: 1 }.at(at);
        drop((second, first));
        let log = journal.log();
        assert_eq!(log.requests.iter().map(|request| request.number).collect::<Vec<_>>(), [0, 1]);
        assert_eq!((&log.requests[1].writes_ns, &log.requests[1].write_tokens), (&vec![17], &vec![4]));
        let totals = ServedTotals {
            requests: 2,
            prompt_tokens: 10,
            output_tokens: 4,
            reasoning_tokens: 1,
            faults: [("hang", 1)].into(),
            ..ServedTotals::default()
        };
        assert_eq!(log.totals, totals);
        drop(in_progress);
        assert_eq!(journal.log().totals.prompt_tokens, 20);
    }
}
