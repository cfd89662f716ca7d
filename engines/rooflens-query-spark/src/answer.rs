//! The answer: Arrow batches from the server, as one Arrow IPC stream to standard output.
//!
//! Written by a thread of its own, so that a reader who pauses stops neither signals nor life signs.

use std::io::{BufWriter, Cursor, Write};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use rooflens_engine_protocol::{Fault, Kind};
use tokio::sync::{mpsc, oneshot};

/// Batches that may wait for the reader; Spark's are 4 MiB.
const WAITING: usize = 2;

#[derive(Debug)]
pub(crate) struct Answer {
    schema: Option<SchemaRef>,
    batches: mpsc::Sender<RecordBatch>,
    written: oneshot::Receiver<Result<(), ArrowError>>,
    rows: u64,
}

impl Answer {
    pub(crate) fn to(output: impl Write + Send + 'static) -> Self {
        let (batches, receiver) = mpsc::channel(WAITING);
        let (ended, written) = oneshot::channel();
        std::thread::spawn(move || {
            let _ = ended.send(write(receiver, output));
        });
        Self { schema: None, batches, written, rows: 0 }
    }

    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Takes one message of the server, which is a whole IPC stream of `rows` rows.
    pub(crate) async fn take(&mut self, message: &[u8], rows: i64) -> Result<(), Fault> {
        let reader = StreamReader::try_new(Cursor::new(message), None).map_err(unreadable)?;
        let schema = plain(&reader.schema())?;
        match &self.schema {
            Some(first) if *first != schema => {
                return Err(Fault::new(Kind::Engine, "the server sent batches of different columns"));
            }
            Some(_) => {}
            None => {
                self.schema = Some(Arc::clone(&schema));
                // The schema goes out even where no row follows.
                self.send(RecordBatch::new_empty(Arc::clone(&schema))).await?;
            }
        }
        let mut received = 0;
        for batch in reader {
            let batch = batch.map_err(unreadable)?;
            received += batch.num_rows() as i64;
            if batch.num_rows() > 0 {
                let columns = batch.columns().to_vec();
                self.send(RecordBatch::try_new(Arc::clone(&schema), columns).map_err(unreadable)?).await?;
            }
        }
        if received != rows {
            let message = format!("the server announced {rows} rows and sent {received}");
            return Err(Fault::new(Kind::Engine, message));
        }
        self.rows += received.unsigned_abs();
        Ok(())
    }

    async fn send(&mut self, batch: RecordBatch) -> Result<(), Fault> {
        match self.batches.send(batch).await {
            Ok(()) => Ok(()),
            Err(_) => Err(outcome((&mut self.written).await).err().unwrap_or_else(reader_gone)),
        }
    }

    /// Ends the stream; the number of its rows.
    pub(crate) async fn end(self) -> Result<u64, Fault> {
        if self.schema.is_none() {
            return Err(Fault::new(Kind::Engine, "the server sent no answer"));
        }
        drop(self.batches);
        outcome(self.written.await)?;
        Ok(self.rows)
    }
}

fn write(mut batches: mpsc::Receiver<RecordBatch>, output: impl Write) -> Result<(), ArrowError> {
    let Some(first) = batches.blocking_recv() else { return Ok(()) };
    let mut writer = StreamWriter::try_new(BufWriter::new(output), &first.schema())?;
    writer.flush()?;
    while let Some(batch) = batches.blocking_recv() {
        writer.write(&batch)?;
        writer.flush()?;
    }
    // The mark of the end only follows a whole answer.
    writer.finish()?;
    writer.flush()
}

fn outcome(written: Result<Result<(), ArrowError>, oneshot::error::RecvError>) -> Result<(), Fault> {
    match written {
        Ok(Ok(())) => Ok(()),
        Ok(Err(ArrowError::IoError(_, error))) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            Err(reader_gone())
        }
        Ok(Err(error)) => Err(Fault::new(Kind::Engine, format!("cannot write the answer: {error}"))),
        Err(_) => Err(Fault::new(Kind::Engine, "cannot write the answer: its writer ended")),
    }
}

fn reader_gone() -> Fault {
    Fault::new(Kind::Stopped, "nobody reads the answer any more")
}

fn unreadable(error: ArrowError) -> Fault {
    Fault::new(Kind::Engine, format!("the server's answer is not valid Arrow data: {error}"))
}

/// The schema without metadata; only types that every reader of answers knows.
fn plain(schema: &Schema) -> Result<SchemaRef, Fault> {
    let fields = schema.fields().iter().map(|field| {
        if is_plain(field.data_type()) {
            return Ok(Field::new(field.name(), field.data_type().clone(), field.is_nullable()));
        }
        let (name, kind) = (field.name(), field.data_type());
        Err(Fault::new(Kind::Sql, format!("column {name} of the answer has the type {kind}"))
            .hint("cast it to a number, a text, a date or a time"))
    });
    Ok(Arc::new(Schema::new(fields.collect::<Result<Vec<_>, _>>()?)))
}

fn is_plain(kind: &DataType) -> bool {
    use DataType::{Binary, Boolean, Date32, Decimal128, Null, Timestamp, Utf8};
    kind.is_integer() && !kind.is_unsigned_integer()
        || matches!(kind, DataType::Float32 | DataType::Float64 | Boolean | Utf8 | Binary | Null)
        || matches!(kind, Date32 | Decimal128(..) | Timestamp(..))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Int64Array, UInt64Array};
    use std::sync::Mutex;

    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    struct Closed;

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
    }

    fn message(values: Vec<i64>) -> Vec<u8> {
        let field =
            Field::new("n", DataType::Int64, true).with_metadata([("SPARK".into(), "x".into())].into());
        let schema = Arc::new(Schema::new(vec![field]));
        let batch =
            RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(Int64Array::from(values))]).unwrap();
        let mut bytes = Vec::new();
        let mut writer = StreamWriter::try_new(&mut bytes, &schema).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        bytes
    }

    #[tokio::test]
    async fn messages_become_one_stream() {
        let sink = Sink::default();
        let mut answer = Answer::to(sink.clone());
        answer.take(&message(vec![]), 0).await.unwrap();
        answer.take(&message(vec![1, 2]), 2).await.unwrap();
        answer.take(&message(vec![3]), 1).await.unwrap();
        assert_eq!(answer.end().await.unwrap(), 3);
        let bytes = sink.0.lock().unwrap().clone();
        let reader = StreamReader::try_new(Cursor::new(bytes), None).unwrap();
        assert!(reader.schema().field(0).metadata().is_empty());
        assert_eq!(reader.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 3);
    }

    #[tokio::test]
    async fn what_is_wrong_is_said() {
        let mut answer = Answer::to(Vec::new());
        assert_eq!(answer.take(&message(vec![1]), 2).await.unwrap_err().kind, Kind::Engine);
        assert_eq!(Answer::to(Vec::new()).end().await.unwrap_err().kind, Kind::Engine);
        let mut answer = Answer::to(Closed);
        // The first batches may still find room.
        let failed = loop {
            if let Err(failed) = answer.take(&message(vec![1]), 1).await {
                break failed;
            }
        };
        assert_eq!(failed.kind, Kind::Stopped);
        let schema = Arc::new(Schema::new(vec![Field::new("n", DataType::UInt64, true)]));
        assert!(
            RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(UInt64Array::from(vec![1]))]).is_ok()
        );
        assert_eq!(plain(&schema).unwrap_err().kind, Kind::Sql);
    }
}
