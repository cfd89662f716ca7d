//! `rooflens kernels profile` with regular expressions: the plan selects what Python's `re.search` selects.

use super::corpus_files::corpus;
use super::*;

/// Names as Nsight Compute has them under `--kernel-name-base demangled`.
const NAMES: &[&str] = &[
    "std::enable_if<!T7, void>::type internal::gemvx::kernel<int, int, __nv_bfloat16, (bool)0, (int)7, (bool)0>(T13)",
    "std::enable_if<!T7, void>::type internal::gemvx::kernel<int, int, __nv_bfloat16, (bool)0, (int)6, (bool)0>(T13)",
    "void at::native::<unnamed>::CatArrayBatchedCopy<at::native::<unnamed>::OpaqueType<(unsigned int)2>>(char *)",
    "void at::native::vectorized_elementwise_kernel<(int)4, at::native::MulFunctor<float>, std::array<char *, (unsigned long)3>>(int, T2, T3)",
    "void at::native::unrolled_elementwise_kernel<at::native::copy(at::TensorIteratorBase &)::[lambda() (instance 3)]>(int)",
    "void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<(int)128>>(flash::Flash_fwd_params)",
    "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_tn_align8>(T1::Params)",
    "ampere_sgemm_128x64_nn",
    "gemm",
    "softmax_warp_forward",
    "a|b",
    "x$y^z",
];

/// Expressions that must mean the same to Rooflens, Python and Nsight Compute.
const REGEXES: &[&str] = &[
    "gemm",
    "^gemm|sgemm_",
    "^(gemm|ampere)",
    "^gemm$",
    "gemm|^void flash::",
    r"^std::enable_if<!T7,\ void>::type\ internal::gemvx::kernel<int,\ int,\ __nv_bfloat16,\ \(bool\)0,\ \(int\)7,\ \(bool\)0>\(T13\)$",
    r"^void\ at::native::unrolled_elementwise_kernel<at::native::copy\(at::TensorIteratorBase\ \&\)::\[lambda\(\)\ \(instance\ 3\)\]>\(int\)$",
    r".*internal::gemvx::kernel<.*\(int\)7.*>",
    r"\<unnamed\>",
    "::",
    r"a\|b",
    "a|b",
    r"x\$y\^z",
    r"[|$]",
    r"\d{3}x\d+",
    r"^(?!.*(elementwise|gemv)).*$",
    r"\bkernel\b",
    r"[^a-z_0-9]",
    r"^[\w ]+$",
    "(?:flash|cutlass)::.*(?:traits|gemm)",
    "nothing at all",
];

fn selected(regexes: &[&str]) -> Vec<String> {
    const PROGRAM: &str = "import json, re, sys\nnames, regexes = json.loads(sys.argv[1])\n\
        print(json.dumps([name for name in names if any(re.search(regex, name) for regex in regexes)]))";
    let input = serde_json::json!([NAMES, regexes]).to_string();
    let output = Command::new("python3").args(["-c", PROGRAM, &input]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn planned(arguments: &[&str]) -> (String, String) {
    let told =
        run(&[&["kernels", "profile", "--dry-run", "--ncu", "/nowhere/ncu"], arguments, &["--", "true"]]
            .concat())
        .fine();
    let command = told.lines().last().unwrap();
    assert_eq!(command.matches("--kernel-id").count(), 1, "{command}");
    assert!(
        command.contains("--kernel-name-base demangled") && !command.contains("--kernel-name "),
        "{command}"
    );
    let output = Command::new("sh")
        .args(["-c", &format!("for word in {command}; do printf '%s\\n' \"$word\"; done")])
        .output();
    let words = String::from_utf8(output.unwrap().stdout).unwrap();
    let words: Vec<&str> = words.lines().collect();
    let at = words.iter().position(|word| *word == "--kernel-id").unwrap();
    let value = words[at + 1].strip_prefix("::regex:").unwrap();
    let (regex, numbers) = value.split_once(':').unwrap();
    assert!(!numbers.contains(':'), "ncu splits at colons: {value}");
    (regex.to_owned(), numbers.to_owned())
}

#[test]
fn parity_094_096_kernels_by_pattern_are_those_of_re_search() {
    let folder = Folder::new();
    let list = folder.text("top-kernels.yaml");
    let entry = |regex: &str| {
        format!("-   name: label\n    regex: '{regex}'\n    description: 'Kernel #1 - 30.0% of GPU time'\n")
    };
    for regex in REGEXES {
        let expected = selected(&[regex]);
        folder.write("top-kernels.yaml", format!("kernels:\n{}", entry(regex)).as_bytes());
        for source in [["--kernel", *regex], ["--from", &list]] {
            let (planned, numbers) = planned(&source);
            assert_eq!(selected(&[&planned]), expected, "{source:?}: {regex} became {planned}");
            assert_eq!(numbers, "1");
        }
    }
    let several = ["^gemm|a", "^void flash::|nothing", r"x\$"];
    let words: Vec<&str> = several.iter().flat_map(|regex| ["--kernel", *regex]).collect();
    let (by_name, _) = planned(&words);
    assert_eq!(selected(&[&by_name]), selected(&several), "{by_name}");
    // One by name among them: its whole name, in any of its spellings.
    let text = format!("kernels:\n- name: gemm\n{}{}", entry("^ampere|nothing"), entry("flash::"));
    folder.write("top-kernels.yaml", text.as_bytes());
    let (planned, numbers) = planned(&["--from", &list, "--launches", "2"]);
    assert_eq!(selected(&[&planned]), selected(&["^gemm$", "^ampere|nothing", "flash::"]), "{planned}");
    assert_eq!(numbers, "1|2");
}

#[test]
fn parity_096_with_a_list_only_its_matching_kernels() {
    let folder = Folder::new();
    folder.write(
        "top.yaml",
        b"kernels:\n- name: gemm\n- name: softmax\n- {name: flash attention, regex: 'flash::'}\n",
    );
    let list = folder.text("top.yaml");
    let (planned, _) = planned(&["--from", &list, "--kernel", "^gemm|attention"]);
    assert_eq!(selected(&[&planned]), selected(&["^gemm$", "flash::"]), "{planned}");
    run(&["kernels", "profile", "--from", &list, "--kernel", "nothing", "--dry-run", "--", "true"])
        .fails(5, "none of its kernels match --kernel");
    folder.write("top.yaml", b"kernels:\n- regex: gemm\n");
    run(&["kernels", "profile", "--from", &list, "--kernel", "gemm", "--dry-run", "--", "true"])
        .fails(5, "has no name");
}

#[test]
fn parity_094_unknown_keys_are_named() {
    let folder = Folder::new();
    let list = folder.text("top.yaml");
    let refused = |text: &str| {
        folder.write("top.yaml", text.as_bytes());
        run(&["kernels", "profile", "--from", &list, "--dry-run", "--", "true"])
    };
    let answer = refused("kernels:\n- name: a\n- name: b\n  pattern: x\n");
    answer.fails(5, "kernel 2: unknown key 'pattern'; expected one of name, regex, description");
    for (text, why) in [
        ("kernels:\n- name: a\n  regex: 3\n", "kernel 1: its regex is not a string"),
        ("kernels:\n- description: x\n", "kernel 1: it has neither a name nor a regex"),
        ("kernels:\n- a\n", "kernel 1: it is not a mapping"),
    ] {
        let answer = refused(text);
        assert!(answer.code == 5 && answer.stderr.contains(why), "{text}: {}", answer.stderr);
    }
}

#[test]
fn parity_094_an_invalid_regex_is_told_with_its_position() {
    let folder = Folder::new();
    folder.write("top.yaml", b"kernels:\n- {name: a, regex: 'ge[mm'}\n");
    let from = run(&["kernels", "profile", "--from", &folder.text("top.yaml"), "--dry-run", "--", "true"]);
    from.fails(2, "top.yaml, kernel 1: 'ge[mm'").fails(2, "at character 3: this [ is never closed");
    let answer = run(&["kernels", "profile", "--kernel", "a(?P<x>b)", "--dry-run", "--", "true"]);
    answer.fails(2, "--kernel: 'a(?P<x>b)'").fails(2, "at character 2");
    let none = run(&["kernels", "profile", "--dry-run", "--", "true"]);
    assert_eq!(none.code, 2, "neither --from nor --kernel: {}", none.stderr);
}

#[test]
fn parity_096_the_top_of_a_trace_by_pattern() {
    let trace = fixture("kineto/decode.json");
    let all = json(&["kernels", "top", &trace]);
    let names: Vec<&str> =
        all["kernels"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    let word = &names[0][..4.min(names[0].len())];
    let some = json(&["kernels", "top", &trace, "--kernel", &format!("^{word}")]);
    let found: Vec<&str> =
        some["kernels"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    let expected: Vec<&str> = names.iter().filter(|name| name.starts_with(word)).copied().collect();
    assert!(!expected.is_empty() && expected.len() < names.len());
    assert_eq!(found, expected);
    let none = text(&["kernels", "top", &trace, "--kernel", "no such"]);
    assert!(none.contains("matches --kernel"), "{none}");
}

/// The list that llm-perf-opt made of its own timeline, against the names of that timeline.
#[test]
#[ignore = "needs the corpus"]
fn parity_094_the_list_of_the_reference_selects_its_own_kernels() {
    let examples = corpus("llm-perf-opt/scripts/ncu/examples");
    let list = examples.join("top-10-kernels.yaml");
    let (planned, _) = planned(&["--from", list.to_str().unwrap()]);
    const PROGRAM: &str = "import csv, re, sys\n\
        regex, table, listed = sys.argv[1], sys.argv[2], open(sys.argv[3]).read()\n\
        names = {row['Name'] for row in csv.DictReader(open(table))}\n\
        found = {name for name in names if re.search(regex, name)}\n\
        wanted = set(re.findall(r'^-   name: (.*)$', listed, re.M))\n\
        print(len(names), len(wanted), found == wanted)";
    let table = examples.join("summary_cuda_gpu_kern_sum.csv");
    let output =
        Command::new("python3").args(["-c", PROGRAM, &planned]).args([&table, &list]).output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.ends_with(" 10 True\n"), "{told}{}", String::from_utf8_lossy(&output.stderr));
}
