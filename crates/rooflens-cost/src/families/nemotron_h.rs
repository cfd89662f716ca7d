//! Nemotron-H (arXiv 2504.03624), Nemotron-Nano 2 and Nemotron 3: a pattern of Mamba-2, attention,
//! feed-forward and expert layers, one block behind one norm each. Transformers' `NemotronHForCausalLM`.

use super::design::{Design, FamilyConfig};
use super::mamba2::Mixer;
use super::mla::draft;
use super::shapes::{Gqa, PLAIN, all_reduce, check_experts, plain_mlp, renamed, router};
use super::trunk::check_heads;
use crate::config::{ConfigError, Keys};
use crate::units::{Collective, Dim, Experts, Linear, Norm, Unit};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Block {
    Mamba,
    Attention,
    FeedForward,
    Experts,
}

pub(super) fn read(config: &FamilyConfig) -> Result<Design, ConfigError> {
    let keys = &config.text;
    // The width inside is heads times their width, whatever `expand` says; the class has biases by
    // `use_bias` alone; the width of the shared expert is that of all of them; the rest are no shapes.
    keys.ignore(&[
        "mamba_proj_bias",
        "mamba_hidden_act",
        "mamba_ssm_cache_dtype",
        "n_shared_experts",
        "moe_shared_expert_overlap",
        "use_mamba_kernels",
        // Of the time step, where files spell them so.
        "mamba_dt_min",
        "mamba_dt_max",
        "mamba_dt_limit",
        "mamba_dt_init_floor",
        "mamba_expand",
    ]);
    let blocks = blocks(keys, "layers_block_type", "hybrid_override_pattern")?
        .unwrap_or_else(|| vec![Block::Mamba, Block::Experts, Block::Attention, Block::FeedForward]);
    if !blocks.contains(&Block::Experts) {
        // The class writes its defaults of all blocks, whichever the pattern has.
        keys.ignore(&[
            "n_routed_experts",
            "num_experts_per_tok",
            "moe_intermediate_size",
            "moe_latent_size",
            "moe_shared_expert_intermediate_size",
        ]);
    }
    let sizes = Sizes::read(keys)?;
    let hidden = sizes.hidden;
    let layers: Result<Vec<Vec<Unit>>, _> = blocks.iter().map(|block| sizes.layer(*block)).collect();
    // The class has a head of its own in any case.
    config.tied(false)?;
    let mut design = Design::decoder(hidden, keys.size_or("vocab_size", 131_072)?, false, layers?);
    design.path = "backbone.layers";
    let drafting = blocks_of_drafts(keys)?;
    for _ in 0..keys.count_or("num_nextn_predict_layers", 0)?.min(64) {
        let units: Result<Vec<Vec<Unit>>, _> = drafting.iter().map(|block| sizes.layer(*block)).collect();
        design.drafts.push(draft(hidden, &units?.concat()));
    }
    Ok(design)
}

fn blocks_of_drafts(keys: &Keys) -> Result<Vec<Block>, ConfigError> {
    let named = blocks(keys, "mtp_layers_block_type", "mtp_hybrid_override_pattern")?;
    Ok(named.unwrap_or_else(|| vec![Block::Attention, Block::Experts]))
}

fn blocks(keys: &Keys, names: &str, pattern: &str) -> Result<Option<Vec<Block>>, ConfigError> {
    let letters = keys.text(pattern);
    // A second spelling that older classes write.
    let other = if names == "layers_block_type" { keys.texts("layer_types")? } else { None };
    let blocks: Vec<Block> = match (keys.texts(names)?.or(other), letters) {
        (Some(words), _) => {
            let of = |word: &str| match word {
                "linear_attention" | "mamba" => Ok(Block::Mamba),
                "full_attention" | "attention" => Ok(Block::Attention),
                "mlp" => Ok(Block::FeedForward),
                "moe" => Ok(Block::Experts),
                _ => Err(keys.wrong(names, "linear_attention, full_attention, mlp or moe for each layer")),
            };
            words.into_iter().map(of).collect::<Result<_, _>>()?
        }
        (None, Some(letters)) => {
            let of = |letter: char| match letter {
                'M' => Ok(Block::Mamba),
                '*' => Ok(Block::Attention),
                '-' => Ok(Block::FeedForward),
                'E' => Ok(Block::Experts),
                _ => Err(keys.wrong(pattern, "a letter of M, *, - and E for each layer")),
            };
            letters.chars().map(of).collect::<Result<_, _>>()?
        }
        (None, None) => return Ok(None),
    };
    if blocks.is_empty() || blocks.len() > 10_000 {
        return Err(keys.wrong(pattern, "1 to 10,000 layers"));
    }
    Ok(Some(blocks))
}

struct Sizes<'a> {
    keys: &'a Keys<'a>,
    hidden: u64,
    mixer: Mixer,
    attention: Gqa,
    inner: u64,
    bias: bool,
    latent: Option<u64>,
}

impl<'a> Sizes<'a> {
    fn read(keys: &'a Keys<'a>) -> Result<Self, ConfigError> {
        let either = |old: &str, new: &str, default: u64| keys.size_or(old, keys.size_or(new, default)?);
        let hidden = keys.size_or("hidden_size", 4_096)?;
        let heads = keys.size_or("num_attention_heads", 32)?;
        let kv_heads =
            if keys.names("num_key_value_heads") { keys.size_or("num_key_value_heads", heads)? } else { 8 };
        let head_dim = either("head_dim", "attention_head_dim", 128)?;
        check_heads(keys, heads, kv_heads, head_dim)?;
        Ok(Self {
            keys,
            hidden,
            mixer: Mixer {
                hidden,
                heads: keys.size_or("mamba_num_heads", 128)?,
                width: keys.size_or("mamba_head_dim", 64)?,
                state: keys.size_or("ssm_state_size", 128)?,
                groups: either("mamba_n_groups", "n_groups", 8)?,
                kernel: either("mamba_d_conv", "conv_kernel", 4)?,
                chunk: either("mamba_chunk_size", "chunk_size", 128)?,
                bias: keys.flag_or("use_bias", false)?,
                conv_bias: keys.flag_or("mamba_conv_bias", keys.flag_or("use_conv_bias", true)?)?,
            },
            attention: Gqa {
                // Position comes from the Mamba layers alone.
                rotated: 0,
                ..Gqa::plain(hidden, heads, kv_heads, head_dim)
            },
            inner: keys.size_or("intermediate_size", 21_504)?,
            bias: keys.flag_or("mlp_bias", false)?,
            latent: keys.size_if("moe_latent_size")?,
        })
    }

    fn layer(&self, block: Block) -> Result<Vec<Unit>, ConfigError> {
        let mut units = vec![Unit::Norm(Norm::residual("norm", self.hidden))];
        match block {
            Block::Mamba => units.extend(self.mixer.units()),
            Block::Attention => units.extend(renamed(
                self.attention.units(),
                &[("self_attn.q_proj", "mixer.q_proj"), ("self_attn.o_proj", "mixer.o_proj")],
            )),
            Block::FeedForward => {
                units.extend(renamed(
                    plain_mlp("mlp", self.hidden, self.inner, self.bias),
                    &[("mlp.up_proj", "mixer.up_proj"), ("mlp.down_proj", "mixer.down_proj")],
                ));
                units.push(all_reduce(self.hidden));
            }
            Block::Experts => units.extend(self.experts()?),
        }
        Ok(units)
    }

    fn experts(&self) -> Result<Vec<Unit>, ConfigError> {
        let (keys, hidden) = (self.keys, self.hidden);
        let count = keys.experts_or("n_routed_experts", 8)?;
        let top_k = keys.size_or("num_experts_per_tok", 2)?;
        check_experts(keys, "num_experts_per_tok", top_k, count)?;
        let width = self.latent.unwrap_or(hidden);
        let through = |name, from, to, module| {
            Linear::new(name, "moe.latent", Dim::whole(from), [Dim::whole(to)])
                .at(module)
                .bias(self.bias)
                .unit("2·T·h·h_l")
        };
        let mut units = vec![router(hidden, count, false)];
        if let Some(latent) = self.latent {
            units.push(through("fc1_latent_proj", hidden, latent, "mixer.fc1_latent_proj"));
        }
        units.push(Unit::Experts(Experts {
            class: "moe.routed",
            module: "mixer.experts.0.up_proj",
            count,
            top_k,
            input: width,
            inner: keys.size_or("moe_intermediate_size", 7_688)?,
            gated: false,
            bias: false,
            counted_per_token: top_k,
            storage: PLAIN,
        }));
        if let Some(latent) = self.latent {
            units.push(through("fc2_latent_proj", latent, hidden, "mixer.fc2_latent_proj"));
        }
        let shared = keys.size_or("moe_shared_expert_intermediate_size", 7_688)?;
        units.extend(renamed(
            plain_mlp("moe.shared", hidden, shared, self.bias),
            &[
                ("mlp.up_proj", "mixer.shared_experts.up_proj"),
                ("mlp.down_proj", "mixer.shared_experts.down_proj"),
            ],
        ));
        units.push(Unit::Collective(Collective::Experts { width, hidden, top_k }));
        Ok(units)
    }
}
