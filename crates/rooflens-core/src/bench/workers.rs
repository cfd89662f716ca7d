//! Load that several machines send: the coordinator's side, and the worker's.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rooflens_load::cluster::{
    ClusterOptions, ClusterTls, LoadJob, SharedToken, WorkerReport, run_on_workers, serve_jobs,
};
use rooflens_load::plan::LoadPlan;
use rooflens_load::record::{LoadOutcome, RecordSink};
use rooflens_load::workload::WorkloadSpec;

use super::document::WorkerFacts;
use super::request::WorkerOptions;
use super::watch::Watching;
use crate::error::{BenchError, Error};
use crate::observer::SharedObserver;

const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A worker to be.
#[derive(Debug, Clone)]
pub struct WorkerRequest {
    /// Where it listens.
    pub listen: SocketAddr,
    /// File with the shared token.
    pub token_file: PathBuf,
    /// Certificates, if connections are to be encrypted.
    pub tls: Option<ClusterTls>,
}

fn failed(error: &dyn std::fmt::Display) -> Error {
    BenchError::Load(error.to_string()).into()
}

/// Serves coordinators until the observer ends it. Tells where it listens.
pub fn serve(request: &WorkerRequest, observer: &SharedObserver) -> Result<(), Error> {
    let token = SharedToken::read(&request.token_file).map_err(|error| failed(&error))?;
    let listener = TcpListener::bind(request.listen)
        .map_err(|error| failed(&format!("cannot listen at {}: {error}", request.listen)))?;
    let address =
        listener.local_addr().map_or_else(|_| request.listen.to_string(), |address| address.to_string());
    observer.info(&format!("listening at {address}"));
    let (stop, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !observer.is_stopped() && !is_over.load(Ordering::Relaxed) {
                std::thread::sleep(LOOK_EVERY);
            }
            stop.store(true, Ordering::Relaxed);
        });
        let served = serve_jobs(&listener, &token, request.tls.as_ref(), &stop);
        is_over.store(true, Ordering::Relaxed);
        served.map_err(|error| failed(&error))
    })
}

pub(crate) fn run(
    workers: &WorkerOptions,
    plan: &LoadPlan,
    spec: &WorkloadSpec,
    sink: &mut dyn RecordSink,
    watch: &Watching<'_>,
) -> Result<(LoadOutcome, Vec<WorkerFacts>), Error> {
    let token = SharedToken::read(&workers.token_file).map_err(|error| failed(&error))?;
    let options = ClusterOptions::new(token, workers.tls.clone());
    let job = LoadJob { plan: plan.clone(), workload: spec.clone() };
    let done =
        run_on_workers(&workers.addresses, &job, &options, sink, watch).map_err(|error| failed(&error))?;
    Ok((done.load, done.workers.iter().map(facts).collect()))
}

fn facts(worker: &WorkerReport) -> WorkerFacts {
    WorkerFacts {
        address: worker.worker.clone(),
        requests: worker.requests,
        clock_offset_ns: Some(worker.clock.offset_ns),
        clock_error_ns: Some(worker.clock.uncertainty_ns),
        lost: worker.lost.clone(),
    }
}
