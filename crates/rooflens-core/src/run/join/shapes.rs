//! Rows of `steps.csv` as shapes that the cost model knows.

use rooflens_cost::measured::{Ran, RunPhase, Shape, decoding, reading};
use rooflens_cost::step::Step;
use rooflens_cost::vision::View;

use rooflens_schema::Opt;
use rooflens_schema::tables::{PhaseKind, StepRow, Steps};

use crate::run::workload::steps_of;

pub(crate) fn of_kind(steps: &Steps, kind: &str) -> Result<Vec<Ran>, String> {
    let rows = steps_of(steps, kind);
    if rows.is_empty() {
        return Err(format!("steps.csv has no step of kind {kind}"));
    }
    let ran = |row: &StepRow| Ok(Ran { shape: shape(row)?, dur_ns: row.dur_ns.unsigned_abs() });
    rows.iter().map(ran).collect()
}

fn shape(row: &StepRow) -> Result<Shape, String> {
    let missing = |column: &str| format!("steps.csv has no {column}");
    let phase =
        RunPhase::named(row.phase.as_str()).ok_or("the phase of a step is not prefill, decode or mixed")?;
    let batch = count(row.batch_size).filter(|batch| *batch > 0).ok_or_else(|| missing("batch"))?;
    let context = count(row.context_tokens).ok_or_else(|| missing("kv_tokens"))?;
    // A decode step has no prompts to prefill.
    let told = row.prompts.as_deref().or((row.phase == PhaseKind::Decode).then_some(""));
    let prompts = prompts(told.ok_or_else(|| missing("prompts"))?)?;
    let decode_tokens = count(row.decode_tokens).ok_or_else(|| missing("decode_tokens"))?;
    let going_on = batch
        .checked_sub(prompts.len() as u64)
        .ok_or("a step prefills more prompts than it has sequences")?;
    let of_prompts =
        prompts.iter().fold(0_u64, |sum, (new, past)| sum.saturating_add(*new).saturating_add(*past));
    if decode_tokens != going_on {
        return Err(
            "sequences advance by more than one token per step, and how many each is not recorded".to_owned()
        );
    }
    let mut needed = reading(&prompts);
    needed.extend(decoding(going_on, context.saturating_sub(of_prompts)));
    Ok(Shape {
        phase,
        padded: padded(row, batch).unwrap_or_else(|| needed.clone()),
        needed,
        pictures: pictures(row)?,
    })
}

/// The batch as it went through the model; nothing where it has no padding.
fn padded(row: &StepRow, batch: u64) -> Option<Vec<Step>> {
    let (computed, length) = (count(row.computed_tokens)?, count(row.cache_length)?);
    let new = computed / batch;
    let past = length.checked_sub(new)?;
    Some(match row.decode_tokens.get()? {
        0 => vec![Step::prefill(batch, new, past)],
        _ => vec![Step::decode(batch, past)],
    })
}

fn count(cell: Opt<i64>) -> Option<u64> {
    cell.get().and_then(|count| u64::try_from(count).ok())
}

/// `17@0 24@512`: new tokens of each prompt, and those that are already in the KV cache.
fn prompts(text: &str) -> Result<Vec<(u64, u64)>, String> {
    let prompt = |word: &str| {
        let (new, past) = word.split_once('@')?;
        Some((new.parse().ok()?, past.parse().ok()?))
    };
    let wrong = |word: &str| format!("steps.csv: {word:?} is not a prompt");
    text.split_whitespace().map(|word| prompt(word).ok_or_else(|| wrong(word))).collect()
}

/// `4x6 6x6`: rows and columns of patches; nothing where nobody knows.
fn pictures(row: &StepRow) -> Result<Option<Vec<View>>, String> {
    let Some(text) = row.pictures.as_deref().filter(|text| !text.is_empty()) else { return Ok(None) };
    if text == "none" {
        return Ok(Some(Vec::new()));
    }
    let picture = |word: &str| {
        let (rows, columns) = word.split_once('x')?;
        Some(View { images: 1, rows: rows.parse().ok()?, columns: columns.parse().ok()? })
    };
    let wrong = |word: &str| format!("steps.csv: {word:?} is not an image");
    let views: Result<Vec<View>, String> =
        text.split_whitespace().map(|word| picture(word).ok_or_else(|| wrong(word))).collect();
    views.map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> StepRow {
        StepRow {
            batch_size: Opt::some(2),
            decode_tokens: Opt::some(0),
            ..StepRow::new(0, PhaseKind::Prefill, 70)
        }
    }

    #[test]
    fn a_padded_batch() {
        let row = StepRow {
            computed_tokens: Opt::some(10),
            context_tokens: Opt::some(8),
            cache_length: Opt::some(5),
            prompts: Some("5@0 3@0".into()),
            pictures: Some("4x6 2x2".into()),
            ..row()
        };
        let shape = shape(&row).unwrap();
        assert_eq!(shape.needed, [Step::prefill(1, 3, 0), Step::prefill(1, 5, 0)]);
        assert_eq!(shape.padded, [Step::prefill(2, 5, 0)]);
        let sizes: Vec<_> = shape.pictures.unwrap().iter().map(|view| (view.rows, view.columns)).collect();
        assert_eq!(sizes, [(4, 6), (2, 2)]);
    }

    #[test]
    fn prompts_and_tokens_in_one_step() {
        // Three sequences: 8 tokens of a prompt after 16, and two that see 21 tokens together.
        let row = StepRow {
            phase: PhaseKind::Mixed,
            batch_size: Opt::some(3),
            decode_tokens: Opt::some(2),
            context_tokens: Opt::some(45),
            prompts: Some("8@16".into()),
            ..row()
        };
        let shape = shape(&row).unwrap();
        assert_eq!(shape.needed, [Step::prefill(1, 8, 16), Step::decode(1, 9), Step::decode(1, 10)]);
        assert_eq!((shape.padded, shape.pictures), (shape.needed.clone(), None));
    }

    #[test]
    fn a_decode_step_has_no_prompts() {
        let row = StepRow {
            phase: PhaseKind::Decode,
            decode_tokens: Opt::some(2),
            context_tokens: Opt::some(21),
            ..row()
        };
        assert_eq!(shape(&row).unwrap().needed, [Step::decode(1, 9), Step::decode(1, 10)]);
    }

    #[test]
    fn what_is_not_told_is_a_reason() {
        let told = |change: fn(&mut StepRow)| {
            let mut row = StepRow { context_tokens: Opt::some(8), prompts: Some("8@0 9@0".into()), ..row() };
            change(&mut row);
            shape(&row).unwrap_err()
        };
        assert_eq!(told(|row| row.prompts = None), "steps.csv has no prompts");
        assert_eq!(told(|row| row.batch_size = Opt::NONE), "steps.csv has no batch");
        assert_eq!(told(|row| row.decode_tokens = Opt::NONE), "steps.csv has no decode_tokens");
        assert_eq!(told(|row| row.prompts = Some("8".into())), "steps.csv: \"8\" is not a prompt");
        assert_eq!(told(|row| row.pictures = Some("8".into())), "steps.csv: \"8\" is not an image");
        assert!(told(|row| row.phase = PhaseKind::Step).starts_with("the phase of a step is not"));
        assert!(told(|row| row.decode_tokens = Opt::some(5)).starts_with("sequences advance by more"));
        let none = of_kind(&Steps::default(), "profiled").unwrap_err();
        assert_eq!(none, "steps.csv has no step of kind profiled");
    }
}
