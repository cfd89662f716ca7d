//! Small tokenizers of the kinds that models have.

use tokenizers::models::TrainerWrapper;
use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::models::wordlevel::WordLevel;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::metaspace::{Metaspace, PrependScheme};
use tokenizers::pre_tokenizers::whitespace::Whitespace;
use tokenizers::processors::template::TemplateProcessing;
use tokenizers::{AddedToken, Tokenizer};

use super::*;

pub(super) struct Made {
    pub(super) path: PathBuf,
    pub(super) tokenizer: Tokenizer,
    _folder: TempDir,
}

fn saved(tokenizer: Tokenizer) -> Made {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokenizer.json");
    tokenizer.save(&path, false).unwrap();
    Made { path: folder.path().to_owned(), tokenizer: Tokenizer::from_file(path).unwrap(), _folder: folder }
}

pub(super) fn word_level_with_bos() -> Made {
    let names = ["<s>", "<unk>", "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"];
    let vocabulary = names.iter().zip(0..).map(|(name, id)| ((*name).to_owned(), id)).collect();
    let model = WordLevel::builder().vocab(vocabulary).unk_token("<unk>".to_owned()).build().unwrap();
    let mut tokenizer = Tokenizer::new(model);
    tokenizer.with_pre_tokenizer(Some(Whitespace {}));
    let template = TemplateProcessing::builder()
        .try_single("<s> $A")
        .unwrap()
        .special_tokens(vec![("<s>", 0)])
        .build()
        .unwrap();
    tokenizer.with_post_processor(Some(template));
    tokenizer.add_special_tokens([AddedToken::from("<s>", true)]).unwrap();
    saved(tokenizer)
}

fn trained(mut tokenizer: Tokenizer) -> Tokenizer {
    let syllables = ["ba", "ke", "li", "mo", "nu", "ra", "se", "ti", "vo", "zu"];
    let words = syllables.iter().flat_map(|a| syllables.iter().map(move |b| format!("{a}{b}")));
    let text: Vec<String> = words.map(|word| format!("{word} {word} in {word}")).collect();
    let mut trainer: TrainerWrapper = BpeTrainer::builder()
        .show_progress(false)
        .vocab_size(420)
        .initial_alphabet(ByteLevel::alphabet().into_iter().collect())
        .build()
        .into();
    tokenizer.train(&mut trainer, text.into_iter()).unwrap();
    tokenizer
}

/// Byte-level BPE as of GPT-2, Llama 3 and Qwen. Truncates to 8 tokens, as files of embedding models ask for.
pub(super) fn byte_level_bpe() -> Made {
    let mut tokenizer = Tokenizer::new(BPE::default());
    tokenizer.with_pre_tokenizer(Some(ByteLevel::default().add_prefix_space(false)));
    tokenizer.with_decoder(Some(ByteLevel::default()));
    let mut tokenizer = trained(tokenizer);
    let truncation = tokenizers::TruncationParams { max_length: 8, ..Default::default() };
    tokenizer.with_truncation(Some(truncation)).unwrap();
    let mut made = saved(tokenizer);
    made.tokenizer.with_truncation(None).unwrap();
    made
}

pub(super) fn metaspace_bpe() -> Made {
    let mut tokenizer = Tokenizer::new(BPE::default());
    tokenizer.with_pre_tokenizer(Some(Metaspace::new('▁', PrependScheme::Always, true)));
    tokenizer.with_decoder(Some(Metaspace::new('▁', PrependScheme::Always, true)));
    saved(trained(tokenizer))
}

/// That of the model which comes with a new project: one token per byte.
pub(super) fn tiny_random() -> Made {
    let path = "../rooflens-collect/skeleton/models/tiny-random/tokenizer.json";
    saved(Tokenizer::from_file(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap())
}

pub(super) fn letters() -> Made {
    let letters: [char; 27] =
        std::array::from_fn(|id| if id < 26 { char::from(b'a' + id as u8) } else { ' ' });
    let vocabulary: [(String, u32); 27] = std::array::from_fn(|id| (letters[id].to_string(), id as u32));
    let model = BPE::builder().vocab_and_merges(vocabulary, vec![]).build().unwrap();
    saved(Tokenizer::new(model))
}
