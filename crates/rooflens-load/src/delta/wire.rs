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
    pub(crate) id: Scalar<'a>,
    #[serde(borrow, rename = "type")]
    pub(crate) kind: Scalar<'a>,
    #[serde(borrow)]
    pub(crate) object: Scalar<'a>,
    #[serde(borrow)]
    pub(crate) message: Scalar<'a>,
    #[serde(borrow)]
    pub(crate) choices: Option<Vec<WireChoice<'a>>>,
    #[serde(borrow)]
    pub(crate) usage: Option<WireUsage<'a>>,
    pub(crate) error: Option<serde_json::Value>,
    #[serde(borrow)]
    pub(crate) delta: Scalar<'a>,
    #[serde(borrow)]
    pub(crate) response: Option<WireResponse<'a>>,
    #[serde(borrow)]
    pub(crate) status: Scalar<'a>,
    #[serde(borrow)]
    pub(crate) output: Option<Vec<OutputItem<'a>>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct WireChoice<'a> {
    #[serde(borrow)]
    pub(crate) index: Scalar<'a>,
    #[serde(borrow)]
    pub(crate) text: Scalar<'a>,
    #[serde(borrow)]
    pub(crate) delta: Option<WireMessage<'a>>,
    #[serde(borrow)]
    pub(crate) message: Option<WireMessage<'a>>,
    #[serde(borrow)]
    pub(crate) finish_reason: Scalar<'a>,
    pub(crate) token_ids: Length,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct WireMessage<'a> {
    #[serde(borrow)]
    pub(crate) content: Scalar<'a>,
    #[serde(borrow)]
    pub(crate) refusal: Scalar<'a>,
    #[serde(borrow)]
    pub(crate) reasoning_content: Scalar<'a>,
    #[serde(borrow)]
    pub(crate) reasoning: Scalar<'a>,
    #[serde(borrow)]
    pub(crate) tool_calls: Option<Vec<WireToolCall<'a>>>,
    #[serde(borrow)]
    pub(crate) function_call: Option<WireFunction<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct WireToolCall<'a> {
    #[serde(borrow)]
    pub(crate) function: Option<WireFunction<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct WireFunction<'a> {
    #[serde(borrow)]
    pub(crate) name: Scalar<'a>,
    #[serde(borrow)]
    pub(crate) arguments: Scalar<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct WireUsage<'a> {
    #[serde(borrow)]
    pub(crate) prompt_tokens: Scalar<'a>,
    #[serde(borrow)]
    pub(crate) completion_tokens: Scalar<'a>,
    #[serde(borrow)]
    pub(crate) input_tokens: Scalar<'a>,
    #[serde(borrow)]
    pub(crate) output_tokens: Scalar<'a>,
    #[serde(borrow)]
    pub(crate) prompt_tokens_details: Option<TokenDetails<'a>>,
    #[serde(borrow)]
    pub(crate) input_tokens_details: Option<TokenDetails<'a>>,
    #[serde(borrow)]
    pub(crate) completion_tokens_details: Option<TokenDetails<'a>>,
    #[serde(borrow)]
    pub(crate) output_tokens_details: Option<TokenDetails<'a>>,
    #[serde(borrow)]
    pub(crate) reasoning_tokens: Scalar<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct TokenDetails<'a> {
    #[serde(borrow)]
    pub(crate) cached_tokens: Scalar<'a>,
    #[serde(borrow)]
    pub(crate) reasoning_tokens: Scalar<'a>,
}

/// The `response` of an event of `/v1/responses`.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct WireResponse<'a> {
    #[serde(borrow)]
    pub(crate) id: Scalar<'a>,
    #[serde(borrow)]
    pub(crate) status: Scalar<'a>,
    #[serde(borrow)]
    pub(crate) usage: Option<WireUsage<'a>>,
    pub(crate) error: Option<serde_json::Value>,
    #[serde(borrow)]
    pub(crate) incomplete_details: Option<IncompleteDetails<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct IncompleteDetails<'a> {
    #[serde(borrow)]
    pub(crate) reason: Scalar<'a>,
}

/// An item of the `output` of a whole answer of `/v1/responses`.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct OutputItem<'a> {
    #[serde(borrow, rename = "type")]
    pub(crate) kind: Scalar<'a>,
    #[serde(borrow)]
    pub(crate) content: Option<Vec<OutputContent<'a>>>,
    #[serde(borrow)]
    pub(crate) arguments: Scalar<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct OutputContent<'a> {
    #[serde(borrow)]
    pub(crate) text: Scalar<'a>,
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
    pub(crate) fn text(&self) -> Option<&Cow<'a, str>> {
        match self {
            Scalar::Text(text) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    pub(crate) fn is(&self, word: &str) -> bool {
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
