//! The roofline: the least time that a device takes for an operator.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::hardware::Device;
use crate::operator::{Operator, Work};
use crate::precision::Dtype;

/// What limits an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Limit::Compute => "compute",
            Limit::Vector => "vector",
            Limit::Memory => "memory",
            Limit::Link => "link",
        }
    }
}

/// Least times of an operator, by what it waits for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Seconds {
    /// On the matrix units.
    pub compute: f64,
    /// On the vector units.
    pub vector: f64,
    /// Moving bytes.
    pub memory: f64,
    /// On links.
    pub link: f64,
    /// The longest of them for each step: the least time.
    pub bound: f64,
}

impl Seconds {
    /// Of so many layers.
    #[must_use]
    pub fn times(&self, layers: f64) -> Self {
        Self {
            compute: self.compute * layers,
            vector: self.vector * layers,
            memory: self.memory * layers,
            link: self.link * layers,
            bound: self.bound * layers,
        }
    }

    /// What takes the longest.
    #[must_use]
    pub fn limit(&self) -> Limit {
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
    pub vector: f64,
    /// Bytes a second of memory.
    pub bandwidth: f64,
    /// Bytes a second that a device sends to others; infinite where unknown or alone.
    pub link: f64,
    /// What had to be assumed.
    pub notes: Vec<String>,
}

impl Roof {
    /// The roof of a device: none without a bandwidth and any rate of matrix products.
    #[must_use]
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
            notes.push(format!("{}: no fp32 rate known, vector operations take no time", device.name));
            f64::INFINITY
        });
        let link = device.link_bytes_per_s.or(device.host_link_bytes_per_s).unwrap_or_else(|| {
            notes.push(format!("{}: no link known, exchanges take no time", device.name));
            f64::INFINITY
        });
        Some(Self { matrix, vector, bandwidth, link, notes })
    }

    /// Operations a second of the matrix units in a format.
    #[must_use]
    pub fn matrix(&self, dtype: Dtype) -> f64 {
        self.matrix[Dtype::ALL.iter().position(|known| *known == dtype).unwrap_or(0)]
    }

    /// The same roof with `factor` times the matrix rate and `bytes` times the bandwidth.
    #[must_use]
    pub fn scaled(&self, factor: f64, bytes: f64) -> Self {
        Self {
            matrix: self.matrix.map(|rate| rate * factor),
            vector: self.vector * factor,
            bandwidth: self.bandwidth * bytes,
            ..self.clone()
        }
    }

    /// The least time of an operator.
    #[must_use]
    pub fn seconds(&self, operator: &Operator) -> Seconds {
        self.seconds_of(&operator.work, operator.storage.compute)
    }

    /// The least time of work in a format.
    #[must_use]
    pub fn seconds_of(&self, work: &Work, dtype: Dtype) -> Seconds {
        let compute = work.flops.useful as f64 / self.matrix(dtype);
        let vector = work.vector_flops as f64 / self.vector;
        let memory = work.bytes.total() as f64 / self.bandwidth;
        let link = work.link_bytes as f64 / self.link;
        Seconds { compute, vector, memory, link, bound: compute.max(vector).max(memory).max(link) }
    }
}
