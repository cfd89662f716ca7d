//! What a request asks for, and how long its prompt is: a token per word, or per id.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct AskedBody {
    prompt: PromptLength,
    messages: PromptLength,
    input: PromptLength,
    query: PromptLength,
    documents: PromptLength,
    max_tokens: Option<u64>,
    max_completion_tokens: Option<u64>,
    max_output_tokens: Option<u64>,
    pub(crate) stream: Option<bool>,
    pub(crate) stream_options: Option<StreamOptions>,
    pub(crate) return_token_ids: Option<bool>,
    pub(crate) model: Option<String>,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
pub(crate) struct StreamOptions {
    pub(crate) include_usage: Option<bool>,
    pub(crate) continuous_usage_stats: Option<bool>,
}

impl AskedBody {
    pub(crate) fn prompt_tokens(&self) -> u64 {
        let ranked = self.query.tokens * self.documents.items + self.documents.tokens;
        self.prompt.tokens + self.messages.tokens + self.input.tokens + ranked
    }

    pub(crate) fn items(&self) -> u64 {
        self.input.items.max(self.documents.items)
    }

    pub(crate) fn max_tokens(&self) -> u64 {
        self.max_completion_tokens.or(self.max_tokens).or(self.max_output_tokens).unwrap_or(16)
    }

    pub(crate) fn wants_usage(&self) -> (bool, bool) {
        let options = self.stream_options.unwrap_or_default();
        let is = |wish: Option<bool>| wish.unwrap_or(false);
        (is(options.include_usage), is(options.include_usage) && is(options.continuous_usage_stats))
    }
}

/// Length of a text, of a list of texts or ids, or of messages. Counted as it is read: a prompt of a hundred thousand
/// tokens must not hold up other answers.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct PromptLength {
    tokens: u64,
    items: u64,
}

impl<'de> Deserialize<'de> for PromptLength {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LengthVisitor)
    }
}

struct LengthVisitor;

fn words(text: &str) -> u64 {
    let mut count = 0;
    let mut within = false;
    for byte in text.bytes() {
        let is_space = byte.is_ascii_whitespace();
        count += u64::from(!is_space && !within);
        within = !is_space;
    }
    count
}

impl<'de> Visitor<'de> for LengthVisitor {
    type Value = PromptLength;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text, token ids, or messages")
    }

    fn visit_str<E>(self, text: &str) -> Result<PromptLength, E> {
        Ok(PromptLength { tokens: words(text), items: 1 })
    }

    fn visit_u64<E>(self, _id: u64) -> Result<PromptLength, E> {
        Ok(PromptLength { tokens: 1, items: 1 })
    }

    fn visit_unit<E>(self) -> Result<PromptLength, E> {
        Ok(PromptLength::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<PromptLength, A::Error> {
        let mut length = PromptLength::default();
        while let Some(item) = list.next_element::<PromptLength>()? {
            length.tokens += item.tokens;
            length.items += 1;
        }
        Ok(length)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PromptLength, A::Error> {
        let mut length = PromptLength { tokens: 0, items: 1 };
        while let Some(key) = map.next_key::<String>()? {
            if key == "content" || key == "text" {
                length.tokens += map.next_value::<PromptLength>()?.tokens;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> u64 {
        serde_json::from_str::<AskedBody>(text).unwrap().prompt_tokens()
    }

    #[test]
    fn prompts_of_every_api_are_counted() {
        assert_eq!(tokens(r#"{"prompt": " a few\nwords \té ", "temperature": 0.5}"#), 4);
        assert_eq!(tokens(r#"{"prompt": [5, 6, 7, 8]}"#), 4);
        assert_eq!(tokens(r#"{"prompt": [[5, 6], [7]]}"#), 3);
        assert_eq!(tokens(r#"{"prompt": null}"#), 0);
        let chat = r#"{"messages": [{"role": "system", "content": "be brief"},
            {"role": "user", "content": [{"type": "text", "text": "one two three"},
                                         {"type": "image_url", "image_url": {"url": "data:x y"}}]}]}"#;
        assert_eq!(tokens(chat), 5);
        assert_eq!(
            tokens(r#"{"input": [{"role": "user", "content": [{"type": "input_text", "text": "a b"}]}]}"#),
            2
        );
        assert_eq!(tokens(r#"{"query": "two words", "documents": ["a", "b c"]}"#), 7);
    }

    #[test]
    fn wishes_are_read() {
        let text = r#"{"max_completion_tokens": 7, "max_tokens": 9, "stream": true,
            "stream_options": {"include_usage": true, "continuous_usage_stats": true}}"#;
        let body: AskedBody = serde_json::from_str(text).unwrap();
        assert_eq!((body.max_tokens(), body.wants_usage()), (7, (true, true)));
        assert_eq!(AskedBody::default().max_tokens(), 16);
        assert_eq!(AskedBody::default().wants_usage(), (false, false));
        assert!(serde_json::from_str::<AskedBody>(r#"{"prompt": tr"#).is_err());
    }
}
