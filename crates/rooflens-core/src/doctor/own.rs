//! The program itself and its screen.

use rooflens_schema::SCHEMA_VERSION;

use super::{DoctorCheck, Machine};

pub(crate) fn checks(machine: &Machine) -> Vec<DoctorCheck> {
    let (version, os, arch) = (env!("CARGO_PKG_VERSION"), std::env::consts::OS, std::env::consts::ARCH);
    let screen = &machine.screen;
    let kind = if machine.is_terminal { "a terminal" } else { "a file or pipe" };
    let colors = if screen.color { "colours" } else { "no colours" };
    let characters = if screen.unicode { "Unicode" } else { "ASCII" };
    vec![
        DoctorCheck::ok("rooflens", format!("{version}, schema {SCHEMA_VERSION}, {os} {arch}")),
        DoctorCheck::ok(
            "standard output",
            format!("{kind}, {} columns, {colors}, {characters}", screen.width),
        ),
    ]
}
