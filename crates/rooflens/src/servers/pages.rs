//! The server of pages, and that of a monitor's samples.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use rooflens_core::error::Hint;
use rooflens_core::exit::Exit;
use rooflens_core::text::counted;
pub use rooflens_serve::MetricsServer;
use rooflens_serve::{Dashboard, DashboardError, DashboardLimits, DashboardSettings};

use crate::commands::serve::Args;
use crate::console::Console;
use crate::error::CliError;
use crate::interrupt::Presses;

/// How often Ctrl-C is asked for.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Serves pages until Ctrl-C.
pub fn serve(args: Args, console: &Console) -> Result<(), CliError> {
    let source = args.source.clone();
    let name = args.hosts.first().cloned();
    let settings = settings(args)?;
    // Before anybody can know the address, so that whoever does can end the server in order.
    let presses = Presses::watch(console, "answering what was asked");
    let dashboard = Dashboard::start(settings).map_err(|error| CliError::Part {
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

/// Serves at `/metrics` what `text` gives at each request.
pub(crate) fn serve_metrics(
    address: SocketAddr,
    text: impl Fn() -> String + Send + Sync + 'static,
) -> Result<MetricsServer, CliError> {
    MetricsServer::start(address, text).map_err(|source| CliError::Part {
        fact: format!("cannot listen at {address}: {source}"),
        hint: Some(Hint::words("rooflens monitor --serve 0 picks a free port")),
        exit: Exit::Environment,
    })
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
    std::fs::read_to_string(path).map_err(|source| CliError::Part {
        fact: format!("{} cannot be read: {source}", path.display()),
        hint: Some(Hint::words("head -c 24 /dev/urandom | base64 > token && chmod 600 token")),
        exit: Exit::Usage,
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
fn reached_at(address: SocketAddr, name: Option<&str>) -> String {
    match name {
        Some(name) if !address.ip().is_loopback() => match name.contains(':') {
            true => name.to_owned(),
            false => format!("{name}:{}", address.port()),
        },
        _ => address.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_that_is_printed_is_answered() {
        let at = |address: &str, name| reached_at(address.parse().unwrap(), name);
        assert_eq!(at("127.0.0.1:8377", None), "127.0.0.1:8377");
        assert_eq!(at("127.0.0.1:8377", Some("box")), "127.0.0.1:8377");
        assert_eq!(at("0.0.0.0:8377", Some("box")), "box:8377");
        assert_eq!(at("0.0.0.0:8377", Some("box:80")), "box:80");
    }
}
