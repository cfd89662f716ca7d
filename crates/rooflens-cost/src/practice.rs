//! What an implementation is taken to do: the best that is known for a bound, stated assumptions for an
//! estimate.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hardware::Device;
use crate::near::nearest;
use crate::precision::Dtype;

/// How devices work together, as far as it changes what each of them computes and sends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Practice {
    /// Whether work that tensor parallelism would replicate (norms, routers) is split by token instead.
    pub(crate) sequence_parallel: bool,
    /// Whether switches reduce and multicast, so that an all-reduce sends each byte once.
    pub(crate) multicast: bool,
    /// Format in which tokens travel to experts; none is the activations'.
    pub(crate) dispatch: Option<Dtype>,
}

impl Practice {
    pub(crate) fn best(device: Option<&Device>) -> Self {
        Self {
            sequence_parallel: true,
            multicast: device.is_some_and(|device| device.link_multicast),
            dispatch: Some(Dtype::Fp8),
        }
    }
}

/// What a user sets of the estimate's assumptions; the rest is by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Assume {
    gemm: Option<f64>,
    attention: Option<f64>,
    bandwidth: Option<f64>,
    link: Option<f64>,
    launch_s: Option<f64>,
    latency_s: Option<f64>,
    overlap: Option<f64>,
    all_reduce: Option<AllReduce>,
    sequence_parallel: Option<bool>,
    dispatch: Option<Dtype>,
    activations: Option<Activations>,
}

/// How all-reduces are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AllReduce {
    /// By a ring: `2·(n-1)/n` of the message per device.
    Ring,
    /// In the switch (NVLink SHARP): the message once per device.
    Multicast,
}

/// What activations are multiplied in where the checkpoint quantises only its weights, to 4 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Activations {
    /// 16 bits, as the checkpoint says.
    Checkpoint,
    /// 8 bits, where there are kernels for it.
    Fp8,
}

/// The assumptions of an estimate, each with its value. Shares are of the device's peaks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Assumed {
    /// Share of the matrix peak that GEMMs reach.
    pub gemm: f64,
    /// Share of the matrix peak that attention and scans reach.
    pub attention: f64,
    /// Share of the memory bandwidth that kernels reach.
    pub bandwidth: f64,
    /// Share of the link bandwidth that collectives reach.
    pub(crate) link: f64,
    /// Seconds between two kernels.
    pub(crate) launch_s: f64,
    /// Seconds that a collective takes however little it sends.
    pub(crate) latency_s: f64,
    /// Share of the communication that is hidden behind compute.
    pub(crate) overlap: f64,
    /// How all-reduces are done.
    pub(crate) all_reduce: AllReduce,
    /// Whether norms and routers are split by token over the devices of tensor parallelism.
    pub(crate) sequence_parallel: bool,
    /// Format in which tokens travel to experts; null is the activations'.
    pub(crate) dispatch: Option<Dtype>,
    /// Format of activations against 4-bit weights.
    pub(crate) activations: Activations,
    /// Whether `gemm` is a measurement of this device that the hardware catalog holds.
    pub(crate) gemm_is_measured: bool,
}

/// Share of the matrix peak that GEMMs reach where nobody has measured the device: what the best measured
/// ones reach lies between 51 % (MI300X) and 87 % (A100).
const GEMM: f64 = 0.7;
/// Share of the matrix peak in attention: FlashAttention-3 reaches 75 % at long sequences on an H100
/// (arXiv 2407.08608), less at short ones and elsewhere.
const ATTENTION: f64 = 0.6;
/// Share of the memory bandwidth: copies reach 80 to 92 % of the datasheet's.
const BANDWIDTH: f64 = 0.8;
/// Share of the link bandwidth: large NCCL all-reduces reach about 80 % (370 of 450 GB/s on HGX H100).
const LINK: f64 = 0.8;
/// From the end of a kernel to the start of the next in a CUDA graph.
const LAUNCH_S: f64 = 2e-6;
/// A small collective within a node.
const LATENCY_S: f64 = 10e-6;

impl Assume {
    pub(crate) const KEYS: &[(&str, &str)] = &[
        ("gemm", "share of the matrix peak in GEMMs"),
        ("attention", "share of the matrix peak in attention"),
        ("bandwidth", "share of the memory bandwidth"),
        ("link", "share of the link bandwidth"),
        ("launch", "time between two kernels, as 2us"),
        ("latency", "time of a small collective, as 10us"),
        ("overlap", "share of communication hidden behind compute"),
        ("all-reduce", "ring or multicast"),
        ("sequence-parallel", "yes or no"),
        ("dispatch", "format of tokens sent to experts: bf16 or fp8"),
        ("activations", "against 4-bit weights: checkpoint or fp8"),
    ];

    /// Sets one of [`Assume::KEYS`].
    ///
    /// ```
    /// use rooflens_cost::practice::Assume;
    /// let mut assume = Assume::default();
    /// assume.set("gemm", "0.8")?;
    /// assume.set("launch", "5us")?;
    /// assert!(assume.set("gemm", "1.2").is_err());
    /// assert!(assume.set("magic", "1").is_err());
    /// # Ok::<(), String>(())
    /// ```
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let wrong = |wanted: String| format!("{key}={value}: expected {wanted}");
        let share = |least_is_zero: bool| {
            let number = value.parse::<f64>().ok();
            let fits = |number: &f64| *number <= 1.0 && (*number > 0.0 || least_is_zero && *number == 0.0);
            number.filter(fits).ok_or_else(|| wrong("a share up to 1, as 0.8".to_owned()))
        };
        let time = || {
            let (digits, unit) = match value.strip_suffix("us").or_else(|| value.strip_suffix("µs")) {
                Some(digits) => (digits, 1e-6),
                None => (value.strip_suffix("ms").unwrap_or(""), 1e-3),
            };
            let number = digits.parse::<f64>().ok().filter(|number| (0.0..=1e6).contains(number));
            number.map(|number| number * unit).ok_or_else(|| wrong("a time, as 2us".to_owned()))
        };
        match key {
            "gemm" => self.gemm = Some(share(false)?),
            "attention" => self.attention = Some(share(false)?),
            "bandwidth" => self.bandwidth = Some(share(false)?),
            "link" => self.link = Some(share(false)?),
            "launch" => self.launch_s = Some(time()?),
            "latency" => self.latency_s = Some(time()?),
            "overlap" => self.overlap = Some(share(true)?),
            "all-reduce" => {
                let ways = [("ring", AllReduce::Ring), ("multicast", AllReduce::Multicast)];
                self.all_reduce = Some(one_of(value, ways).map_err(wrong)?);
            }
            "sequence-parallel" => {
                self.sequence_parallel = Some(one_of(value, [("yes", true), ("no", false)]).map_err(wrong)?);
            }
            "dispatch" => {
                let formats = [("bf16", Dtype::Bf16), ("fp8", Dtype::Fp8)];
                self.dispatch = Some(one_of(value, formats).map_err(wrong)?);
            }
            "activations" => {
                let formats = [("checkpoint", Activations::Checkpoint), ("fp8", Activations::Fp8)];
                self.activations = Some(one_of(value, formats).map_err(wrong)?);
            }
            _ => {
                let known: Vec<&str> = Self::KEYS.iter().map(|(key, _)| *key).collect();
                let near = nearest(key, known.iter().copied());
                let meant = match near.first() {
                    Some(near) => format!("did you mean {near}?"),
                    None => format!("expected one of {}", known.join(", ")),
                };
                return Err(format!("{key}={value}: there is no assumption {key:?}; {meant}"));
            }
        }
        Ok(())
    }

    /// Every assumption on a device.
    pub fn on(&self, device: &Device) -> Assumed {
        let measured = device
            .measured_bf16_matmul_flops_per_s
            .zip(device.peak_flops(Dtype::Bf16))
            .map(|(reached, peak)| reached / peak)
            .filter(|share| *share > 0.0 && *share <= 1.0);
        Assumed {
            gemm: self.gemm.or(measured).unwrap_or(GEMM),
            attention: self.attention.unwrap_or(ATTENTION),
            bandwidth: self.bandwidth.unwrap_or(BANDWIDTH),
            link: self.link.unwrap_or(LINK),
            launch_s: self.launch_s.unwrap_or(LAUNCH_S),
            latency_s: self.latency_s.unwrap_or(LATENCY_S),
            overlap: self.overlap.unwrap_or(0.0),
            all_reduce: match self.all_reduce {
                Some(AllReduce::Multicast) if device.link_multicast => AllReduce::Multicast,
                _ => AllReduce::Ring,
            },
            sequence_parallel: self.sequence_parallel.unwrap_or(false),
            dispatch: self.dispatch,
            activations: self.activations.unwrap_or(Activations::Checkpoint),
            gemm_is_measured: self.gemm.is_none() && measured.is_some(),
        }
    }
}

impl Assumed {
    pub(crate) fn practice(&self) -> Practice {
        Practice {
            sequence_parallel: self.sequence_parallel,
            multicast: self.all_reduce == AllReduce::Multicast,
            dispatch: self.dispatch,
        }
    }

    /// In words, as lines of the report's assumptions.
    pub fn words(&self, devices: u64, routed: bool, weight_only: bool) -> Vec<String> {
        let mut words = vec![
            format!(
                "GEMMs at {} of peak{}",
                percent(self.gemm),
                if self.gemm_is_measured { " (measurement in the hardware catalog)" } else { "" }
            ),
            format!("attention at {}", percent(self.attention)),
            format!("memory bandwidth at {}", percent(self.bandwidth)),
            format!("{} between kernels, one kernel per operator", micro(self.launch_s)),
        ];
        if weight_only {
            words.push(match self.activations {
                Activations::Checkpoint => "16-bit activations against 4-bit weights".to_owned(),
                Activations::Fp8 => "8-bit activations against 4-bit weights".to_owned(),
            });
        }
        let mut lines = vec![format!("estimate: {} (--assume sets them)", words.join("; "))];
        if devices > 1 {
            lines.push(format!("estimate, communication: {}", self.communication(routed)));
        }
        lines
    }

    fn communication(&self, routed: bool) -> String {
        let mut words = vec![
            format!("links at {} and {} per collective", percent(self.link), micro(self.latency_s)),
            match self.all_reduce {
                AllReduce::Ring => "ring all-reduce".to_owned(),
                AllReduce::Multicast => "multicast all-reduce".to_owned(),
            },
            match self.sequence_parallel {
                true => "sequence-parallel norms".to_owned(),
                false => "norms replicated".to_owned(),
            },
            match self.overlap {
                0.0 => "communication not overlapped".to_owned(),
                share => format!("{} of communication overlapped", percent(share)),
            },
        ];
        if routed {
            let format = self.dispatch.map_or("the activations' format", Dtype::as_str);
            words.push(format!("tokens sent to experts in {format}"));
        }
        words.join("; ")
    }
}

/// The value of that name; else the names.
fn one_of<T>(name: &str, known: [(&str, T); 2]) -> Result<T, String> {
    let names = format!("{} or {}", known[0].0, known[1].0);
    known.into_iter().find(|(known, _)| *known == name).map(|(_, value)| value).ok_or(names)
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn micro(seconds: f64) -> String {
    format!("{} µs", (seconds * 1e9).round() / 1e3)
}
