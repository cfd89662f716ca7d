//! The roofline: a lower bound of the time that a device takes for an operator, or an estimate of it.

use std::ops::AddAssign;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hardware::Device;
use crate::operator::{Operator, Work};
use crate::practice::{Activations, Assumed};
use crate::precision::{Dtype, Storage};
use crate::setup::Setup;

/// What limits an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The matrix units.
    Compute,
    /// The vector units.
    Vector,
    /// Memory bandwidth.
    Memory,
    /// The links to other devices.
    Link,
}

impl Limit {
    /// Name, as in `memory`.
    pub fn as_str(self) -> &'static str {
        match self {
            Limit::Compute => "compute",
            Limit::Vector => "vector",
            Limit::Memory => "memory",
            Limit::Link => "link",
        }
    }
}

/// Times of an operator, by what it waits for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Seconds {
    /// On the matrix units.
    pub compute: f64,
    /// On the vector units.
    pub vector: f64,
    /// Moving bytes.
    pub memory: f64,
    /// On links.
    pub link: f64,
    /// The longest of them for each step, and, in an estimate, what each kernel takes besides.
    pub bound: f64,
}

impl Seconds {
    pub(crate) fn times(&self, layers: f64) -> Self {
        Self {
            compute: self.compute * layers,
            vector: self.vector * layers,
            memory: self.memory * layers,
            link: self.link * layers,
            bound: self.bound * layers,
        }
    }

    fn longest(&self) -> f64 {
        self.compute.max(self.vector).max(self.memory).max(self.link)
    }

    pub(crate) fn limit(&self) -> Limit {
        let all = [
            (self.memory, Limit::Memory),
            (self.compute, Limit::Compute),
            (self.vector, Limit::Vector),
            (self.link, Limit::Link),
        ];
        let mut longest = all[0];
        for one in all {
            if one.0 > longest.0 {
                longest = one;
            }
        }
        longest.1
    }
}

impl AddAssign for Seconds {
    fn add_assign(&mut self, other: Self) {
        self.compute += other.compute;
        self.vector += other.vector;
        self.memory += other.memory;
        self.link += other.link;
        self.bound += other.bound;
    }
}

/// What a device can do, as rates.
#[derive(Debug, Clone, PartialEq)]
pub struct Roof {
    /// Operations a second of the matrix units, for each format of [`Dtype::ALL`]; infinite where unknown.
    matrix: [f64; Dtype::ALL.len()],
    /// Operations a second of the vector units; infinite where unknown.
    pub(crate) vector: f64,
    /// Bytes a second of memory.
    pub bandwidth: f64,
    /// Bytes a second that a device sends to others; infinite where unknown or alone.
    pub link: f64,
    /// Bytes a second that a device sends to other nodes.
    pub inter_node: f64,
    /// What 4-bit floating-point weights are multiplied in, where the checkpoint says 16 bits.
    fp4_weights: Option<Dtype>,
    /// What 4-bit integer weights are multiplied in, where the checkpoint says 16 bits.
    int4_weights: Option<Dtype>,
    /// What is reached of the rates; nothing for a bound, which reaches them.
    reached: Option<Assumed>,
    pub(crate) notes: Vec<String>,
}

impl Roof {
    /// The roof of a device: none without a bandwidth and any rate of matmuls.
    pub fn of(device: &Device) -> Option<Self> {
        let bandwidth = device.bandwidth_bytes_per_s?;
        let mut notes = Vec::new();
        let mut any = false;
        let matrix = std::array::from_fn(|i| match device.matmul_peak(Dtype::ALL[i]) {
            Some(peak) => {
                any = true;
                peak.flops_per_s
            }
            None => f64::INFINITY,
        });
        if !any {
            return None;
        }
        let vector = device.peak_flops(Dtype::Fp32).unwrap_or_else(|| {
            notes.push(format!("{}: no fp32 peak known, vector operations take no time", device.name));
            f64::INFINITY
        });
        let link = device.link_bytes_per_s.or(device.host_link_bytes_per_s).unwrap_or_else(|| {
            notes.push(format!("{}: no link known, collectives take no time", device.name));
            f64::INFINITY
        });
        // MXFP4 weights times MXFP8 activations, at the rate of fp8: what FlashInfer and AITER do on such devices.
        let fp4_weights =
            device.peak_flops(Dtype::Fp4).and(device.peak_flops(Dtype::Fp8)).map(|_| Dtype::Fp8);
        Some(Self {
            matrix,
            vector,
            bandwidth,
            link,
            inter_node: f64::INFINITY,
            fp4_weights,
            int4_weights: None,
            reached: None,
            notes,
        })
    }

    /// The same, with the links that the devices of a setup have among themselves.
    pub(crate) fn of_setup(device: &Device, setup: &Setup) -> Option<Self> {
        let mut roof = Self::of(device)?;
        let node = setup.nodes.size.or(device.devices_per_node).unwrap_or(u64::MAX);
        let group = setup.parallel.tp.max(setup.parallel.ep).min(node);
        if let (Some(links), Some(rate)) = (device.direct_links, device.link_among(group))
            && rate < roof.link
        {
            roof.link = rate;
            roof.notes.push(format!(
                "{}: no switch, so {group} devices use {} of its {links} links: {:.0} GB/s",
                device.name,
                group - 1,
                rate / 1e9
            ));
        }
        Some(roof)
    }

    /// What no implementation beats: with the narrowest activations for which there are kernels, and links
    /// between nodes as the setup has them.
    pub(crate) fn bound(device: &Device, setup: &Setup) -> Option<Self> {
        let mut roof = Self { inter_node: setup.nodes.rate(), ..Self::of_setup(device, setup)? };
        roof.take_8_bit_activations(device);
        Some(roof)
    }

    pub(crate) fn estimate(device: &Device, setup: &Setup, assumed: Assumed) -> Option<Self> {
        let mut roof = Self { inter_node: setup.nodes.rate(), ..Self::of_setup(device, setup)? };
        match assumed.activations {
            Activations::Checkpoint => (roof.fp4_weights, roof.int4_weights) = (None, None),
            Activations::Fp8 => roof.take_8_bit_activations(device),
        }
        roof.reached = Some(assumed);
        Some(roof)
    }

    /// 8-bit activations against 4-bit weights: on NVIDIA devices with 8-bit units there are such kernels
    /// (Marlin, TensorRT-LLM's W4A8, QServe); elsewhere where the device multiplies fp4 itself.
    fn take_8_bit_activations(&mut self, device: &Device) {
        if device.vendor == "NVIDIA" {
            let eight =
                [Dtype::Fp8, Dtype::Int8].into_iter().find(|dtype| device.peak_flops(*dtype).is_some());
            let faster = |dtype: &Dtype| self.matrix(*dtype) > self.matrix(Dtype::Bf16);
            let eight = eight.filter(faster);
            self.fp4_weights = self.fp4_weights.or(eight.filter(|dtype| *dtype == Dtype::Fp8));
            self.int4_weights = eight;
        }
    }

    /// What is reached of the rates; nothing for a bound.
    pub(crate) fn reached(&self) -> Option<&Assumed> {
        self.reached.as_ref()
    }

    /// The format in which weights that are stored so are multiplied.
    pub fn compute_format(&self, storage: &Storage) -> Dtype {
        let narrow = match storage.element {
            Dtype::Fp4 => self.fp4_weights,
            Dtype::Int4 => self.int4_weights,
            _ => None,
        };
        narrow.filter(|_| storage.is_weight_only_4_bit()).unwrap_or(storage.compute)
    }

    /// Operations a second of the matrix units in a format.
    pub fn matrix(&self, dtype: Dtype) -> f64 {
        self.matrix[Dtype::ALL.iter().position(|known| *known == dtype).unwrap_or(0)]
    }

    /// The same roof with `factor` times the matrix rate and `bytes` times the bandwidth.
    pub fn scaled(&self, factor: f64, bytes: f64) -> Self {
        Self {
            matrix: self.matrix.map(|rate| rate * factor),
            vector: self.vector * factor,
            bandwidth: self.bandwidth * bytes,
            ..self.clone()
        }
    }

    /// The time of an operator.
    pub fn seconds(&self, operator: &Operator) -> Seconds {
        let peak = self.seconds_of(&operator.work, self.compute_format(&operator.storage));
        let Some(reached) = &self.reached else { return peak };
        let of_matrix = if is_attention(operator.class) { reached.attention } else { reached.gemm };
        let seconds = Seconds {
            compute: peak.compute / of_matrix,
            vector: peak.vector / reached.attention,
            memory: peak.memory / reached.bandwidth,
            link: peak.link / reached.link + if peak.link > 0.0 { reached.latency_s } else { 0.0 },
            bound: 0.0,
        };
        Seconds { bound: seconds.longest() + reached.launch_s, ..seconds }
    }

    /// The lower bound of work in a format.
    pub fn seconds_of(&self, work: &Work, dtype: Dtype) -> Seconds {
        let compute = work.flops.useful as f64 / self.matrix(dtype);
        let vector = work.vector_flops as f64 / self.vector;
        let memory = work.bytes.total() as f64 / self.bandwidth;
        // Links within a node and between nodes carry at the same time.
        let link = (work.link_bytes as f64 / self.link).max(work.inter_node_bytes as f64 / self.inter_node);
        let seconds = Seconds { compute, vector, memory, link, bound: 0.0 };
        Seconds { bound: seconds.longest(), ..seconds }
    }
}

/// Whether operators of a class are scores and values, or the scan of a state: other kernels than GEMMs.
fn is_attention(class: &str) -> bool {
    class.ends_with(".core") || matches!(class, "attn.linear" | "dsa.idx_core" | "gdn.solve" | "mamba.ssd")
}
