//! Operations of a product, by the shapes of what an operator takes in: the only place that knows them.

/// What the shapes tell of a product.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Product {
    /// A multiplication and an addition count as two, nothing is masked. None where shapes do not tell.
    pub flops: Option<u128>,
    /// Rows and columns of the matrix that all rows of a batch are multiplied with.
    pub matrix: Option<(u64, u64)>,
    /// Of attention: heads of queries, and of keys and values.
    pub heads: Option<(u64, u64)>,
    /// Of attention: elements of keys and values.
    pub kv_elements: u128,
}

/// The product that an operator makes; none where it makes none. `dims` is what Kineto has as `Input Dims`.
///
/// ```
/// use rooflens_analyze::product::product;
/// let found = product("aten::mm", "[[39, 256], [256, 128]]").unwrap();
/// assert_eq!((found.flops, found.matrix), (Some(2 * 39 * 256 * 128), Some((256, 128))));
/// assert_eq!(product("aten::add", "[[39, 256], [39, 256]]"), None);
/// ```
#[must_use]
pub fn product(operator: &str, dims: &str) -> Option<Product> {
    let name = operator.strip_prefix("aten::").unwrap_or(operator);
    let formula = FORMULAS.iter().find(|(names, _)| names.contains(&name))?.1;
    let tensors = tensors(dims).unwrap_or_default();
    Some(formula(&tensors).unwrap_or_default())
}

type Tensor = Vec<u64>;
type Formula = fn(&[Tensor]) -> Option<Product>;

const FORMULAS: &[(&[&str], Formula)] = &[
    (&["mm", "_scaled_mm", "_int_mm"], |t| matrix(t.first()?, t.get(1)?)),
    (&["addmm"], |t| matrix(t.get(1)?, t.get(2)?)),
    (&["bmm"], |t| batched(t.first()?, t.get(1)?)),
    (&["baddbmm"], |t| batched(t.get(1)?, t.get(2)?)),
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

fn times(factors: impl IntoIterator<Item = u64>) -> Option<u128> {
    factors.into_iter().try_fold(1_u128, |product, factor| product.checked_mul(factor.into()))
}

fn flops(factors: impl IntoIterator<Item = u64>) -> Option<u128> {
    times(factors)?.checked_mul(2)
}

fn matrix(a: &[u64], b: &[u64]) -> Option<Product> {
    let (&[m, k], &[inner, n]) = (a, b) else { return None };
    (k == inner).then(|| Product { flops: flops([m, k, n]), matrix: Some((k, n)), ..Product::default() })
}

fn batched(a: &[u64], b: &[u64]) -> Option<Product> {
    let (&[batch, m, k], &[others, inner, n]) = (a, b) else { return None };
    (batch == others && k == inner).then(|| Product { flops: flops([batch, m, k, n]), ..Product::default() })
}

fn linear(x: &[u64], weight: &[u64]) -> Option<Product> {
    let (&[n, k], (&last, rows)) = (weight, x.split_last()?) else { return None };
    let rows = rows.iter().copied();
    (last == k).then(|| Product {
        flops: flops(rows.chain([k, n])),
        matrix: Some((k, n)),
        ..Product::default()
    })
}

/// As torch broadcasts: a vector is a matrix of one row, or of one column.
fn matmul(a: &[u64], b: &[u64]) -> Option<Product> {
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
    Some(Product { flops: flops(batch.chain([m, k, n])), matrix: shared, ..Product::default() })
}

/// Rows that are dealt out to matrices: each goes to one of them.
fn grouped(rows: &[u64], matrices: &[u64]) -> Option<Product> {
    let (&[m, k], &[_, inner, n]) = (rows, matrices) else { return None };
    (k == inner).then(|| Product { flops: flops([m, k, n]), matrix: Some((k, n)), ..Product::default() })
}

fn attention(tensors: &[Tensor], (heads, tokens): (usize, usize)) -> Option<Product> {
    let [q, k, v, ..] = tensors else { return None };
    if q.len() != 4 || k.len() != 4 || v.len() != 4 || q[3] != k[3] || k[tokens] != v[tokens] {
        return None;
    }
    let width = q[3].checked_add(v[3])?;
    let kv = |t: &Tensor| times([t[0], t[heads], t[tokens], t[3]]);
    Some(Product {
        flops: flops([q[0], q[heads], q[tokens], k[tokens], width]),
        matrix: None,
        heads: Some((q[heads], k[heads])),
        kv_elements: kv(k)?.checked_add(kv(v)?)?,
    })
}

/// Shapes do not tell the stride: only where the filter is as large as the input is there one position.
fn convolution(input: &[u64], weight: &[u64]) -> Option<Product> {
    let (&[images, _, ref size @ ..], &[filters, depth, ref kernel @ ..]) = (input, weight) else {
        return None;
    };
    (size == kernel).then(|| {
        let matrix = times(weight[1..].iter().copied()).and_then(|k| Some((u64::try_from(k).ok()?, filters)));
        let all = [images, filters, depth].into_iter().chain(kernel.iter().copied());
        Product { flops: flops(all), matrix, ..Product::default() }
    })
}

/// `[[1, 39, 256], [256, 256], []]`: a list of lists. What is no tensor is an empty list; lists of tensors are
/// left out, as no formula asks for them.
fn tensors(dims: &str) -> Option<Vec<Tensor>> {
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

/// Whether every tensor among an operator's inputs is of 32 bits, as Kineto writes them:
/// `["float","float",""]`.
#[must_use]
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
        let expected = Product {
            flops: Some(2 * 4 * 39 * 39 * 128),
            matrix: None,
            heads: Some((4, 2)),
            kv_elements: 2 * 39 * 128,
        };
        assert_eq!(found, Some(expected));
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
        assert!(is_fp32(r#"["float", "float", ""]"#));
        assert!(is_fp32(r#"["float", "float", "float", "Scalar", "Scalar"]"#));
        assert!(!is_fp32(r#"["c10::BFloat16", "c10::BFloat16"]"#));
        assert!(!is_fp32(r#"["float", "c10::BFloat16"]"#));
        assert!(!is_fp32(r#"["", ""]"#));
    }
}
