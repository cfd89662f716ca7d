//! Bounds and estimates of the real models of the corpus. Needs `ROOFLENS_CORPUS`.

use std::path::PathBuf;

use rooflens_cost::estimate::Estimate;
use rooflens_cost::figures::Figures;
use rooflens_cost::hardware::{Catalog, Device};
use rooflens_cost::model::Model;
use rooflens_cost::parallel::Parallel;
use rooflens_cost::setup::Setup;
use rooflens_cost::sweep::summary;
use rooflens_cost::workload::Workload;

use crate::common::read;

const DEVICES: [&str; 5] = ["h100", "b200", "mi300x", "a100", "l40s"];

fn models() -> Vec<(String, Model)> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("ROOFLENS_CORPUS").map_or_else(beside, PathBuf::from).join("configs");
    let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let models = files.filter_map(|path| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        Some((name, read(&path).ok()?))
    });
    let models: Vec<(String, Model)> = models.collect();
    assert!(models.len() > 60, "{} models in {}", models.len(), folder.display());
    models
}

fn setups(model: &Model) -> Vec<Setup> {
    let has_experts = model.language_parameters().routed > 0;
    let setup = |tp, pp, ep, dp| Setup { parallel: Parallel { tp, pp, ep, dp }, ..Setup::default() };
    let mut setups = vec![setup(1, 1, 1, 1), setup(8, 1, 1, 1), setup(4, 2, 1, 1), setup(16, 1, 1, 2)];
    if has_experts {
        setups.extend([setup(1, 1, 32, 32), setup(8, 1, 8, 1)]);
    }
    setups
}

fn workloads() -> [Workload; 3] {
    [Workload::prefill(1, 8192), Workload::decode(1, 2048), Workload::decode(64, 4096)]
}

fn device(name: &str) -> &'static Device {
    Catalog::embedded().find(name).unwrap()
}

#[test]
#[ignore = "needs the corpus"]
fn no_estimate_of_a_real_model_beats_its_bound() {
    for (name, model) in models() {
        for setup in setups(&model) {
            for hardware in DEVICES {
                for workload in workloads() {
                    let estimate = Estimate::new(&model, &setup, &workload, Some(device(hardware))).unwrap();
                    let (bound, estimated) = (estimate.seconds().unwrap(), estimate.estimate_s().unwrap());
                    assert!(
                        0.0 < bound && bound <= estimated,
                        "{name} on {hardware}, {:?}, {workload:?}: {bound} {estimated}",
                        setup.parallel
                    );
                }
            }
        }
    }
}

#[test]
#[ignore = "needs the corpus"]
fn the_bound_of_a_real_model_never_rises_with_faster_hardware() {
    for (name, model) in models() {
        for setup in setups(&model) {
            let figures = Figures::on(device("h200"), &setup).unwrap();
            for workload in workloads() {
                let at = |flops: f64, bytes: f64, link: f64| {
                    let mut faster = figures.clone();
                    let roof = figures.bound.roof.as_ref().unwrap();
                    let mut roof = roof.scaled(flops, bytes);
                    roof.link *= link;
                    roof.inter_node *= link;
                    faster.bound.roof = Some(roof);
                    let point = summary(&model, &faster, &workload, None, &mut Vec::new());
                    point.unwrap().seconds.unwrap()
                };
                let now = at(1.0, 1.0, 1.0);
                for (flops, bytes, link) in [(2.0, 1.0, 1.0), (1.0, 2.0, 1.0), (1.0, 1.0, 2.0)] {
                    assert!(at(flops, bytes, link) <= now, "{name} {:?} {workload:?}", setup.parallel);
                }
            }
        }
    }
}
