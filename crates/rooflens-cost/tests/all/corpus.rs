//! Published and counted numbers of real models: FLOPs of 26, parameters of 72. Needs `ROOFLENS_CORPUS`.

use std::collections::BTreeMap;

use rooflens_cost::step::Step;
use serde_json::Value;

use crate::common::{assert_none, corpus, read, tally};

#[test]
#[ignore = "needs the corpus"]
fn flops_are_those_of_the_counter() {
    let corpus = corpus();
    let text = std::fs::read_to_string(corpus.join("oracle_flops_b1_s2048.json")).unwrap();
    let goldens: Vec<Value> = serde_json::from_str(&text).unwrap();
    let mut wrong = Vec::new();
    for golden in &goldens {
        let name = golden["config"].as_str().unwrap();
        let model = match read(&corpus.join("configs").join(format!("{name}.json"))) {
            Ok(model) => model,
            Err(error) => {
                wrong.push(format!("{name}: {error}"));
                continue;
            }
        };
        let tally = tally(&model, Step::prefill(1, 2048, 0));
        let counted = tally.work().flops.as_counted;
        if counted != u128::from(golden["oracle_flops"].as_u64().unwrap()) {
            wrong.push(format!("{name}: {counted}, counter {}", golden["oracle_flops"]));
        }
        let mut classes: BTreeMap<&str, u128> = BTreeMap::new();
        for row in &tally.rows {
            // The reference formulas count the solve within the core; the counter does not.
            let (class, flops) = match row.operator.class {
                "gdn.solve" => ("gdn.core", row.operator.work.flops.useful),
                class => (class, row.operator.work.flops.as_counted),
            };
            *classes.entry(class).or_default() += flops * u128::from(row.layers);
        }
        classes.retain(|_, flops| *flops > 0);
        let wanted: BTreeMap<&str, u128> = golden["ref_full"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(class, flops)| (class.as_str(), u128::from(flops.as_u64().unwrap())))
            .collect();
        if classes != wanted {
            wrong.push(format!("{name}: {classes:?}\n  wanted {wanted:?}"));
        }
    }
    assert_eq!(goldens.len(), 26);
    assert_none(&wrong);
}

#[test]
#[ignore = "needs the corpus"]
fn parameters_are_those_of_the_checkpoints() {
    let corpus = corpus();
    let text = std::fs::read_to_string(corpus.join("param_truth.csv")).unwrap();
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let column = |name: &str| header.iter().position(|column| *column == name).unwrap();
    let (total, active, vision, experts) = (
        column("total_params_exact"),
        column("active_params_text_incl_embed"),
        column("vision_params"),
        column("routed_expert_params"),
    );
    let mut wrong = Vec::new();
    let mut rows = 0;
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let path = corpus.join("configs").join(format!("{}.json", cells[0]));
        rows += 1;
        let model = match read(&path) {
            Ok(model) => model,
            Err(error) => {
                wrong.push(format!("{}: {error}", cells[0]));
                continue;
            }
        };
        let parameters = model.parameters();
        let tower = match &model.vision {
            Some(tower) if !model.vision_is_apart => tower.parameters(),
            _ => 0,
        };
        let of = |column: usize| cells[column].parse::<i128>().unwrap();
        for (what, found, wanted) in [
            ("total", parameters.stored, of(total)),
            ("active", model.active_parameters(), of(active)),
            ("vision", tower, of(vision)),
            ("experts", parameters.routed, of(experts)),
        ] {
            if found as i128 != wanted {
                let more = found as i128 - wanted;
                wrong.push(format!("{}: {what} {found}, wanted {wanted} ({more:+})", cells[0]));
            }
        }
    }
    assert_eq!(rows, 72);
    assert_none(&wrong);
}
