//! The rows that every named query has to give for the fleet that was made.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::TIMED_KERNEL;
use super::expected::{day, expected, quantile, sorted};
use super::plan::{BUILDS, CHANGES, HARDWARE, HOT_NODE, LABORATORY, MODELS, RANKS, RELEASE};
use super::requests::{TPOT_NS, TTFT_NS};
use super::run::{CallSums, RunSummary};

/// How far above the median a rank is slow.
const SLOW: f64 = 0.15;
/// What a device costs per hour.
const USD: f64 = 2.49;

pub(super) fn truth(runs: &[RunSummary], rows_per_run: usize) -> Value {
    let days: BTreeSet<String> = runs.iter().map(|run| day(run.plan.start_unix_ns)).collect();
    let days: Vec<String> = days.into_iter().collect();
    let last_week = days[days.len().saturating_sub(7)..].first().cloned().unwrap_or_default();
    let some_day = days.get(days.len() / 2).cloned().unwrap_or_default();
    let (hardware, ..) = HARDWARE[0];
    let mut queries = vec![
        top_kernels(runs, &[]),
        top_kernels(runs, &[("since", last_week.as_str())]),
        top_kernels(runs, &[("since", some_day.as_str()), ("until", some_day.as_str())]),
        top_kernels(runs, &[("hardware", hardware), ("phase", "decode")]),
        kernel_latency(runs),
        decode_mbu(runs),
        launches_per_token(runs),
        slow_ranks(runs),
        throttled_runs(runs),
        slo_attainment(runs),
        cost(runs),
        changes_since(runs),
    ];
    queries.extend((1..BUILDS.len()).map(|other| regressions(runs, other)));
    let changed = |build: usize| -> Vec<Value> {
        let of_build = CHANGES.iter().filter(|(changed, ..)| *changed == build);
        let phase = |is_decode: &bool| if *is_decode { "decode" } else { "prefill" };
        of_build.map(|(_, part, is_decode, factor)| json!({"kernel": part, "phase": phase(is_decode), "factor": factor})).collect()
    };
    let slow: Vec<Value> = runs
        .iter()
        .filter_map(|run| Some(json!({"run_id": run.run_id, "rank": run.plan.slow_rank?})))
        .collect();
    json!({
        "runs": runs.len(),
        "kernel_rows": runs.len() * rows_per_run,
        "first_day": days.first(),
        "last_day": days.last(),
        "planted": {
            "builds": (1..BUILDS.len()).map(|build| json!({
                "base": BUILDS[0], "other": BUILDS[build], "changed": changed(build),
            })).collect::<Vec<_>>(),
            "slow_ranks": slow,
            "throttled_node": HOT_NODE,
            "renamed": super::kernels::RENAMED,
            "release": RELEASE,
        },
        "queries": queries,
    })
}

fn hardware(run: &RunSummary) -> &'static str {
    HARDWARE[run.plan.hardware].0
}

fn model(run: &RunSummary) -> &'static str {
    MODELS[run.plan.model].0
}

fn by<'r, K: Ord>(
    runs: impl Iterator<Item = &'r RunSummary>,
    key: impl Fn(&RunSummary) -> K,
) -> BTreeMap<K, Vec<&'r RunSummary>> {
    let mut groups: BTreeMap<K, Vec<&RunSummary>> = BTreeMap::new();
    runs.for_each(|run| groups.entry(key(run)).or_default().push(run));
    groups
}

fn top_kernels(runs: &[RunSummary], filters: &[(&str, &str)]) -> Value {
    let filter = |name: &str| filters.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    let mut sums: BTreeMap<i64, (CallSums, &str, &str)> = BTreeMap::new();
    for run in runs {
        let day = day(run.plan.start_unix_ns);
        let is_in = filter("since").is_none_or(|since| day.as_str() >= since)
            && filter("until").is_none_or(|until| day.as_str() <= until)
            && filter("hardware").is_none_or(|wanted| hardware(run) == wanted);
        for ((kernel, phase), calls) in run.kernels.iter().filter(|_| is_in) {
            if filter("phase").is_none_or(|wanted| wanted == *phase) {
                let (name, class) = &run.names[kernel];
                sums.entry(*kernel).and_modify(|known| known.0.add(*calls)).or_insert((*calls, name, class));
            }
        }
    }
    let all: i64 = sums.values().map(|(calls, ..)| calls.total_ns).sum();
    let rows = sums.iter().map(|(kernel, (calls, name, class))| {
        let share = calls.total_ns as f64 / all as f64;
        let mean = calls.total_ns as f64 / calls.count as f64;
        json!([kernel, name, class, calls.count, calls.total_ns, share, mean, calls.min_ns, calls.max_ns])
    });
    let columns = "kernel_id kernel class calls device_ns share mean_ns shortest_ns longest_ns";
    let parameters: Vec<(&str, &str)> = filters.iter().copied().chain([("limit", "100000")]).collect();
    expected("top-kernels", &parameters, columns, rows.collect())
}

fn kernel_latency(runs: &[RunSummary]) -> Value {
    let part = format!("{TIMED_KERNEL}<");
    let kernel = |run: &RunSummary| {
        run.names
            .iter()
            .find(|(_, (name, _))| name.contains(&part))
            .map(|(kernel, (name, _))| (*kernel, name.clone()))
    };
    let groups = by(runs.iter(), |run| (kernel(run), run.plan.runtime, run.plan.version));
    let rows = groups.into_iter().filter_map(|((kernel, runtime, version), runs)| {
        let (kernel, name) = kernel?;
        let called = runs.iter().filter(|run| !run.timed_ns.is_empty()).count();
        let whole: i64 = runs.iter().flat_map(|run| &run.timed_ns).sum();
        let times = sorted(runs.iter().flat_map(|run| &run.timed_ns).map(|ns| *ns as f64).collect());
        let mean = whole as f64 / times.len() as f64;
        (called > 0).then(|| {
            let (p50, p99) = (quantile(&times, 0.5), quantile(&times, 0.99));
            json!([kernel, name, runtime, version, called, times.len(), p50, p99, mean])
        })
    });
    let columns = "kernel_id kernel runtime runtime_version runs calls p50_ns p99_ns mean_ns";
    expected("kernel-latency", &[("kernel", &part), ("limit", "1000")], columns, rows.collect())
}

fn values(runs: &[&RunSummary], metric: &str) -> Vec<f64> {
    sorted(runs.iter().filter_map(|run| run.metrics.get(metric).copied()).collect())
}

fn decode_mbu(runs: &[RunSummary]) -> Value {
    let rows = by(runs.iter(), hardware).into_iter().filter_map(|(hardware, runs)| {
        let mbu = values(&runs, "mbu_decode");
        Some(json!([hardware, mbu.len(), quantile(&mbu, 0.5), mbu.first()?, mbu.last()?]))
    });
    let columns = "hardware runs median_mbu lowest_mbu highest_mbu";
    expected("decode-mbu", &[], columns, rows.collect())
}

fn launches_per_token(runs: &[RunSummary]) -> Value {
    let decoding = runs.iter().filter(|run| run.decode[1] > 0);
    let rows = by(decoding, |run| (run.plan.runtime, run.plan.version)).into_iter().map(
        |((runtime, version), runs)| {
            let [steps, tokens, activities, launches] =
                [0, 1, 2, 3].map(|part| runs.iter().map(|run| run.decode[part]).sum::<i64>());
            let per = |value: i64, of: i64| value as f64 / of as f64;
            json!([
                runtime,
                version,
                runs.len(),
                steps,
                tokens,
                activities,
                per(activities, tokens),
                per(activities, steps),
                per(launches, steps),
            ])
        },
    );
    let columns = "runtime runtime_version runs steps decode_tokens activities activities_per_token \
                   activities_per_step launches_per_step";
    expected("launches-per-token", &[], columns, rows.collect())
}

fn regressions(runs: &[RunSummary], other: usize) -> Value {
    let sides: Vec<&RunSummary> = runs
        .iter()
        .filter(|run| run.plan.lab_build.is_some_and(|build| build == 0 || build == other))
        .collect();
    let of = |build: usize| sides.iter().filter(move |run| run.plan.lab_build == Some(build));
    let known = |build: usize| of(build).flat_map(|run| run.kernels.keys().copied()).collect::<BTreeSet<_>>();
    let both: BTreeSet<_> = known(0).intersection(&known(other)).copied().collect();
    let mut rows = Vec::new();
    for run in &sides {
        let all: i64 = run.kernels.values().map(|calls| calls.total_ns).sum();
        let side = if run.plan.lab_build == Some(0) { "base" } else { "other" };
        for ((kernel, phase), calls) in run.kernels.iter().filter(|(key, _)| both.contains(key)) {
            let mean = calls.total_ns as f64 / calls.count as f64;
            let share = calls.total_ns as f64 / all as f64;
            rows.push(json!([kernel, phase, side, run.plan.tenant, run.run_id, calls.count, mean, share]));
        }
    }
    let columns = "kernel_id phase side tenant run_id calls mean_ns share";
    let (hardware, model) = (HARDWARE[LABORATORY.0].0, MODELS[LABORATORY.1].0);
    let parameters = [
        ("base", BUILDS[0]),
        ("other", BUILDS[other]),
        ("hardware", hardware),
        ("model", model),
        ("limit", "100000"),
    ];
    expected("regressions", &parameters, columns, rows)
}

fn slow_ranks(runs: &[RunSummary]) -> Value {
    let judged: Vec<(&RunSummary, f64, Vec<usize>)> = runs
        .iter()
        .map(|run| {
            let median = quantile(&sorted(run.compute_ns.iter().map(|ns| *ns as f64).collect()), 0.5);
            let slow =
                (0..run.compute_ns.len()).filter(|rank| run.compute_ns[*rank] as f64 > median * (1.0 + SLOW));
            (run, median, slow.collect())
        })
        .collect();
    let mut rows = Vec::new();
    for (run, median, slow) in &judged {
        let of_node = || judged.iter().filter(|(other, ..)| other.plan.node == run.plan.node);
        let slow_runs = of_node().filter(|(.., slow)| !slow.is_empty()).count();
        for rank in slow {
            rows.push(json!([
                run.plan.node,
                slow_runs,
                of_node().count(),
                run.plan.tenant,
                run.run_id,
                rank,
                hardware(run),
                run.compute_ns[*rank],
                median,
                run.compute_ns[*rank] as f64 / median,
            ]));
        }
    }
    let columns = "node node_slow_runs node_runs tenant run_id rank hardware compute_ns median_ns ratio";
    expected("slow-ranks", &[("threshold", "0.15"), ("limit", "100000")], columns, rows)
}

fn throttled_runs(runs: &[RunSummary]) -> Value {
    let mut rows = Vec::new();
    for run in runs {
        for (device, (samples, held)) in run.samples.iter().enumerate().filter(|(_, (_, held))| *held > 0) {
            let share = *held as f64 / *samples as f64;
            let reasons = "power-cap hardware-thermal";
            rows.push(json!([
                run.plan.node,
                run.plan.tenant,
                run.run_id,
                device,
                hardware(run),
                samples,
                share,
                reasons
            ]));
        }
    }
    let columns = "node tenant run_id device hardware samples throttled_share reasons";
    expected("throttled-runs", &[("limit", "100000")], columns, rows)
}

fn slo_attainment(runs: &[RunSummary]) -> Value {
    let tested = runs.iter().filter(|run| run.requests.is_some());
    let rows = by(tested, |run| (model(run), hardware(run))).into_iter().map(|((model, hardware), runs)| {
        let counts = runs.iter().filter_map(|run| run.requests);
        let sums = counts.fold([0; 5], |sums, one| std::array::from_fn(|part| sums[part] + one.0[part]));
        let [all, failed, prompt, fluent, both] = sums;
        json!([model, hardware, runs.len(), all, failed, prompt, fluent, both, both as f64 / all as f64])
    });
    let columns = "model hardware runs requests failed within_ttft within_tpot attained attainment";
    let (ttft, tpot) = (format!("{TTFT_NS}ns"), format!("{}us", TPOT_NS / 1_000));
    expected("slo-attainment", &[("ttft", &ttft), ("tpot", &tpot)], columns, rows.collect())
}

fn cost(runs: &[RunSummary]) -> Value {
    let key = |run: &RunSummary| (model(run), hardware(run), run.plan.runtime, run.plan.version);
    let rows = by(runs.iter(), key).into_iter().map(|((model, hardware, runtime, version), runs)| {
        let rates = values(&runs, "output_tokens_per_s");
        let usd = sorted(rates.iter().map(|rate| USD * f64::from(RANKS) / (rate * 3_600.0) * 1e6).collect());
        json!([
            model,
            hardware,
            runtime,
            version,
            rates.len(),
            quantile(&rates, 0.5),
            quantile(&usd, 0.5),
            usd.first(),
            usd.last(),
        ])
    });
    let columns =
        "model hardware runtime runtime_version runs median_tokens_per_s median_usd lowest_usd highest_usd";
    let price = USD.to_string();
    expected(
        "cost-per-million-tokens",
        &[("usd_per_device_hour", &price), ("limit", "1000")],
        columns,
        rows.collect(),
    )
}

fn changes_since(runs: &[RunSummary]) -> Value {
    // Run 0 is of the build from before the release; what is neither that nor the release came later.
    let of_runtime = runs.iter().filter(|run| run.plan.runtime == "vllm" && run.plan.version != "0.20.1");
    let mut rows = Vec::new();
    for ((hardware, model), runs) in by(of_runtime, |run| (hardware(run), model(run))) {
        let (before, since): (Vec<&RunSummary>, Vec<&RunSummary>) =
            runs.into_iter().partition(|run| run.plan.label == Some(RELEASE));
        if before.is_empty() || since.is_empty() {
            continue;
        }
        let total = |runs: &[&RunSummary], kernel: Option<i64>| -> i64 {
            let calls = runs.iter().flat_map(|run| &run.kernels);
            calls
                .filter(|((id, _), _)| kernel.is_none_or(|wanted| wanted == *id))
                .map(|(_, one)| one.total_ns)
                .sum()
        };
        let having = |runs: &[&RunSummary], kernel: i64| {
            runs.iter().filter(|run| run.kernels.keys().any(|(id, _)| *id == kernel)).count()
        };
        let known = |runs: &[&RunSummary]| -> BTreeSet<i64> {
            runs.iter().flat_map(|run| run.kernels.keys().map(|(kernel, _)| *kernel)).collect()
        };
        for kernel in known(&before).symmetric_difference(&known(&since)) {
            let Some((name, class)) = before.iter().chain(&since).find_map(|run| run.names.get(kernel))
            else {
                continue;
            };
            let share = |runs: &[&RunSummary]| total(runs, Some(*kernel)) as f64 / total(runs, None) as f64;
            let change = if having(&before, *kernel) == 0 { "appeared" } else { "vanished" };
            let (runs_before, runs_since) = (having(&before, *kernel), having(&since, *kernel));
            let shares = (share(&before), share(&since));
            rows.push(json!([
                hardware,
                model,
                change,
                name,
                class,
                runs_before,
                runs_since,
                shares.0,
                shares.1,
                null
            ]));
        }
        let metrics: BTreeSet<&String> = before.iter().flat_map(|run| run.metrics.keys()).collect();
        for metric in metrics {
            let (a, b) = (values(&before, metric), values(&since, metric));
            if !b.is_empty() {
                let (was, is) = (quantile(&a, 0.5), quantile(&b, 0.5));
                rows.push(json!([
                    hardware,
                    model,
                    "metric",
                    metric,
                    "",
                    a.len(),
                    b.len(),
                    was,
                    is,
                    is / was
                ]));
            }
        }
    }
    let columns = "hardware model change name class runs_before runs_since value_before value_since ratio";
    expected("changes-since", &[("release", RELEASE), ("limit", "100000")], columns, rows)
}
