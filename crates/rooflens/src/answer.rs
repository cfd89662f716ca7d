//! The answer to a query, printed or written to a file as it comes.

use std::fs::File;
use std::io::{BufWriter, Error, ErrorKind, Write};
use std::path::PathBuf;

use rooflens_core::exit::Exit;
use rooflens_core::fleet::{
    AnswerFormat, AnswerHead, AnswerTaker, AnswerWriter, FirstRows, QueryCost, RecordBatch,
};
use rooflens_core::saved;
use rooflens_report::cost::terminal;

use crate::console::Console;
use crate::error::CliError;
use crate::output;

/// Where an answer goes.
pub(crate) struct AnswerPrinter {
    /// A format for programs; without one people get a table.
    format: Option<AnswerFormat>,
    limit: usize,
    /// A file; standard output without one.
    to: Option<PathBuf>,
    begun: Option<Begun>,
    rows: usize,
}

enum Begun {
    Table(FirstRows),
    Written(AnswerWriter<BufWriter<Box<dyn Write + Send>>>),
}

impl AnswerPrinter {
    /// For an answer that has not come yet.
    pub(crate) fn new(format: Option<AnswerFormat>, limit: usize, to: Option<PathBuf>) -> Self {
        AnswerPrinter { format, limit, to, begun: None, rows: 0 }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn end(self, cost: &QueryCost, console: &Console) -> Result<(), CliError> {
        match self.begun {
            Some(Begun::Table(rows)) => {
                let text = terminal(&rows.parts(), &console.screen(self.limit));
                match self.to {
                    Some(path) => Ok(saved::write(path, text.as_bytes())?),
                    None => output::text(&text),
                }
            }
            Some(Begun::Written(writer)) => {
                let written = writer.end(cost).and_then(|mut out| out.flush());
                match written.map_err(|source| unwritable(self.to, source)) {
                    Err(CliError::Stdout { source }) if source.kind() == ErrorKind::BrokenPipe => Ok(()),
                    outcome => outcome,
                }
            }
            None => Ok(()),
        }
    }

    /// After an error: a file that is not whole is removed, and a reader that has seen enough is no error.
    pub(crate) fn give_up(self, error: CliError) -> Result<Exit, CliError> {
        if let (Some(path), Some(Begun::Written(_))) = (&self.to, &self.begun)
            && path.metadata().is_ok_and(|metadata| metadata.is_file())
        {
            // What remains where this fails is not taken for whole: the command fails.
            drop(std::fs::remove_file(path));
        }
        match error {
            CliError::Stdout { source } if source.kind() == ErrorKind::BrokenPipe => Ok(Exit::Fine),
            error => Err(error),
        }
    }
}

impl AnswerTaker<CliError> for AnswerPrinter {
    fn begin(&mut self, head: AnswerHead) -> Result<(), CliError> {
        self.begun = Some(match self.format {
            None => Begun::Table(FirstRows::new(head, self.limit)),
            Some(format) => {
                let to = self.to.clone();
                let out: Box<dyn Write + Send> = match &to {
                    Some(path) => {
                        Box::new(File::create(path).map_err(|source| unwritable(to.clone(), source))?)
                    }
                    None => Box::new(std::io::stdout()),
                };
                let out = BufWriter::with_capacity(1 << 16, out);
                let writer = AnswerWriter::begin(format, &head, out);
                Begun::Written(writer.map_err(|source| unwritable(to, source))?)
            }
        });
        Ok(())
    }

    fn rows(&mut self, batch: &RecordBatch) -> Result<(), CliError> {
        self.rows += batch.num_rows();
        match &mut self.begun {
            Some(Begun::Table(rows)) => rows.add(batch),
            Some(Begun::Written(writer)) => {
                writer.rows(batch).map_err(|source| unwritable(self.to.clone(), source))?;
            }
            None => {}
        }
        Ok(())
    }
}

fn unwritable(to: Option<PathBuf>, source: Error) -> CliError {
    match to {
        Some(path) => rooflens_core::Error::unwritable(path, source).into(),
        None => CliError::Stdout { source },
    }
}
