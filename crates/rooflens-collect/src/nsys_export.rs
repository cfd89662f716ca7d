//! A report of Nsight Systems as the SQLite file that can be read: only its own program knows the format.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use crate::ask;
use crate::execute::named_program;

/// What every report begins with.
pub const MAGIC: &[u8] = b"NVIDIA Tegra Profiler Report ";

/// Reports of gigabytes take minutes.
const PATIENCE: Duration = Duration::from_secs(2 * 3600);
const NEWER: &str = "update your Nsight Systems";

/// An exported file, which goes away with this.
#[derive(Debug)]
pub struct NsysExport {
    file: PathBuf,
    _folder: TempDir,
}

impl NsysExport {
    /// Where it is.
    pub fn file(&self) -> &Path {
        &self.file
    }
}

/// Why a report could not be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The program is not there.
    #[error("reading {report} needs nsys, and {} was not found", .program.display())]
    NoProgram {
        /// The report.
        report: PathBuf,
        /// The program that was looked for.
        program: PathBuf,
    },
    /// The program is older than the one that wrote the report.
    #[error("{report} was written by a later Nsight Systems than {}", .program.display())]
    Newer {
        /// The report.
        report: PathBuf,
        /// The program.
        program: PathBuf,
    },
    /// The program wrote nothing.
    #[error("nsys cannot export {report}: it {why}")]
    Failed {
        /// The report.
        report: PathBuf,
        /// A sentence without its subject.
        why: String,
    },
    /// There is no room for the file.
    #[error("cannot create a folder for the export of {report}: {source}")]
    Folder {
        /// The report.
        report: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
}

/// Exports a report, by the program that is named or by the `nsys` on the path. Whether it went well is
/// told by the file alone: the exit code of nsys is 0 for many a failure.
pub fn export(nsys: Option<OsString>, report: &Path) -> Result<NsysExport, ExportError> {
    let named = nsys.unwrap_or_else(|| "nsys".into());
    let Some(program) = named_program(Path::new(&named)) else {
        return Err(ExportError::NoProgram { report: report.to_owned(), program: named.into() });
    };
    let fail = |source| ExportError::Folder { report: report.to_owned(), source };
    let folder = tempfile::Builder::new().prefix("rooflens-nsys-").tempdir().map_err(fail)?;
    let stem = report.file_stem().unwrap_or(OsStr::new("report"));
    let file = folder.path().join(stem).with_added_extension("sqlite");
    let (Some(from), Some(to)) = (report.to_str(), file.to_str()) else {
        let why = "only takes UTF-8 names".to_owned();
        return Err(ExportError::Failed { report: report.to_owned(), why });
    };
    let said = ask(
        &program,
        &["export", "--quiet", "true", "--type", "sqlite", "--force-overwrite", "true", "-o", to, from],
        PATIENCE,
    );
    if file.metadata().is_ok_and(|data| data.len() > 0) && said.is_ok() {
        return Ok(NsysExport { file, _folder: folder });
    }
    let why = match said {
        Err(why) if why.contains(NEWER) => {
            return Err(ExportError::Newer { report: report.to_owned(), program });
        }
        Err(why) => why,
        Ok(said) => {
            let last = said.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
            format!("wrote no file and said {last:?}")
        }
    };
    Err(ExportError::Failed { report: report.to_owned(), why })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A stand-in for nsys; the last two of its words are where to and where from.
    fn exported(script: &str) -> Result<NsysExport, ExportError> {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("nsys");
        // Written under another name: while one of our threads starts a process, a file that is open for
        // writing cannot be run.
        let made = std::process::Command::new("/bin/sh")
            .args(["-c", "printf '%s' \"$2\" > \"$1\"", "sh"])
            .arg(&program)
            .arg(format!("#!/bin/sh\nwhile [ $# -gt 2 ]; do shift; done\n{script}\n"))
            .status()
            .unwrap();
        assert!(made.success());
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        let report = folder.path().join("x.y.nsys-rep");
        std::fs::write(&report, b"report").unwrap();
        export(Some(program.into()), &report)
    }

    #[test]
    fn the_file_tells_whether_it_went_well() {
        let export = exported("cat \"$2\" > \"$1\"").unwrap();
        assert_eq!(export.file().file_name(), Some(OsStr::new("x.y.sqlite")));
        assert_eq!(std::fs::read(export.file()).unwrap(), b"report");
        let gone = export.file().to_owned();
        drop(export);
        assert!(!gone.exists());
    }

    #[test]
    fn failures_are_told_apart() {
        let why = |script| exported(script).unwrap_err();
        let silent = why("echo 'ERROR: no such section'; exit 0").to_string();
        assert!(silent.contains("no such section"), "{silent}");
        let newer = why("echo 'Please update your Nsight Systems to the latest' >&2; exit 1");
        assert!(matches!(newer, ExportError::Newer { .. }), "{newer}");
        let cut = why("echo part > \"$1\"; echo 'magic number mismatch' >&2; exit 1").to_string();
        assert!(cut.ends_with("it ended with exit code 1: magic number mismatch"), "{cut}");
        let none = export(Some("/nowhere/nsys".into()), Path::new("x.nsys-rep")).unwrap_err();
        assert!(matches!(none, ExportError::NoProgram { .. }), "{none}");
    }
}
