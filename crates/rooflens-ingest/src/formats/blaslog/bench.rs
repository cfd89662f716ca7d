//! Lines that repeat a call: `hipblaslt-bench … -m 1024 -n 512 -k 1024 …` and `rocblas-bench -f gemm_ex …`.

use super::call::{Call, Element, size, transpose};

pub(super) enum Found {
    Call(Box<Call>),
    Shapeless,
    Other,
}

pub(super) fn take(line: &str) -> Found {
    let (library, arguments) = match (line.find("hipblaslt-bench "), line.find("rocblas-bench ")) {
        (Some(at), _) => ("hipblaslt", &line[at..]),
        (None, Some(at)) => ("rocblas", &line[at..]),
        (None, None) => return Found::Other,
    };
    let value = |names: &[&str]| {
        let mut words = arguments.split_ascii_whitespace();
        words.find(|word| names.contains(word)).and_then(|_| words.next())
    };
    let function = value(&["-f", "--function"]).unwrap_or("matmul");
    if library == "rocblas" && !function.contains("gemm") {
        return Found::Other;
    }
    let number = |names: &[&str]| value(names).and_then(size);
    let (Some(m), Some(n), Some(k)) =
        (number(&["-m", "--sizem"]), number(&["-n", "--sizen"]), number(&["-k", "--sizek"]))
    else {
        return Found::Shapeless;
    };
    let precision = value(&["-r", "--precision"]).map(|word| match word.as_bytes() {
        [letter] => Element::of_letter(char::from(*letter)).unwrap_or_else(|| Element::of(word)),
        _ => Element::of(word),
    });
    let element = |name: &str| value(&[name]).map(Element::of).or_else(|| precision.clone());
    let activation = value(&["--activation_type"]).filter(|word| *word != "none");
    let solution = value(&["--solution_index"]).filter(|word| *word != "0" && *word != "-1");
    Found::Call(Box::new(Call {
        library,
        function: function.to_owned(),
        m,
        n,
        k,
        batch: number(&["--batch_count"]).unwrap_or(1),
        trans_a: value(&["--transA", "--transposeA"]).and_then(transpose),
        trans_b: value(&["--transB", "--transposeB"]).and_then(transpose),
        a: element("--a_type"),
        b: element("--b_type"),
        d: element("--d_type").or_else(|| element("--c_type")),
        compute: value(&["--compute_type"]).map(str::to_owned),
        epilogue: activation.map(str::to_owned),
        algorithm: solution.map(|index| format!("solution {index}")),
    }))
}
