//! A client that takes the time of every frame and does nothing else.

use std::error::Error;
use std::io::Write as _;

use clap::Parser;
use rooflens_mock::bare::{BareOptions, run};

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let result = run(BareOptions::parse())?;
    writeln!(std::io::stdout(), "{}", serde_json::to_string(&result)?)?;
    Ok(())
}
