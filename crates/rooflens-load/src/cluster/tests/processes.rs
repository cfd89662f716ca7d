//! Workers that are processes, and can be killed. The process is this test program, which finds what to do in its
//! environment.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use super::*;

const ROLE: &str = "ROOFLENS_TEST_WORKER";
const ADDRESS: &str = "listening on ";

/// What a worker process does; nothing where it was not started as one.
#[test]
fn worker_process() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    // Straight to the pipe, past the test harness, which keeps what tests print.
    let mut pipe = std::io::stdout().lock();
    writeln!(pipe, "\n{ADDRESS}{}", listener.local_addr().unwrap()).unwrap();
    pipe.flush().unwrap();
    drop(pipe);
    let run: &RunLoad<'_> = if role == "for ever" { &pretend_for_ever } else { &pretend };
    let (options, stop) = (ClusterWorkerOptions { token: token(), tls: None }, AtomicBool::new(false));
    serve_jobs(&listener, &options, run, &stop).unwrap();
}

/// A worker process, killed at the end.
struct Process {
    child: Child,
    address: String,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start(role: &str) -> Process {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "cluster::tests::processes::worker_process", "--nocapture"])
        .env(ROLE, role)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut found =
        lines.map_while(Result::ok).filter_map(|line| line.strip_prefix(ADDRESS).map(str::to_owned));
    let address = found.next().unwrap();
    Process { child, address }
}

#[test]
fn four_processes_lose_no_request() {
    let workers: Vec<Process> = (0..4).map(|_| start("to the end")).collect();
    let addresses: Vec<String> = workers.iter().map(|worker| worker.address.clone()).collect();
    let job = conversations(5_000);
    let (outcome, records) = run(&addresses, &job);
    let outcome = outcome.unwrap();
    assert_eq!(told(&records), alone(&job));
    assert_eq!((outcome.load.requests, outcome.load.not_sent, outcome.lost().count()), (5_000, 0, 0));
    assert!(outcome.workers.iter().all(|worker| worker.requests > 1_000));
}

#[test]
fn a_killed_process_is_reported_and_the_others_are_kept() {
    let mut workers: Vec<Process> =
        ["to the end", "to the end", "for ever", "to the end"].map(start).into_iter().collect();
    let addresses: Vec<String> = workers.iter().map(|worker| worker.address.clone()).collect();
    let mut records = Vec::new();
    let mut sink = |record: RequestRecord| {
        // All of the third worker's records are on their way in one batch; it is killed while it waits for its end.
        if record.number == 2 {
            workers[2].child.kill().unwrap();
        }
        records.push(record.number);
    };
    let outcome = run_on_workers(&addresses, &job(400), &options(), &mut sink, &Idle).unwrap();
    let lost: Vec<&WorkerReport> = outcome.lost().collect();
    assert_eq!((lost.len(), lost[0].share), (1, 2));
    let of_lost = records.iter().filter(|number| *number % 4 == 2).count() as u64;
    assert_eq!(lost[0].requests, of_lost);
    assert!(of_lost > 0);
    assert_eq!(records.len() as u64 - of_lost, 300);
    assert!(!outcome.load.client.valid);
    let reason = format!("worker {} was lost after {of_lost} requests", addresses[2]);
    assert!(outcome.load.client.reasons[0].starts_with(&reason), "{:?}", outcome.load.client.reasons);
}
