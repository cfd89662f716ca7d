//! Records of cuBLAS: `I! cuBLAS (v12.9.2) function cublasStatus_t cublasSgemm_v2(…) called:`, a line
//! `i!  m: type=int; val=64` an argument, and the process last.

use std::collections::HashMap;

use super::call::{Call, Element, size, transpose};

pub(super) struct Record {
    function: String,
    arguments: HashMap<String, String>,
    pub(crate) process: String,
    /// An argument stands there twice: the head of the next record is missing.
    damaged: bool,
}

pub(super) fn begin(line: &str) -> Option<Record> {
    let signature = line.split_once("I! cuBLAS (v")?.1.split_once("function ")?.1;
    let name = signature.split('(').next()?.split_whitespace().last()?;
    let arguments = HashMap::new();
    Some(Record { function: name.to_owned(), arguments, process: String::new(), damaged: false })
}

impl Record {
    pub(crate) fn more(&mut self, line: &str) {
        let Some(rest) = line.strip_prefix("i!") else { return };
        if let Some(process) = rest.trim_start().strip_prefix("Process=") {
            self.process = process.split(';').next().unwrap_or_default().to_owned();
        } else if let Some((name, typed)) = rest.trim().split_once(": type=")
            && let Some((_, value)) = typed.split_once("val=")
            // No function has so many; a damaged log may.
            && self.arguments.len() < 64
        {
            self.damaged |= self.arguments.insert(name.to_owned(), value.to_owned()).is_some();
        }
    }

    pub(crate) fn multiplies(&self) -> bool {
        let name = self.function.to_ascii_lowercase();
        name.contains("gemm") && !name.contains("getsize")
    }

    /// The call; `None` where the record does not tell its shape.
    pub(crate) fn call(&self) -> Option<Call> {
        if self.damaged {
            return None;
        }
        let value = |name: &str| self.arguments.get(name).map(String::as_str);
        let of_letter = self.function.strip_prefix("cublas").and_then(|rest| rest.chars().next());
        // The letter of cublasGemmEx is none.
        let is_letter = self.function.get(7..).is_some_and(|rest| rest.starts_with("gemm"));
        let letter = of_letter.filter(|_| is_letter).and_then(Element::of_letter);
        let element = |name: &str| value(name).map(Element::of).or_else(|| letter.clone());
        let word = |name: &str| {
            let word = value(name)?.split('(').next()?;
            Some(word.strip_prefix("CUBLAS_").unwrap_or(word).to_owned())
        };
        let batch = match value("batchCount") {
            Some(count) => size(count)?,
            None if self.function.contains("Grouped") => return None,
            None => 1,
        };
        Some(Call {
            library: "cublas",
            function: self.function.clone(),
            m: size(value("m")?)?,
            n: size(value("n")?)?,
            k: size(value("k")?)?,
            batch,
            trans_a: value("transa").and_then(transpose),
            trans_b: value("transb").and_then(transpose),
            a: element("Atype"),
            b: element("Btype"),
            d: element("Ctype"),
            compute: word("computeType"),
            epilogue: None,
            algorithm: word("algo").filter(|word| !word.starts_with("GEMM_DEFAULT")),
        })
    }
}
