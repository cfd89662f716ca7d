//! Two servers that take turns: A, B, B, A, … What the machine does by itself then is in both.

use std::path::{Path, PathBuf};

use rooflens_report::compare::html;

use super::{BenchRequest, BenchServer, LoadLevels, bench};
use crate::compare::{self, Comparison, Gate, ROUNDS};
use crate::disk;
use crate::error::{BenchError, Error};
use crate::observer::SharedObserver;

/// A server that takes turns with that of the request.
#[derive(Debug, Clone)]
pub struct OtherServer {
    /// Its address.
    pub url: String,
    /// How often each gets its turn.
    pub rounds: usize,
}

/// What turns came to.
pub struct AgainstOutcome {
    /// The other server (B) beside that of the request (A).
    pub comparison: Comparison,
    /// Rounds in which the client was the bottleneck, of both servers.
    pub invalid_rounds: usize,
    /// Rounds of each server.
    pub rounds: usize,
    /// The page, where it is kept.
    pub page: Option<PathBuf>,
}

/// Loads two servers in turns and compares them round by round. The first round of each is for warming up.
pub fn bench_against(
    request: &BenchRequest,
    other: &OtherServer,
    gates: &[Gate],
    observer: &SharedObserver,
) -> Result<AgainstOutcome, Error> {
    let BenchServer::Url(url) = &request.server else {
        return Err(BenchError::Target("--against needs two servers that run: two URLs".to_owned()).into());
    };
    check(request)?;
    let temporary = tempfile::Builder::new().prefix("rooflens-bench-").tempdir();
    let temporary = temporary.map_err(|source| Error::unwritable(std::env::temp_dir(), source))?;
    if let Some(path) = &request.output {
        disk::destination(path)?;
    }
    let root = request.output.clone().unwrap_or_else(|| temporary.path().join("kept"));
    let sides = [(url, root.join("a")), (&other.url, root.join("b"))];
    let turn = |side: &(&String, PathBuf), number: usize, folder: PathBuf| {
        let mut turn = BenchRequest {
            server: BenchServer::Url(side.0.clone()),
            output: Some(folder),
            slo: None,
            fail_on: Vec::new(),
            ..request.clone()
        };
        // Both get the same prompts, and no prompt comes twice.
        turn.workload.seed = request.workload.seed.wrapping_add(number as u64);
        let done = bench(&turn, observer)?;
        match done.failure() {
            Some((fact, _)) if done.document().requests.completed == 0 => {
                Err(Error::from(BenchError::Server { fact: format!("{}: {fact}", side.0), hint: None }))
            }
            _ => Ok(done.document().client.valid),
        }
    };
    let stopped =
        || Error::from(BenchError::Load("the load test was stopped before its first round".to_owned()));
    for (name, side) in ["a", "b"].iter().zip(&sides) {
        let done = turn(side, other.rounds, temporary.path().join("warmup").join(name));
        if observer.is_stopped() {
            return Err(stopped());
        }
        done?;
    }
    let (mut invalid_rounds, mut rounds) = (0, 0);
    while rounds < other.rounds && !observer.is_stopped() {
        observer.detail(&format!("round {} of {}", rounds + 1, other.rounds));
        let order = if rounds % 2 == 0 { [0, 1] } else { [1, 0] };
        for place in order {
            let folder = sides[place].1.join(ROUNDS).join(format!("{rounds:03}"));
            match turn(&sides[place], rounds, folder) {
                Ok(is_valid) => invalid_rounds += usize::from(!is_valid),
                // A part, which is left out below.
                Err(_) if observer.is_stopped() => break,
                Err(error) => {
                    let kept = request
                        .output
                        .as_ref()
                        .map_or_else(String::new, |path| format!(", kept in {}", path.display()));
                    observer.warn(&format!(
                        "round {} broke off; {rounds} of each server are complete{kept}",
                        rounds + 1
                    ));
                    return Err(error);
                }
            }
        }
        rounds += 1;
    }
    if observer.is_stopped() {
        // Of the last pair, at least one is a part.
        rounds -= 1;
        sides.iter().for_each(|side| {
            _ = std::fs::remove_dir_all(side.1.join(ROUNDS).join(format!("{rounds:03}")));
        });
        if rounds == 0 {
            return Err(stopped());
        }
        observer.warn(&format!("stopped: {rounds} of {} rounds are complete", other.rounds));
    }
    let read = compare::read(&sides.each_ref().map(|(_, folder)| folder.clone()), observer)?;
    let comparison = compare::compare(read, gates)?.called(url, &other.url);
    let page = request.output.is_some().then(|| save(&comparison, &root)).transpose()?;
    Ok(AgainstOutcome { comparison, invalid_rounds, rounds, page })
}

fn check(request: &BenchRequest) -> Result<(), Error> {
    let is_one = match &request.load {
        LoadLevels::Concurrency(users) => users.len() == 1,
        LoadLevels::Rate { rates, .. } => rates.len() == 1,
        LoadLevels::Replay { .. } => true,
        LoadLevels::Search { .. } => false,
    };
    let refuse = |fact: &str| Err(BenchError::Target(fact.to_owned()).into());
    match (is_one, &request.profile) {
        (false, _) => refuse("--against compares one load: one --concurrency or one --rate"),
        (_, Some(_)) => refuse("--against and --profile exclude each other: a profile slows its server down"),
        _ => Ok(()),
    }
}

fn save(comparison: &Comparison, root: &Path) -> Result<PathBuf, Error> {
    let folder = root.join("report");
    disk::make(&folder)?;
    disk::write_json(folder.join(disk::METRICS), &comparison.document())?;
    let page = folder.join("index.html");
    disk::write(page.clone(), html(&comparison.parts(usize::MAX)).as_bytes())?;
    Ok(page)
}
