//! The classes of kernels, from the vocabulary of the catalog.

use std::fmt::Write as _;

use anyhow::Result;
use rooflens_analyze::kernel_catalog::KernelClass;

use super::cell;

pub fn page() -> Result<String> {
    let mut page = "# Kernel classes\n\nWhat a device activity does, told by its name. The rules are the files of \
                    `catalog/kernels/`; the first that matches wins. A fused kernel has the class of its most costly \
                    part.\n\n| class | meaning |\n| --- | --- |\n"
        .to_owned();
    for class in KernelClass::ALL {
        writeln!(page, "| `{class}` | {} |", cell(class.definition()))?;
    }
    Ok(page)
}
