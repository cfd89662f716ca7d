//! Laws of the cost model, over models, questions and devices of chance: more work never takes less time,
//! devices share the work and none is lost, no bound is faster than the device.

use rooflens_cost::blueprint::Blueprint;
use rooflens_cost::crossover::crossovers;
use rooflens_cost::estimate::Estimate;
use rooflens_cost::figures::Figures;
use rooflens_cost::hardware::Device;
use rooflens_cost::hold::{Held, balance};
use rooflens_cost::inverse::{Target, needs};
use rooflens_cost::memory::MemoryFootprint;
use rooflens_cost::model::Model;
use rooflens_cost::operator::{Operator, Work};
use rooflens_cost::parallel::Parallel;
use rooflens_cost::pass::LatentOrder;
use rooflens_cost::roof::Roof;
use rooflens_cost::routing::{Routing, Touch};
use rooflens_cost::setup::Setup;
use rooflens_cost::step::{Phase, Step};
use rooflens_cost::sweep::{CostSummary, summary};
use rooflens_cost::tally::{Tally, visit};
use rooflens_cost::units::{Slice, Unit};
use rooflens_cost::workload::{Decode, Prefill, Workload};

use crate::made::{self, Chance, Made, devices, fitted, models, parallel, routing, setup, step, workload};

/// What rounding may move a sum of some thousand times.
const ROUNDING: f64 = 1e-9;

fn near(left: f64, right: f64) -> bool {
    (left - right).abs() <= ROUNDING * left.abs().max(right.abs())
}

fn tally(model: &Model, setup: &Setup, step: Step, rank: u64) -> Tally {
    let mut tally = Tally::default();
    tally.add(model, &setup.pass(model, step, rank, Touch::Expected), None, &mut Vec::new());
    tally
}

fn seconds(model: &Model, setup: &Setup, workload: &Workload, device: &Device) -> f64 {
    Estimate::new(model, setup, workload, Some(device)).unwrap().seconds().unwrap()
}

/// `workload` with more of one thing. Context and prefix begin at one token: a state is updated
/// chunk by chunk in a pass without a past, and token by token, which is less, in one with it.
fn longer(model: &Model, workload: &Workload, chance: &mut Chance, context: bool) -> Workload {
    let mut longer = workload.clone();
    let by = chance.of_any_size(1, 500);
    match (chance.between(0, 2), &mut longer.prefill, &mut longer.decode) {
        (0, _, _) => longer.batch += by,
        (1, Some(prefill), _) => prefill.tokens += by,
        (2, Some(prefill), _) if context && prefill.prefix > 0 => prefill.prefix += by,
        (1, None, Some(decode)) if context => decode.context += by,
        (_, _, Some(decode)) => decode.steps += by % 3,
        _ => {}
    }
    // Where positions are a table, there may be no room for more.
    if model.asked(&longer).is_err() { workload.clone() } else { longer }
}

/// More sequences, prompt, context or steps, in each phase. Not of context where a token may see less than
/// the one before it: at the start of an attention chunk (Llama 4), behind a summary (DeepSeek-V4).
#[test]
fn longer_never_takes_less_time() {
    let mut chance = Chance::new(2);
    let devices = devices(2);
    for made in &models(2, 6) {
        let monotone = !made.goes_up_and_down();
        for _ in 0..6 {
            let (device, setup) = (chance.one_of(&devices), setup(&mut chance, made.model.depth));
            let mut short = workload(&mut chance, &made.model);
            // A chunk that stays while the prompt grows.
            short
                .prefill
                .iter_mut()
                .for_each(|prefill| prefill.chunk = prefill.chunk.map(|chunk| chunk.max(8)));
            let long = longer(&made.model, &short, &mut chance, monotone);
            let (before, after) =
                (seconds(&made.model, &setup, &short, &device), seconds(&made.model, &setup, &long, &device));
            assert!(after >= before, "{}\n{setup:?}\n{short:?}: {before}\n{long:?}: {after}", made.name);
        }
    }
}

/// Whatever the number of devices, and whether it comes out even: what each does that no other does, added
/// up, is the work of one device. Experts of expert parallelism serve the tokens of all replicas, so that
/// all replicas together are compared with one device that has all sequences.
#[test]
fn sharding_loses_and_adds_no_work() {
    let mut chance = Chance::new(3);
    for Made { name, model } in &models(3, 8) {
        for _ in 0..5 {
            let setup = Setup { parallel: parallel(&mut chance, model.depth), ..Setup::default() };
            let Parallel { tp, dp, .. } = setup.parallel;
            let step = step(&mut chance);
            let own = |work: Work| work.flops.useful - work.copied_flops;
            let shared: u128 = (0..tp * dp).map(|rank| own(tally(model, &setup, step, rank).work())).sum();
            let alone = Step { sequences: step.sequences * dp, ..step };
            let whole = tally(model, &Setup::default(), alone, 0).work();
            assert_eq!(whole.copied_flops, 0, "{name}");
            assert_eq!(shared, whole.flops.useful, "{name}\n{:?} {step:?}", setup.parallel);
        }
    }
}

fn weights(model: &Model, setup: &Setup, rank: u64) -> u128 {
    let pass = setup.pass(model, Step::decode(1, 0), rank, Touch::Expected);
    let of = |units: &[Unit]| units.iter().map(|unit| unit.weight_bytes(&pass)).sum::<u128>();
    let layers = model.kinds.iter().map(|kind| kind.at.len() as u128 * of(&kind.layer.units));
    of(&model.before) + of(&model.after) + layers.sum::<u128>()
}

#[test]
fn no_weight_is_lost_between_devices() {
    let mut chance = Chance::new(4);
    for Made { name, model } in &models(4, 8) {
        let whole = weights(model, &Setup::default(), 0);
        for _ in 0..5 {
            let setup = Setup { parallel: parallel(&mut chance, model.depth), ..Setup::default() };
            let Parallel { tp, dp, .. } = setup.parallel;
            let held: u128 = (0..tp * dp).map(|rank| weights(model, &setup, rank)).sum();
            assert!(held >= whole, "{name}\n{:?}: {held} of {whole}", setup.parallel);
            let most = (0..tp).map(|rank| weights(model, &setup, rank)).max().unwrap();
            assert_eq!(
                weights(model, &setup, 0),
                most,
                "rank 0 is the fullest: {name}\n{:?}",
                setup.parallel
            );
        }
    }
}

#[test]
fn stages_have_every_layer_once() {
    let mut chance = Chance::new(5);
    for Made { name, model } in &models(5, 6) {
        let workload = workload(&mut chance, model);
        let whole = Estimate::new(model, &Setup::default(), &workload, None).unwrap().memory;
        for pp in 1..=u64::from(model.depth) {
            let layers: u64 = (0..pp).map(|rank| Slice { of: pp, rank }.part(model.depth.into())).sum();
            assert_eq!(layers, u64::from(model.depth));
            let setup = Setup { parallel: Parallel { pp, ..Parallel::NONE }, ..Setup::default() };
            let fullest = Estimate::new(model, &setup, &workload, None).unwrap().memory;
            // The fullest of some parts holds at least its share of the whole.
            let of = |memory: &MemoryFootprint| memory.weights_bytes + memory.kv_bytes;
            assert!(of(&fullest) * u128::from(pp) >= of(&whole), "{name}, {pp} stages");
            assert_eq!(fullest.activations_bytes, whole.activations_bytes);
        }
    }
}

#[test]
fn a_better_device_is_never_slower() {
    let mut chance = Chance::new(6);
    let devices = devices(6);
    for Made { name, model } in &models(6, 6) {
        for _ in 0..4 {
            let (device, setup) = (chance.one_of(&devices), setup(&mut chance, model.depth));
            let workload = workload(&mut chance, model);
            let figures = Figures::on(&device, &setup).unwrap();
            let roof = figures.bound.roof.clone().unwrap();
            let at = |roof: &Roof| {
                let mut better = figures.clone();
                better.bound.roof = Some(roof.clone());
                let point = summary(model, &better, &workload, Some(&device), &mut Vec::new());
                point.unwrap().seconds.unwrap()
            };
            let now = at(&roof);
            let (mut linked, mut between) = (roof.clone(), roof.clone());
            linked.link *= 2.0;
            between.inter_node *= 2.0;
            for better in [roof.scaled(2.0, 1.0), roof.scaled(1.0, 2.0), linked, between] {
                assert!(at(&better) <= now, "{name} on {}: {workload:?}", device.name);
            }
            assert!(
                at(&roof.scaled(2.0, 2.0)) * 2.0 >= now * (1.0 - ROUNDING),
                "twice as good, more than twice as quick"
            );
        }
    }
}

#[test]
fn no_bound_is_faster_than_the_device() {
    let mut chance = Chance::new(7);
    let devices = devices(7);
    for Made { name, model } in &models(7, 6) {
        for _ in 0..3 {
            let (device, setup) = (chance.one_of(&devices), setup(&mut chance, model.depth));
            let roof = Figures::on(&device, &setup).unwrap().bound.roof.unwrap();
            let estimate =
                Estimate::new(model, &setup, &workload(&mut chance, model), Some(&device)).unwrap();
            for phase in &estimate.phases {
                let time = phase.time.unwrap();
                let (mut bytes, mut compute) = (0.0, 0.0);
                for row in &phase.tally.rows {
                    let (work, bound) = (row.operator.work, row.seconds.bound * (1.0 + ROUNDING));
                    let rate = roof.matrix(roof.compute_format(&row.operator.storage));
                    assert!(work.bytes.total() as f64 <= roof.bandwidth * bound, "{name}: {row:?}");
                    assert!(work.flops.useful as f64 / rate <= bound, "{name}: {row:?}");
                    bytes += work.bytes.total() as f64 * row.layers as f64;
                    compute += work.flops.useful as f64 * row.layers as f64 / rate;
                }
                assert!(bytes <= roof.bandwidth * time.seconds * (1.0 + ROUNDING), "{name}");
                assert!(compute <= time.seconds * (1.0 + ROUNDING), "{name}");
                for share in [time.mfu_ceiling, time.mbu_ceiling, time.bubble] {
                    assert!((0.0..=1.0 + ROUNDING).contains(&share), "{name}: {time:?}");
                }
            }
        }
    }
}

/// Whatever is assumed, an estimate is never below the bound.
#[test]
fn no_estimate_beats_the_bound() {
    let mut chance = Chance::new(21);
    let devices = devices(21);
    let sets = [
        &[][..],
        &["gemm=1", "attention=1", "bandwidth=1", "link=1", "launch=0us", "latency=0us"],
        &["overlap=1", "all-reduce=multicast", "sequence-parallel=yes", "dispatch=fp8", "activations=fp8"],
    ];
    for Made { name, model } in &models(21, 6) {
        for _ in 0..4 {
            let (device, mut setup) = (chance.one_of(&devices), setup(&mut chance, model.depth));
            for set in sets {
                for text in set {
                    let (key, value) = text.split_once('=').unwrap();
                    setup.assume.set(key, value).unwrap();
                }
                setup.nodes.size = chance.one_of(&[None, Some(1), Some(4), Some(8)]);
                let workload = workload(&mut chance, model);
                let estimate = Estimate::new(model, &setup, &workload, Some(&device)).unwrap();
                for phase in &estimate.phases {
                    let time = phase.time.unwrap();
                    assert!(
                        time.estimate_s >= time.seconds * (1.0 - ROUNDING),
                        "{name} on {}: {setup:?} {workload:?} {time:?}",
                        device.name
                    );
                }
            }
        }
    }
}

#[test]
fn bands_hold_what_is_expected() {
    let mut chance = Chance::new(8);
    let devices = devices(8);
    let hostile = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(|alpha| Routing::PowerLaw { alpha });
    for round in 0..4000 {
        let routing = hostile.get(round).cloned().unwrap_or_else(|| routing(&mut chance));
        let experts = chance.of_any_size(1, 400);
        let top_k = chance.between(1, experts);
        let tokens = u128::from(chance.of_any_size(0, 1 << 40));
        let band = routing.touched(experts, top_k, tokens);
        assert!(
            band.min <= band.expected && band.expected <= band.max,
            "{routing:?} {experts} {top_k}: {band:?}"
        );
        assert!(band.max <= experts as f64);
        assert_eq!(band.min, if tokens == 0 { 0.0 } else { top_k as f64 });
        // More tokens touch no fewer experts.
        assert!(routing.touched(experts, top_k, tokens + 1).expected >= band.expected * (1.0 - ROUNDING));
    }
    for Made { name, model } in &models(8, 4) {
        let (device, setup) = (chance.one_of(&devices), setup(&mut chance, model.depth));
        let estimate = Estimate::new(model, &setup, &workload(&mut chance, model), Some(&device)).unwrap();
        for phase in &estimate.phases {
            let time = phase.time.unwrap();
            let band = time.band;
            assert!(band.min <= band.expected && band.expected <= band.max, "{name}: {band:?}");
            assert_eq!(band.expected, time.seconds);
        }
    }
}

/// Tiles never do less than is needed. The framework's count is never less than what is needed in a pass
/// that reads a prompt from its start with latent attention in its own order (expanded), but for the
/// triangular solve of the delta rule, which the counter does not know.
#[test]
fn counts_are_in_order() {
    let mut chance = Chance::new(9);
    for Made { name, model } in &models(9, 8) {
        for _ in 0..6 {
            let step = step(&mut chance);
            let setup = setup(&mut chance, model.depth);
            for row in tally(model, &setup, step, 0).rows {
                let flops = row.operator.work.flops;
                assert!(flops.issued >= flops.useful, "{name} {step:?}: {:?}", row.operator);
            }
            let prompt = Step { past: 0, ..Step::prefill(step.sequences, step.new, 0) };
            let expanded = Setup { latent: LatentOrder::ByPhase, parallel: Parallel::NONE, ..setup };
            for row in tally(model, &expanded, prompt, 0).rows {
                let flops = row.operator.work.flops;
                let known = row.operator.class != "gdn.solve";
                assert!(!known || flops.as_counted >= flops.useful, "{name} {prompt:?}: {:?}", row.operator);
            }
        }
    }
}

/// Reading a prompt in chunks takes the same useful operations, operator by operator. Not of states, whose
/// chunks then end elsewhere, and not of expanded latent attention, which makes the keys and values of all
/// chunks before anew: there it takes more.
#[test]
fn chunks_of_a_prompt_add_no_work() {
    let mut chance = Chance::new(10);
    let useful = |estimate: &Estimate, class: Option<&str>| {
        let rows = estimate.phases[0].tally.rows.iter();
        let of_class = rows.filter(|row| class.is_none_or(|class| row.operator.class == class));
        of_class.map(|row| row.operator.work.flops.useful * u128::from(row.layers)).sum::<u128>()
    };
    // An encoder reads its input at once.
    for made in models(10, 8).iter().filter(|made| made.model.encoder.is_none()) {
        let model = &made.model;
        let latent = made.has(|unit| matches!(unit, Unit::Latent(_)));
        for latent_order in [LatentOrder::ByPhase, LatentOrder::Absorbed] {
            let setup = Setup { latent: latent_order, ..Setup::default() };
            let tokens = chance.of_any_size(2, 700);
            let prefill = Prefill { tokens, prefix: chance.of_any_size(0, 300), chunk: None };
            let batch = chance.of_any_size(1, 20);
            let chunked = Prefill { chunk: Some(chance.between(tokens / 9 + 1, tokens)), ..prefill };
            let [at_once, in_chunks] = [prefill, chunked].map(|prefill| {
                let prefill = Some(prefill);
                let workload = Workload { batch, images: None, encoder_tokens: None, prefill, decode: None };
                Estimate::new(model, &setup, &workload, None).unwrap()
            });
            let what = format!("{}: {chunked:?}", made.name);
            if made.is_recurrent() {
                for class in ["attn.qkv", "attn.core", "attn.o", "mlp", "moe.routed", "mamba.proj", "lm_head"]
                {
                    assert_eq!(
                        useful(&in_chunks, Some(class)),
                        useful(&at_once, Some(class)),
                        "{class} {what}"
                    );
                }
            } else if latent && latent_order == LatentOrder::ByPhase {
                assert!(useful(&in_chunks, None) >= useful(&at_once, None), "{what}");
                assert_eq!(
                    useful(&in_chunks, Some("attn.core")),
                    useful(&at_once, Some("attn.core")),
                    "{what}"
                );
            } else {
                assert_eq!(useful(&in_chunks, None), useful(&at_once, None), "{what}");
            }
        }
    }
}

#[test]
fn a_line_of_a_sweep_is_its_estimate() {
    let mut chance = Chance::new(11);
    let devices = devices(11);
    let mut buffer: Vec<Operator> = Vec::new();
    for Made { name, model } in &models(11, 8) {
        for _ in 0..4 {
            let (device, setup) = (chance.one_of(&devices), setup(&mut chance, model.depth));
            let workload = workload(&mut chance, model);
            let figures = Figures::on(&device, &setup).unwrap();
            let line = summary(model, &figures, &workload, Some(&device), &mut buffer).unwrap();
            let whole = CostSummary::of(&Estimate::new(model, &setup, &workload, Some(&device)).unwrap());
            let what = format!("{name}\n{setup:?}\n{workload:?}");
            let exact = |point: &CostSummary| {
                (
                    point.flops,
                    point.bytes,
                    point.weight_bytes,
                    point.kv_read_bytes,
                    point.kv_bytes,
                    point.memory_bytes,
                    point.fits,
                )
            };
            assert_eq!(exact(&line), exact(&whole), "{what}");
            for (one, other) in [
                (Some(line.intensity), Some(whole.intensity)),
                (line.seconds, whole.seconds),
                (line.estimate_s, whole.estimate_s),
                (line.tokens_per_s, whole.tokens_per_s),
                (line.mfu_ceiling, whole.mfu_ceiling),
                (line.mbu_ceiling, whole.mbu_ceiling),
            ] {
                assert!(near(one.unwrap(), other.unwrap()), "{one:?} {other:?} {what}");
            }
        }
    }
}

#[test]
fn the_largest_that_meets_a_target_does_and_the_next_does_not() {
    let mut chance = Chance::new(13);
    let devices = devices(13);
    let models: Vec<Made> = models(13, 3).into_iter().filter(|made| !made.goes_up_and_down()).collect();
    for Made { name, model } in models.iter().step_by(3) {
        let (device, setup) = (chance.one_of(&devices), setup(&mut chance, model.depth));
        let phase = chance.one_of(&[Phase::Prefill, Phase::Decode]);
        let question = Workload {
            batch: chance.between(1, 40),
            images: None,
            encoder_tokens: None,
            prefill: (phase == Phase::Prefill).then_some(Prefill { tokens: 70, prefix: 0, chunk: None }),
            decode: (phase == Phase::Decode).then_some(Decode { context: 90, steps: 1, draft: 0 }),
        };
        let target = Target {
            phase,
            seconds: seconds(model, &setup, &fitted(model, question.clone()), &device)
                * (0.5 + 20.0 * chance.share()),
        };
        let question = fitted(model, question);
        let needs = needs(model, &setup, &question, Some(&device), target).unwrap();
        // What stays while the rest changes: an encoder's input, where the question is of the decoder.
        let question = match phase {
            Phase::Decode => model.with_positions(question),
            _ => question,
        };
        let meets = |workload: &Workload| {
            // Where positions are a table, there is an end to them.
            let Ok(estimate) = Estimate::new(model, &setup, workload, Some(&device)) else { return false };
            estimate.estimate_s().unwrap() <= target.seconds && estimate.memory.fits != Some(false)
        };
        // Sequences that decode together leave room for the prefill of the next.
        let has_room = |workload: &Workload| {
            let Ok(estimate) = Estimate::new(model, &setup, workload, Some(&device)) else { return false };
            phase != Phase::Decode || estimate.memory.largest_batch.is_none_or(|most| workload.batch <= most)
        };
        let meets_with_room = |workload: &Workload| meets(workload) && has_room(workload);
        assert_eq!(needs.now.met, Some(meets(&question)), "{name}");
        // A target that the bound rules out is never met.
        assert!(!(needs.now.met == Some(true) && needs.now.ruled_out == Some(true)), "{name}");
        let with_batch = |batch| Workload { batch, ..question.clone() };
        let with_tokens = |tokens| Workload {
            prefill: question.prefill.map(|prefill| Prefill { tokens, ..prefill }),
            decode: question.decode.map(|decode| Decode { context: tokens, ..decode }),
            ..question.clone()
        };
        for (largest, most, with) in [
            (needs.largest_batch, 1 << 18, &with_batch as &dyn Fn(u64) -> Workload),
            (needs.largest_context, model.positions.unwrap_or(1 << 24).min(1 << 24), &with_tokens),
        ] {
            let largest = largest.unwrap_or(0);
            let what = format!("{name} on {}: {target:?}, {largest} of {question:?}", device.name);
            assert!(largest == 0 || meets_with_room(&with(largest)), "{what}");
            assert!(largest == most || !meets_with_room(&with(largest + 1)), "{what}");
        }
    }
}

/// What is held comes as near as whole steps of the key allow: the next step either way is no nearer, and
/// one of them lies on the other side, unless the key is at its least.
#[test]
fn what_is_held_is_held_to_a_step() {
    let mut chance = Chance::new(12);
    let mut balanced = 0;
    for family in ["llama", "qwen3_moe", "deepseek_v3", "nemotron_h"] {
        for _ in 0..12 {
            let mut config = made::config(family, &mut chance);
            // Wide enough that widths go in steps of 8, 16 and 64 too.
            for key in ["intermediate_size", "moe_intermediate_size", "kv_lora_rank"] {
                if let Some(width) = config.get_mut(key) {
                    *width = (64 * chance.between(2, 90)).into();
                }
            }
            let mut blueprint = Blueprint::new(config.to_string().as_bytes(), None).unwrap();
            let base = blueprint.model().unwrap();
            let setup = Setup::default();
            blueprint.set("hidden_size", &chance.between(20, 200).to_string()).unwrap();
            let held = chance.one_of(&[Held::Params, Held::Flops, Held::Kv]);
            let mut changed = blueprint.clone();
            let Ok((model, balance)) = balance(&mut changed, &base, &setup, held, None) else { continue };
            balanced += 1;
            let what = format!("{config}: {balance:?}");
            assert_eq!(balance.wanted, held.of(&base, &setup), "{what}");
            assert_eq!(balance.reached, held.of(&model, &setup), "{what}");
            let is_width = balance.key.ends_with("_size") || balance.key.ends_with("_rank");
            let steps = if is_width { [64, 16, 8] } else { [1; 3] };
            let quantum = steps.into_iter().find(|step| balance.before >= 64 * step).unwrap_or(1);
            let apart = |reached: f64| (reached - balance.wanted).abs();
            let at = |value: u64| {
                let mut next = blueprint.clone();
                next.set(&balance.key, &value.to_string()).unwrap();
                next.model().ok().map(|model| held.of(&model, &setup))
            };
            let more = at(balance.after + quantum);
            let less = balance.after.checked_sub(quantum).filter(|value| *value > 0).and_then(at);
            for next in more.into_iter().chain(less) {
                assert!(apart(next) >= apart(balance.reached), "{what}, next {next}");
            }
            let between = |next: f64| (next - balance.wanted) * (balance.reached - balance.wanted) <= 0.0;
            assert!(more.is_some_and(between) || less.is_none_or(between), "{what}, next {more:?}, {less:?}");
        }
    }
    assert!(balanced > 20, "{balanced} balanced");
}

#[test]
fn crossovers_are_the_first() {
    let mut chance = Chance::new(14);
    let devices = devices(14);
    for Made { name, model } in models(14, 3).iter().step_by(3) {
        let (device, setup) = (chance.one_of(&devices), setup(&mut chance, model.depth));
        let roof = Roof::of(&device).unwrap();
        let (batch, context) = (chance.of_any_size(1, 100), chance.of_any_size(1, 4000));
        let media = if model.encoder.is_some() { chance.of_any_size(1, 900) } else { 0 };
        let found = crossovers(model, &setup, &roof, (batch, context, media));
        let sums = |batch: u64, context: u64, class: Option<&str>| {
            let step = Step { media, ..Step::decode(setup.sequences(batch), context) };
            let pass = setup.pass(model, step, 0, Touch::Expected);
            let (mut compute, mut memory, mut kv, mut weights) = (0.0, 0.0, 0, 0);
            visit(model, &pass, &mut Vec::new(), |_, layers, operators| {
                for operator in operators.iter().filter(|one| class.is_none_or(|class| class == one.class)) {
                    compute += layers as f64 * roof.seconds(operator).compute;
                    memory += layers as f64 * roof.seconds(operator).memory;
                    kv += u128::from(layers) * operator.work.bytes.kv_read;
                    weights += u128::from(layers) * operator.work.bytes.weights;
                }
            });
            (compute > 0.0 && compute >= memory, kv >= weights)
        };
        let classes = found.classes.iter().map(|(class, batch)| (Some(&**class), *batch));
        for (class, first) in classes.chain([(None, found.compute_bound_batch)]) {
            let Some(first) = first else { continue };
            assert!(sums(first, context, class).0, "{name}: {class:?} from {first}");
            assert!(first == 1 || !sums(first - 1, context, class).0, "{name}: {class:?} before {first}");
        }
        if let Some(first) = found.kv_bound_context {
            assert!(sums(batch, first, None).1, "{name}: context {first}");
            assert!(first == 0 || !sums(batch, first - 1, None).1, "{name}: context {first}");
        }
    }
}
