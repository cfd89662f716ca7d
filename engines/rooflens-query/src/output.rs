//! The result on standard output, as an Arrow IPC stream.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::thread;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::ipc::writer::StreamWriter;
use tokio::sync::{mpsc, oneshot};

use crate::types;
use rooflens_engine_protocol::{Fault, Kind};

/// Batches that wait for whoever reads the result.
const WAITING: usize = 4;

enum Message {
    Batch(RecordBatch),
    /// Without this the stream stays without its end: a query that failed must not look complete.
    End,
}

/// A thread that writes batches: writing blocks as long as nobody reads, and must not hold up a thread that computes.
pub(crate) struct Output {
    messages: mpsc::Sender<Message>,
    written: oneshot::Receiver<Result<u64, ArrowError>>,
}

impl Output {
    pub(crate) fn start(schema: &Schema) -> Result<Self, Fault> {
        let file = std::io::stdout().as_fd().try_clone_to_owned();
        let file = File::from(file.map_err(|error| closed(&error))?);
        let schema = types::plain_schema(schema);
        let (messages, waiting) = mpsc::channel(WAITING);
        let (report, written) = oneshot::channel();
        let work = move || drop(report.send(write(file, &schema, waiting)));
        let thread = thread::Builder::new().name("output".to_owned()).spawn(work);
        thread.map_err(|error| Fault::new(Kind::Engine, format!("cannot start a thread: {error}")))?;
        Ok(Output { messages, written })
    }

    /// Hands a batch over; `false` where the stream has ended, of which [`Output::finish`] tells the reason.
    pub(crate) async fn push(&self, batch: RecordBatch) -> bool {
        self.messages.send(Message::Batch(batch)).await.is_ok()
    }

    pub(crate) async fn finish(self) -> Result<u64, Fault> {
        // Where this cannot be sent the thread has ended, and says why.
        let _ = self.messages.send(Message::End).await;
        match self.written.await {
            Ok(Ok(rows)) => Ok(rows),
            Ok(Err(ArrowError::IoError(_, error))) => Err(closed(&error)),
            Ok(Err(error)) => Err(Fault::new(Kind::Engine, format!("cannot write the result: {error}"))),
            Err(_) => Err(Fault::new(Kind::Engine, "the thread that writes the result ended early")),
        }
    }
}

fn write(file: File, schema: &SchemaRef, mut messages: mpsc::Receiver<Message>) -> Result<u64, ArrowError> {
    let mut stream = StreamWriter::try_new(BufWriter::new(file), schema)?;
    let mut rows = 0;
    while let Some(message) = messages.blocking_recv() {
        match message {
            Message::Batch(batch) => {
                rows += batch.num_rows() as u64;
                stream.write(&types::plain_batch(&batch, schema)?)?;
            }
            Message::End => {
                stream.finish()?;
                stream.flush()?;
                return Ok(rows);
            }
        }
    }
    Ok(rows)
}

/// Whoever started this process no longer reads: it has what it wanted, or it ended.
fn closed(error: &std::io::Error) -> Fault {
    Fault::new(Kind::Stopped, format!("the result is no longer read: {error}"))
}

pub(crate) fn text(text: &str) -> ExitCode {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
