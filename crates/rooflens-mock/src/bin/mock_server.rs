//! A server of known timing that speaks the OpenAI API.

use std::error::Error;
use std::io::Write as _;

use clap::Parser;
use rooflens_mock::options::MockOptions;
use rooflens_mock::server::MockServer;

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let options = MockOptions::parse();
    let scheme = if options.tls || options.tls_expired { "https" } else { "http" };
    let (log, ca_out) = (options.log.clone(), options.ca_out.clone());
    let server = MockServer::start(options)?;
    let quitter = server.quitter();
    ctrlc::set_handler(move || {
        // The server may be on its way out already.
        let _ = quitter.send(());
    })?;
    if let (Some(path), Some(pem)) = (ca_out, &server.authority_pem) {
        std::fs::write(path, pem)?;
    }
    let port = server.address.port();
    let url = format!("{scheme}://{}", server.address);
    writeln!(std::io::stdout(), "{}", serde_json::json!({"port": port, "url": url}))?;
    server.wait();
    let done = server.stop();
    if let Some(path) = log {
        let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
        serde_json::to_writer(&mut file, &done)?;
        file.flush()?;
    }
    Ok(())
}
