//! Any bytes as a model's config: reading it and estimating it ends, without a panic.
//!
//! After a first byte of 0 a second NUL parts the config from the `hf_quant_config.json` beside it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rooflens_cost::blueprint::Blueprint;
use rooflens_cost::document::{EstimateDocument, Params};
use rooflens_cost::hardware::Catalog;
use rooflens_cost::vision::Images;
use rooflens_cost::workload::{Decode, Prefill};
use rooflens_cost::{Estimate, Model, Parallel, Setup, Workload};

fuzz_target!(|bytes: &[u8]| {
    let (config, side) = match bytes {
        [0, rest @ ..] => match rest.iter().position(|byte| *byte == 0) {
            Some(end) => (&rest[..end], Some(&rest[end + 1..])),
            None => (rest, None),
        },
        _ => (bytes, None),
    };
    let Ok(model) = Blueprint::new(config, side).and_then(|blueprint| blueprint.model()) else { return };
    let params = Params::of(&model);
    assert!(params.experts <= params.total && params.active <= params.total);
    estimate(&model, 1, &Workload::prefill(3, 70));
    estimate(&model, 3, &Workload { decode: Some(Decode { context: 200, steps: 2, draft: 1 }), ..Workload::prefill(2, 5) });
    // The most that is believed of everything: nothing overflows.
    let most = Prefill { tokens: 1 << 28, prefix: 1 << 28, chunk: None };
    let most = Workload { prefill: Some(most), ..Workload::decode(1 << 20, 1 << 28) };
    estimate(&model, 3, &most);
    if model.vision.is_some() {
        estimate(&model, 1, &Workload { images: Some(Images::new(2)), ..Workload::prefill(1, 9) });
    }
});

fn estimate(model: &Model, tp: u64, workload: &Workload) {
    let setup = Setup { parallel: Parallel { tp, ..Parallel::NONE }, ..Setup::default() };
    let device = Catalog::embedded().find("H100 SXM").expect("it is in the catalog");
    match Estimate::new(model, &setup, workload, Some(device)) {
        Ok(estimate) => {
            assert!(estimate.seconds().is_some_and(f64::is_finite));
            let document = EstimateDocument::new(model, &setup, workload, Some(device), &estimate);
            // The document of ten thousand layers, all different, takes long to write, and is nothing new.
            if model.kinds.len() < 100 {
                assert!(serde_json::to_vec(&document).is_ok_and(|json| !json.is_empty()));
            }
        }
        // A tower may not take images of its own size where the config gives it an odd one, and an encoder no
        // prefix, nor more tokens than it has positions.
        Err(error) => assert!(workload.images.is_some() || model.encoder.is_some(), "{error}"),
    }
}
