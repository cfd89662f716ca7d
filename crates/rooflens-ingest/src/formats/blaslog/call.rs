//! One product, whichever library was asked for it, and its element types in the words of each library.

use rooflens_schema::tables::{GemmRow, Transpose};
use rooflens_schema::{Interner, Opt};

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

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Element {
    /// As `bf16`; the library's own word where that is not known.
    pub(crate) name: String,
    /// Bits of one; `None` where the word is not known.
    pub(crate) bits: Option<i64>,
    pub(crate) complex: bool,
}

/// Words of cuBLAS(Lt) and of rocBLAS/hipBLASLt, the name here, and the bits.
const KNOWN: &[(&str, &str, &str, i64)] = &[
    ("R_64F", "f64_r", "fp64", 64),
    ("R_32F", "f32_r", "fp32", 32),
    ("R_16F", "f16_r", "fp16", 16),
    ("R_16BF", "bf16_r", "bf16", 16),
    ("R_8F_E4M3", "f8_r", "fp8_e4m3", 8),
    ("R_8F_E5M2", "bf8_r", "fp8_e5m2", 8),
    ("R_8F_UE4M3", "", "fp8_ue4m3", 8),
    ("R_8F_UE8M0", "", "fp8_ue8m0", 8),
    ("R_8F_E4M3_FNUZ", "f8_fnuz_r", "fp8_e4m3_fnuz", 8),
    ("R_8F_E5M2_FNUZ", "bf8_fnuz_r", "fp8_e5m2_fnuz", 8),
    ("R_6F_E2M3", "f6_r", "fp6_e2m3", 6),
    ("R_6F_E3M2", "bf6_r", "fp6_e3m2", 6),
    ("R_4F_E2M1", "f4_r", "fp4", 4),
    ("R_32I", "i32_r", "int32", 32),
    ("R_16I", "i16_r", "int16", 16),
    ("R_8I", "i8_r", "int8", 8),
    ("R_8U", "u8_r", "uint8", 8),
    ("R_4I", "i4_r", "int4", 4),
    ("R_4U", "u4_r", "uint4", 4),
    ("C_64F", "f64_c", "complex128", 128),
    ("C_32F", "f32_c", "complex64", 64),
    ("C_16F", "f16_c", "complex32", 32),
    ("C_16BF", "bf16_c", "complex_bf16", 32),
];

impl Element {
    /// From a word as `CUDA_R_16BF(14)`, `R_16BF` or `bf16_r`.
    pub(crate) fn of(word: &str) -> Element {
        let word = word.split('(').next().unwrap_or(word);
        let word = word.strip_prefix("CUDA_").or(word.strip_prefix("HIP_")).unwrap_or(word);
        let known = KNOWN.iter().find(|(nvidia, amd, ..)| {
            word.eq_ignore_ascii_case(nvidia) || (!amd.is_empty() && word.eq_ignore_ascii_case(amd))
        });
        match known {
            Some((nvidia, _, name, bits)) => {
                Element { name: (*name).to_owned(), bits: Some(*bits), complex: nvidia.starts_with("C_") }
            }
            None => Element { name: word.to_ascii_lowercase(), bits: None, complex: false },
        }
    }

    pub(crate) fn of_letter(letter: char) -> Option<Element> {
        Some(Element::of(match letter.to_ascii_lowercase() {
            'h' => "R_16F",
            's' => "R_32F",
            'd' => "R_64F",
            'c' => "C_32F",
            'z' => "C_64F",
            _ => return None,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_there_once() {
        for (index, (nvidia, amd, name, _)) in KNOWN.iter().enumerate() {
            assert_eq!(KNOWN.iter().position(|known| known.2 == *name), Some(index));
            assert_eq!(Element::of(nvidia).name, *name);
            assert!(amd.is_empty() || Element::of(amd).name == *name);
        }
        let found = Element::of("CUDA_R_16BF(14)");
        assert_eq!((found.name.as_str(), found.bits, found.complex), ("bf16", Some(16), false));
        assert_eq!(Element::of("R_3F"), Element { name: "r_3f".to_owned(), bits: None, complex: false });
        assert!(Element::of_letter('Z').is_some_and(|found| found.complex && found.bits == Some(128)));
    }
}
