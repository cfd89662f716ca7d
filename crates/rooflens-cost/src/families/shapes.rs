//! Shapes that many families share: grouped-query attention, gated and plain feed-forward networks,
//! mixtures of experts, the ends of a language model.

use crate::precision::{Dtype, Storage};
use crate::step::Mask;
use crate::units::{Attention, Collective, Dim, Embedding, Experts, KvCache, Linear, LinearRows, Norm, Unit};

/// What is normalised of queries and keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QkNorm {
    /// Nothing.
    None,
    /// Each head, all with the same weights.
    Head,
    /// All heads together.
    Full,
}

/// Grouped-query attention with its projections.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gqa {
    /// Width of the residual stream.
    pub(crate) hidden: u64,
    /// Query heads.
    pub(crate) heads: u64,
    /// Key and value heads.
    pub(crate) kv_heads: u64,
    /// Width of a query and key.
    pub(crate) head_dim: u64,
    /// Width of a value.
    pub(crate) v_head_dim: u64,
    /// Whether queries, keys and values have biases.
    pub(crate) qkv_bias: bool,
    /// Whether the output has a bias.
    pub(crate) o_bias: bool,
    /// What is normalised of queries and keys.
    pub(crate) qk_norm: QkNorm,
    /// Whether the query projection also makes a gate for the result.
    pub(crate) gated: bool,
    /// Elements of a head that are rotated.
    pub(crate) rotated: u64,
    /// Which keys a query sees.
    pub(crate) mask: Mask,
    /// Whose keys and values are read.
    pub(crate) cache: KvCache,
    /// Whether each head has a sink.
    pub(crate) sinks: bool,
    /// Whether keys serve as values too, so that there is no value projection.
    pub(crate) keys_as_values: bool,
}

impl Gqa {
    /// Causal attention without biases, norms or gates.
    #[must_use]
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

    /// Its parts, to the sum over devices.
    #[must_use]
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
        let mut units = vec![Unit::Linear(
            Linear::new("qkv_proj", "attn.qkv", Dim::whole(hidden), outputs)
                .at("self_attn.q_proj")
                .bias(self.qkv_bias)
                .vector(3 * normed * self.rotated.min(head_dim))
                .formula(if self.gated { "2·T·h·(2·H + 2·K)·d" } else { "2·T·h·(H + 2·K)·d" }),
        )];
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
        units.push(Unit::Attention(Attention {
            class: "attn.core",
            heads,
            kv_heads,
            qk_width: head_dim,
            v_width: v_head_dim,
            mask: self.mask,
            cache: self.cache,
            sinks: if self.sinks { heads } else { 0 },
            storage: PLAIN,
        }));
        units.push(Unit::Linear(
            Linear::new("o_proj", "attn.o", Dim::split(heads, v_head_dim), [Dim::whole(hidden)])
                .at("self_attn.o_proj")
                .bias(self.o_bias)
                .formula("2·T·H·d·h"),
        ));
        units.push(Unit::Collective(Collective::AllReduce { width: hidden }));
        units
    }
}

/// Stands in until the checkpoint's formats are known.
pub(crate) const PLAIN: Storage = Storage::plain(Dtype::Bf16);

/// A feed-forward network with a gate: three matrices.
#[must_use]
pub(crate) fn gated_mlp(class: &'static str, hidden: u64, inner: u64, bias: bool) -> Vec<Unit> {
    let (up, down) = match class {
        "moe.shared" => ("mlp.shared_experts.gate_proj", "mlp.shared_experts.down_proj"),
        _ => ("mlp.gate_proj", "mlp.down_proj"),
    };
    vec![
        Unit::Linear(
            Linear::new(
                "gate_up_proj",
                class,
                Dim::whole(hidden),
                [Dim::split(inner, 1), Dim::split(inner, 1)],
            )
            .at(up)
            .bias(bias)
            // SiLU takes about four operations, the product with the gate one.
            .vector(5 * inner)
            .formula("4·T·h·i"),
        ),
        Unit::Linear(
            Linear::new("down_proj", class, Dim::split(inner, 1), [Dim::whole(hidden)])
                .at(down)
                .bias(bias)
                .formula("2·T·i·h"),
        ),
    ]
}

/// A feed-forward network without a gate: two matrices.
#[must_use]
pub(crate) fn plain_mlp(class: &'static str, hidden: u64, inner: u64, bias: bool) -> Vec<Unit> {
    vec![
        Unit::Linear(
            Linear::new("up_proj", class, Dim::whole(hidden), [Dim::split(inner, 1)])
                .at("mlp.up_proj")
                .bias(bias)
                .vector(4 * inner)
                .formula("2·T·h·i"),
        ),
        Unit::Linear(
            Linear::new("down_proj", class, Dim::split(inner, 1), [Dim::whole(hidden)])
                .at("mlp.down_proj")
                .bias(bias)
                .formula("2·T·i·h"),
        ),
    ]
}

/// A mixture of experts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mixture {
    /// Width of the residual stream.
    pub(crate) hidden: u64,
    /// Experts.
    pub(crate) experts: u64,
    /// Experts that each token visits.
    pub(crate) top_k: u64,
    /// Width inside an expert.
    pub(crate) inner: u64,
    /// Width inside the shared expert; 0 for none.
    pub(crate) shared: u64,
    /// Whether the shared expert has a gate of one output.
    pub(crate) shared_gate: bool,
    /// Whether experts have biases.
    pub(crate) bias: bool,
    /// Whether the router has a bias.
    pub(crate) router_bias: bool,
}

impl Mixture {
    /// Its parts, to the sum over devices.
    #[must_use]
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
            units.push(Unit::Linear(
                Linear::new("shared_gate", "moe.shared", Dim::whole(self.hidden), [Dim::whole(1)])
                    .formula("2·T·h"),
            ));
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
#[must_use]
pub(crate) fn router(hidden: u64, experts: u64, bias: bool) -> Unit {
    Unit::Linear(
        Linear::new("router", "moe.router", Dim::whole(hidden), [Dim::whole(experts)])
            .bias(bias)
            .vector(5 * experts)
            .formula("2·T·h·E"),
    )
}

/// The sum behind a dense feed-forward network.
#[must_use]
pub(crate) fn all_reduce(hidden: u64) -> Unit {
    Unit::Collective(Collective::AllReduce { width: hidden })
}

/// A layer as most have it: norm, attention, norm, feed-forward.
#[must_use]
pub(crate) fn pre_norm(hidden: u64, attention: Vec<Unit>, feed_forward: Vec<Unit>) -> Vec<Unit> {
    let mut units = vec![Unit::Norm(Norm::residual("input_layernorm", hidden))];
    units.extend(attention);
    units.push(Unit::Norm(Norm::residual("post_attention_layernorm", hidden)));
    units.extend(feed_forward);
    units
}

/// What stands before the layers.
#[must_use]
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

/// What stands after the layers: the last norm and the head.
#[must_use]
pub(crate) fn head(vocab: u64, hidden: u64, tied: bool) -> Vec<Unit> {
    let mut head = Linear::new("lm_head", "lm_head", Dim::whole(hidden), [Dim::split(vocab, 1)])
        .rows(LinearRows::Sampled)
        .formula("2·rows·h·V");
    // A shared table keeps the embedding's format.
    head.module = if tied { None } else { Some("lm_head") };
    head.shared = tied;
    vec![
        Unit::Norm(Norm::residual("norm", hidden)),
        Unit::Linear(head),
        Unit::Collective(Collective::GatherLogits { width: vocab }),
    ]
}
