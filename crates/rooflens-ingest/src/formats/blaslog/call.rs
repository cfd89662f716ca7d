//! One product, whoever was asked for it.

use rooflens_schema::tables::{GemmRow, Transpose};
use rooflens_schema::{Interner, Opt};

use super::element::Element;

/// What a log tells of a call.
#[derive(Debug, Clone, Default)]
pub(super) struct Call {
    pub(crate) library: &'static str,
    pub(crate) function: String,
    pub(crate) m: i64,
    pub(crate) n: i64,
    pub(crate) k: i64,
    pub(crate) batch: i64,
    pub(crate) trans_a: Option<Transpose>,
    pub(crate) trans_b: Option<Transpose>,
    pub(crate) a: Option<Element>,
    pub(crate) b: Option<Element>,
    pub(crate) d: Option<Element>,
    pub(crate) compute: Option<String>,
    pub(crate) epilogue: Option<String>,
    pub(crate) algorithm: Option<String>,
}

/// `n` for `CUBLAS_OP_N(0)`, `OP_N` or `N`.
pub(super) fn transpose(word: &str) -> Option<Transpose> {
    let word = word.split('(').next().unwrap_or(word);
    match word.rsplit('_').next()?.as_bytes() {
        [b'N' | b'n'] => Some(Transpose::No),
        [b'T' | b't'] => Some(Transpose::Yes),
        [b'C' | b'c'] | [b'H' | b'h'] => Some(Transpose::Conjugate),
        _ => None,
    }
}

/// A size: whole and above 0, as products of none are not run.
pub(super) fn size(text: &str) -> Option<i64> {
    text.parse().ok().filter(|size| *size > 0)
}

impl Call {
    pub fn row(&self, process: i32, interner: &Interner) -> GemmRow {
        let name = |text: &str| Opt::some(interner.intern(text));
        let dtype = |element: &Option<Element>| element.as_ref().map_or(Opt::NONE, |it| name(&it.name));
        let words = |text: &Option<String>| text.as_deref().map_or(Opt::NONE, name);
        GemmRow {
            process,
            library_id: interner.intern(self.library),
            function_id: interner.intern(&self.function),
            m: self.m,
            n: self.n,
            k: self.k,
            batch: self.batch,
            trans_a: self.trans_a.unwrap_or(Transpose::No),
            trans_b: self.trans_b.unwrap_or(Transpose::No),
            a_dtype_id: dtype(&self.a),
            b_dtype_id: dtype(&self.b),
            d_dtype_id: dtype(&self.d),
            compute_id: words(&self.compute),
            epilogue_id: words(&self.epilogue),
            algorithm_id: words(&self.algorithm),
            flops: self.flops().into(),
            bytes: self.bytes().into(),
            kernel_row: Opt::NONE,
        }
    }

    fn flops(&self) -> Option<i64> {
        // A complex product is four real ones, with as many additions.
        let each = if self.a.as_ref().is_some_and(|element| element.complex) { 8 } else { 2 };
        product([self.m, self.n, self.k, self.batch, each])
    }

    fn bytes(&self) -> Option<i64> {
        let matrix = |rows, columns, element: &Option<Element>| {
            let bits = product([rows, columns, self.batch, element.as_ref()?.bits?])?;
            Some(bits / 8 + i64::from(bits % 8 > 0))
        };
        let a = matrix(self.m, self.k, &self.a)?;
        let b = matrix(self.k, self.n, &self.b)?;
        a.checked_add(b)?.checked_add(matrix(self.m, self.n, &self.d)?)
    }
}

fn product<const N: usize>(factors: [i64; N]) -> Option<i64> {
    factors.into_iter().try_fold(1i64, i64::checked_mul)
}
