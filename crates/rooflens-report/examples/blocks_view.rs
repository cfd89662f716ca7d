//! Reads what `rooflens analyze --format json` prints from standard input and prints the blocks of each section of
//! its report as JSON, one section per line. Used by `oracles/check_documents.py`.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a program for tests may print and panic")]

use rooflens_analyze::Findings;
use rooflens_report::sections::{ALL, Detail};

fn main() {
    let findings = Findings::from_document(&std::io::read_to_string(std::io::stdin()).unwrap()).unwrap();
    for section in ALL {
        for detail in [Detail::Screen { rows: 5 }, Detail::Full] {
            println!("{}", serde_json::to_string(&section.blocks(&findings, detail)).unwrap());
        }
    }
}
