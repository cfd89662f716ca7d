//! Sessions with the arrival times and lengths of a recorded load.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::error::OpenWorkloadError;
use super::kit::{Kit, OpenWorkload};
use super::length::MAX_LENGTH;
use super::prompts::{PromptMaker, Purpose};
use super::samples::LineReader;
use super::script::{Script, ScriptTurn, TurnContent, session};
use super::spec::TraceFormat;
use crate::plan::{Api, LoadSession, SessionShape, SessionSource};

const BLOCK_TOKENS: usize = 512;

#[derive(Debug, Clone, PartialEq)]
struct Recorded {
    arrival: Duration,
    input_tokens: u32,
    output_tokens: u32,
    blocks: Box<[u64]>,
}

struct Replay {
    kit: Kit,
    maker: PromptMaker,
    requests: Vec<Recorded>,
    next: usize,
}

pub(super) fn open(kit: Kit, path: &Path, format: TraceFormat) -> Result<OpenWorkload, OpenWorkloadError> {
    if !kit.spec.api.is_streamed() {
        return Err(format!("a trace has output tokens, {} has none", kit.spec.api.name()).into());
    }
    let requests = read(path, format)?;
    let name = match format {
        TraceFormat::Mooncake => "Mooncake",
        TraceFormat::BurstGpt => "BurstGPT",
    };
    let prompts = format!("{} requests of the {name} trace {}", requests.len(), path.display());
    let (tokens, description) = (kit.counter.clone(), kit.spec.description(prompts));
    let arrival_span_s = requests.last().map(|last| last.arrival.as_secs_f64());
    let maker = PromptMaker::new(kit.spec.seed, kit.counter.clone())?;
    let source = Box::new(Replay { kit, maker, requests, next: 0 });
    Ok(OpenWorkload { source, tokens, description, arrival_span_s })
}

impl SessionSource for Replay {
    fn next(&mut self) -> Option<LoadSession> {
        let number = self.next;
        self.next += 1;
        self.session(number)
    }

    fn skip(&mut self) -> Option<SessionShape> {
        let request = self.requests.get(self.next)?;
        self.next += 1;
        Some(SessionShape { turns: 1, arrival: Some(request.arrival) })
    }
}

impl Replay {
    fn session(&self, number: usize) -> Option<LoadSession> {
        let request = self.requests.get(number)?;
        let number = number as u64;
        let mut rng = self.kit.rng(number);
        let (lora, model) = self.kit.model_of(number);
        let output = self.kit.spec.output_tokens.as_ref().map(|output| output.draw(&mut rng));
        let blocks = request.blocks.iter();
        let words = blocks
            .flat_map(|hash| self.maker.sequence(Purpose::Block { hash: *hash }).take(BLOCK_TOKENS))
            .chain(self.maker.sequence(Purpose::Own { session: number, turn: 0 }));
        let (content, prompt_tokens) = if self.kit.spec.token_ids {
            let ids = self.maker.ids(words, request.input_tokens);
            (TurnContent::Ids(ids), Some(request.input_tokens))
        } else {
            let with_special = self.kit.spec.api == Api::Completions;
            let sized = self.maker.text(words, request.input_tokens, with_special);
            let images = self.kit.images_of(&mut rng);
            (TurnContent::Text { text: sized.text, images }, sized.tokens)
        };
        let turn = ScriptTurn {
            content,
            prompt_tokens: prompt_tokens.filter(|_| self.kit.knows_prompt_tokens()),
            max_output_tokens: Some(output.unwrap_or(request.output_tokens)),
            delay: Duration::ZERO,
        };
        let script = Script {
            id: None,
            sample: None,
            arrival: Some(request.arrival),
            model,
            lora,
            turns: vec![turn],
            is_agent: false,
        };
        Some(session(&self.kit.writer, script))
    }
}

fn read(path: &Path, format: TraceFormat) -> Result<Vec<Recorded>, OpenWorkloadError> {
    let mut lines = LineReader::open(path)?;
    let mut requests = Vec::new();
    let columns = match format {
        TraceFormat::Mooncake => None,
        TraceFormat::BurstGpt => {
            let header = lines.next_line()?.unwrap_or_default();
            Some(Columns::of(&header).map_err(|problem| lines.problem(problem))?)
        }
    };
    while let Some(line) = lines.next_line()? {
        if line.trim().is_empty() {
            continue;
        }
        let request = match &columns {
            None => mooncake(&line).map(Some),
            Some(columns) => columns.request(&line),
        };
        requests.extend(request.map_err(|problem| lines.problem(problem))?);
    }
    requests.sort_by_key(|request| request.arrival);
    let Some(begin) = requests.first().map(|first| first.arrival) else {
        return Err(format!("{}: there is no request in it", path.display()).into());
    };
    for request in &mut requests {
        request.arrival -= begin;
    }
    Ok(requests)
}

fn mooncake(line: &str) -> Result<Recorded, String> {
    let value: Value = serde_json::from_str(line).map_err(|error| format!("not JSON: {error}"))?;
    let length = |name: &str| {
        let length = value[name].as_u64().and_then(|length| u32::try_from(length).ok());
        let length = length.filter(|length| (1..=MAX_LENGTH).contains(length));
        length.ok_or_else(|| {
            format!("{name} should be a whole number from 1 to {MAX_LENGTH}, not {}", value[name])
        })
    };
    let milliseconds = value["timestamp"].as_f64();
    let milliseconds =
        milliseconds.ok_or_else(|| format!("timestamp should be a number, not {}", value["timestamp"]))?;
    let blocks: Option<Box<[u64]>> = match &value["hash_ids"] {
        Value::Null => Some(Box::default()),
        Value::Array(list) => list.iter().map(Value::as_u64).collect(),
        _ => None,
    };
    Ok(Recorded {
        arrival: seconds(milliseconds / 1e3)?,
        input_tokens: length("input_length")?,
        output_tokens: length("output_length")?,
        blocks: blocks.ok_or("hash_ids should be a list of whole numbers of at least 0")?,
    })
}

struct Columns {
    timestamp: usize,
    request: usize,
    response: usize,
}

impl Columns {
    fn of(header: &str) -> Result<Self, String> {
        let names: Vec<&str> = header.split(',').map(unquoted).collect();
        let column = |wanted: &str| {
            let found = names.iter().position(|name| name.eq_ignore_ascii_case(wanted));
            found.ok_or_else(|| format!("there is no column {wanted:?}"))
        };
        Ok(Columns {
            timestamp: column("Timestamp")?,
            request: column("Request tokens")?,
            response: column("Response tokens")?,
        })
    }

    /// `None` for a request that failed: it has no response.
    fn request(&self, line: &str) -> Result<Option<Recorded>, String> {
        let cells: Vec<&str> = line.split(',').map(unquoted).collect();
        let cell =
            |column: usize| cells.get(column).copied().ok_or("there are fewer columns than in the header");
        let length = |column: usize| {
            let text = cell(column)?;
            let length: Option<u32> = text.parse().ok().filter(|length| *length <= MAX_LENGTH);
            length.ok_or_else(|| format!("{text:?} should be a whole number from 0 to {MAX_LENGTH}"))
        };
        let timestamp = cell(self.timestamp)?;
        let arrival = timestamp.parse().map_err(|_| format!("{timestamp:?} should be a number"))?;
        let arrival = seconds(arrival)?;
        let (input_tokens, output_tokens) = (length(self.request)?, length(self.response)?);
        if input_tokens == 0 || output_tokens == 0 {
            return Ok(None);
        }
        Ok(Some(Recorded { arrival, input_tokens, output_tokens, blocks: Box::default() }))
    }
}

fn unquoted(cell: &str) -> &str {
    cell.trim().trim_matches('"').trim()
}

fn seconds(value: f64) -> Result<Duration, String> {
    Duration::try_from_secs_f64(value)
        .map_err(|_| format!("a timestamp of {value} s should be a finite number of at least 0"))
}
