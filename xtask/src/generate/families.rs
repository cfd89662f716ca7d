//! The model families that the cost model knows, from their registry.

use std::fmt::Write as _;

use anyhow::{Result, ensure};
use rooflens_cost::families::ALL;

use super::{MAIN, cell};

pub fn page() -> Result<String> {
    let mut page = format!(
        "# Model families\n\nThe {} families whose `config.json` the cost model reads. A family is chosen by \
         `model_type`, else by that of the language model inside, else by `architectures`. A config that no family \
         knows is refused, and so is one of a known family with keys that change the architecture in a way the \
         family does not know: [decision 10](../decisions/0010-unknown-structure-is-refused.md). `rooflens list \
         families` prints the same list.\n\n| family | models | `model_type` |\n| --- | --- | --- |\n",
        ALL.len()
    );
    for family in ALL {
        ensure!(!family.about().is_empty(), "family {} does not say what it is", family.name());
        let types: Vec<String> = family.model_types().iter().map(|name| format!("`{name}`")).collect();
        writeln!(page, "| `{}` | {} | {} |", family.name(), cell(family.about()), types.join(", "))?;
    }
    page.push_str(&format!(
        "\nTo add one: [CONTRIBUTING]({MAIN}/CONTRIBUTING.md#adding-a-model-family). What the numbers are checked \
         against: [accuracy](../accuracy.md#the-cost-model).\n",
    ));
    Ok(page)
}
