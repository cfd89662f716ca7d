//! Pages of lists that the crates keep: analyses, kernel classes, the cost model and its families.

use std::fmt::Write as _;

use anyhow::{Result, ensure};
use rooflens_analyze::analyses;
use rooflens_analyze::kernel_catalog::KernelClass;
use rooflens_cost::{blueprint, classes, families, metrics};

use super::markdown::{MAIN, cell};

pub(crate) fn analyses() -> Result<String> {
    let mut page = "# Analyses\n\nEach answers one question; its answer is a key of `rooflens analyze --format json`, \
                    in this order, and a file of `DIR/findings/`. `rooflens explain <name>` prints the same text.\n\n\
                    | analysis | question | needs |\n| --- | --- | --- |\n"
        .to_owned();
    for analysis in analyses::ALL {
        let (name, question) = (analysis.name, cell(analysis.question));
        writeln!(page, "| [`{name}`](#{name}) | {question} | {} |", cell(analysis.needs))?;
    }
    for analysis in analyses::ALL {
        ensure!(!analysis.explain.is_empty(), "analysis {} explains nothing", analysis.name);
        let explained = analysis.explain.trim();
        writeln!(page, "\n## {}\n\n{}\n\n{explained}", analysis.name, analysis.question)?;
    }
    Ok(page)
}

pub(crate) fn kernel_classes() -> Result<String> {
    let mut page = "# Kernel classes\n\nWhat a device activity does, as its name shows. The rules are the files of \
                    `catalog/kernels/`; the first that matches wins. A fused kernel has the class of its most costly \
                    part.\n\n| class | meaning |\n| --- | --- |\n"
        .to_owned();
    for class in KernelClass::ALL {
        writeln!(page, "| `{class}` | {} |", cell(class.definition()))?;
    }
    Ok(page)
}

/// What the letters of the formulas stand for.
const LETTERS: &[(&str, &str)] = &[
    ("B", "sequences in the step"),
    ("S, P", "new tokens of a sequence, and tokens of it in the cache (past)"),
    ("T", "new tokens of all sequences, B·S"),
    ("pairs", "queries and the keys they see, all sequences together"),
    ("W", "tokens of a sliding window, or keys that an indexer leaves"),
    (
        "h, i, V",
        "width of the residual stream, width inside a feed-forward network or expert, rows of the vocabulary",
    ),
    ("H, K", "query heads, key and value heads"),
    ("d_qk, d_v, d_rot", "widths of a query or key, of a value, and of what is rotated"),
    ("r, d_r, d_i", "latent attention: rank, width of the rotated part of a key; width of an indexer's key"),
    ("E, k, p_e", "experts, experts that a token visits, chance that a token visits expert e"),
    ("n, p, m", "devices of an exchange, stages of a pipeline, steps that go through it"),
];

/// The cost model: its numbers, the classes of operators and the formats of weights.
pub(crate) fn cost() -> Result<String> {
    let mut page = "# Cost model\n\nThe numbers of `rooflens cost`, the classes that it sorts operators into, and the \
                    formats that weights may be given. `rooflens explain <name>` prints the same text. What \
                    the numbers are checked against: [accuracy](../accuracy.md#the-cost-model). Devices: \
                    [hardware](hardware.md). Models: [families](families.md).\n\n## Numbers\n\nWork and times are \
                    those of the busiest device of each stage, all stages together; parameters and the cache are the \
                    whole model's. A FLOP is one operation: a multiply-add counts as two. A number that \
                    cannot be had, as a time without a device, is null.\n\n| number | unit | meaning |\n| --- | --- | \
                    --- |\n"
        .to_owned();
    for metric in metrics::ALL {
        let unit = if metric.unit.is_empty() { "–" } else { metric.unit };
        writeln!(page, "| `{}` | {unit} | {} |", metric.name, cell(metric.about))?;
    }
    page.push_str("\n## Formulas\n\n");
    for (letters, meaning) in LETTERS {
        let letters: Vec<String> = letters.split(", ").map(|letter| format!("`{letter}`")).collect();
        writeln!(page, "- {}: {meaning}", letters.join(", "))?;
    }
    for metric in metrics::ALL {
        writeln!(
            page,
            "\n### {}\n\n```text\n{}\n```\n\nSource: {}.",
            metric.name, metric.formula, metric.source
        )?;
    }
    page.push_str(
        "\n## Operator classes\n\nIn the order of a model; `totals.classes` of the JSON document and the column \
         `class` of [`model_ops`](tables.md#model_ops) have these names.\n\n| class | meaning |\n| --- | --- |\n",
    );
    for (class, meaning) in classes::ALL {
        writeln!(page, "| `{class}` | {} |", cell(meaning))?;
    }
    page.push_str(
        "\n## Weight formats\n\nWhat `--dtype` takes. Without it weights are as the checkpoint says. Below 16 \
         bits, the embeddings, the head and the routers keep bf16.\n\n| format | meaning |\n| --- | --- |\n",
    );
    for (format, meaning) in blueprint::WEIGHT_FORMATS {
        writeln!(page, "| `{format}` | {} |", cell(meaning))?;
    }
    Ok(page)
}

pub(crate) fn families() -> Result<String> {
    let mut page = format!(
        "# Model families\n\nThe {} families whose `config.json` the cost model reads. A family is chosen by \
         `model_type`, else by that of the language model inside, else by `architectures`. A config that no family \
         knows is refused, and so is one of a known family with keys that change the architecture in a way the \
         family does not know: [decision 10](../decisions/0010-unknown-structure-is-refused.md). `rooflens list \
         families` prints the same list.\n\n| family | models | `model_type` |\n| --- | --- | --- |\n",
        families::ALL.len()
    );
    for family in families::ALL {
        ensure!(!family.about.is_empty(), "family {} does not say what it is", family.name);
        let types: Vec<String> = family.model_types.iter().map(|name| format!("`{name}`")).collect();
        writeln!(page, "| `{}` | {} | {} |", family.name, cell(family.about), types.join(", "))?;
    }
    page.push_str(&format!(
        "\nTo add one: [CONTRIBUTING]({MAIN}/CONTRIBUTING.md#adding-a-model-family). What the numbers are checked \
         against: [accuracy](../accuracy.md#the-cost-model).\n",
    ));
    Ok(page)
}
