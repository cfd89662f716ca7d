//! An answer as it is written, row by row as the engine gives it: memory does not grow with it.

use std::io::{Error, Write};

use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use parquet::arrow::ArrowWriter;
use serde::Serialize;
use serde_json::Value as Json;

use super::answer::{AnswerColumn, AnswerHead, QueryCost, rows};
use crate::document::SchemaTag;

/// How an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerFormat {
    /// One JSON document, a line for each row.
    Json,
    /// A line of names, then a line for each row.
    Csv,
    /// A Parquet file.
    Parquet,
    /// An Arrow IPC stream.
    Arrow,
}

/// Writes an answer.
pub struct AnswerWriter<W: Write + Send> {
    writer: Writer<W>,
}

enum Writer<W: Write + Send> {
    Json { out: W, rows: u64 },
    Csv(W),
    Parquet(Box<ArrowWriter<W>>),
    Arrow(Box<StreamWriter<W>>),
}

#[derive(Serialize)]
struct JsonHead<'a> {
    schema: SchemaTag,
    query: Option<&'a str>,
    columns: &'a [AnswerColumn],
}

impl<W: Write + Send> AnswerWriter<W> {
    /// Begins with the names of the columns.
    pub fn begin(format: AnswerFormat, head: &AnswerHead, mut out: W) -> Result<Self, Error> {
        let writer = match format {
            AnswerFormat::Json => {
                let schema = SchemaTag::new("query");
                let head = JsonHead { schema, query: head.query.as_deref(), columns: &head.columns };
                let text = serde_json::to_string(&head)?;
                write!(out, "{},\"rows\":[", text.strip_suffix('}').unwrap_or(&text))?;
                Writer::Json { out, rows: 0 }
            }
            AnswerFormat::Csv => {
                csv_line(&mut out, head.columns.iter().map(|column| Json::from(column.name.as_str())))?;
                Writer::Csv(out)
            }
            AnswerFormat::Parquet => {
                let writer = ArrowWriter::try_new(out, head.schema.clone(), None);
                Writer::Parquet(Box::new(writer.map_err(Error::other)?))
            }
            AnswerFormat::Arrow => {
                Writer::Arrow(Box::new(StreamWriter::try_new(out, &head.schema).map_err(Error::other)?))
            }
        };
        Ok(AnswerWriter { writer })
    }

    /// Writes some rows.
    pub fn rows(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        match &mut self.writer {
            Writer::Json { out, rows: written } => {
                for row in rows(batch) {
                    out.write_all(if *written == 0 { b"\n" } else { b",\n" })?;
                    serde_json::to_writer(&mut *out, &row)?;
                    *written += 1;
                }
                Ok(())
            }
            Writer::Csv(out) => rows(batch).try_for_each(|row| csv_line(out, row.into_iter())),
            Writer::Parquet(writer) => writer.write(batch).map_err(Error::other),
            Writer::Arrow(writer) => writer.write(batch).map_err(Error::other),
        }
    }

    /// Ends, with what the answer took where the format has a place for it.
    pub fn end(self, cost: &QueryCost) -> Result<W, Error> {
        match self.writer {
            Writer::Json { mut out, rows } => {
                let cost = serde_json::to_string(cost)?;
                let (line, cost) =
                    (if rows == 0 { "" } else { "\n" }, cost.strip_prefix('{').unwrap_or(&cost));
                writeln!(out, "{line}],{cost}")?;
                Ok(out)
            }
            Writer::Csv(out) => Ok(out),
            Writer::Parquet(writer) => writer.into_inner().map_err(Error::other),
            Writer::Arrow(writer) => writer.into_inner().map_err(Error::other),
        }
    }
}

/// Numbers are as they are; null is empty.
fn csv_line(out: &mut impl Write, cells: impl Iterator<Item = Json>) -> Result<(), Error> {
    for (at, cell) in cells.enumerate() {
        if at > 0 {
            out.write_all(b",")?;
        }
        match cell {
            Json::Null => {}
            Json::String(text) => out.write_all(quoted(&text).as_bytes())?,
            other @ (Json::Array(_) | Json::Object(_)) => {
                out.write_all(quoted(&other.to_string()).as_bytes())?
            }
            other => write!(out, "{other}")?,
        }
    }
    out.write_all(b"\n")
}

fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) || text.is_empty() {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, StringArray};
    use parquet::arrow::arrow_reader::ParquetRecordBatchReader;

    use super::super::answer::QueryDocument;
    use super::*;

    fn written(format: AnswerFormat, batches: &[RecordBatch]) -> Vec<u8> {
        let batch = batch();
        let head = AnswerHead::new(None, &batch.schema());
        let mut writer = AnswerWriter::begin(format, &head, Vec::new()).unwrap();
        batches.iter().for_each(|batch| writer.rows(batch).unwrap());
        writer
            .end(&QueryCost { spilled_bytes: 0, scanned_bytes: Some(9), elapsed_ms: None, notes: Vec::new() })
            .unwrap()
    }

    fn batch() -> RecordBatch {
        let names = StringArray::from(vec![Some("a, \"b\""), None, Some("")]);
        let numbers = Int64Array::from(vec![Some(1), Some(-2), None]);
        RecordBatch::try_from_iter([
            ("name", Arc::new(names) as ArrayRef),
            ("n", Arc::new(numbers) as ArrayRef),
        ])
        .unwrap()
    }

    #[test]
    fn a_document_has_all_rows_and_what_they_took() {
        for count in 0..3 {
            let text = written(AnswerFormat::Json, &vec![batch(); count]);
            let document: QueryDocument = serde_json::from_slice(&text).unwrap();
            assert_eq!((document.rows.len(), document.columns.len()), (3 * count, 2));
            assert_eq!(document.cost.scanned_bytes, Some(9));
        }
    }

    #[test]
    fn csv_quotes_what_needs_it() {
        let text = String::from_utf8(written(AnswerFormat::Csv, &[batch()])).unwrap();
        assert_eq!(text, "name,n\n\"a, \"\"b\"\"\",1\n,-2\n\"\",\n");
    }

    #[test]
    fn arrow_and_parquet_can_be_read_again() {
        let arrow = written(AnswerFormat::Arrow, &[batch(), batch()]);
        let stream = arrow_ipc::reader::StreamReader::try_new(arrow.as_slice(), None).unwrap();
        assert_eq!(stream.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 6);
        let mut parquet = tempfile::tempfile().unwrap();
        parquet.write_all(&written(AnswerFormat::Parquet, &[batch()])).unwrap();
        let reader = ParquetRecordBatchReader::try_new(parquet, 1024).unwrap();
        assert_eq!(reader.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 3);
    }
}
