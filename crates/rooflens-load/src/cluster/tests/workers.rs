use std::sync::mpsc;

use super::*;
use crate::cluster::link::Link;
use crate::cluster::wire::{Message, WireRecord};

#[test]
fn shares_add_up_to_the_whole_schedule() {
    with_workers(&[&pretend, &pretend, &pretend], |addresses| {
        for job in [job(1_000), conversations(1_000), job(2)] {
            let (outcome, records) = run(addresses, &job);
            let outcome = outcome.unwrap();
            assert_eq!(told(&records), alone(&job));
            assert_eq!(outcome.load.requests, job.plan.limits.requests.unwrap());
            assert_eq!(
                outcome.workers.iter().map(|worker| worker.requests).sum::<u64>(),
                outcome.load.requests
            );
            assert!(outcome.load.client.valid && lost(&outcome).is_empty());
            // All three ran: their processor time is summed.
            assert_eq!((outcome.load.client.cpu_ns, outcome.load.client.threads), (3_000, 3));
        }
    });
}

#[test]
fn a_worker_whose_engine_fails_is_lost_and_the_others_are_kept() {
    with_workers(&[&pretend, &failing], |addresses| {
        let (outcome, records) = run(addresses, &job(100));
        let outcome = outcome.unwrap();
        assert_eq!(records.len(), 50);
        assert!(records.iter().all(|record| record.number % 2 == 0));
        let lost = lost(&outcome);
        assert_eq!((lost.len(), lost[0].share, lost[0].requests), (1, 1, 0));
        assert!(!outcome.load.client.valid);
        assert!(outcome.load.client.reasons[0].contains("no file descriptors"));
        let (outcome, _) = run(&addresses[1..], &job(100));
        assert!(outcome.unwrap_err().to_string().starts_with("no worker finished"));
    });
}

#[test]
fn a_workload_that_cannot_be_opened_fails_before_the_start() {
    with_workers(&[&pretend], |addresses| {
        let mut broken = job(10);
        broken.workload.tokenizer = Some("/nonexistent".into());
        let (outcome, records) = run(addresses, &broken);
        assert!(outcome.unwrap_err().to_string().contains("/nonexistent"));
        assert!(records.is_empty());
        assert!(run(addresses, &job(10)).0.is_ok());
    });
}

struct StopOn(AtomicBool);

impl LoadWatch for StopOn {
    fn stop(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[test]
fn a_worker_does_one_job_at_a_time_and_stops_when_asked() {
    with_workers(&[&pretend_for_ever], |addresses| {
        let watch = StopOn(AtomicBool::new(false));
        let (first_record, began) = mpsc::channel();
        std::thread::scope(|scope| {
            let watch = &watch;
            let first = scope.spawn(move || {
                let mut sink = move |record: RequestRecord| first_record.send(record).unwrap();
                run_on_workers(addresses, &job(10), &options(), &mut sink, watch).unwrap()
            });
            began.recv().unwrap();
            let (second, _) = run(addresses, &job(10));
            watch.0.store(true, Ordering::Relaxed);
            assert!(second.unwrap_err().to_string().contains("busy"));
            let outcome = first.join().unwrap();
            assert!(outcome.load.stopped && outcome.load.requests == 10);
        });
    });
}

fn scripted(script: impl FnOnce(&mut Link) + Send, test: impl FnOnce(&[String])) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let (socket, _) = listener.accept().unwrap();
            let mut link = Link::new(Box::new(socket.try_clone().unwrap()), socket).unwrap();
            link.join_coordinator(&token(), Duration::from_secs(60)).unwrap();
            script(&mut link);
        });
        test(&[address]);
    });
}

fn until_start(link: &mut Link, ahead_ns: i64) -> i64 {
    loop {
        match link.expect(Duration::from_secs(60)).unwrap() {
            Message::Job { .. } => link.send(&Message::Ready).unwrap(),
            Message::Ping => {
                let now = unix_ns() + ahead_ns;
                link.send(&Message::Pong { received_unix_ns: now, answered_unix_ns: now }).unwrap();
            }
            Message::Start { at_unix_ns } => return at_unix_ns,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_silent_worker_is_lost_with_what_it_had_reported() {
    let (done, wait) = mpsc::channel::<()>();
    let mute = move |link: &mut Link| {
        let at = until_start(link, 0);
        link.send(&Message::Begun { base_unix_ns: at }).unwrap();
        let records = vec![WireRecord::from(record(0, 0, None)), WireRecord::from(record(2, 0, None))];
        link.send(&Message::Records { records }).unwrap();
        wait.recv().unwrap_err();
    };
    scripted(mute, |mute| {
        with_workers(&[&pretend], |good| {
            let options = ClusterOptions { silence: Duration::from_secs(4), ..options() };
            let mut count = 0;
            let mut sink = |_: RequestRecord| count += 1;
            let addresses = [mute, good].concat();
            let outcome = run_on_workers(&addresses, &job(10), &options, &mut sink, &Idle).unwrap();
            let lost = lost(&outcome);
            assert_eq!((lost.len(), lost[0].requests, count), (1, 2, 7));
            assert!(outcome.load.client.reasons[0].contains("lost after 2 requests: no message for"));
        });
        drop(done);
    });
}

#[test]
fn a_worker_whose_connection_ends_is_lost_and_the_others_are_kept() {
    let killed = |link: &mut Link| {
        let at = until_start(link, 0);
        link.send(&Message::Begun { base_unix_ns: at }).unwrap();
        let records = vec![WireRecord::from(record(0, 0, None)), WireRecord::from(record(3, 0, None))];
        link.send(&Message::Records { records }).unwrap();
    };
    scripted(killed, |killed| {
        with_workers(&[&pretend, &pretend], |good| {
            let (outcome, records) = run(&[killed, good].concat(), &job(300));
            let outcome = outcome.unwrap();
            let lost = lost(&outcome);
            assert_eq!((lost.len(), lost[0].share, lost[0].requests, records.len()), (1, 0, 2, 202));
            assert!(!outcome.load.client.valid);
            let reason = format!("worker {} was lost after 2 requests: the connection was closed", killed[0]);
            assert_eq!(outcome.load.client.reasons, [reason]);
        });
    });
}

#[test]
fn times_of_a_worker_with_a_wrong_clock_are_set_right() {
    let hour_ns = 3_600_000_000_000;
    let ahead = move |link: &mut Link| {
        let at = until_start(link, hour_ns);
        // It begins 5 ms late.
        link.send(&Message::Begun { base_unix_ns: at + 5_000_000 }).unwrap();
        link.send(&Message::Records { records: vec![WireRecord::from(record(0, 0, None))] }).unwrap();
        let outcome = outcome(at + 5_000_000, 1, false);
        link.send(&Message::Done { outcome }).unwrap();
        assert!(matches!(link.expect(Duration::from_secs(60)), Ok(Message::Bye)));
    };
    scripted(ahead, |address| {
        let (outcome, records) = run(address, &job(1));
        let outcome = outcome.unwrap();
        let worker = &outcome.workers[0];
        assert!((worker.clock.offset_ns - hour_ns).abs() <= worker.clock.uncertainty_ns);
        assert_eq!((records[0].scheduled_ns, records[0].end_ns), (5_000_000, 5_000_001));
        assert_eq!(outcome.load.span_ns, 5_000_001);
    });
}
