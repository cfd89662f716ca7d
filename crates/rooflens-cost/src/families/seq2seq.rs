//! What encoder-decoder models share: keys that have two names, and layers whose decoder attends to the
//! encoder.

use super::design::FamilyConfig;
use super::shapes::{all_reduce, embedding};
use crate::config::{ConfigError, Keys};
use crate::model::Layer;
use crate::step::Mask;
use crate::units::{Attention, Dim, Embedding, KvCache, Linear, LinearRows, Norm, Unit, Weights};

/// The widest attention that is believed, all heads together: what products of sizes stay exact with.
const WIDEST: u64 = 1 << 26;

pub(crate) struct Sizes<'a> {
    keys: &'a Keys<'a>,
    aliases: &'static [(&'static str, &'static str)],
    pub(crate) notes: Vec<String>,
}

impl<'a> Sizes<'a> {
    /// Of a class that generates text: an encoder alone has neither decoder nor head. `aliases` are keys with
    /// their other names.
    pub(crate) fn of(
        config: &'a FamilyConfig<'a>,
        aliases: &'static [(&'static str, &'static str)],
    ) -> Result<Self, ConfigError> {
        let classes = config.root.texts("architectures")?.unwrap_or_default();
        if classes.first().is_some_and(|class| class.ends_with("EncoderModel")) {
            return Err(ConfigError::Wrong {
                key: "architectures".to_owned(),
                found: classes.join(", "),
                wanted: "a class with a decoder: an encoder alone is not counted",
            });
        }
        Ok(Self { keys: &config.text, aliases, notes: Vec::new() })
    }

    /// A size. Where it is there under both of its names, they must agree.
    pub(crate) fn size(&mut self, key: &str, default: u64) -> Result<u64, ConfigError> {
        let own = self.keys.size_if(key)?;
        let alias = self.aliases.iter().find(|(name, _)| *name == key).map(|(_, alias)| *alias);
        let other = alias.map(|alias| self.keys.size_if(alias)).transpose()?.flatten();
        match (own, other) {
            (Some(value), Some(other)) if value != other => Err(ConfigError::TwoNames {
                key: key.to_owned(),
                value,
                alias: alias.unwrap_or_default().to_owned(),
                other,
            }),
            (None, None) => {
                self.notes.push(format!("{key} is absent: {default}, as its configuration class has it"));
                Ok(default)
            }
            (own, other) => Ok(own.or(other).unwrap_or(default)),
        }
    }

    pub(crate) fn layers(&mut self, key: &str, default: u64) -> Result<usize, ConfigError> {
        let layers = self.size(key, default)?;
        if layers > 10_000 {
            return Err(self.keys.wrong(key, "at most 10,000 layers"));
        }
        Ok(layers as usize)
    }

    pub(crate) fn head_dim(&self, key: &str, hidden: u64, heads: u64) -> Result<u64, ConfigError> {
        if !hidden.is_multiple_of(heads) {
            return Err(self.keys.wrong(key, "a divisor of d_model"));
        }
        Ok(hidden / heads)
    }

    /// Heads that are together wider than anything.
    pub(crate) fn check_width(&self, key: &str, heads: u64, head_dim: u64) -> Result<(), ConfigError> {
        if heads * head_dim > WIDEST {
            return Err(self.keys.wrong(key, "heads with a total width of at most 67,108,864"));
        }
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Biases {
    None,
    All,
    AllButKeys,
}

/// Where the matrices of a layer stand in the checkpoint, below the layer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ModulePaths {
    /// Queries, and the output, of attention to the own sequence.
    pub(crate) own: [&'static str; 2],
    /// Queries, keys and the output of attention to the encoder.
    pub(crate) cross: [&'static str; 3],
    /// The first and the last matrix of the feed-forward network.
    pub(crate) feed_forward: [&'static str; 2],
}

pub(crate) const FAIRSEQ_ALIASES: &[(&str, &str)] = &[
    ("d_model", "hidden_size"),
    ("encoder_layers", "num_hidden_layers"),
    ("encoder_attention_heads", "num_attention_heads"),
];

const FAIRSEQ: ModulePaths = ModulePaths {
    own: ["self_attn.q_proj", "self_attn.out_proj"],
    cross: ["encoder_attn.q_proj", "encoder_attn.k_proj", "encoder_attn.out_proj"],
    feed_forward: ["fc1", "fc2"],
};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Seq2SeqLayer {
    pub(crate) hidden: u64,
    pub(crate) heads: u64,
    pub(crate) head_dim: u64,
    pub(crate) inner: u64,
    pub(crate) gated: bool,
    /// Biases of attention; the feed-forward network has them where attention has any.
    pub(crate) biases: Biases,
    pub(crate) layer_norms: bool,
    /// Whether norms stand behind the blocks, as in the first transformers.
    pub(crate) norms_behind: bool,
    pub(crate) modules: ModulePaths,
}

impl Seq2SeqLayer {
    /// `count` layers of the encoder, each with `more` beside its own parts.
    pub(crate) fn encoder(&self, count: usize, more: &[Unit]) -> Vec<Layer> {
        self.layers(count, more, false)
    }

    /// `count` layers of the decoder, each with `more` beside its own parts.
    pub(crate) fn decoder(&self, count: usize, more: &[Unit]) -> Vec<Layer> {
        self.layers(count, more, true)
    }

    pub(crate) fn norm(&self, name: &'static str) -> Unit {
        let norm = Norm::residual(name, self.hidden);
        Unit::Norm(if self.layer_norms { norm.layer() } else { norm })
    }

    fn layers(&self, count: usize, more: &[Unit], decodes: bool) -> Vec<Layer> {
        let mut blocks = vec![("self_attn_layer_norm", self.own(decodes))];
        if decodes {
            blocks.push(("encoder_attn_layer_norm", self.cross()));
        }
        blocks.push(("final_layer_norm", self.feed_forward()));
        let mut units = more.to_vec();
        for (name, block) in blocks {
            let at = units.len();
            units.extend(block);
            units.insert(if self.norms_behind { units.len() } else { at }, self.norm(name));
        }
        vec![Layer::new(units); count]
    }

    fn columns(&self) -> Dim {
        Dim::split(self.heads, self.head_dim)
    }

    fn core(&self, class: &'static str, mask: Mask, cache: KvCache) -> Unit {
        Unit::Attention(Attention::plain(class, [self.heads; 2], self.head_dim, mask, cache))
    }

    fn output(&self, class: &'static str, module: &'static str) -> [Unit; 2] {
        let output = Linear::new("o_proj", class, self.columns(), [Dim::whole(self.hidden)])
            .at(module)
            .bias(self.biases != Biases::None)
            .unit("2·T·H·d·h");
        [output, all_reduce(self.hidden)]
    }

    /// The number of the output without a bias, where keys stand at `keys`.
    fn unbiased(&self, keys: usize) -> Option<usize> {
        (self.biases == Biases::AllButKeys).then_some(keys)
    }

    fn own(&self, decodes: bool) -> Vec<Unit> {
        let (mask, cache) = if decodes { (Mask::Causal, KvCache::Own) } else { (Mask::All, KvCache::None) };
        let qkv = Linear::new("qkv_proj", "attn.qkv", Dim::whole(self.hidden), [self.columns(); 3])
            .at(self.modules.own[0])
            .bias(self.biases != Biases::None)
            .unbiased(self.unbiased(1))
            .unit("6·T·h·H·d");
        let mut units = vec![qkv, self.core("attn.core", mask, cache)];
        units.extend(self.output("attn.o", self.modules.own[1]));
        units
    }

    fn cross(&self) -> Vec<Unit> {
        let [queries, keys, output] = self.modules.cross;
        let bias = self.biases != Biases::None;
        let queries = Linear::new("cross_q_proj", "cross.q", Dim::whole(self.hidden), [self.columns()])
            .at(queries)
            .bias(bias)
            .unit("2·T·h·H·d");
        let keys = Linear::new("cross_kv_proj", "cross.kv", Dim::whole(self.hidden), [self.columns(); 2])
            .at(keys)
            .bias(bias)
            .unbiased(self.unbiased(0))
            .rows(LinearRows::Media)
            .unit("4·N·h·H·d");
        let mut units = vec![queries, keys];
        units.push(self.core("cross.core", Mask::Cross, KvCache::Own));
        units.extend(self.output("cross.o", output));
        units
    }

    fn feed_forward(&self) -> Vec<Unit> {
        let (bias, [first, last]) = (self.biases != Biases::None, self.modules.feed_forward);
        let columns = Dim::split(self.inner, 1);
        let (outputs, operations, formula) = match self.gated {
            // An activation takes about four operations, the product with the gate one.
            true => (vec![columns; 2], 5, "4·T·h·i"),
            false => (vec![columns], 4, "2·T·h·i"),
        };
        let up = Linear::new("up_proj", "mlp", Dim::whole(self.hidden), outputs)
            .at(first)
            .bias(bias)
            .vector(operations * self.inner)
            .unit(formula);
        let down = Linear::new("down_proj", "mlp", columns, [Dim::whole(self.hidden)])
            .at(last)
            .bias(bias)
            .unit("2·T·i·h");
        vec![up, down, all_reduce(self.hidden)]
    }
}

/// The layers of BART or Whisper by keys that they share: those that encode, and those that decode.
pub(crate) fn fairseq(
    sizes: &mut Sizes,
    hidden: u64,
    [heads, inner, layers]: [u64; 3],
    biases: Biases,
    norms_behind: bool,
) -> Result<[(Seq2SeqLayer, usize); 2], ConfigError> {
    let mut read = |heads_key, inner_key| {
        let heads = sizes.size(heads_key, heads)?;
        Ok(Seq2SeqLayer {
            hidden,
            heads,
            head_dim: sizes.head_dim(heads_key, hidden, heads)?,
            inner: sizes.size(inner_key, inner)?,
            gated: false,
            biases,
            layer_norms: true,
            norms_behind,
            modules: FAIRSEQ,
        })
    };
    let encoder = read("encoder_attention_heads", "encoder_ffn_dim")?;
    let decoder = read("decoder_attention_heads", "decoder_ffn_dim")?;
    let encoder = (encoder, sizes.layers("encoder_layers", layers)?);
    Ok([encoder, (decoder, sizes.layers("decoder_layers", layers)?)])
}

pub(crate) fn encoder_embedding(vocab: u64, hidden: u64, shared: bool) -> Vec<Unit> {
    let mut units = embedding(vocab, hidden, false);
    if let Some(Unit::Embedding(Embedding { shared: is_shared, .. })) = units.first_mut() {
        *is_shared = shared;
    }
    units
}

/// A table that is stored and of which few rows are read: positions, biases of distances.
pub(crate) fn table(name: &'static str, rows: u64, width: u64) -> Unit {
    Unit::Weights(Weights { name, parameters: rows * width })
}
