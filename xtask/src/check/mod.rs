//! Rules that compiler, clippy, rustfmt and cargo-deny do not check, one per file.

mod cycles;
mod dependencies;
mod layers;
mod machines;
mod source;
mod words;

use anyhow::{Result, bail};

/// A rule: what it is called, and what breaks it.
type Rule = (&'static str, fn() -> Result<Vec<String>>);

const RULES: &[Rule] = &[
    ("crates use only what their layer may", layers::broken),
    ("files of a crate import each other in small cycles only", cycles::broken),
    ("every dependency is explained", dependencies::broken),
    ("no word of a particular machine", machines::broken),
    ("user-visible text is in the words of the field", words::broken),
];

pub(crate) fn run() -> Result<()> {
    let mut count = 0;
    for (rule, broken) in RULES {
        let broken = broken()?;
        println!("{} {rule}", if broken.is_empty() { "ok  " } else { "FAIL" });
        broken.iter().for_each(|line| println!("       {line}"));
        count += broken.len();
    }
    if count > 0 {
        bail!("{count} to fix");
    }
    Ok(())
}
