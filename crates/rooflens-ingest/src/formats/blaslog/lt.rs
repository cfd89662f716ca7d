//! Lines of cuBLASLt and hipBLASLt: `[time][library][process][level][function] key=value …`.
//!
//! At level Trace a call tells its layouts. At level Api it tells addresses of layouts, which the log
//! gives to nobody; then the layouts are those of the question for an algorithm, if that is the line
//! right before it of the same process.

use std::collections::HashMap;

use super::call::{Call, Element, size, transpose};

pub(super) struct Line<'t> {
    pub(crate) library: &'static str,
    pub(crate) process: &'t str,
    level: &'t str,
    function: &'t str,
    pairs: &'t str,
}

pub(super) fn line(text: &str) -> Option<Line<'_>> {
    // Other output may stand before it on the same line.
    let at = ["][cublasLt][", "][HIPBLASLT][", "][hipblaslt]["].iter().find_map(|mark| text.find(mark))?;
    let mut parts = text[at + 1..].splitn(5, ']').map(|part| part.trim_start_matches('['));
    let library = if parts.next()? == "cublasLt" { "cublaslt" } else { "hipblaslt" };
    let (process, level, function) = (parts.next()?, parts.next()?, parts.next()?);
    Some(Line { library, process, level, function, pairs: parts.next()? })
}

pub(super) enum Found {
    Traced(Box<Call>),
    /// A call at level Api; its shape, where the line before tells it.
    Asked(Option<Box<Call>>),
    Shapeless,
    Other,
}

/// Remembers, for each process, the question that was the last line.
#[derive(Default)]
pub(super) struct Lt {
    questions: HashMap<String, Call>,
}

impl Lt {
    pub(crate) fn take(&mut self, line: &Line) -> Found {
        let question = self.questions.remove(line.process);
        if line.function.contains("AlgoGetHeuristic") && line.level == "Api" {
            if let Some(call) = call(line) {
                self.questions.insert(line.process.to_owned(), call);
            }
            return Found::Other;
        }
        // Also cublasLtTSTMatmul and rocblaslt_matmul; not cublasLtMatmulDescCreate.
        if !line.function.ends_with("Matmul") && !line.function.ends_with("_matmul") {
            return Found::Other;
        }
        match line.level {
            "Trace" => call(line).map_or(Found::Shapeless, |call| Found::Traced(Box::new(call))),
            "Api" => {
                let asked = question.map(|call| Call { function: line.function.to_owned(), ..call });
                Found::Asked(call(line).or(asked).map(Box::new))
            }
            _ => Found::Other,
        }
    }
}

fn call(line: &Line) -> Option<Call> {
    let layout = |key| value(line.pairs, key).filter(|layout| layout.contains("rows="));
    let (a, b, d) = (layout("Adesc")?, layout("Bdesc")?, layout("Ddesc")?);
    let number = |layout, key| value(layout, key).and_then(size);
    let compute = value(line.pairs, "computeDesc").unwrap_or_default();
    // hipBLASLt writes these beside the descriptor.
    let of_compute = |key| value(compute, key).or_else(|| value(line.pairs, key));
    let trans_a = of_compute("transa").or(of_compute("transA")).and_then(transpose);
    let trans_b = of_compute("transb").or(of_compute("transB")).and_then(transpose);
    let turned = trans_a.is_some_and(|word| word != rooflens_schema::tables::Transpose::No);
    let element = |layout| value(layout, "type").map(Element::of);
    let algorithm = value(line.pairs, "algo").filter(|algo| algo.contains('=')).map(algorithm);
    Some(Call {
        library: line.library,
        function: line.function.to_owned(),
        m: number(d, "rows")?,
        n: number(d, "cols")?,
        k: number(a, if turned { "rows" } else { "cols" })?,
        batch: number(d, "batchCount").unwrap_or(1),
        trans_a,
        trans_b,
        a: element(a),
        b: element(b),
        d: element(d),
        compute: of_compute("computeType").map(str::to_owned),
        epilogue: of_compute("epilogue").filter(|word| !word.ends_with("DEFAULT")).map(str::to_owned),
        algorithm,
    })
}

/// `21 32x32 64x1` for `algoId=21 tile=MATMUL_TILE_32x32 stages=MATMUL_STAGES_64x1`.
fn algorithm(words: &str) -> String {
    let parts = ["algoId", "tile", "stages", "clusterShape", "splitK"].iter().filter_map(|key| {
        let word = value(words, key)?;
        Some(word.rsplit('_').next().unwrap_or(word))
    });
    parts.collect::<Vec<&str>>().join(" ")
}

/// The pairs of a text; `value` of `key=[a=1 b=2]` is `a=1 b=2`.
fn pairs(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            rest = rest.trim_start();
            let end = rest.find([' ', '='])?;
            let (key, behind) = rest.split_at(end);
            let Some(value) = behind.strip_prefix('=') else {
                // A word without a value.
                rest = behind;
                continue;
            };
            let (value, behind) = match value.strip_prefix('[') {
                Some(inner) => inner.split_once(']').unwrap_or((inner, "")),
                None => value.split_at(value.find(' ').unwrap_or(value.len())),
            };
            rest = behind;
            return Some((key, value));
        }
    })
}

fn value<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    pairs(text).find(|(found, _)| *found == key).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_stay_whole() {
        let found: Vec<(&str, &str)> =
            pairs("A=0X1 Adesc=[type=R_16F rows=2] word beta=? open=[x=1").collect();
        let expected = [("A", "0X1"), ("Adesc", "type=R_16F rows=2"), ("beta", "?"), ("open", "x=1")];
        assert_eq!(found, expected);
        assert_eq!(value("type=R_16F rows=2", "rows"), Some("2"));
    }
}
