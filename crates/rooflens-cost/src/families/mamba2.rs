//! Mamba-2 (arXiv 2405.21060) and Mamba-Codestral: layers without attention, which keep a state of fixed
//! size. Transformers' `Mamba2ForCausalLM`.

use super::design::{Design, FamilyConfig};
use super::shapes::{SILU, all_reduce};
use crate::config::ConfigError;
use crate::units::{Conv, Dim, Linear, Norm, Ssd, Unit, Weights};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Mixer {
    pub(crate) hidden: u64,
    pub(crate) heads: u64,
    pub(crate) width: u64,
    pub(crate) state: u64,
    /// Groups of heads that share B and C.
    pub(crate) groups: u64,
    pub(crate) kernel: u64,
    pub(crate) chunk: u64,
    pub(crate) bias: bool,
    pub(crate) conv_bias: bool,
}

impl Mixer {
    pub(crate) fn units(&self) -> Vec<Unit> {
        let Mixer { hidden, heads, width, state, groups, kernel, chunk, bias, conv_bias } = *self;
        let wide = Dim::split(heads, width);
        let shared = Dim::split_or_copy(groups, state);
        vec![
            Linear::new(
                "in_proj",
                "mamba.proj",
                Dim::whole(hidden),
                [wide, wide, shared, shared, Dim::split(heads, 1)],
            )
            .at("mixer.in_proj")
            .bias(bias)
            .unit("2·T·h·(2·n·p + 2·G·N + n)"),
            Conv::unit("mamba.conv", vec![wide, shared, shared], kernel, conv_bias, SILU),
            Unit::Weights(Weights { name: "dt_bias, A_log, D", parameters: 3 * heads }),
            Unit::Ssd(Ssd { heads, width, state, chunk }),
            Unit::Norm(Norm::fused("norm", "norm", heads * width, heads * width)),
            Linear::new("out_proj", "mamba.proj", wide, [Dim::whole(hidden)])
                .at("mixer.out_proj")
                .bias(bias)
                .unit("2·T·n·p·h"),
            all_reduce(hidden),
        ]
    }
}

pub(super) fn read(config: &FamilyConfig) -> Result<Design, ConfigError> {
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
