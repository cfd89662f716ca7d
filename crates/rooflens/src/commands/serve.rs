//! `rooflens serve`: many runs as pages of a local server.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::ValueHint;
use rooflens_core::exit::Exit;

use crate::console::Console;
use crate::error::CliError;
use crate::servers::pages;

const EXAMPLES: &str = "\
Examples:
  rooflens serve runs                          every run below runs/, at http://127.0.0.1:8377
  rooflens serve team-store                    the runs of a store, with queries and SQL
  rooflens serve runs --listen 0.0.0.0:8377 --token-file token --allow-host gpu-box

Only this machine can reach it by default. Any other address needs a token, and the name by which others reach it. \
It reads and never writes; the second Ctrl-C ends it at once.";

const PORT: u16 = 8377;

/// Browse runs in a web browser: list, report, comparison, trend, queries, runs in progress
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Folder of run directories, or a store: a folder, s3://bucket/prefix, gs://… or az://…
    #[arg(value_name = "DIR|STORE", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(crate) source: String,
    /// Address and port to listen at; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8377", value_parser = listening_at)]
    pub(crate) listen: SocketAddr,
    /// File with the token that browsers and programs must give; ROOFLENS_SERVE_TOKEN is the same
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) token_file: Option<PathBuf>,
    /// Name that the server is reached by, beside localhost; may be repeated
    #[arg(long = "allow-host", value_name = "NAME")]
    pub(crate) hosts: Vec<String>,
    /// Seconds that a query may take
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=3600), help_heading = "Limits")]
    pub(crate) query_time: u64,
    /// Memory of a query in MB
    #[arg(long, value_name = "MB", default_value_t = 1024, value_parser = clap::value_parser!(u64).range(64..=1_048_576), help_heading = "Limits")]
    pub(crate) query_memory: u64,
    /// Memory for pages that are kept, in MB
    #[arg(long, value_name = "MB", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=65_536), help_heading = "Limits")]
    pub(crate) cache: u64,
}

/// An address with a port, or one of them.
fn listening_at(text: &str) -> Result<SocketAddr, String> {
    let text = text.replacen("localhost", "127.0.0.1", 1);
    let own = || text.parse::<u16>().ok().map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
    let usual = || text.parse::<IpAddr>().ok().map(|ip| SocketAddr::new(ip, PORT));
    let found = text.parse().ok().or_else(own).or_else(usual);
    found.ok_or_else(|| format!("write an address and a port, as in 127.0.0.1:{PORT}"))
}

/// Runs the command.
pub(crate) fn run(args: Args, console: &Console) -> Result<Exit, CliError> {
    pages::serve(args, console)?;
    // Ctrl-C is how it ends.
    Ok(Exit::Fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_lack_its_port_or_its_name() {
        let at = |text| listening_at(text).map(|address| address.to_string());
        assert_eq!(at("0.0.0.0:80").unwrap(), "0.0.0.0:80");
        assert_eq!(at("localhost:8511").unwrap(), "127.0.0.1:8511");
        assert_eq!(at("8511").unwrap(), "127.0.0.1:8511");
        assert_eq!(at("0").unwrap(), "127.0.0.1:0");
        assert_eq!(at("192.0.2.1").unwrap(), "192.0.2.1:8377");
        assert_eq!(at("[::1]:80").unwrap(), "[::1]:80");
        assert!(at("gpu-box:80").unwrap_err().contains("127.0.0.1:8377"));
    }
}
