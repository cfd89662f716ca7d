//! What holds for every device, and what is known of a few.

use super::catalog::own_keys;
use super::{Catalog, Confidence, Device, DeviceKind, HardwareError, file, files};
use crate::near;
use crate::precision::Dtype;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;

fn devices() -> Vec<(&'static str, Device)> {
    let read = |file, text| file::read(file, text).unwrap_or_else(|error| panic!("{error}"));
    files::FILES.iter().map(|&(file, text)| (file, read(file, text))).collect()
}

fn find(name: &str) -> &'static Device {
    Catalog::embedded().find(name).unwrap_or_else(|error| panic!("{error}: {error:?}"))
}

/// A device of the user's, with the lines of `more` after the head.
fn own(name: &str, more: &str) -> String {
    format!("name = '{name}'\nvendor = 'Acme'\nkind = 'asic'\narch = 'A1'\nsource = 'our lab'\n{more}")
}

#[test]
fn every_file_of_the_folder_is_embedded() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../catalog/hardware");
    let embedded: HashSet<&str> = files::FILES.iter().map(|(file, _)| *file).collect();
    assert_eq!(embedded.len(), files::FILES.len(), "a file stands in FILES twice");
    assert!(files::FILES.is_sorted(), "FILES is not sorted");
    for entry in std::fs::read_dir(&folder).expect("catalog/hardware") {
        let name = entry.expect("an entry").file_name().into_string().expect("a readable name");
        assert!(name == "README.md" || embedded.contains(&*name), "add {name} to FILES in hardware/files.rs");
    }
}

#[test]
fn every_file_can_be_read() {
    assert_eq!(devices().len(), Catalog::embedded().devices().len());
    for (file, device) in devices() {
        let vendor = near::key(&device.vendor);
        assert!(file.starts_with(&format!("{vendor}-")), "{file} is by {}", device.vendor);
    }
}

#[test]
fn the_readme_shows_a_file_that_can_be_read() {
    let readme = include_str!("../../../../catalog/hardware/README.md");
    let sample = readme.split("```").find_map(|block| block.strip_prefix("toml\n")).expect("a sample");
    file::read("README.md", sample).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn a_name_means_one_device() {
    let mut taken: BTreeMap<String, &str> = BTreeMap::new();
    for (file, device) in devices() {
        for (key, name) in own_keys(&device) {
            assert!(!key.is_empty(), "{file}: {name:?} is no name");
            if let Some(other) = taken.insert(key, file) {
                panic!("{file}: {name:?} already names the device of {other}");
            }
        }
    }
}

#[test]
fn an_alias_says_something_new() {
    for (file, device) in devices() {
        let keys: HashSet<String> = device.aliases.iter().map(|alias| near::key(alias)).collect();
        assert_eq!(keys.len(), device.aliases.len(), "{file}: two aliases are the same");
        assert!(!keys.contains(&near::key(&device.name)), "{file}: an alias is the name");
    }
}

#[test]
fn a_conflict_is_told() {
    for (file, device) in devices() {
        let from = &device.provenance;
        let conflicting = [&from.compute, &from.memory, &from.package]
            .into_iter()
            .flatten()
            .any(|group| group.confidence == Confidence::Conflicting);
        assert!(!conflicting || !device.conflicts.is_empty(), "{file}: say what conflicts");
    }
}

/// On these architectures halving the width doubles the dense rate; a sparse figure among dense ones
/// would make it four.
#[test]
fn peaks_are_dense() {
    let mut checked = 0;
    for (file, device) in devices() {
        let doubles = ["Ampere", "Ada", "Hopper", "Blackwell sm_100", "CDNA3", "CDNA4"];
        if !doubles.iter().any(|arch| device.arch.starts_with(arch)) {
            continue;
        }
        for (wide, narrow) in
            [(Dtype::Bf16, Dtype::Fp8), (Dtype::Fp8, Dtype::Fp4), (Dtype::Tf32, Dtype::Bf16)]
        {
            if let (Some(a), Some(b)) = (device.peak_flops(wide), device.peak_flops(narrow)) {
                assert!((1.95..2.05).contains(&(b / a)), "{file}: {narrow:?} is {} times {wide:?}", b / a);
                checked += 1;
            }
        }
    }
    assert!(checked > 30, "only {checked} pairs of rates");
}

#[test]
fn figures_in_base_units() {
    let h100 = find("H100-SXM5-80GB");
    assert_eq!(
        (h100.vendor.as_str(), h100.kind, h100.arch.as_str()),
        ("NVIDIA", DeviceKind::Gpu, "Hopper sm_90")
    );
    assert_eq!(h100.peak_flops(Dtype::Bf16), Some(989.4e12));
    assert_eq!(h100.peak_flops(Dtype::Fp8), Some(1978.9e12));
    assert_eq!(h100.peak_flops(Dtype::Fp4), None);
    assert_eq!(h100.measured_bf16_matmul_flops_per_s, Some(794.5e12));
    // As the driver reports it: more than the 80 GB it is sold with.
    assert_eq!(h100.memory_bytes, Some(81_089 * 1_048_576));
    assert_eq!(h100.bandwidth_bytes_per_s, Some(3.35e12));
    assert_eq!(h100.l2_bytes, Some(50 << 20));
    assert_eq!((h100.compute_units, h100.tdp_watts), (Some(132), Some(700.0)));
    assert_eq!((h100.link_bytes_per_s, h100.host_link_bytes_per_s), (Some(450e9), Some(64e9)));
    let compute = h100.provenance.compute.as_ref().expect("a source");
    assert_eq!(compute.confidence, Confidence::Secondary);

    let a100 = find("a100");
    assert_eq!(a100.memory_bytes, Some(84_990_623_744));
    assert_eq!((a100.peak_flops(Dtype::Bf16), a100.bandwidth_bytes_per_s), (Some(312e12), Some(2.039e12)));
    assert_eq!(find("mi300x").llc_bytes, Some(256 << 20));
    assert_eq!(find("Groq LPU").memory_bytes, Some(230_000_000));
    assert_eq!(find("h20").compute_units, Some(78));
    assert_eq!(find("EPYC 9654").memory_bytes, None);
}

#[test]
fn consumer_devices_accumulate_in_fp16_at_twice_the_rate() {
    let accumulating = |device: &str, sum: Option<Dtype>| {
        let rates = &find(device).peaks;
        let rate = rates.iter().find(|rate| rate.dtype == Dtype::Fp16 && rate.accumulate == sum);
        rate.map(|rate| rate.flops_per_s)
    };
    assert_eq!(accumulating("rtx4090", None), Some(165.2e12));
    assert_eq!(accumulating("rtx4090", Some(Dtype::Fp16)), Some(330.3e12));
    // The catalog names an accumulator only where it changes the rate.
    assert_eq!(accumulating("h100", Some(Dtype::Fp16)), None);
}

#[test]
fn a_missing_rate_falls_to_the_next_wider() {
    let note = |device: &str, dtype| {
        let peak = find(device).matmul_peak(dtype).expect("a rate");
        (peak.flops_per_s, peak.dtype, peak.note)
    };
    let told = |text: &str| Some(text.to_owned());
    assert_eq!(note("h100", Dtype::Bf16), (989.4e12, Dtype::Bf16, None));
    assert_eq!(note("h100", Dtype::Fp4), (1978.9e12, Dtype::Fp8, told("no fp4 peak: fp8 used")));
    assert_eq!(note("a100", Dtype::Fp8), (312e12, Dtype::Bf16, told("no fp8 peak: bf16 used")));
    assert_eq!(note("t4", Dtype::Bf16), (65e12, Dtype::Fp16, told("no bf16 peak: fp16 used")));
    assert_eq!(note("t4", Dtype::Int4), (130e12, Dtype::Int8, told("no int4 peak: int8 used")));
    assert_eq!(note("mi355x", Dtype::Tf32), (157.3e12, Dtype::Fp32, told("no tf32 peak: fp32 used")));
    assert_eq!(find("m5").matmul_peak(Dtype::Bf16), None);
}

#[test]
fn ridge_points() {
    let expected = [
        ("h20", 37.0),
        ("m4-max", 31.5),
        ("rtx4090", 163.9),
        ("h200", 206.1),
        ("mi300x", 246.7),
        ("b200", 281.2),
        ("h100", 295.3),
        ("mi355x", 314.6),
        ("l40s", 419.0),
    ];
    for (device, ridge) in expected {
        let computed = find(device).ridge_flops_per_byte(Dtype::Bf16).expect("a ridge");
        assert!((computed - ridge).abs() < 0.06, "{device}: {computed}, not {ridge}");
    }
}

/// What torch, nvidia-smi, rocm-smi and people call the devices.
#[test]
fn names_in_use_are_found() {
    let same = [
        ("H100 SXM5 80GB", "NVIDIA H100 80GB HBM3|h100|h100-sxm|H100 SXM|nvidia_h100|10DE:2330"),
        ("H100 PCIe 80GB", "NVIDIA H100 PCIe|h100-pcie|10de:2331"),
        ("H100 NVL 94GB", "NVIDIA H100 NVL"),
        ("H200 SXM 141GB", "NVIDIA H200|h200"),
        ("GH200 96GB", "NVIDIA GH200 480GB"),
        ("H800 SXM 80GB", "NVIDIA H800"),
        ("H20 96GB", "NVIDIA H20"),
        ("A100 SXM4 80GB", "NVIDIA A100-SXM4-80GB|A100-SXM4-80GB|a100|10de:20b2"),
        ("A100 SXM4 40GB", "NVIDIA A100-SXM4-40GB|10de:20b0"),
        ("A100 PCIe 80GB", "NVIDIA A100 80GB PCIe|10de:20b5"),
        ("B200 SXM 180GB", "NVIDIA B200|b200"),
        ("GB200 186GB", "NVIDIA GB200|GB200-186GB (per GPU)"),
        ("B300 SXM 288GB", "NVIDIA B300 SXM6 AC"),
        ("L4 24GB", "NVIDIA L4|l4|10de:27b8"),
        ("L40S 48GB", "NVIDIA L40S|10de:26b9"),
        ("T4 16GB", "Tesla T4|t4|10de:1eb8"),
        ("V100 SXM2 32GB", "Tesla V100-SXM2-32GB"),
        ("RTX 4090 24GB", "NVIDIA GeForce RTX 4090|rtx4090|4090|10de:2684"),
        ("RTX 5090 32GB", "NVIDIA GeForce RTX 5090"),
        ("RTX PRO 6000 Blackwell Server Edition 96GB", "NVIDIA RTX PRO 6000 Blackwell Server Edition"),
        ("MI300X 192GB", "AMD Instinct MI300X|AMD Instinct MI300X VF|mi300x|1002:74a1"),
        ("MI250X GCD 64GB", "AMD Instinct MI250X"),
        ("TPU v5e", "tpu-v5e|TPU v5 lite"),
        ("Apple M4 Max (40-core GPU)", "m4-max|Apple M4 Max"),
        ("Xeon Platinum 8480+ (one socket)", "Intel(R) Xeon(R) Platinum 8480+"),
        ("EPYC 9654 (one socket)", "AMD EPYC 9654 96-Core Processor"),
    ];
    for (device, names) in same {
        for name in names.split('|').chain([device]) {
            assert_eq!(find(name).name, device, "{name}");
        }
    }
}

#[test]
fn an_unknown_name_gets_the_nearest() {
    let near = |wanted: &str| match Catalog::embedded().find(wanted) {
        Err(HardwareError::Unknown { name, near }) if name == wanted => near,
        other => panic!("{wanted}: {other:?}"),
    };
    assert_eq!(near("NVIDIA A10G")[0], "A10 24GB");
    assert_eq!(near("NVIDIA GeForce RTX 4090 Laptop GPU")[0], "RTX 4090 24GB");
    assert_eq!(near("MI300")[0], "MI300X 192GB");
    assert!(near("h10").iter().any(|name| name == "H100 SXM5 80GB"));
    assert!(near("rtx").len() <= 5);
    assert!(near("AMD H100").iter().any(|name| name == "H100 SXM5 80GB"));
    assert!(near("quux").is_empty() && near("").is_empty());
}

#[test]
fn a_device_of_the_users_goes_before() {
    let h100 = own("NVIDIA H100 SXM5 80GB", "[memory]\nconfidence = 'vendor'\nbandwidth_gb_per_s = 3000\n")
        .replace("Acme", "NVIDIA");
    let mine = own("Card One", "aliases = ['one', 'h20']\npci_ids = ['abcd:0001']\n");
    let catalog = Catalog::with([("h100.toml", h100), ("one.toml", mine)]).expect("a catalog");
    let bandwidth = |name: &str| catalog.find(name).expect(name).bandwidth_bytes_per_s;
    assert_eq!(bandwidth("H100 SXM5 80GB"), Some(3e12));
    assert_eq!(bandwidth("NVIDIA H100 80GB HBM3"), Some(3e12), "the aliases lead to it");
    for name in ["card-one", "Acme Card One", "ONE", "h20", "ABCD:0001"] {
        assert_eq!(catalog.find(name).expect(name).name, "Card One");
    }
    assert_eq!(catalog.find("H20-96GB").expect("the embedded one").name, "H20 96GB");
    assert_eq!(catalog.devices().len(), Catalog::embedded().devices().len() + 1);
}

#[test]
fn a_bad_file_is_refused_by_name() {
    let refused = |more: &str| {
        let text = own("Card One", more);
        Catalog::with([("one.toml", text)]).expect_err(more).to_string()
    };
    let unknown = refused("[memory]\nconfidence = 'vendor'\nsize = 80\n");
    assert!(unknown.starts_with("one.toml does not describe a device") && unknown.contains("`size`"));
    assert!(refused("[memory\n").starts_with("one.toml does not"));
    assert!(refused("[compute]\nconfidence = 'vendor'\ndense_tflops = { fp7 = 1 }\n").contains("fp7"));
    for value in ["0", "-1", "nan", "inf"] {
        let error =
            refused(&format!("[compute]\nconfidence = 'vendor'\ndense_tflops = {{ bf16 = {value} }}\n"));
        assert!(error.starts_with("one.toml: compute.dense_tflops.bf16 is "), "{error}");
    }
    let zero = refused("[package]\nconfidence = 'vendor'\ncompute_units = 0\n");
    assert!(zero.starts_with("one.toml: package.compute_units is 0"), "{zero}");
    assert!(refused("aliases = ['-']\n").starts_with("one.toml: `-` is not a name"));

    let twice =
        [("one.toml", own("Card One", "")), ("two.toml", own("Card Two", "aliases = ['card_one']\n"))];
    let error = Catalog::with(twice).expect_err("one name, two devices").to_string();
    assert_eq!(error, "two.toml: `card_one` already names Card One");
}

#[test]
fn a_device_can_be_written_as_json() {
    let json = serde_json::to_value(find("RTX 4090")).expect("JSON");
    assert_eq!(json["kind"], "gpu");
    assert_eq!(
        json["peaks"][0],
        serde_json::json!({"dtype": "fp32", "accumulate": null, "flops_per_s": 82.6e12})
    );
    assert_eq!(json["provenance"]["compute"]["confidence"], "third-party");
    assert!(json["link_bytes_per_s"].is_null());
}
