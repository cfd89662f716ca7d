//! `dataset.variant`: the config as a workload reads it, with the folder and list of the variant.

use std::path::Path;

use rooflens_collect::settings::Dataset;
use rooflens_compose::value::{Key, Node, Value};
use rooflens_project::assets::AssetError;
use rooflens_project::assets::variant::{VariantFiles, locate_variant};

/// The config with `dataset.root` and `dataset.filelist` of the variant, and no variant left to resolve.
/// As it is where it names none.
pub fn located(config: &Node, dataset: &Dataset, project: &Path) -> Result<Node, AssetError> {
    let Some(variant) = &dataset.variant else { return Ok(config.clone()) };
    let VariantFiles { root, list } = locate_variant(project, Path::new(&dataset.root), variant)?;
    let path = |path: &Path| Value::Str(path.to_string_lossy().into_owned());
    let mut config = config.clone();
    if let Value::Map(keys) = &mut config.value
        && let Some(Value::Map(keys)) = keys.get_mut(&Key::from("dataset")).map(|node| &mut node.value)
    {
        let mut set = |key: &str, value: Value| keys.insert(Key::from(key), Node::new(value));
        set("root", path(&root));
        set("filelist", list.as_deref().map_or(Value::Null, path));
        set("variant", Value::Null);
    }
    Ok(config)
}
