//! `rooflens bench-worker`: sends a share of a load test for another machine.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::ValueHint;
use rooflens_core::bench::{WorkerRequest, WorkerTls, serve_worker};
use rooflens_core::exit::Exit;

use crate::console::Console;
use crate::error::CliError;
use crate::progress;

const EXAMPLES: &str = "\
Examples:
  openssl rand -hex 32 > token.txt                                   once; copy it to every machine
  rooflens bench-worker --listen 0.0.0.0:7300 --token-file token.txt
  rooflens bench http://server:8000 --rate 2000 --duration 60s --workers host1:7300,host2:7300 \\
    --token-file token.txt                                           on one of them";

/// Send a share of a load test that `rooflens bench --workers` coordinates
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Address to listen at
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7300")]
    listen: SocketAddr,
    /// File with the token that both sides share, at least 16 bytes
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    token_file: PathBuf,
    #[command(flatten)]
    tls: WorkerTlsArgs,
}

/// Certificates of both sides.
#[derive(clap::Args)]
pub(crate) struct WorkerTlsArgs {
    /// Encrypt the connection between coordinator and workers: certificate (PEM) of who signs both
    #[arg(long, value_name = "FILE", requires_all = ["worker_cert", "worker_key"], value_hint = ValueHint::FilePath)]
    worker_ca: Option<PathBuf>,
    /// Certificate (PEM) of this side
    #[arg(long, value_name = "FILE", requires = "worker_ca", value_hint = ValueHint::FilePath)]
    worker_cert: Option<PathBuf>,
    /// Key (PEM) of this side
    #[arg(long, value_name = "FILE", requires = "worker_ca", value_hint = ValueHint::FilePath)]
    worker_key: Option<PathBuf>,
}

impl WorkerTlsArgs {
    pub(crate) fn tls(self) -> Option<WorkerTls> {
        let (authority, certificate, key) = (self.worker_ca?, self.worker_cert?, self.worker_key?);
        Some(WorkerTls { authority, certificate, key })
    }
}

pub(crate) fn run(args: Args, console: &Console) -> Result<Exit, CliError> {
    let observer = progress::observer(console, "ending the load test that is being sent");
    let request = WorkerRequest { listen: args.listen, token_file: args.token_file, tls: args.tls.tls() };
    serve_worker(&request, &observer)?;
    Ok(if observer.is_stopped() { Exit::Interrupted } else { Exit::Fine })
}
