//! The catalog's files, embedded.

macro_rules! files {
    ($($name:literal)+) => {
        &[$((concat!($name, ".toml"), include_str!(concat!("../../catalog/", $name, ".toml")))),+]
    };
}

/// The name and text of every file of `catalog/hardware`, in alphabetical order.
pub(super) const FILES: &[(&str, &str)] = files! {
    "amd-epyc-9654" "amd-epyc-9965" "amd-mi250x-gcd" "amd-mi250x" "amd-mi300x" "amd-mi325x" "amd-mi350x"
    "amd-mi355x" "amd-mi455x" "amd-ryzen-ai-max-395"
    "apple-m1-max" "apple-m1-ultra" "apple-m1" "apple-m2-max" "apple-m2-ultra" "apple-m3-max" "apple-m3-ultra"
    "apple-m4-max" "apple-m4" "apple-m5-max" "apple-m5"
    "aws-trainium2"
    "cerebras-wse-3"
    "google-tpu-v4" "google-tpu-v5e" "google-tpu-v5p" "google-tpu-v6e" "google-tpu-v7x"
    "groq-lpu-v1"
    "huawei-ascend-950dt"
    "intel-arc-pro-b60" "intel-gaudi2" "intel-gaudi3" "intel-max-1550-stack" "intel-xeon-6980p"
    "intel-xeon-platinum-8480"
    "nvidia-a10" "nvidia-a100-pcie-80gb" "nvidia-a100-sxm-40gb" "nvidia-a100-sxm-80gb" "nvidia-a30"
    "nvidia-b200" "nvidia-b300" "nvidia-gb10" "nvidia-gb200" "nvidia-gb300" "nvidia-gh200" "nvidia-h100-nvl"
    "nvidia-h100-pcie" "nvidia-h100-sxm" "nvidia-h20" "nvidia-h200-nvl" "nvidia-h200-sxm" "nvidia-h800-sxm"
    "nvidia-jetson-agx-orin-64gb" "nvidia-jetson-thor" "nvidia-l4" "nvidia-l40" "nvidia-l40s"
    "nvidia-rtx-3090" "nvidia-rtx-4090" "nvidia-rtx-5090" "nvidia-rtx-a6000"
    "nvidia-rtx-pro-6000-blackwell-max-q" "nvidia-rtx-pro-6000-blackwell-server"
    "nvidia-rtx-pro-6000-blackwell" "nvidia-rubin" "nvidia-t4" "nvidia-v100-sxm2-32gb"
    "qualcomm-snapdragon-8-elite" "qualcomm-snapdragon-8-gen-3" "qualcomm-snapdragon-x-elite"
};
