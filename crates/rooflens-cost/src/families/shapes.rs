//! Shapes that many families share: grouped-query attention, gated and plain feed-forward networks,
//! mixtures of experts, the ends of a language model.

use crate::config::{ConfigError, Keys};
use crate::precision::{Dtype, Storage};
use crate::step::Mask;
use crate::units::{Attention, Collective, Dim, Embedding, Experts, KvCache, Linear, LinearRows, Norm, Unit};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QkNorm {
    None,
    /// Each head, all with the same weights.
    Head,
    /// All heads together.
    Full,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Gqa {
    pub(crate) hidden: u64,
    pub(crate) heads: u64,
    pub(crate) kv_heads: u64,
    pub(crate) head_dim: u64,
    pub(crate) v_head_dim: u64,
    pub(crate) qkv_bias: bool,
    pub(crate) o_bias: bool,
    pub(crate) qk_norm: QkNorm,
    pub(crate) gated: bool,
    /// Elements of a head that are rotated.
    pub(crate) rotated: u64,
    pub(crate) mask: Mask,
    pub(crate) cache: KvCache,
    pub(crate) sinks: bool,
    /// Whether keys serve as values too, so that there is no value projection.
    pub(crate) keys_as_values: bool,
}

impl Gqa {
    pub(crate) fn plain(hidden: u64, heads: u64, kv_heads: u64, head_dim: u64) -> Self {
        Self {
            hidden,
            heads,
            kv_heads,
            head_dim,
            v_head_dim: head_dim,
            qkv_bias: false,
            o_bias: false,
            qk_norm: QkNorm::None,
            gated: false,
            rotated: head_dim,
            mask: Mask::Causal,
            cache: KvCache::Own,
            sinks: false,
            keys_as_values: false,
        }
    }

    pub(crate) fn units(&self) -> Vec<Unit> {
        let Gqa { hidden, heads, kv_heads, head_dim, v_head_dim, .. } = *self;
        let own = self.cache != KvCache::Shared;
        let mut outputs = vec![Dim::split(heads, head_dim * if self.gated { 2 } else { 1 })];
        if own {
            outputs.push(Dim::split_or_copy(kv_heads, head_dim));
            if !self.keys_as_values {
                outputs.push(Dim::split_or_copy(kv_heads, v_head_dim));
            }
        }
        let normed = heads + if own { kv_heads } else { 0 };
        let mut units = vec![
            Linear::new("qkv_proj", "attn.qkv", Dim::whole(hidden), outputs)
                .at("self_attn.q_proj")
                .bias(self.qkv_bias)
                .vector(3 * normed * self.rotated.min(head_dim))
                .unit(if self.gated { "2·T·h·(2·H + 2·K)·d" } else { "2·T·h·(H + 2·K)·d" }),
        ];
        let parameters = match self.qk_norm {
            QkNorm::None => 0,
            QkNorm::Head if own => 2 * head_dim,
            QkNorm::Head => head_dim,
            QkNorm::Full => normed * head_dim,
        };
        if self.qk_norm != QkNorm::None {
            let keys = (normed - heads) * head_dim;
            let norm = Norm::fused("qk_norm", "norm", normed * head_dim, parameters).with_keys(keys);
            units.push(Unit::Norm(norm));
        }
        let core = Attention::plain("attn.core", [heads, kv_heads], head_dim, self.mask, self.cache);
        let sinks = if self.sinks { heads } else { 0 };
        units.push(Unit::Attention(Attention { v_width: v_head_dim, sinks, ..core }));
        units.push(
            Linear::new("o_proj", "attn.o", Dim::split(heads, v_head_dim), [Dim::whole(hidden)])
                .at("self_attn.o_proj")
                .bias(self.o_bias)
                .unit("2·T·H·d·h"),
        );
        units.push(all_reduce(hidden));
        units
    }
}

/// Stands in until the checkpoint's formats are known.
pub(crate) const PLAIN: Storage = Storage::plain(Dtype::Bf16);

/// Operations of the vector units for a SiLU.
pub(crate) const SILU: u64 = 4;

pub(crate) fn gated_mlp(class: &'static str, hidden: u64, inner: u64, bias: bool) -> Vec<Unit> {
    let (up, down) = match class {
        "moe.shared" => ("mlp.shared_experts.gate_proj", "mlp.shared_experts.down_proj"),
        _ => ("mlp.gate_proj", "mlp.down_proj"),
    };
    vec![
        Linear::new("gate_up_proj", class, Dim::whole(hidden), [Dim::split(inner, 1), Dim::split(inner, 1)])
            .at(up)
            .bias(bias)
            // SiLU takes about four operations, the product with the gate one.
            .vector(5 * inner)
            .unit("4·T·h·i"),
        Linear::new("down_proj", class, Dim::split(inner, 1), [Dim::whole(hidden)])
            .at(down)
            .bias(bias)
            .unit("2·T·i·h"),
    ]
}

pub(crate) fn dense_mlp(hidden: u64, inner: u64, bias: bool) -> Vec<Unit> {
    let mut units = gated_mlp("mlp", hidden, inner, bias);
    units.push(all_reduce(hidden));
    units
}

pub(crate) fn plain_mlp(class: &'static str, hidden: u64, inner: u64, bias: bool) -> Vec<Unit> {
    vec![
        Linear::new("up_proj", class, Dim::whole(hidden), [Dim::split(inner, 1)])
            .at("mlp.up_proj")
            .bias(bias)
            .vector(4 * inner)
            .unit("2·T·h·i"),
        Linear::new("down_proj", class, Dim::split(inner, 1), [Dim::whole(hidden)])
            .at("mlp.down_proj")
            .bias(bias)
            .unit("2·T·i·h"),
    ]
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Mixture {
    pub(crate) hidden: u64,
    pub(crate) experts: u64,
    pub(crate) top_k: u64,
    pub(crate) inner: u64,
    /// Width inside the shared expert; 0 for none.
    pub(crate) shared: u64,
    pub(crate) shared_gate: bool,
    pub(crate) bias: bool,
    pub(crate) router_bias: bool,
}

impl Mixture {
    pub(crate) fn plain(hidden: u64, experts: u64, top_k: u64, inner: u64) -> Self {
        let (shared_gate, bias, router_bias) = (false, false, false);
        Self { hidden, experts, top_k, inner, shared: 0, shared_gate, bias, router_bias }
    }

    /// Reads the number of experts and the width of one, each with its key and default.
    pub(crate) fn read(
        keys: &Keys,
        hidden: u64,
        (own, experts): (&'static str, u64),
        top_k: u64,
        (width, inner): (&str, u64),
    ) -> Result<Self, ConfigError> {
        let experts = keys.experts_or(own, experts)?;
        let top_k = keys.size_or("num_experts_per_tok", top_k)?;
        Self::plain(hidden, experts, top_k, keys.size_or(width, inner)?).checked(keys, "num_experts_per_tok")
    }

    pub(crate) fn checked(self, keys: &Keys, key: &str) -> Result<Self, ConfigError> {
        check_experts(keys, key, self.top_k, self.experts)?;
        Ok(self)
    }

    pub(crate) fn units(&self) -> Vec<Unit> {
        let mut units = vec![
            router(self.hidden, self.experts, self.router_bias),
            Unit::Experts(Experts {
                class: "moe.routed",
                module: "mlp.experts.0.gate_proj",
                count: self.experts,
                top_k: self.top_k,
                input: self.hidden,
                inner: self.inner,
                gated: true,
                bias: self.bias,
                counted_per_token: self.top_k,
                storage: PLAIN,
            }),
        ];
        if self.shared > 0 {
            units.extend(gated_mlp("moe.shared", self.hidden, self.shared, false));
        }
        if self.shared_gate && self.shared > 0 {
            units.push(
                Linear::new("shared_gate", "moe.shared", Dim::whole(self.hidden), [Dim::whole(1)])
                    .unit("2·T·h"),
            );
        }
        units.push(Unit::Collective(Collective::Experts {
            width: self.hidden,
            hidden: self.hidden,
            top_k: self.top_k,
        }));
        units
    }
}

/// What chooses experts. Never quantised: a wrong choice costs more than the bytes saved.
pub(crate) fn router(hidden: u64, experts: u64, bias: bool) -> Unit {
    Linear::new("router", "moe.router", Dim::whole(hidden), [Dim::whole(experts)])
        .bias(bias)
        .vector(5 * experts)
        .unit("2·T·h·E")
}

pub(crate) fn all_reduce(hidden: u64) -> Unit {
    Unit::Collective(Collective::AllReduce { width: hidden })
}

pub(crate) fn pre_norm(hidden: u64, attention: Vec<Unit>, feed_forward: Vec<Unit>) -> Vec<Unit> {
    let mut units = vec![Unit::Norm(Norm::residual("input_layernorm", hidden))];
    units.extend(attention);
    units.push(Unit::Norm(Norm::residual("post_attention_layernorm", hidden)));
    units.extend(feed_forward);
    units
}

pub(crate) fn embedding(vocab: u64, hidden: u64, tied: bool) -> Vec<Unit> {
    vec![
        Unit::Embedding(Embedding {
            name: "embed_tokens",
            rows: Dim::split(vocab, 1),
            width: hidden,
            tied,
            shared: false,
            storage: PLAIN,
        }),
        all_reduce(hidden),
    ]
}

pub(crate) fn head(vocab: u64, hidden: u64, tied: bool) -> Vec<Unit> {
    let head = Linear::new("lm_head", "lm_head", Dim::whole(hidden), [Dim::split(vocab, 1)]);
    // A shared table keeps the embedding's format.
    let module = if tied { None } else { Some("lm_head") };
    let head = Linear { module, shared: tied, rows: LinearRows::Sampled, ..head };
    vec![
        Unit::Norm(Norm::residual("norm", hidden)),
        head.unit("2·rows·h·V"),
        Unit::Collective(Collective::GatherLogits { width: vocab }),
    ]
}

/// Gives parts that stand at the first of a pair the second as their place.
pub(crate) fn renamed(mut units: Vec<Unit>, names: &[(&str, &'static str)]) -> Vec<Unit> {
    let new = |old: &str| names.iter().find(|(from, _)| *from == old).map(|(_, to)| *to);
    for unit in &mut units {
        match unit {
            Unit::Linear(linear) => {
                if let Some(name) = linear.module.and_then(new) {
                    linear.module = Some(name);
                }
            }
            Unit::Experts(experts) => {
                if let Some(name) = new(experts.module) {
                    experts.module = name;
                }
            }
            _ => {}
        }
    }
    units
}

pub(crate) fn check_experts(keys: &Keys, key: &str, top_k: u64, experts: u64) -> Result<(), ConfigError> {
    if top_k > experts {
        return Err(keys.wrong(key, "at most as many experts as there are"));
    }
    Ok(())
}
