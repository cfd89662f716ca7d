//! Small towers against the repository's own goldens.

use std::path::PathBuf;

use rooflens_cost::config::parse;
use rooflens_cost::vision::{Images, View};
use serde_json::Value;

use super::counted;

/// The goldens of `oracles/transformers_cost.py` that have images.
#[test]
fn goldens_of_small_towers() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/cost");
    let mut compared = 0;
    let mut wrong = Vec::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let golden: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let Some(seen) = golden.get("vision").and_then(Value::as_array) else { continue };
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let config = parse(golden["config"].to_string().as_bytes()).unwrap();
        let model = rooflens_cost::families::read(&config, None, None).unwrap().model;
        // No tower is read for this family: its class for text leaves images out.
        if model.family == "llama4" {
            continue;
        }
        let tower = model.vision.as_ref().unwrap_or_else(|| panic!("{name} has no tower"));
        let encoder = if model.vision_is_apart { 0 } else { tower.parameters() };
        if encoder != u128::from(golden["params"]["vision"].as_u64().unwrap()) {
            wrong.push(format!("{name}: {encoder} parameters, wanted {}", golden["params"]["vision"]));
        }
        for image in seen {
            let size = &image["image"];
            let passes = match size["grid"].as_array() {
                Some(grid) => {
                    let [images, rows, columns] = [0, 1, 2].map(|i| grid[i].as_u64().unwrap());
                    tower.look(&[View { images, rows, columns }])
                }
                None => tower.passes(&Images::new(1)).unwrap(),
            };
            let (found, wanted) = (counted(tower, &passes), image["flops"]["total"].as_u64().unwrap());
            if found != u128::from(wanted) {
                wrong.push(format!("{name} {size}: {found}, wanted {wanted}"));
            }
            compared += 1;
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared >= 40, "only {compared} images");
}
