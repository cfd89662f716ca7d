//! Samples in a file that is whole whenever the program ends in order.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use rooflens_collect::sample::csv::{Columns, CsvWriter};
use rooflens_core::error::Error;
use rooflens_schema::parquet_io::PartWriter;
use rooflens_schema::tables::Counters;

use crate::error::CliError;

#[derive(Debug, Clone)]
pub(crate) enum SampleTarget {
    Csv(PathBuf),
    Parquet(PathBuf),
}

pub(crate) struct SampleFile {
    path: PathBuf,
    rows: usize,
    form: Form,
}

enum Form {
    /// Whole after every line.
    Csv(CsvWriter<BufWriter<File>>),
    /// Not readable before its end is written: until then it has another name.
    Parquet { writer: Box<PartWriter<Counters>>, part: PathBuf },
}

impl SampleFile {
    pub(crate) fn create(
        target: &SampleTarget,
        columns: Columns,
        base_unix_ns: i64,
    ) -> Result<Self, CliError> {
        let (path, form) = match target {
            SampleTarget::Csv(path) => {
                let made = File::create(path)
                    .and_then(|file| CsvWriter::new(columns, base_unix_ns, BufWriter::new(file)));
                (path, Form::Csv(made.map_err(|source| unwritable(path, source))?))
            }
            SampleTarget::Parquet(path) => {
                let part = path.with_extension("parquet.part");
                let writer = PartWriter::create(&part).map_err(Error::unwritable_tables)?;
                (path, Form::Parquet { writer: Box::new(writer), part })
            }
        };
        Ok(SampleFile { path: path.clone(), rows: 0, form })
    }

    pub(crate) fn write(&mut self, rows: &Counters) -> Result<(), CliError> {
        self.rows += match &mut self.form {
            Form::Csv(csv) => csv.write(rows).map_err(|source| unwritable(&self.path, source))?,
            Form::Parquet { writer, .. } => {
                writer.write(rows).map_err(Error::unwritable_tables)?;
                rows.len()
            }
        };
        Ok(())
    }

    pub(crate) fn close(self) -> Result<(PathBuf, usize), CliError> {
        if let Form::Parquet { writer, part } = self.form {
            writer.close().map_err(Error::unwritable_tables)?;
            std::fs::rename(part, &self.path).map_err(|source| unwritable(&self.path, source))?;
        }
        Ok((self.path, self.rows))
    }
}

fn unwritable(path: &Path, source: std::io::Error) -> CliError {
    Error::unwritable(path, source).into()
}
