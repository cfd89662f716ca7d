//! Mamba-2 (arXiv 2405.21060) and Mamba-Codestral: layers without attention, which keep a state of fixed
//! size. Transformers' `Mamba2ForCausalLM`.

use super::shapes::{PLAIN, all_reduce};
use super::{Design, Family, FamilyConfig};
use crate::config::ConfigError;
use crate::units::{Conv, Dim, Linear, Norm, Ssd, Unit, Weights};

/// The family.
pub(crate) struct Mamba2;

/// A Mamba-2 mixer with its projections.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mixer {
    /// Width of the residual stream.
    pub(crate) hidden: u64,
    /// Heads.
    pub(crate) heads: u64,
    /// Width of a head.
    pub(crate) width: u64,
    /// Size of the state of a channel.
    pub(crate) state: u64,
    /// Groups of heads that share B and C.
    pub(crate) groups: u64,
    /// Taps of the convolution.
    pub(crate) kernel: u64,
    /// Tokens of a chunk.
    pub(crate) chunk: u64,
    /// Whether projections have biases.
    pub(crate) bias: bool,
    /// Whether the convolution has a bias.
    pub(crate) conv_bias: bool,
}

impl Mixer {
    /// Its parts, to the sum over devices.
    #[must_use]
    pub(crate) fn units(&self) -> Vec<Unit> {
        let Mixer { hidden, heads, width, state, groups, kernel, chunk, bias, conv_bias } = *self;
        let wide = Dim::split(heads, width);
        let shared = Dim::split_or_copy(groups, state);
        vec![
            Unit::Linear(
                Linear::new(
                    "in_proj",
                    "mamba.proj",
                    Dim::whole(hidden),
                    [wide, wide, shared, shared, Dim::split(heads, 1)],
                )
                .at("mixer.in_proj")
                .bias(bias)
                .formula("2·T·h·(2·n·p + 2·G·N + n)"),
            ),
            Unit::Conv(Conv {
                class: "mamba.conv",
                channels: vec![wide, shared, shared],
                kernel,
                bias: conv_bias,
                counted_in_step: 2,
                // SiLU.
                vector_flops: 4,
                storage: PLAIN,
            }),
            Unit::Weights(Weights { name: "dt_bias, A_log, D", parameters: 3 * heads }),
            Unit::Ssd(Ssd { heads, width, state, chunk }),
            Unit::Norm(Norm::fused("norm", "norm", heads * width, heads * width)),
            Unit::Linear(
                Linear::new("out_proj", "mamba.proj", wide, [Dim::whole(hidden)])
                    .at("mixer.out_proj")
                    .bias(bias)
                    .formula("2·T·n·p·h"),
            ),
            all_reduce(hidden),
        ]
    }
}

impl Family for Mamba2 {
    fn name(&self) -> &'static str {
        "mamba2"
    }

    fn about(&self) -> &'static str {
        "Mamba-2, Mamba-Codestral"
    }

    fn model_types(&self) -> &'static [&'static str] {
        &["mamba2"]
    }

    fn read(&self, config: &FamilyConfig) -> Result<Design, ConfigError> {
        let keys = &config.text;
        let hidden = keys.size_or("hidden_size", 4_096)?;
        let mixer = Mixer {
            hidden,
            heads: keys.size_or("num_heads", 128)?,
            width: keys.size_or("head_dim", 64)?,
            state: keys.size_or("state_size", 128)?,
            groups: keys.size_or("n_groups", 8)?,
            kernel: keys.size_or("conv_kernel", 4)?,
            chunk: keys.size_or("chunk_size", 256)?,
            bias: keys.flag_or("use_bias", false)?,
            conv_bias: keys.flag_or("use_conv_bias", true)?,
        };
        if keys.size_or("expand", 2)? * hidden != mixer.heads * mixer.width {
            return Err(keys.wrong("expand", "num_heads · head_dim / hidden_size"));
        }
        let mut layer = vec![Unit::Norm(Norm::residual("norm", hidden))];
        layer.extend(mixer.units());
        let layers = vec![layer; keys.layers("num_hidden_layers")?];
        let mut design = Design::decoder(hidden, keys.size("vocab_size")?, config.tied(false)?, layers);
        design.path = "backbone.layers";
        Ok(design)
    }
}
