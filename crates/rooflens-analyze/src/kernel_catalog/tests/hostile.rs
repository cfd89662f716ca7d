//! Names that nobody means: no panic, no long names, no long times.

use super::super::{ActivityHint, SHORT_NAME_CHARS, describe};
use std::time::{Duration, Instant};

/// A guard against hangs: a thousand times what a name takes in a debug build, far less than a cube would.
const PATIENCE: Duration = Duration::from_secs(120);

fn check(name: &str) {
    let start = Instant::now();
    for hint in [ActivityHint::Kernel, ActivityHint::Memcpy, ActivityHint::Memset] {
        let info = describe(name, hint);
        let length = info.short_name.chars().count();
        assert!(length <= SHORT_NAME_CHARS, "{length} characters: {}", info.short_name);
        assert!(!info.short_name.chars().any(char::is_control));
    }
    assert!(start.elapsed() < PATIENCE, "{:?} for {} bytes", start.elapsed(), name.len());
}

#[test]
fn brackets_need_not_match() {
    let short = [
        "<", ">", "(", ")", "::", ":", " ", "void ", "a<b", "a>b", "a<b>>c", "f(", "f)", "<>()", "a::",
        "::a", "a<<<<b>>", "x->y<z>", "{lambda",
    ];
    let long = [
        "void void",
        "operator<",
        "[lambda()",
        "(anonymous namespace)::",
        "<unnamed>::",
        "void (anonymous namespace)::f<(anonymous namespace)::g>((anonymous namespace)::h)",
        "f<cute::tuple<cute::C<",
        "std::enable_if<(((8)>(0)))&&x::y, void>::type a::b<c>(d)",
    ];
    for name in short.iter().chain(&long) {
        check(name);
    }
}

#[test]
fn mangling_need_not_be_right() {
    let short = ["_Z", "_ZN", "_ZNE", "_ZN3ab", "_Z3foov", "_ZN1aE", "_ZN2ck3", "_ZNS", "_ZND", "_ZNL"];
    let long = [
        "_ZN99999999999999999999a",
        "_ZN3fooIL",
        "_ZN3fooILi",
        "_ZN3fooIDF",
        "_ZN4für1E",
        "_ZN3\u{1F600}E",
        "_ZN18446744073709551615aE",
    ];
    for name in short.iter().chain(&long) {
        check(name);
    }
}

#[test]
fn any_letters_may_stand_in_a_name() {
    for name in ["ядро<число>(вектор)", "核函数<浮点>", "🚀🚀<🚀>", "a\0b\nc\td", "é::é<é>(é)", "\u{202e}abc"]
    {
        check(name);
        check(&name.repeat(100));
    }
}

#[test]
fn very_long_names_take_linear_time() {
    let short = [
        "a", "<", ">", "(", ")", "::", "a<b>(c)", "_ZN3foo", "1a", "Li1E", "float", "tuple<", "C<128>, ",
        "…", "void ", "_", "9", ")(", "><",
    ];
    let long = ["at::native::", "(anonymous namespace)::", "elementwise_kernel<"];
    for piece in short.iter().chain(&long) {
        check(&piece.repeat(100_000 / piece.len()));
        check(&format!("_ZN1aI{}", piece.repeat(100_000 / piece.len())));
        check(&format!(
            "void at::native::vectorized_elementwise_kernel<4, {}",
            piece.repeat(100_000 / piece.len())
        ));
    }
}

#[test]
fn every_cut_of_a_real_name_is_a_name() {
    let name = "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::silu_kernel(\
                at::TensorIteratorBase&)::{lambda()#1}::operator()() const::{lambda(c10::BFloat16)#1}, std::array<char*, 2ul> >(int)";
    let mangled = "_ZN7sgl_hip10activation18act_and_mul_kernelI14__hip_bfloat16TnPFT_RKS3_EXadL_Z4siluIS2_ES3_S5_EEEEvPS3_PS4_i";
    for name in [name, mangled] {
        for end in 0..=name.len() {
            check(&name[..end]);
            check(&name[end..]);
        }
    }
}
