use super::*;

#[test]
fn what_matches_by_hand() {
    let cases = [
        ("gemm", "ampere_sgemm_128x64_nn", true),
        ("^gemm", "ampere_sgemm", false),
        ("^a|b$", "ab", true),
        ("^(a|b)$", "ab", false),
        ("(?:a|b)c", "xbc", true),
        ("a{2,3}b", "aab", true),
        ("^a{2}$", "aaa", false),
        ("a+?b*", "aa", true),
        (r"\bmul\b", "x::mul<4>", true),
        (r"\bmul\b", "multiply", false),
        (r"^(?!.*elementwise).*$", "void elementwise_kernel(int)", false),
        (r"^(?!.*elementwise).*$", "void gemm(int)", true),
        (r"kernel(?=<4)", "kernel<4>", true),
        (r"kernel(?=<4)", "kernel<8>", false),
        (r"\(bool\)0,\ \(int\)7", "k<(bool)0, (int)7>", true),
        (r"at::native::<unnamed>", "void at::native::<unnamed>::f()", true),
        (r"\<", "a<b", true),
        (r"[^:]+$", "a::", false),
        (r"^[\w:]+$", "at::native", true),
        (r"[]x]", "a]", true),
        (r"[a\-z]", "b", false),
        ("(?i)GEMM", "sgemm", true),
        ("(?i)[^G]emm", "gemm", false),
        (r"\x41", "A", true),
        ("a|", "b", true),
        ("(a*)*b", &"a".repeat(5000), false),
    ];
    for (text, name, expected) in cases {
        let regex = KernelRegex::new(text).unwrap();
        assert_eq!(regex.is_match(name), expected, "{text} on {name}");
        assert!(!regex.for_ncu().contains(':'), "{}", regex.for_ncu());
    }
}

#[test]
fn what_is_refused_and_where() {
    let cases = [
        ("", 1, "empty"),
        ("(a", 1, "never closed"),
        ("a)b", 2, "closes no group"),
        ("ab[c", 3, "never closed"),
        ("*a", 1, "nothing to repeat"),
        ("a|*", 3, "nothing to repeat"),
        ("a**", 3, "cannot be repeated"),
        ("a{2}{3}", 5, "cannot be repeated"),
        ("a{x}", 2, "without a count"),
        ("a{,3}", 2, "without a count"),
        ("a{3,2}", 2, "above its maximum"),
        ("a{1001}", 2, "1000"),
        ("{", 1, "without a count"),
        ("^*", 2, "an empty match"),
        (r"(a)\1", 4, "referred"),
        ("(?P<x>a)", 1, "may begin with"),
        ("(?<=a)b", 1, "may begin with"),
        ("a(?i)b", 2, "may begin with"),
        ("[[:alpha:]]", 2, "differs between"),
        ("[z-a]", 2, "before its beginning"),
        (r"[\d-z]", 2, "both ends"),
        (r"a\", 2, "at the end"),
        (r"\q", 1, "is unknown"),
        (r"\xZZ", 1, "hexadecimal"),
        ("é", 1, "ASCII"),
    ];
    for (text, at, why) in cases {
        let error = KernelRegex::new(text).unwrap_err();
        assert_eq!(error.at + 1, at, "{text}: {error}");
        assert!(error.why.contains(why), "{text}: {error}");
    }
    let deep = "(".repeat(60) + "a" + &")".repeat(60);
    assert!(KernelRegex::new(&deep).unwrap_err().why.contains("deeply"));
    let large = "((((a{99}){99}){99}){99}){99}";
    assert!(KernelRegex::new(large).unwrap_err().why.contains("too large"));
}

#[test]
fn the_words_of_ncu() {
    let cases = [
        ("^a|b$", "((^a|b$))"),
        (r"\<a::b\>", r"(<a\x3a\x3ab>)"),
        ("(?:ab)+", "((ab)+)"),
        ("a{2,}", "((a){2,})"),
        (r"[:\w-]", r"([\x3a\w\-])"),
        ("(?i)a", "((?i)a)"),
    ];
    for (text, expected) in cases {
        assert_eq!(KernelRegex::new(text).unwrap().for_ncu(), expected, "{text}");
    }
}
