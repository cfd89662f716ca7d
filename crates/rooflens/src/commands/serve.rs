//! `rooflens serve`: many runs as pages of a local server.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::ValueHint;
use rooflens_core::exit::Exit;

use crate::console::Console;
use crate::error::CliError;

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
    source: String,
    /// Address and port to listen at; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8377", value_parser = listening_at)]
    listen: SocketAddr,
    /// File with the token that browsers and programs must give; ROOFLENS_SERVE_TOKEN is the same
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    token_file: Option<PathBuf>,
    /// Name that the server is reached by, beside localhost; may be repeated
    #[arg(long = "allow-host", value_name = "NAME")]
    hosts: Vec<String>,
    /// Seconds that a query may take
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=3600), help_heading = "Limits")]
    query_time: u64,
    /// Memory of a query in MB
    #[arg(long, value_name = "MB", default_value_t = 1024, value_parser = clap::value_parser!(u64).range(64..=1_048_576), help_heading = "Limits")]
    query_memory: u64,
    /// Memory for pages that are kept, in MB
    #[arg(long, value_name = "MB", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=65_536), help_heading = "Limits")]
    cache: u64,
}

fn listening_at(text: &str) -> Result<SocketAddr, String> {
    let text = text.replacen("localhost", "127.0.0.1", 1);
    let own = || text.parse::<u16>().ok().map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
    let usual = || text.parse::<IpAddr>().ok().map(|ip| SocketAddr::new(ip, PORT));
    let found = text.parse().ok().or_else(own).or_else(usual);
    found.ok_or_else(|| format!("write an address and a port, as in 127.0.0.1:{PORT}"))
}

pub(crate) fn run(args: Args, console: &Console) -> Result<Exit, CliError> {
    serve(args, console)?;
    // Ctrl-C is how it ends.
    Ok(Exit::Fine)
}

#[cfg(feature = "serve")]
use pages::serve;

#[cfg(not(feature = "serve"))]
fn serve(_: Args, _: &Console) -> Result<(), CliError> {
    Err(CliError::left_out("web server", "serve"))
}

/// The server itself, which a build may leave out.
#[cfg(feature = "serve")]
mod pages {
    use std::net::SocketAddr;
    use std::path::Path;
    use std::time::Duration;

    use rooflens_core::error::Hint;
    use rooflens_core::exit::Exit;
    use rooflens_core::text::counted;
    use rooflens_serve::{Dashboard, DashboardError, DashboardLimits, DashboardSettings};

    use super::Args;
    use crate::console::Console;
    use crate::error::CliError;
    use crate::interrupt::Presses;

    /// How often Ctrl-C is asked for.
    const LOOK_EVERY: Duration = Duration::from_millis(100);

    /// Serves pages until Ctrl-C.
    pub(super) fn serve(args: Args, console: &Console) -> Result<(), CliError> {
        let source = args.source.clone();
        let name = args.hosts.first().cloned();
        let settings = settings(args)?;
        // Before anybody can know the address, so that whoever does can end the server in order.
        let presses = Presses::watch(console, "answering what was asked");
        let dashboard = Dashboard::start(settings).map_err(|error| CliError::Own {
            fact: error.to_string(),
            hint: error.hint().map(Hint::words),
            exit: exit(&error),
        })?;
        let found = counted(dashboard.runs(), "run");
        let address = reached_at(dashboard.address(), name.as_deref());
        console.say(&format!("{found} in {source}; serving http://{address} (Ctrl-C ends it)"));
        while presses.count() == 0 {
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    fn settings(args: Args) -> Result<DashboardSettings, CliError> {
        let token = match &args.token_file {
            Some(path) => Some(read_token(path)?),
            None => std::env::var("ROOFLENS_SERVE_TOKEN").ok(),
        };
        // A file or variable that is empty is a token that is too short, not none.
        let token = token.map(|token| token.trim().to_owned());
        let limits = DashboardLimits {
            query_time: Duration::from_secs(args.query_time),
            query_bytes: args.query_memory << 20,
            cache_bytes: args.cache << 20,
            request_time: DashboardLimits::default().request_time + Duration::from_secs(args.query_time),
            ..DashboardLimits::default()
        };
        Ok(DashboardSettings { source: args.source, listen: args.listen, token, hosts: args.hosts, limits })
    }

    fn read_token(path: &Path) -> Result<String, CliError> {
        std::fs::read_to_string(path).map_err(|source| {
            let hint = Hint::words("head -c 24 /dev/urandom | base64 > token && chmod 600 token");
            CliError::usage(format!("{} cannot be read: {source}", path.display()), hint)
        })
    }

    fn exit(error: &DashboardError) -> Exit {
        match error {
            DashboardError::Source(error) => error.kind().into(),
            DashboardError::Listen { .. } => Exit::Environment,
            _ => Exit::Usage,
        }
    }

    /// What to type in a browser: an address of all interfaces is none.
    pub(super) fn reached_at(address: SocketAddr, name: Option<&str>) -> String {
        match name {
            Some(name) if !address.ip().is_loopback() => match name.contains(':') {
                true => name.to_owned(),
                false => format!("{name}:{}", address.port()),
            },
            _ => address.to_string(),
        }
    }
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

    #[cfg(feature = "serve")]
    #[test]
    fn the_address_that_is_printed_is_answered() {
        let at = |address: &str, name| pages::reached_at(address.parse().unwrap(), name);
        assert_eq!(at("127.0.0.1:8377", None), "127.0.0.1:8377");
        assert_eq!(at("127.0.0.1:8377", Some("box")), "127.0.0.1:8377");
        assert_eq!(at("0.0.0.0:8377", Some("box")), "box:8377");
        assert_eq!(at("0.0.0.0:8377", Some("box:80")), "box:80");
    }
}
