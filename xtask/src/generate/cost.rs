//! The cost model: its numbers, the classes of operators and the formats of weights, from their lists.

use std::fmt::Write as _;

use anyhow::Result;
use rooflens_cost::{blueprint, classes, metrics};

use super::cell;

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

pub fn page() -> Result<String> {
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
