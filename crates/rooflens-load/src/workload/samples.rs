//! Files of prompts and conversations.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde_json::{Value, json};

use super::error::{OpenWorkloadError, unreadable};
use super::image::file_url;
use super::script::{TurnContent, text_of};
use super::spec::FileFormat;

/// Longer lines are no prompts.
const MOST_LINE_BYTES: u64 = 64 << 20;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sample {
    pub(super) id: Arc<str>,
    pub(super) kind: SampleKind,
    pub(super) output_tokens: Option<u32>,
    pub(super) lora: Option<Arc<str>>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum SampleKind {
    Single(TurnContent),
    ShareGpt(Vec<Exchange>),
    Chat(Vec<Exchange>),
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Exchange {
    pub(super) messages: Vec<Value>,
    pub(super) reply: Option<Value>,
}

#[derive(Default)]
struct Samples {
    list: Vec<Sample>,
    skipped: u64,
}

pub(super) fn read(path: &Path, format: FileFormat) -> Result<Vec<Sample>, OpenWorkloadError> {
    let mut lines = LineReader::open(path)?;
    let first = lines.first_letter()?;
    let mut samples = Samples::default();
    let is_json = format == FileFormat::Json || (format == FileFormat::Auto && first == Some(b'{'));
    if format != FileFormat::Text && first == Some(b'[') {
        read_array(lines, &mut samples)?;
    } else {
        while let Some(line) = lines.next_line()? {
            if line.trim().is_empty() {
                continue;
            }
            let value = match is_json {
                true => serde_json::from_str(&line).map_err(|error| format!("not JSON: {error}")),
                false => Ok(Value::String(line)),
            };
            let added = value.and_then(|value| samples.add(value, lines.number, path));
            added.map_err(|problem| lines.problem(problem))?;
        }
    }
    if samples.list.is_empty() {
        let problem = match samples.skipped {
            0 => "there is no sample in it".to_owned(),
            skipped => format!("none of its {skipped} samples has a message of a user"),
        };
        return Err(format!("{}: {problem}", path.display()).into());
    }
    Ok(samples.list)
}

pub(super) struct LineReader<'a> {
    path: &'a Path,
    reader: BufReader<File>,
    pub(super) number: u64,
}

impl<'a> LineReader<'a> {
    pub(super) fn open(path: &'a Path) -> Result<Self, OpenWorkloadError> {
        let error = |error| unreadable(path, &error);
        let mut reader = BufReader::with_capacity(1 << 16, File::open(path).map_err(error)?);
        let begin = reader.fill_buf().map_err(error)?;
        if begin.starts_with(b"\xef\xbb\xbf") {
            reader.consume(3);
        }
        Ok(LineReader { path, reader, number: 0 })
    }

    /// The first byte that is no white space, if it is not far.
    fn first_letter(&mut self) -> Result<Option<u8>, OpenWorkloadError> {
        let path = self.path;
        let error = |error| unreadable(path, &error);
        let begin = self.reader.fill_buf().map_err(error)?;
        Ok(begin.iter().copied().find(|byte| !byte.is_ascii_whitespace()))
    }

    pub(super) fn next_line(&mut self) -> Result<Option<String>, OpenWorkloadError> {
        self.number += 1;
        let mut line = Vec::new();
        let read = self.reader.by_ref().take(MOST_LINE_BYTES + 1).read_until(b'\n', &mut line);
        read.map_err(|error| unreadable(self.path, &error))?;
        if line.is_empty() {
            return Ok(None);
        }
        if line.len() as u64 > MOST_LINE_BYTES {
            return Err(self.problem(format!("the line is longer than {MOST_LINE_BYTES} bytes")));
        }
        while line.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
            line.pop();
        }
        String::from_utf8(line).map(Some).map_err(|_| self.problem("not UTF-8".to_owned()))
    }

    pub(super) fn problem(&self, problem: String) -> OpenWorkloadError {
        format!("{}:{}: {problem}", self.path.display(), self.number).into()
    }
}

impl Read for LineReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.number += buffer[..count].iter().filter(|byte| **byte == b'\n').count() as u64;
        Ok(count)
    }
}

/// Reads an array element by element, so that memory is for samples, not for JSON.
fn read_array(mut lines: LineReader<'_>, samples: &mut Samples) -> Result<(), OpenWorkloadError> {
    lines.number = 1;
    let path = lines.path;
    let mut problem = None;
    let mut elements = Elements { path, samples, problem: &mut problem };
    let mut deserializer = serde_json::Deserializer::from_reader(&mut lines);
    let read = serde::Deserializer::deserialize_seq(&mut deserializer, &mut elements);
    let read = read.and_then(|()| deserializer.end());
    let line = |line: u64, problem: String| Err(format!("{}:{line}: {problem}", path.display()).into());
    match (read, problem) {
        (Ok(()), _) => Ok(()),
        (Err(_), Some(problem)) => line(lines.number, problem),
        (Err(error), None) => line(error.line() as u64, format!("not JSON: {error}")),
    }
}

struct Elements<'a> {
    path: &'a Path,
    samples: &'a mut Samples,
    problem: &'a mut Option<String>,
}

impl<'de> Visitor<'de> for &mut Elements<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("an array of samples")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<(), A::Error> {
        let mut index = 0;
        while let Some(value) = sequence.next_element::<Value>()? {
            index += 1;
            if let Err(problem) = self.samples.add(value, index, self.path) {
                *self.problem = Some(format!("element {index}: {problem}"));
                return Err(A::Error::custom("sample"));
            }
        }
        Ok(())
    }
}

impl Samples {
    fn add(&mut self, value: Value, number: u64, path: &Path) -> Result<(), String> {
        match sample(value, number, path)? {
            Some(sample) => self.list.push(sample),
            None => self.skipped += 1,
        }
        Ok(())
    }
}

fn sample(value: Value, number: u64, path: &Path) -> Result<Option<Sample>, String> {
    let id: Arc<str> = match &value["id"] {
        Value::String(id) => id.as_str().into(),
        _ => number.to_string().into(),
    };
    let kind = match &value {
        Value::String(text) => {
            Some(SampleKind::Single(TurnContent::Text { text: text.clone(), images: vec![] }))
        }
        Value::Object(fields) if fields.contains_key("conversations") => {
            share_gpt(&fields["conversations"])?.map(SampleKind::ShareGpt)
        }
        Value::Object(fields) if fields.contains_key("messages") => {
            chat(&fields["messages"])?.map(SampleKind::Chat)
        }
        Value::Object(fields) if fields.contains_key("documents") => {
            Some(SampleKind::Single(documents(&value)?))
        }
        Value::Object(fields) if fields.contains_key("prompt") => {
            Some(SampleKind::Single(prompt(&value, path)?))
        }
        Value::Object(_) => return Err("none of conversations, messages, prompt or documents".to_owned()),
        _ => return Err("neither an object nor a string".to_owned()),
    };
    let output_tokens = length(&value, &["output_tokens", "max_tokens", "max_completion_tokens"])?;
    let lora = string(&value, &["lora", "model"])?.map(Arc::from);
    Ok(kind.map(|kind| Sample { id, kind, output_tokens, lora }))
}

fn prompt(value: &Value, path: &Path) -> Result<TurnContent, String> {
    match &value["prompt"] {
        Value::String(text) => Ok(TurnContent::Text { text: text.clone(), images: images(value, path)? }),
        Value::Array(ids) => {
            let id = |id: &Value| id.as_u64().and_then(|id| u32::try_from(id).ok());
            let ids: Option<Vec<u32>> = ids.iter().map(id).collect();
            ids.map(TurnContent::Ids)
                .ok_or_else(|| "prompt should be a string or a list of token ids".to_owned())
        }
        _ => Err("prompt should be a string or a list of token ids".to_owned()),
    }
}

fn documents(value: &Value) -> Result<TurnContent, String> {
    let query = value["query"].as_str().ok_or("query should be a string")?.to_owned();
    let texts = |list: &Vec<Value>| list.iter().map(|text| text.as_str().map(str::to_owned)).collect();
    let documents: Option<Vec<String>> = value["documents"].as_array().and_then(texts);
    Ok(TurnContent::Documents { query, documents: documents.ok_or("documents should be a list of strings")? })
}

fn images(value: &Value, path: &Path) -> Result<Vec<Arc<str>>, String> {
    let listed = value.get("images").or_else(|| value.get("image")).unwrap_or(&Value::Null);
    let one = std::slice::from_ref(listed);
    let list = match listed {
        Value::Null => return Ok(Vec::new()),
        Value::Array(list) => list.as_slice(),
        _ => one,
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    let url = |image: &Value| {
        let image = image.as_str().ok_or("an image should be a path or a URL")?;
        let is_url = ["data:", "http://", "https://"].iter().any(|scheme| image.starts_with(scheme));
        if is_url {
            return Ok(Arc::from(image));
        }
        file_url(&folder.join(image)).map_err(|error| error.to_string())
    };
    list.iter().map(url).collect()
}

fn share_gpt(conversations: &Value) -> Result<Option<Vec<Exchange>>, String> {
    let list = conversations.as_array().ok_or("conversations should be a list")?;
    let message = |entry: &Value| {
        let from = entry["from"].as_str().ok_or("from should be a string")?;
        let text = entry["value"].as_str().ok_or("value should be a string")?;
        let role = match from {
            "human" | "user" => "user",
            "system" => "system",
            "gpt" | "assistant" | "chatgpt" | "bing" | "bard" => "assistant",
            other => return Err(format!("unknown speaker {other:?}")),
        };
        Ok(json!({"role": role, "content": text}))
    };
    let messages = list.iter().map(message).collect::<Result<Vec<Value>, String>>()?;
    Ok(exchanges(messages))
}

fn chat(messages: &Value) -> Result<Option<Vec<Exchange>>, String> {
    let list = messages.as_array().ok_or("messages should be a list")?;
    for message in list {
        if !message["role"].is_string() {
            return Err("role should be a string".to_owned());
        }
        let content = &message["content"];
        if !(content.is_string() || content.is_array() || content.is_null()) {
            return Err("content should be a string or a list of parts".to_owned());
        }
    }
    Ok(exchanges(list.clone()))
}

/// Cuts a conversation after each reply to a user; `None` where no user says anything.
fn exchanges(messages: Vec<Value>) -> Option<Vec<Exchange>> {
    let mut list = Vec::new();
    let mut open = Exchange::default();
    for message in messages {
        let asks = |message: &Value| matches!(message["role"].as_str(), Some("user" | "tool"));
        if message["role"] == "assistant" && open.messages.iter().any(asks) {
            list.push(Exchange { reply: Some(message), messages: std::mem::take(&mut open.messages) });
        } else {
            open.messages.push(message);
        }
    }
    let has_user = open.messages.iter().any(|message| message["role"] == "user");
    if has_user || (!list.is_empty() && !open.messages.is_empty()) {
        list.push(open);
    }
    (!list.is_empty()).then_some(list)
}

impl Exchange {
    pub(super) fn reply_text(&self) -> Option<String> {
        self.reply.as_ref().map(text_of).filter(|text| !text.is_empty())
    }
}

fn length(value: &Value, names: &[&str]) -> Result<Option<u32>, String> {
    let Some((name, field)) = present(value, names) else { return Ok(None) };
    let length = field.as_u64().and_then(|length| u32::try_from(length).ok()).filter(|length| *length > 0);
    length.map(Some).ok_or_else(|| format!("{name} should be a whole number above 0, not {field}"))
}

fn string<'a>(value: &'a Value, names: &[&str]) -> Result<Option<&'a str>, String> {
    let Some((name, field)) = present(value, names) else { return Ok(None) };
    field.as_str().map(Some).ok_or_else(|| format!("{name} should be a string"))
}

fn present<'a, 'n>(value: &'a Value, names: &[&'n str]) -> Option<(&'n str, &'a Value)> {
    names.iter().find_map(|name| value.get(name).filter(|field| !field.is_null()).map(|field| (*name, field)))
}
