//! The document of a load test, laid out for people.

use rooflens_analyze::compare::headline::{self, MeasuredRequest, RequestTimes};
use rooflens_analyze::compare::load::account::LatencyParts;
use rooflens_analyze::compare::load::steady::SteadyVerdict;
use rooflens_load::scrape::{ServerGauge, ServerSample};
use rooflens_load::why::LatencyCause;
use rooflens_report::bench::{BenchFacts, LatencyRow, ObjectiveRow, Timeline};
use rooflens_report::block::{Cell, ChartUnit, Grade, Mark, Tone};
use rooflens_report::format;

use super::document::BenchDocument;
use super::level::LevelRun;
use crate::run::metrics::Spread;
use crate::text::counted;

const MAX_SLOW_REQUESTS: usize = 8;

pub(crate) struct LevelRows<'a> {
    pub(crate) requests: &'a [MeasuredRequest<'a>],
    /// Where their latency went: place among the requests, and the parts.
    pub(crate) parts: &'a [(usize, LatencyParts)],
    pub(crate) run: &'a LevelRun,
}

pub(crate) fn of_level(document: &BenchDocument, rows: &LevelRows<'_>, notes: &[String]) -> BenchFacts {
    BenchFacts {
        lead: lead(document),
        what: what(document),
        latencies: latencies(document),
        numbers: numbers(document),
        objectives: objectives(document),
        errors: document.errors.iter().map(|e| (e.kind.clone(), e.requests, e.example.clone())).collect(),
        remarks: remarks(document, notes),
        client: client(document),
        server: server(document),
        parts: vec![
            (Tone::Idle, "waiting in the client".to_owned()),
            (Tone::RankWait, "queue and prefill".to_owned()),
            (Tone::Compute, "decode".to_owned()),
            (Tone::Sync, "stalls".to_owned()),
        ],
        waterfall: waterfall(rows),
        timelines: timelines(document, rows),
        levels: Vec::new(),
    }
}

fn headline(document: &BenchDocument, key: &str) -> Option<f64> {
    document.headline.get(key).copied().flatten()
}

fn lead(document: &BenchDocument) -> Vec<String> {
    let counts = &document.requests;
    let mut lead: Vec<String> = failures(document).into_iter().collect();
    lead.extend(document.why.iter().map(|why| why.sentence.clone()));
    let of = |key: &str| headline(document, key);
    let pair = |name: &str, key: &str| {
        let (p50, p99) = (of(&format!("{key}_p50_ns"))?, of(&format!("{key}_p99_ns"))?);
        Some(format!("{name} p50 {}, p99 {}", format::time(p50), format::time(p99)))
    };
    let mut parts: Vec<String> = [pair("TTFT", "ttft"), pair("TPOT", "tpot")].into_iter().flatten().collect();
    if parts.is_empty() {
        parts.extend(pair("latency", "latency"));
    }
    parts.extend(
        of("output_tokens_per_s").filter(|rate| *rate > 0.0).map(|rate| format!("{rate:.0} output tokens/s")),
    );
    parts.push(format!("{} of {} requests completed", counts.completed, counts.sent));
    lead.push(format!("{}: {}.", document.load.offered, parts.join("; ")));
    if let Some(met) = document.slo_met {
        let missed: Vec<&str> =
            document.objectives.iter().filter(|one| !one.is_met).map(|one| one.objective.as_str()).collect();
        lead.push(match met {
            true => "The SLO is met.".to_owned(),
            false => format!("The SLO is missed: {}.", missed.join(", ")),
        });
    }
    if document.status != "complete" && document.workers.iter().all(|worker| worker.lost.is_none()) {
        lead.push("The test was stopped before its end.".to_owned());
    }
    let not_sent = document.requests.not_sent;
    if not_sent > 0 {
        lead.push(format!(
            "{not_sent} requests that were due were never sent, as the test ended before: they count nowhere."
        ));
    }
    let is_said = document.why.as_ref().is_some_and(|why| matches!(why.cause, LatencyCause::Client { .. }));
    if !document.client.valid && !is_said {
        lead.push(format!(
            "Do not trust these numbers: the client was the bottleneck ({}).",
            document.client.reasons.join("; ")
        ));
    }
    lead
}

fn failures(document: &BenchDocument) -> Option<String> {
    let counts = &document.requests;
    let failed = counts.failed + counts.timed_out;
    let most = document.errors.first().filter(|_| failed * 100 >= counts.sent.max(1))?;
    let kinds = if most.requests < failed { "most of them" } else { "all of them" };
    Some(format!("{failed} of {} requests failed, {kinds} with {}.", counts.sent, most.kind))
}

fn what(document: &BenchDocument) -> String {
    let server = &document.server;
    let kind = match (&server.kind, &server.version) {
        (Some(kind), Some(version)) => format!("{kind} {version}"),
        (Some(kind), None) => kind.clone(),
        _ => "server".to_owned(),
    };
    format!("{} · {kind} at {} · {} · {}", server.model, server.url, server.api, document.workload)
}

fn latencies(document: &BenchDocument) -> Vec<LatencyRow> {
    let Some(measured) = &document.measured else { return Vec::new() };
    let interval = |key: &str| document.intervals.get(key).map(|ends| (ends[0], ends[1]));
    let row = |times: &RequestTimes, spread: &Option<Spread>| {
        let name = times.key.trim_end_matches("_ns");
        LatencyRow {
            title: times.title.to_owned(),
            definition: times.definition,
            values: spread.as_ref().map(|of| [of.p50, of.p90, of.p99, of.max, of.mean]),
            p50_interval: interval(&format!("{name}_p50_ns")),
            p99_interval: interval(&format!("{name}_p99_ns")),
            reason: document.not_computed.get(&format!("{name}_p50_ns")).cloned().unwrap_or_default(),
        }
    };
    let mut rows = vec![row(&headline::TTFT, &measured.ttft_ns)];
    // The same numbers once more would only be noise.
    if measured.ttfo_ns.as_ref().map(|of| of.mean) != measured.ttft_ns.as_ref().map(|of| of.mean)
        && measured.ttfo_ns.is_some()
    {
        rows.push(row(&headline::TTFO, &measured.ttfo_ns));
    }
    rows.push(row(&headline::TPOT, &measured.tpot_ns));
    rows.push(row(&headline::ITL, &measured.itl_ns));
    rows.push(row(&headline::LATENCY, &measured.latency_ns));
    if measured.service_ttft_ns.is_some() {
        rows.push(row(&headline::SERVICE_TTFT, &measured.service_ttft_ns));
    }
    rows.retain(|row| row.values.is_some() || row.title == "latency");
    rows
}

fn numbers(document: &BenchDocument) -> Vec<(&'static str, Cell, &'static str)> {
    let of = |key: &str| headline(document, key);
    let definition = |key: &str| headline::find(key).map_or("", |metric| metric.definition);
    let mut all = Vec::new();
    let rates = [
        ("output tokens/s", "output_tokens_per_s"),
        ("per user", "output_tokens_per_s_per_user"),
        ("input tokens/s", "input_tokens_per_s"),
        ("requests/s", "requests_per_s"),
    ];
    for (title, key) in rates {
        all.extend(of(key).map(|value| (title, Cell::Mean(value), definition(key))));
    }
    if let Some(goodput) = &document.goodput {
        let help = "Requests that meet the limits of the SLO on times, each on its own.";
        all.push((
            "goodput",
            Cell::text(format!(
                "{}{}",
                goodput.per_s.map_or_else(String::new, |rate| format!("{} requests/s, ", format::mean(rate))),
                format::share(goodput.share)
            )),
            help,
        ));
    }
    if let Some(pace) = &document.ttft_at_pace_ns {
        let help = "TTFT p99 that users would see who arrive at the median pace of this closed loop, whether or not the \
                    last answer is there (coordinated omission corrected).";
        all.push(("TTFT p99 at pace", Cell::MeanTime(pace.p99), help));
    }
    all.extend(
        document.energy_per_token_j.map(|joules| {
            ("energy/token", Cell::amount(joules, "J"), "Energy of all devices / output tokens.")
        }),
    );
    if let Some(efficiency) = &document.efficiency {
        let help = "Decode, median over seconds: bytes that had to move / (peak bandwidth · time).";
        all.push(("decode MBU", Cell::or(efficiency.mbu, Cell::Share, "no --hardware"), help));
        let help = "Decode, median over seconds: model FLOPs / (peak · time).";
        all.push(("decode MFU", Cell::or(efficiency.mfu, Cell::Share, "no --hardware"), help));
    }
    all
}

fn objectives(document: &BenchDocument) -> Vec<ObjectiveRow> {
    let row = |one: &rooflens_analyze::compare::load::slo::ObjectiveResult| {
        let is_time = one.objective.contains("_p");
        let cell = |value: f64| match () {
            () if is_time => Cell::MeanTime(value),
            () if one.objective.starts_with("error_rate") => Cell::Share(value),
            () => Cell::Mean(value),
        };
        ObjectiveRow {
            text: one.objective.clone(),
            measured: Cell::or(one.value, cell, "not measured, or a failed request"),
            is_met: one.is_met,
        }
    };
    document.objectives.iter().map(row).collect()
}

fn remarks(document: &BenchDocument, notes: &[String]) -> Vec<(Grade, &'static str, String)> {
    let mut all = Vec::new();
    for reason in &document.client.reasons {
        all.push((Grade::Warning, "client_bottleneck", reason.clone()));
    }
    for worker in &document.workers {
        all.extend(worker.lost_words().map(|words| (Grade::DataLoss, "worker_lost", words)));
    }
    if matches!(document.steady.verdict, SteadyVerdict::Drifting | SteadyVerdict::Overloaded) {
        all.push((Grade::Warning, "not_steady", document.steady.words.clone()));
    }
    if document.warmup.requests > 0 {
        let left_out = counted(usize::try_from(document.warmup.requests).unwrap_or(usize::MAX), "request");
        all.push((
            Grade::Info,
            "warmup",
            format!("{left_out} of the warm-up left out: {}", document.warmup.rule),
        ));
    }
    let by_chunks = document.tokens.counted_by_chunks;
    if by_chunks > 0 {
        let message = format!(
            "the server did not count the tokens of {by_chunks} answers: each chunk is taken for one token, which is wrong \
             if chunks have several; --tokenizer counts them"
        );
        all.push((Grade::Warning, "tokens_not_counted", message));
    }
    if let Some(tokens) = &document.tokens.reconciliation {
        for (what, agreement) in [("prompts", &tokens.prompt), ("outputs", &tokens.output)] {
            let Some(agreement) = agreement.as_ref().filter(|one| one.disagreeing > 0) else { continue };
            let message = format!(
                "tokens of {what}: server and tokenizer disagree in {} of {} requests, by up to {}",
                agreement.disagreeing, agreement.compared, agreement.largest_difference
            );
            all.push((Grade::Warning, "tokens_disagree", message));
        }
    }
    if let Some(problem) = document.profile.as_ref().and_then(|profile| profile.problem.as_ref()) {
        all.push((Grade::Warning, "profile", problem.clone()));
    }
    if let Some(verdict) = document.profile.as_ref().and_then(|profile| profile.verdict.as_ref()) {
        all.push((Grade::Info, "profile", verdict.clone()));
    }
    all.extend(notes.iter().map(|note| (Grade::Info, "resolution", note.clone())));
    all
}

fn client(document: &BenchDocument) -> Vec<(&'static str, Cell, &'static str)> {
    let client = &document.client;
    let mut all = vec![(
        "client",
        Cell::word(if client.valid { "kept up" } else { "bottleneck" }),
        "Whether the client was fast enough for the numbers to be the server's.",
    )];
    let times = [
        (
            "send lag p99",
            client.send_lag_p99_ns,
            "From the scheduled time to the first byte sent, without waiting for a slot.",
        ),
        ("receive delay p99", client.receive_delay_p99_ns, "From the kernel's receive time to being read."),
        ("loop lag p99", client.loop_lag_p99_ns, "How late timers fired."),
    ];
    for (title, value, help) in times {
        all.extend(value.map(|ns| (title, Cell::Time(ns), help)));
    }
    all.extend(
        client.cpu_per_chunk_ns.map(|ns| {
            ("CPU per chunk", Cell::MeanTime(ns), "Processor time of the client / received chunks.")
        }),
    );
    all
}

fn server(document: &BenchDocument) -> Vec<(&'static str, Cell, &'static str)> {
    let Some(server) = &document.server_metrics else { return Vec::new() };
    let mut all = Vec::new();
    let mut add = |title: &'static str, cell: Option<Cell>, help: &'static str| {
        all.extend(cell.map(|cell| (title, cell, help)))
    };
    let mean_max = |mean: Option<f64>, max: Option<f64>| {
        Some(Cell::text(format!("{} (max {})", format::mean(mean?), format::mean(max?))))
    };
    add(
        "running",
        mean_max(server.running_mean, server.running_max),
        "Requests in the running batch, by the server's metrics.",
    );
    add("waiting", mean_max(server.waiting_mean, server.waiting_max), "Requests in the server's queue.");
    add("KV cache, max", server.kv_cache_usage_max.map(Cell::Share), "Highest used share of the KV cache.");
    add(
        "queue time",
        server.queue_time_mean_ns.map(Cell::MeanTime),
        "Mean time of a request in the server's queue.",
    );
    add(
        "prefill time",
        server.prefill_time_mean_ns.map(Cell::MeanTime),
        "Mean time from being scheduled to the first token.",
    );
    add(
        "preemptions",
        server.preemptions.map(|count| Cell::Count(count as i64)),
        "Requests preempted because the KV cache was full.",
    );
    add(
        "prefix hits",
        server.prefix_hit_rate.map(Cell::Share),
        "Share of prompt tokens from the prefix cache.",
    );
    add("acceptance", server.acceptance_rate.map(Cell::Share), "Share of draft tokens that were accepted.");
    all
}

fn waterfall(rows: &LevelRows<'_>) -> Vec<(String, Vec<i64>)> {
    let mut order: Vec<&(usize, LatencyParts)> = rows.parts.iter().collect();
    order.sort_by_key(|(_, parts)| parts.latency_ns());
    let Some(typical) = order.get(order.len() / 2) else { return Vec::new() };
    let bar = |name: &str, (place, parts): &(usize, LatencyParts)| {
        let at = rows.requests[*place].origin_ns();
        let to_first = parts.queue_ns.unwrap_or(0) + parts.prefill_ns;
        let label = format!("{name}, at {}", format::moment(at));
        (label, vec![parts.client_wait_ns, to_first, parts.decode_ns, parts.stalls_ns])
    };
    let slowest = order.iter().rev().take(MAX_SLOW_REQUESTS.min(order.len() - 1));
    std::iter::once(bar("typical", typical)).chain(slowest.map(|one| bar("slow", one))).collect()
}

fn timelines(document: &BenchDocument, rows: &LevelRows<'_>) -> Vec<Timeline> {
    let mut all = Vec::new();
    let mut order: Vec<&MeasuredRequest<'_>> = rows.requests.iter().collect();
    order.sort_by_key(|request| request.origin_ns());
    for times in [&headline::TTFT, &headline::TPOT, &headline::LATENCY] {
        let point =
            |request: &&MeasuredRequest<'_>| Some((request.origin_ns(), *(times.of)(request).first()?));
        let points: Vec<(i64, f64)> = order.iter().filter_map(point).collect();
        if !points.is_empty() {
            all.push(Timeline {
                title: format!("{} by arrival", times.title),
                what: times.title,
                unit: ChartUnit::Time,
                mark: Mark::Points,
                series: vec![(times.title, Tone::Plain, points)],
            });
        }
    }
    let samples = rows.run.series.as_ref().map_or(&[][..], |series| series.samples.as_slice());
    let gauge = |(label, gauge, tone): (&'static str, ServerGauge, Tone)| {
        let point = |sample: &ServerSample| Some((sample.ts_ns, sample.gauge(gauge)?));
        (label, tone, samples.iter().filter_map(point).collect::<Vec<_>>())
    };
    let requests = vec![
        ("running", ServerGauge::Running, Tone::Compute),
        ("waiting", ServerGauge::Waiting, Tone::RankWait),
    ];
    let cache = vec![("KV cache", ServerGauge::KvCacheUsage, Tone::Compute)];
    for (title, what, wanted, unit) in [
        ("Running and waiting requests", "requests", requests, ChartUnit::Amount("".into())),
        ("KV cache in use", "share", cache, ChartUnit::Share),
    ] {
        let series: Vec<_> =
            wanted.into_iter().map(gauge).filter(|(_, _, points)| points.len() > 1).collect();
        if !series.is_empty() {
            all.push(Timeline { title: title.to_owned(), what, unit, mark: Mark::Steps, series });
        }
    }
    let windows = document.efficiency.iter().flat_map(|efficiency| &efficiency.windows);
    let points: Vec<(i64, f64)> = windows.filter_map(|window| Some((window.from_ns, window.mbu?))).collect();
    if points.len() > 1 {
        all.push(Timeline {
            title: "MBU of decoding".to_owned(),
            what: "MBU",
            unit: ChartUnit::Share,
            mark: Mark::Levels,
            series: vec![("MBU", Tone::Plain, points)],
        });
    }
    all
}
