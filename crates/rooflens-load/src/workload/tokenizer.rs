//! A model's own tokenizer; in a build without the feature `tokenizers` there is never one.

#[cfg(not(feature = "tokenizers"))]
pub(super) use absent::ModelTokenizer;
#[cfg(feature = "tokenizers")]
pub(super) use present::ModelTokenizer;

#[cfg(feature = "tokenizers")]
mod present {
    use std::path::Path;

    use tokenizers::Tokenizer;

    use super::super::error::OpenWorkloadError;

    pub(crate) struct ModelTokenizer(Tokenizer);

    impl ModelTokenizer {
        pub(crate) fn open(file: &Path) -> Result<Self, OpenWorkloadError> {
            let path = || file.to_owned();
            let bytes =
                std::fs::read(file).map_err(|source| OpenWorkloadError::Read { path: path(), source })?;
            let unusable = |error: tokenizers::Error| OpenWorkloadError::Tokenizer {
                path: path(),
                problem: error.to_string(),
            };
            let mut tokenizer = Tokenizer::from_bytes(bytes).map_err(unusable)?;
            // Files of embedding models ask for truncation and padding, which would make every count a lie.
            tokenizer.with_truncation(None).map_err(unusable)?;
            tokenizer.with_padding(None);
            Ok(ModelTokenizer(tokenizer))
        }

        pub(crate) fn ids(&self, text: &str, with_special: bool) -> Option<Vec<u32>> {
            let encoding = self.0.encode_fast(text, with_special).ok()?;
            Some(encoding.get_ids().to_vec())
        }

        pub(crate) fn text_of(&self, id: u32) -> Option<String> {
            self.0.decode(&[id], true).ok()
        }

        pub(crate) fn vocabulary_size(&self, with_added: bool) -> usize {
            self.0.get_vocab_size(with_added)
        }
    }
}

#[cfg(not(feature = "tokenizers"))]
mod absent {
    use std::path::Path;

    use super::super::error::OpenWorkloadError;

    pub(crate) enum ModelTokenizer {}

    impl ModelTokenizer {
        pub(crate) fn open(_: &Path) -> Result<Self, OpenWorkloadError> {
            Err(OpenWorkloadError::NoTokenizers)
        }

        pub(crate) fn ids(&self, _: &str, _: bool) -> Option<Vec<u32>> {
            match *self {}
        }

        pub(crate) fn text_of(&self, _: u32) -> Option<String> {
            match *self {}
        }

        pub(crate) fn vocabulary_size(&self, _: bool) -> usize {
            match *self {}
        }
    }
}
