//! The JSON of events and answers, as far as it matters. What has an unexpected type counts as absent where the rest
//! can still be read.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// An event of a stream, or a whole answer.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct WireEvent<'a> {
    #[serde(borrow)]
    pub id: Scalar<'a>,
    #[serde(borrow, rename = "type")]
    pub kind: Scalar<'a>,
    #[serde(borrow)]
    pub object: Scalar<'a>,
    #[serde(borrow)]
    pub message: Scalar<'a>,
    #[serde(borrow)]
    pub choices: Option<Vec<WireChoice<'a>>>,
    #[serde(borrow)]
    pub usage: Option<WireUsage<'a>>,
    pub error: Option<serde_json::Value>,
    #[serde(borrow)]
    pub delta: Scalar<'a>,
    #[serde(borrow)]
    pub response: Option<WireResponse<'a>>,
    #[serde(borrow)]
    pub status: Scalar<'a>,
    #[serde(borrow)]
    pub output: Option<Vec<OutputItem<'a>>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct WireChoice<'a> {
    #[serde(borrow)]
    pub index: Scalar<'a>,
    #[serde(borrow)]
    pub text: Scalar<'a>,
    #[serde(borrow)]
    pub delta: Option<WireMessage<'a>>,
    #[serde(borrow)]
    pub message: Option<WireMessage<'a>>,
    #[serde(borrow)]
    pub finish_reason: Scalar<'a>,
    pub token_ids: Length,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct WireMessage<'a> {
    #[serde(borrow)]
    pub content: Scalar<'a>,
    #[serde(borrow)]
    pub refusal: Scalar<'a>,
    #[serde(borrow)]
    pub reasoning_content: Scalar<'a>,
    #[serde(borrow)]
    pub reasoning: Scalar<'a>,
    #[serde(borrow)]
    pub tool_calls: Option<Vec<WireToolCall<'a>>>,
    #[serde(borrow)]
    pub function_call: Option<WireFunction<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct WireToolCall<'a> {
    #[serde(borrow)]
    pub function: Option<WireFunction<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct WireFunction<'a> {
    #[serde(borrow)]
    pub name: Scalar<'a>,
    #[serde(borrow)]
    pub arguments: Scalar<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct WireUsage<'a> {
    #[serde(borrow)]
    pub prompt_tokens: Scalar<'a>,
    #[serde(borrow)]
    pub completion_tokens: Scalar<'a>,
    #[serde(borrow)]
    pub input_tokens: Scalar<'a>,
    #[serde(borrow)]
    pub output_tokens: Scalar<'a>,
    #[serde(borrow)]
    pub prompt_tokens_details: Option<TokenDetails<'a>>,
    #[serde(borrow)]
    pub input_tokens_details: Option<TokenDetails<'a>>,
    #[serde(borrow)]
    pub completion_tokens_details: Option<TokenDetails<'a>>,
    #[serde(borrow)]
    pub output_tokens_details: Option<TokenDetails<'a>>,
    #[serde(borrow)]
    pub reasoning_tokens: Scalar<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct TokenDetails<'a> {
    #[serde(borrow)]
    pub cached_tokens: Scalar<'a>,
    #[serde(borrow)]
    pub reasoning_tokens: Scalar<'a>,
}

/// The `response` of an event of `/v1/responses`.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct WireResponse<'a> {
    #[serde(borrow)]
    pub id: Scalar<'a>,
    #[serde(borrow)]
    pub status: Scalar<'a>,
    #[serde(borrow)]
    pub usage: Option<WireUsage<'a>>,
    pub error: Option<serde_json::Value>,
    #[serde(borrow)]
    pub incomplete_details: Option<IncompleteDetails<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct IncompleteDetails<'a> {
    #[serde(borrow)]
    pub reason: Scalar<'a>,
}

/// An item of the `output` of a whole answer of `/v1/responses`.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct OutputItem<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Scalar<'a>,
    #[serde(borrow)]
    pub content: Option<Vec<OutputContent<'a>>>,
    #[serde(borrow)]
    pub arguments: Scalar<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct OutputContent<'a> {
    #[serde(borrow)]
    pub text: Scalar<'a>,
}

/// A value that is no object or array.
#[derive(Debug, Default)]
pub(super) enum Scalar<'a> {
    /// Null, absent, or of a type that is not asked for.
    #[default]
    Absent,
    Text(Cow<'a, str>),
    Count(u64),
}

impl<'a> Scalar<'a> {
    /// The text, if there is any.
    pub fn text(&self) -> Option<&Cow<'a, str>> {
        match self {
            Scalar::Text(text) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    pub fn is(&self, word: &str) -> bool {
        matches!(self, Scalar::Text(text) if text == word)
    }

    pub fn count(&self) -> Option<u64> {
        match self {
            Scalar::Count(count) => Some(*count),
            _ => None,
        }
    }
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar<'de>;
    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }
    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Scalar::Text(Cow::Owned(text.to_owned())))
    }
    fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
        Ok(Scalar::Text(Cow::Owned(text)))
    }
    fn visit_u64<E>(self, count: u64) -> Result<Self::Value, E> {
        Ok(Scalar::Count(count))
    }
    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Scalar::Absent)
    }
    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Scalar::Absent)
    }
    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Scalar::Absent)
    }
    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Scalar::Absent)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::Absent)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Absent)
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Scalar::Text(Cow::Borrowed(text)))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Scalar<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

/// The length of an array of which nothing else matters.
#[derive(Default)]
pub(super) struct Length(pub Option<u32>);

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LengthVisitor;
        impl<'de> Visitor<'de> for LengthVisitor {
            type Value = Length;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an array or null")
            }
            fn visit_unit<E>(self) -> Result<Length, E> {
                Ok(Length(None))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Length, A::Error> {
                let mut length = 0u32;
                while items.next_element::<IgnoredAny>()?.is_some() {
                    length = length.saturating_add(1);
                }
                Ok(Length(Some(length)))
            }
        }
        deserializer.deserialize_any(LengthVisitor)
    }
}
