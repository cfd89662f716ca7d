//! Operations of a product, by the shapes of what an operator takes in: the only place that knows them.

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ProductShape {
    /// A multiplication and an addition count as two, nothing is masked. None where the shapes do not
    /// determine them.
    pub(crate) flops: Option<u128>,
    pub(crate) matrix: Option<(u64, u64)>,
    pub(crate) heads: Option<(u64, u64)>,
    pub(crate) kv_elements: u128,
    /// What it must read and write; none where the shapes do not determine them.
    pub(crate) operands: Option<Operands>,
}

/// Elements that a product reads and writes if each moves once. A bias, scales and masks are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Operands {
    /// Place of the first of them among the operator's inputs; the others follow it.
    pub(crate) first: usize,
    /// Elements of each input that is multiplied; 0 where there are only two.
    pub(crate) read: [u128; 3],
    pub(crate) written: u128,
}

/// The product that an operator makes; none where it makes none. `dims` is what Kineto has as `Input Dims`.
pub(crate) fn product(operator: &str, dims: &str) -> Option<ProductShape> {
    let name = operator.strip_prefix("aten::").unwrap_or(operator);
    let formula = FORMULAS.iter().find(|(names, _)| names.contains(&name))?.1;
    let tensors = tensors(dims).unwrap_or_default();
    Some(formula(&tensors).unwrap_or_default())
}

pub(crate) fn is_product(operator: &str) -> bool {
    product(operator, "").is_some()
}

/// The sizes of what is multiplied, for people: `[39,256]x[256,128]`. All shapes as they are where they do not tell
/// what is multiplied.
pub(crate) fn sizes(dims: &str, operands: Option<&Operands>) -> String {
    let factors = || {
        let tensors = tensors(dims)?;
        let first = operands?.first;
        let words = |tensor: &Tensor| tensor.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        Some(format!("[{}]x[{}]", words(tensors.get(first)?), words(tensors.get(first + 1)?)))
    };
    factors().unwrap_or_else(|| dims.to_owned())
}

type Tensor = Vec<u64>;
type Formula = fn(&[Tensor]) -> Option<ProductShape>;

const FORMULAS: &[(&[&str], Formula)] = &[
    (&["mm", "_scaled_mm", "_int_mm"], |t| matrix(t, 0)),
    (&["addmm"], |t| matrix(t, 1)),
    (&["bmm"], |t| batched(t, 0)),
    (&["baddbmm"], |t| batched(t, 1)),
    (&["matmul"], |t| matmul(t.first()?, t.get(1)?)),
    (&["linear"], |t| linear(t.first()?, t.get(1)?)),
    (&["_grouped_mm", "_scaled_grouped_mm"], |t| grouped(t.first()?, t.get(1)?)),
    (
        &[
            "scaled_dot_product_attention",
            "_scaled_dot_product_flash_attention",
            "_scaled_dot_product_efficient_attention",
            "_scaled_dot_product_cudnn_attention",
            "_scaled_dot_product_flash_attention_for_cpu",
            "_scaled_dot_product_attention_math",
        ],
        |t| attention(t, HEADS_FIRST),
    ),
    (&["flash_attn::_flash_attn_forward", "flash_attn_3::fwd"], |t| attention(t, TOKENS_FIRST)),
    // The lengths of its sequences are in a tensor.
    (&["flash_attn::_flash_attn_varlen_forward"], |_| None),
    (&["conv1d", "conv2d", "conv3d", "convolution"], |t| convolution(t.first()?, t.get(1)?)),
];

/// Where heads and tokens stand among the dimensions of a query.
const HEADS_FIRST: (usize, usize) = (1, 2);
const TOKENS_FIRST: (usize, usize) = (2, 1);

pub(crate) fn times(factors: impl IntoIterator<Item = u64>) -> Option<u128> {
    factors.into_iter().try_fold(1_u128, |product, factor| product.checked_mul(factor.into()))
}

fn flops(factors: impl IntoIterator<Item = u64>) -> Option<u128> {
    times(factors)?.checked_mul(2)
}

fn operands(first: usize, inputs: [&[u64]; 2], written: Option<u128>) -> Option<Operands> {
    let elements = |tensor: &[u64]| times(tensor.iter().copied());
    Some(Operands { first, read: [elements(inputs[0])?, elements(inputs[1])?, 0], written: written? })
}

fn matrix(tensors: &[Tensor], first: usize) -> Option<ProductShape> {
    let (a, b) = (tensors.get(first)?, tensors.get(first + 1)?);
    let (&[m, k], &[inner, n]) = (a.as_slice(), b.as_slice()) else { return None };
    (k == inner).then(|| ProductShape {
        flops: flops([m, k, n]),
        matrix: Some((k, n)),
        operands: operands(first, [a, b], times([m, n])),
        ..ProductShape::default()
    })
}

fn batched(tensors: &[Tensor], first: usize) -> Option<ProductShape> {
    let (a, b) = (tensors.get(first)?, tensors.get(first + 1)?);
    let (&[batch, m, k], &[others, inner, n]) = (a.as_slice(), b.as_slice()) else { return None };
    (batch == others && k == inner).then(|| ProductShape {
        flops: flops([batch, m, k, n]),
        operands: operands(first, [a, b], times([batch, m, n])),
        ..ProductShape::default()
    })
}

fn linear(x: &[u64], weight: &[u64]) -> Option<ProductShape> {
    let (&[n, k], (&last, rows)) = (weight, x.split_last()?) else { return None };
    let rows = rows.iter().copied();
    (last == k).then(|| ProductShape {
        flops: flops(rows.clone().chain([k, n])),
        matrix: Some((k, n)),
        operands: operands(0, [x, weight], times(rows.chain([n]))),
        ..ProductShape::default()
    })
}

/// As torch broadcasts: a vector is a matrix of one row, or of one column.
fn matmul(a: &[u64], b: &[u64]) -> Option<ProductShape> {
    let a: Tensor = if a.len() == 1 { vec![1, a[0]] } else { a.to_vec() };
    let b: Tensor = if b.len() == 1 { vec![b[0], 1] } else { b.to_vec() };
    let (&[.., m, k], &[.., inner, n]) = (a.as_slice(), b.as_slice()) else { return None };
    if k != inner {
        return None;
    }
    let (left, right) = (&a[..a.len() - 2], &b[..b.len() - 2]);
    let length = left.len().max(right.len());
    let at = |dims: &[u64], i: usize| (i + dims.len()).checked_sub(length).map_or(1, |i| dims[i]);
    let batch = (0..length).map(|i| match (at(left, i), at(right, i)) {
        (1, other) | (other, 1) => other,
        (one, _) => one,
    });
    let shared = right.is_empty().then_some((k, n));
    Some(ProductShape {
        flops: flops(batch.clone().chain([m, k, n])),
        matrix: shared,
        operands: operands(0, [&a, &b], times(batch.chain([m, n]))),
        ..ProductShape::default()
    })
}

/// Rows that are dealt out to matrices: each goes to one of them. Which matrices are read is not told by shapes.
fn grouped(rows: &[u64], matrices: &[u64]) -> Option<ProductShape> {
    let (&[m, k], &[_, inner, n]) = (rows, matrices) else { return None };
    (k == inner).then(|| ProductShape {
        flops: flops([m, k, n]),
        matrix: Some((k, n)),
        ..ProductShape::default()
    })
}

fn attention(tensors: &[Tensor], (heads, tokens): (usize, usize)) -> Option<ProductShape> {
    let [q, k, v, ..] = tensors else { return None };
    if q.len() != 4 || k.len() != 4 || v.len() != 4 || q[3] != k[3] || k[tokens] != v[tokens] {
        return None;
    }
    let width = q[3].checked_add(v[3])?;
    let elements = |t: &Tensor| times([t[0], t[heads], t[tokens], t[3]]);
    let read = [elements(q)?, elements(k)?, elements(v)?];
    let written = times([q[0], q[heads], q[tokens], v[3]])?;
    Some(ProductShape {
        flops: flops([q[0], q[heads], q[tokens], k[tokens], width]),
        matrix: None,
        heads: Some((q[heads], k[heads])),
        kv_elements: read[1].checked_add(read[2])?,
        operands: Some(Operands { first: 0, read, written }),
    })
}

/// Shapes do not tell the stride: only where the filter is as large as the input is there one position.
fn convolution(input: &[u64], weight: &[u64]) -> Option<ProductShape> {
    let (&[images, _, ref size @ ..], &[filters, depth, ref kernel @ ..]) = (input, weight) else {
        return None;
    };
    (size == kernel).then(|| {
        let matrix = times(weight[1..].iter().copied()).and_then(|k| Some((u64::try_from(k).ok()?, filters)));
        let all = [images, filters, depth].into_iter().chain(kernel.iter().copied());
        let operands = operands(0, [input, weight], times([images, filters]));
        ProductShape { flops: flops(all), matrix, operands, ..ProductShape::default() }
    })
}

/// `[[1, 39, 256], [256, 256], []]`: a list of lists. What is no tensor is an empty list; lists of tensors are
/// left out, as no formula asks for them.
pub(crate) fn tensors(dims: &str) -> Option<Vec<Tensor>> {
    let inner = dims.trim().strip_prefix('[')?.strip_suffix(']')?;
    let mut found = Vec::new();
    for part in inner.split('[').skip(1) {
        let numbers = part.split(']').next()?;
        let number = |word: &str| word.trim().parse::<u64>().ok();
        let words = numbers.split(',').filter(|word| !word.trim().is_empty());
        found.push(words.map(number).collect::<Option<Tensor>>()?);
    }
    Some(found)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ElementType {
    pub(crate) format: &'static str,
    pub(crate) bytes: u128,
}

/// The type of the input at `place`, by what Kineto has as `Input type`; none where it is not told or not known.
pub(crate) fn element(dtypes: &str, place: usize) -> Option<ElementType> {
    let inner = dtypes.trim().strip_prefix('[')?.strip_suffix(']')?;
    let word = inner.split(',').nth(place)?.trim().trim_matches('"');
    let (format, bytes) = match word {
        "float" => ("fp32", 4),
        "c10::BFloat16" => ("bf16", 2),
        "c10::Half" => ("fp16", 2),
        "double" => ("fp64", 8),
        "signed char" => ("int8", 1),
        word if word.starts_with("c10::Float8_e4m3") || word.starts_with("c10::Float8_e5m2") => ("fp8", 1),
        _ => return None,
    };
    Some(ElementType { format, bytes })
}

/// Whether every tensor among an operator's inputs is of 32 bits, as Kineto writes them:
/// `["float","float",""]`.
pub fn is_fp32(dtypes: &str) -> bool {
    let words = dtypes.split(|c: char| !(c.is_alphanumeric() || c == ':' || c == '_'));
    let mut tensors = words.filter(|word| !word.is_empty() && !matches!(*word, "Scalar" | "ScalarList"));
    let mut any = false;
    tensors.all(|word| {
        any = true;
        word == "float"
    }) && any
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(operator: &str, dims: &str) -> Option<u128> {
        product(operator, dims).and_then(|product| product.flops)
    }

    #[test]
    fn a_product_has_a_matrix_and_its_inputs_have_types() {
        let found = product("aten::mm", "[[39, 256], [256, 128]]").unwrap();
        assert_eq!((found.flops, found.matrix), (Some(2 * 39 * 256 * 128), Some((256, 128))));
        assert_eq!(product("aten::add", "[[39, 256], [39, 256]]"), None);
        assert_eq!(element(r#"["c10::BFloat16","float"]"#, 0).unwrap().format, "bf16");
        assert_eq!(element(r#"["c10::BFloat16","Scalar"]"#, 1), None);
    }

    #[test]
    fn operations_by_hand() {
        assert_eq!(count("aten::addmm", "[[8], [3, 4], [4, 8], [], []]"), Some(2 * 3 * 4 * 8));
        assert_eq!(count("aten::bmm", "[[5, 3, 4], [5, 4, 8]]"), Some(2 * 5 * 3 * 4 * 8));
        assert_eq!(count("aten::linear", "[[1, 39, 256], [128, 256], []]"), Some(2 * 39 * 256 * 128));
        assert_eq!(count("aten::matmul", "[[2, 1, 3, 4], [6, 4, 8]]"), Some(2 * 2 * 6 * 3 * 4 * 8));
        assert_eq!(count("aten::matmul", "[[3, 4], [4]]"), Some(2 * 3 * 4));
        assert_eq!(count("aten::_grouped_mm", "[[39, 64], [8, 64, 32], [8]]"), Some(2 * 39 * 64 * 32));
        assert_eq!(
            count("aten::conv3d", "[[24, 3, 2, 14, 14], [32, 3, 2, 14, 14]]"),
            Some(2 * 24 * 32 * 1176)
        );
    }

    #[test]
    fn attention_with_shared_keys() {
        let found = product(
            "aten::scaled_dot_product_attention",
            "[[1, 4, 39, 64], [1, 2, 39, 64], [1, 2, 39, 64], []]",
        );
        let expected = ProductShape {
            flops: Some(2 * 4 * 39 * 39 * 128),
            matrix: None,
            heads: Some((4, 2)),
            kv_elements: 2 * 39 * 128,
            operands: Some(Operands {
                first: 0,
                read: [4 * 39 * 64, 2 * 39 * 64, 2 * 39 * 64],
                written: 4 * 39 * 64,
            }),
        };
        assert_eq!(found, Some(expected));
    }

    #[test]
    fn elements_by_hand() {
        let moved = |operator: &str, dims: &str| {
            product(operator, dims)
                .and_then(|product| product.operands)
                .map(|operands| (operands.first, operands.read, operands.written))
        };
        assert_eq!(moved("aten::mm", "[[3, 4], [4, 8]]"), Some((0, [12, 32, 0], 24)));
        assert_eq!(moved("aten::addmm", "[[8], [3, 4], [4, 8], [], []]"), Some((1, [12, 32, 0], 24)));
        assert_eq!(moved("aten::bmm", "[[5, 3, 4], [5, 4, 8]]"), Some((0, [60, 160, 0], 120)));
        assert_eq!(moved("aten::linear", "[[2, 3, 4], [8, 4], []]"), Some((0, [24, 32, 0], 48)));
        assert_eq!(moved("aten::matmul", "[[2, 1, 3, 4], [6, 4, 8]]"), Some((0, [24, 192, 0], 2 * 6 * 24)));
        assert_eq!(moved("aten::conv2d", "[[2, 3, 7, 7], [5, 3, 7, 7]]"), Some((0, [294, 735, 0], 10)));
        assert_eq!(moved("aten::_grouped_mm", "[[39, 64], [8, 64, 32], [8]]"), None);
    }

    #[test]
    fn sizes_for_people() {
        let shown = |operator: &str, dims: &str| {
            sizes(dims, product(operator, dims).and_then(|product| product.operands).as_ref())
        };
        assert_eq!(shown("aten::addmm", "[[8], [3, 4], [4, 8], [], []]"), "[3,4]x[4,8]");
        assert_eq!(shown("aten::mm", "[[3, 4], [5, 8]]"), "[[3, 4], [5, 8]]");
    }

    #[test]
    fn what_is_not_told_is_not_guessed() {
        for (operator, dims) in [
            ("aten::mm", ""),
            ("aten::mm", "[[3, 4]]"),
            ("aten::mm", "[[3, 4], [5, 6]]"),
            ("aten::mm", "[[3, x], [5, 6]]"),
            ("aten::mm", "[[18446744073709551615, 18446744073709551615], [18446744073709551615, 9]]"),
            ("aten::conv2d", "[[1, 3, 224, 224], [64, 3, 16, 16]]"),
            ("flash_attn::_flash_attn_varlen_forward", "[[8, 4, 64], [8, 4, 64], [8, 4, 64]]"),
        ] {
            // It is a product, and nobody knows of what size.
            assert_eq!(product(operator, dims).map(|product| product.flops), Some(None), "{operator} {dims}");
        }
    }

    #[test]
    fn types_as_kineto_writes_them() {
        let formats = |dtypes: &str| [0, 1].map(|place| element(dtypes, place).map(|element| element.format));
        assert_eq!(formats(r#"["c10::Half","signed char"]"#), [Some("fp16"), Some("int8")]);
        assert_eq!(formats("[c10::Float8_e4m3fnuz, c10::Float8_e5m2]"), [Some("fp8"), Some("fp8")]);
        // Two of these share a byte, so the shapes do not show how many there are.
        assert_eq!(formats(r#"["c10::Float4_e2m1fn_x2",""]"#), [None, None]);
        assert_eq!(formats(""), [None, None]);
        assert!(is_fp32(r#"["float", "float", ""]"#));
        assert!(is_fp32(r#"["float", "float", "float", "Scalar", "Scalar"]"#));
        assert!(!is_fp32(r#"["c10::BFloat16", "c10::BFloat16"]"#));
        assert!(!is_fp32(r#"["float", "c10::BFloat16"]"#));
        assert!(!is_fp32(r#"["", ""]"#));
    }
}
