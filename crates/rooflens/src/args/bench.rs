//! The arguments of `rooflens bench`, resolved into a plain request.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::ValueHint;
use clap::builder::PossibleValuesParser;
use rooflens_core::bench::{
    Api, ArrivalGaps, BenchRequest, BenchServer, ConversationSpec, LengthSpec, LoadLevels, LoadLimits,
    LoadTarget, ModelOnDevice, PromptSource, RateLevel, ScrapeOptions, ServerProfileRequest,
    SharedPrefixSpec, Warmup, WorkerOptions, WorkloadSpec,
};
use rooflens_core::cost::amount::seconds_or_none;
use rooflens_core::error::{BenchError, Error};

use crate::commands::bench_worker::WorkerTlsArgs;
use crate::error::CliError;

/// How hard the server is loaded.
#[derive(clap::Args)]
#[command(next_help_heading = "Load")]
struct LoadArgs {
    /// Concurrent users (closed loop): each sends its next request when the last one has ended; a list is run
    /// one after the other, as in 1,4,16
    #[arg(long, short = 'c', value_name = "N", value_delimiter = ',', value_parser = users, conflicts_with_all = ["rate", "find_rate"])]
    concurrency: Vec<usize>,
    /// Requests per second (open loop), whatever the server does; a list, as in 1,2,4, or a ramp, as in 1..20
    #[arg(long, short = 'r', alias = "request-rate", value_name = "RATE", value_delimiter = ',', value_parser = rate)]
    rate: Vec<RateLevel>,
    /// Find the highest rate within --slo
    #[arg(long, conflicts_with = "rate", requires = "slo")]
    find_rate: bool,
    /// First rate that --find-rate tries
    #[arg(long, value_name = "RATE", requires = "find_rate")]
    first_rate: Option<f64>,
    /// Highest rate that --find-rate tries
    #[arg(long, value_name = "RATE", requires = "find_rate")]
    max_rate: Option<f64>,
    /// Relative resolution of --find-rate
    #[arg(long, value_name = "PART", default_value_t = 0.05, requires = "find_rate")]
    resolution: f64,
    /// Arrivals of an open loop: poisson, constant, or gamma:SHAPE (burstier below 1)
    #[arg(long, value_name = "PROCESS", default_value = "poisson", value_parser = gaps)]
    arrivals: ArrivalGaps,
    /// With a rate or a trace: at most this many requests in progress; latency still counts from the arrival
    #[arg(long, value_name = "N")]
    max_concurrency: Option<usize>,
    /// Replay the arrival times of --dataset, times this factor: 0.5 is twice as fast
    #[arg(long, value_name = "FACTOR", num_args = 0..=1, default_missing_value = "1", requires = "dataset", conflicts_with_all = ["rate", "concurrency", "find_rate"])]
    replay: Option<f64>,
    /// Requests per level; 200 by default, 4 per user with --against
    #[arg(long, short = 'n', alias = "num-prompts", value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    requests: Option<u64>,
    /// Time per level in which requests are sent, as in 60s or 5m
    #[arg(long, value_name = "TIME", value_parser = duration)]
    duration: Option<Duration>,
    /// Start the users of a closed loop one by one over this time
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = duration)]
    ramp: Duration,
    /// Cancel requests still in progress this long after the last one was sent; by default all are awaited
    #[arg(long, value_name = "TIME", value_parser = duration)]
    drain: Option<Duration>,
    /// Requests to leave out at the start of each level: a number, or auto to find them in the data
    #[arg(long, value_name = "N|auto", default_value = "auto", value_parser = warmup)]
    warmup: Warmup,
    /// Threads that send and receive; chosen by default
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    threads: usize,
}

/// What is sent.
#[derive(clap::Args)]
#[command(next_help_heading = "Workload")]
struct WorkloadArgs {
    /// Prompt length in tokens, 512 by default: 100, 100-200, normal:512,100, lognormal:512,0.8 or hist:128=3,1024=1
    #[arg(long, alias = "random-input-len", value_name = "LENGTH")]
    input_tokens: Option<String>,
    /// Output length in tokens, 128 by default, in the same forms
    #[arg(long, alias = "random-output-len", value_name = "LENGTH")]
    output_tokens: Option<String>,
    /// Prompts from a file: ShareGPT, JSONL (`prompt` or `messages`), text lines, Mooncake or BurstGPT trace
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    dataset: Option<PathBuf>,
    /// Format of the file, if it is not recognised: json (ShareGPT, `messages`, `prompt`), text, mooncake, burstgpt
    #[arg(long, value_name = "NAME", requires = "dataset")]
    dataset_format: Option<String>,
    /// Folder or tokenizer.json of the model: prompts then have exactly the stated length, and token counts are
    /// checked
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    tokenizer: Option<PathBuf>,
    /// Send prompts as token ids (completions only)
    #[arg(long, requires = "tokenizer")]
    token_ids: bool,
    /// Prefix that requests share: `TOKENS[:GROUPS[:SHARE]]`, as in 512:4:0.8; by default every prompt is unique
    #[arg(long, value_name = "PREFIX")]
    shared_prefix: Option<String>,
    /// Conversations of this many turns; the history is sent again with each
    #[arg(long, value_name = "N")]
    turns: Option<u32>,
    /// Time between the turns of a conversation
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = duration)]
    think_time: Duration,
    /// An agent: each turn but the first brings a tool result of this length
    #[arg(long, value_name = "LENGTH", requires = "turns")]
    tool_tokens: Option<String>,
    /// LoRA adapters, taken in turns
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    lora: Vec<String>,
    /// Put an image of this size into every request (chat only)
    #[arg(long, value_name = "WxH", value_parser = size)]
    image: Option<(u32, u32)>,
    /// JSON merged into every request, as in '{"temperature": 0.7, "top_p": 0.9}'; may be repeated
    #[arg(long, value_name = "JSON")]
    extra_body: Vec<String>,
    /// Whether outputs go on to the requested length; true by default for synthetic prompts
    #[arg(long, value_name = "BOOL")]
    ignore_eos: Option<bool>,
    /// Ask for the token count of every chunk (vLLM's continuous_usage_stats)
    #[arg(long)]
    continuous_usage: bool,
    /// Seed of prompts and arrivals
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
}

/// How the server is reached.
#[derive(clap::Args)]
#[command(next_help_heading = "Connection")]
struct ConnectionArgs {
    /// Endpoint to call
    #[arg(long, value_name = "API", default_value = "completions",
          value_parser = PossibleValuesParser::new(Api::ALL.map(Api::name)))]
    api: String,
    /// Environment variable that holds the API key
    #[arg(long, value_name = "NAME", default_value = "OPENAI_API_KEY")]
    api_key_env: String,
    /// Header of every request, as in 'x-team: perf'; may be repeated
    #[arg(long, short = 'H', value_name = "HEADER", value_parser = header)]
    header: Vec<(String, String)>,
    /// Maximum time per request
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = duration)]
    timeout: Duration,
    /// Speak HTTP/2
    #[arg(long)]
    http2: bool,
    /// Ask for compressed answers
    #[arg(long)]
    gzip: bool,
    /// Accept any TLS certificate
    #[arg(long)]
    insecure: bool,
    /// Certificates (PEM) to trust besides the system's
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    ca_file: Option<PathBuf>,
}

/// What the server says of itself.
#[derive(clap::Args)]
#[command(next_help_heading = "Server side")]
struct ServerArgs {
    /// Address of the server's Prometheus metrics; /metrics of the server by default
    #[arg(long, value_name = "URL")]
    metrics_url: Option<String>,
    /// Do not read the server's metrics
    #[arg(long, conflicts_with = "metrics_url")]
    no_metrics: bool,
    /// How often they are read
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = duration)]
    metrics_interval: Duration,
    /// Profile the server for this long (POST /start_profile), at --profile-at or at the first breach of --slo
    #[arg(long, value_name = "TIME", value_parser = duration)]
    profile: Option<Duration>,
    /// Start the profile this long after the start
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "profile")]
    profile_at: Option<Duration>,
    /// Folder in which the server writes its traces, to analyze them into the same run
    #[arg(long, value_name = "DIR", requires = "profile", value_hint = ValueHint::DirPath)]
    profile_dir: Option<PathBuf>,
    /// Interpreter or program that starts a server of `runtime=…`
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    server_python: Option<PathBuf>,
    /// Machines that send the load, running `rooflens bench-worker`
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',', requires = "token_file")]
    workers: Vec<String>,
    /// File with the token that workers and this process share
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    token_file: Option<PathBuf>,
    #[command(flatten)]
    tls: WorkerTlsArgs,
}

/// What decoding is compared with.
#[derive(clap::Args)]
#[command(next_help_heading = "Lower bound")]
struct LowerBoundArgs {
    /// config.json of the model, or its folder: shows MFU and MBU of decoding over time
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    model_config: Option<PathBuf>,
    /// Device that the server runs on
    #[arg(long, value_name = "NAME", requires = "model_config")]
    hardware: Option<String>,
    /// Tensor-parallel size of the server
    #[arg(long, value_name = "N", default_value_t = 1, requires = "model_config")]
    tp: u64,
}

#[derive(clap::Args)]
pub(crate) struct BenchArgs {
    #[command(flatten)]
    load: LoadArgs,
    #[command(flatten)]
    workload: WorkloadArgs,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    model: LowerBoundArgs,
}

/// Requests where neither a number nor a time is given, per user or per request and second.
const REQUESTS: u64 = 200;
const INPUT_TOKENS: LengthSpec = LengthSpec::Fixed(512);
const OUTPUT_TOKENS: LengthSpec = LengthSpec::Fixed(128);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

impl BenchArgs {
    /// Gives each round an end, if no flag does: each user, or a usual number of them, sends a few requests.
    pub(crate) fn with_short_rounds(mut self) -> Self {
        let users = self.load.concurrency.first().map_or(8, |users| *users as u64);
        if self.load.is_endless() {
            self.load.requests = Some(users.saturating_mul(4));
        }
        self
    }

    pub(crate) fn request(
        self,
        targets: &[String],
        model: Option<String>,
        slo: Option<String>,
        fail_on: Vec<String>,
        output: Option<PathBuf>,
    ) -> Result<BenchRequest, CliError> {
        let server = target(targets, model.as_deref(), self.server.server_python)?;
        let api =
            Api::ALL.into_iter().find(|api| api.name() == self.connection.api).unwrap_or(Api::Completions);
        let mut headers = self.connection.header;
        let is_given = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        if let (Ok(key), false) = (std::env::var(&self.connection.api_key_env), is_given)
            && !key.is_empty()
        {
            headers.push(("authorization".to_owned(), format!("Bearer {key}")));
        }
        let load = &self.load;
        let usage = |fact: &str| CliError::from(Error::from(BenchError::Target(fact.to_owned())));
        let is_open = load.find_rate || !load.rate.is_empty() || load.replay.is_some();
        if load.max_concurrency.is_some() && !is_open {
            return Err(usage(
                "--max-concurrency needs --rate or --replay; for a closed loop use --concurrency",
            ));
        }
        if self.server.profile.is_some() && self.server.profile_at.is_none() && slo.is_none() {
            return Err(usage("--profile needs --profile-at, or --slo to start at its first breach"));
        }
        let levels = match () {
            () if load.find_rate => LoadLevels::Search {
                from: load.first_rate,
                gaps: load.arrivals,
                resolution: load.resolution,
                most: load.max_rate,
            },
            () if !load.rate.is_empty() => LoadLevels::Rate {
                rates: load.rate.clone(),
                gaps: load.arrivals,
                max_concurrency: load.max_concurrency,
            },
            () if load.replay.is_some() => LoadLevels::Replay {
                stretch: load.replay.unwrap_or(1.0),
                max_concurrency: load.max_concurrency,
            },
            () if load.concurrency.is_empty() => LoadLevels::Concurrency(vec![1]),
            () => LoadLevels::Concurrency(load.concurrency.clone()),
        };
        let requests = if load.is_endless() { Some(REQUESTS) } else { load.requests };
        Ok(BenchRequest {
            server,
            model,
            target: LoadTarget {
                url: String::new(),
                api,
                headers,
                http2: self.connection.http2,
                insecure: self.connection.insecure,
                ca_file: self.connection.ca_file,
                gzip: self.connection.gzip,
                connect_timeout: CONNECT_TIMEOUT.min(self.connection.timeout),
                timeout: self.connection.timeout,
            },
            limits: LoadLimits { requests, duration: load.duration, drain: load.drain },
            ramp: load.ramp,
            warmup: load.warmup,
            threads: load.threads,
            load: levels,
            workload: self.workload.spec(api).map_err(Error::from)?,
            slo,
            fail_on,
            scrape: ScrapeOptions {
                is_on: !self.server.no_metrics,
                url: self.server.metrics_url,
                interval: self.server.metrics_interval,
            },
            profile: self.server.profile.map(|time| ServerProfileRequest {
                at: self.server.profile_at,
                seconds: time.as_secs_f64(),
                folder: self.server.profile_dir,
            }),
            efficiency: self.model.model_config.map(|config| ModelOnDevice {
                config,
                hardware: self.model.hardware,
                tensor_parallel: self.model.tp,
            }),
            workers: self.server.token_file.filter(|_| !self.server.workers.is_empty()).map(|token_file| {
                WorkerOptions { addresses: self.server.workers, token_file, tls: self.server.tls.tls() }
            }),
            output,
        })
    }
}

impl LoadArgs {
    fn is_endless(&self) -> bool {
        self.requests.is_none() && self.duration.is_none() && self.replay.is_none()
    }
}

impl WorkloadArgs {
    fn spec(self, api: Api) -> Result<WorkloadSpec, BenchError> {
        let wrong = |flag: &str, why: String| BenchError::Workload(format!("{flag} {why}"));
        let prefix = self.shared_prefix.as_deref().map(SharedPrefixSpec::from_str).transpose();
        let shared_prefix = prefix.map_err(|why| wrong("--shared-prefix", why))?;
        let prompts = match self.dataset {
            Some(path) => PromptSource::of_file(path, self.dataset_format.as_deref())
                .map_err(|why| wrong("--dataset-format", why))?,
            None => PromptSource::Synthetic {
                input_tokens: length("--input-tokens", self.input_tokens)?.unwrap_or(INPUT_TOKENS),
                shared_prefix,
            },
        };
        let default = matches!(prompts, PromptSource::Synthetic { .. }).then_some(OUTPUT_TOKENS);
        let output_tokens = length("--output-tokens", self.output_tokens)?.or(default);
        let tool_tokens = length("--tool-tokens", self.tool_tokens)?;
        let conversation =
            self.turns.map(|turns| ConversationSpec { turns, think: self.think_time, tool_tokens });
        let mut extra_body = serde_json::Map::new();
        for text in &self.extra_body {
            let object: serde_json::Map<String, serde_json::Value> =
                serde_json::from_str(text).map_err(|error| {
                    BenchError::Workload(format!("--extra-body is not a JSON object: {error}"))
                })?;
            extra_body.extend(object);
        }
        Ok(WorkloadSpec {
            seed: self.seed,
            tokenizer: self.tokenizer,
            output_tokens: output_tokens.filter(|_| api.is_streamed()),
            conversation,
            loras: self.lora,
            image: self.image,
            token_ids: self.token_ids,
            ignore_eos: self.ignore_eos,
            continuous_usage: self.continuous_usage,
            extra_body,
            ..WorkloadSpec::of(api, prompts)
        })
    }
}

fn length(flag: &str, text: Option<String>) -> Result<Option<LengthSpec>, BenchError> {
    let parse = |text: String| {
        text.parse::<LengthSpec>().map_err(|why| BenchError::Workload(format!("{flag} {text}: {why}")))
    };
    text.map(parse).transpose()
}

/// The server of the positional arguments: a URL, or `runtime=KIND` with flags as `server.FLAG=VALUE`.
fn target(texts: &[String], model: Option<&str>, python: Option<PathBuf>) -> Result<BenchServer, CliError> {
    let usage = |fact: String| CliError::from(Error::from(BenchError::Target(fact)));
    let mut url = None;
    let mut kind = None;
    let mut flags: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for text in texts {
        if text.starts_with("http://") || text.starts_with("https://") {
            if url.is_some() {
                return Err(usage(format!("two servers are given: --against {text} compares them")));
            }
            url = Some(server_url(text));
        } else if let Some(named) = text.strip_prefix("runtime=") {
            kind = Some(named.to_owned());
        } else if let Some((flag, values)) =
            text.strip_prefix("server.").and_then(|rest| rest.split_once('='))
        {
            flags.insert(flag.to_owned(), values.split(',').map(str::to_owned).collect());
        } else {
            let meant =
                if text.contains(':') { format!("; did you mean http://{text}?") } else { String::new() };
            return Err(usage(format!(
                "{text:?} is neither a URL, runtime=NAME nor server.FLAG=VALUE{meant}"
            )));
        }
    }
    match (url, kind) {
        (Some(_), Some(_)) => Err(usage("a URL and runtime=… are both given".to_owned())),
        (Some(url), None) if flags.is_empty() => Ok(BenchServer::Url(url)),
        (Some(_), None) => {
            Err(usage("server.FLAG=VALUE needs runtime=…: a running server keeps its flags".to_owned()))
        }
        (None, Some(kind)) => {
            let model =
                model.ok_or_else(|| usage("runtime=… needs --model: a folder or a name".to_owned()))?;
            Ok(BenchServer::Start { kind, model: model.to_owned(), python, flags })
        }
        (None, None) => Err(usage("the server is missing".to_owned())),
    }
}

/// The address of a server. Where OpenAI's own clients want `/v1`, it is left out here: the endpoint has it.
pub(crate) fn server_url(text: &str) -> String {
    let mut base = text.trim_end_matches('/');
    for end in ["/completions", "/chat", "/v1"] {
        base = base.strip_suffix(end).unwrap_or(base);
    }
    base.to_owned()
}

fn users(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|users| *users > 0).ok_or_else(|| "a number of users above 0".to_owned())
}

fn rate(text: &str) -> Result<RateLevel, String> {
    let number = |text: &str| text.parse::<f64>().ok().filter(|rate| rate.is_finite() && *rate >= 0.0);
    let found = match text.split_once("..") {
        Some((from, to)) => number(from).zip(number(to)),
        None => number(text).map(|rate| (rate, rate)),
    };
    let found = found.filter(|(from, to)| from + to > 0.0);
    found
        .map(|(from, to)| RateLevel { from, to })
        .ok_or_else(|| "a rate above 0, or two as in 1..20".to_owned())
}

fn gaps(text: &str) -> Result<ArrivalGaps, String> {
    let shape = |text: &str| text.parse::<f64>().ok().filter(|shape| shape.is_finite() && *shape > 0.0);
    match text {
        "poisson" => Ok(ArrivalGaps::Poisson),
        "constant" => Ok(ArrivalGaps::Constant),
        _ => text
            .strip_prefix("gamma:")
            .and_then(shape)
            .map(ArrivalGaps::Gamma)
            .ok_or_else(|| "poisson, constant or gamma:SHAPE with a shape above 0".to_owned()),
    }
}

fn warmup(text: &str) -> Result<Warmup, String> {
    match text {
        "auto" => Ok(Warmup::Auto),
        number => number.parse().map(Warmup::Requests).map_err(|_| "auto or a number of requests".to_owned()),
    }
}

fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("NAME: VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn size(text: &str) -> Result<(u32, u32), String> {
    let sides = text.split_once('x').and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
    sides
        .filter(|(w, h)| (1..=8192).contains(w) && (1..=8192).contains(h))
        .ok_or_else(|| "WIDTHxHEIGHT, up to 8192".to_owned())
}

/// `250ms`, `60s`, `5m`, `1h`; a bare number is seconds, and 0 is a time.
fn duration(text: &str) -> Result<Duration, String> {
    let seconds = match text.parse::<f64>() {
        Ok(seconds) => seconds,
        Err(_) => seconds_or_none(text)?.unwrap_or(0.0),
    };
    // A year is longer than any load test.
    let seconds = Some(seconds).filter(|seconds| (0.0..=3.2e7).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "a time as in 250ms, 60s, 5m".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_rates() {
        assert_eq!(duration("250ms").unwrap(), Duration::from_millis(250));
        assert_eq!(duration("1.5m").unwrap(), Duration::from_secs(90));
        assert_eq!(duration("7").unwrap(), Duration::from_secs(7));
        assert!(duration("-1s").is_err() && duration("5 years").is_err() && duration("nan").is_err());
        assert_eq!(rate("2").unwrap(), RateLevel { from: 2.0, to: 2.0 });
        assert_eq!(rate("1..20").unwrap(), RateLevel { from: 1.0, to: 20.0 });
        assert!(rate("0").is_err() && rate("inf").is_err() && rate("-3").is_err());
        assert_eq!(gaps("gamma:0.5").unwrap(), ArrivalGaps::Gamma(0.5));
        assert!(gaps("gamma:0").is_err() && gaps("often").is_err());
    }

    #[test]
    fn targets() {
        let of = |texts: &[&str], model| {
            target(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>(), model, None)
        };
        assert!(matches!(of(&["http://h:1/"], None), Ok(BenchServer::Url(url)) if url == "http://h:1"));
        assert!(matches!(of(&["http://h:1/v1"], None), Ok(BenchServer::Url(url)) if url == "http://h:1"));
        assert!(of(&["http://h:1", "http://h:2"], None).is_err());
        let Ok(BenchServer::Start { kind, flags, .. }) =
            of(&["runtime=vllm_server", "server.max_num_seqs=16,64"], Some("m"))
        else {
            panic!("a server to start")
        };
        assert_eq!((kind.as_str(), flags["max_num_seqs"].len()), ("vllm_server", 2));
        assert!(of(&["runtime=vllm_server"], None).is_err());
        assert!(of(&["127.0.0.1:8000"], None).is_err());
        assert!(of(&["http://h", "server.a=1"], None).is_err());
    }
}
