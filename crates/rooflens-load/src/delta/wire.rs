//! The JSON of events and answers, as far as it matters. What has an unexpected type counts as absent where the rest
//! can still be read.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct WireEvent<'a> {
    pub(crate) id: Scalar<'a>,
    #[serde(rename = "type")]
    pub(crate) kind: Scalar<'a>,
    pub(crate) object: Scalar<'a>,
    pub(crate) message: Scalar<'a>,
    pub(crate) choices: Option<Vec<WireChoice<'a>>>,
    pub(crate) usage: Option<WireUsage<'a>>,
    pub(crate) error: Option<serde_json::Value>,
    pub(crate) delta: Scalar<'a>,
    pub(crate) response: Option<WireResponse<'a>>,
    pub(crate) status: Scalar<'a>,
    pub(crate) output: Option<Vec<OutputItem<'a>>>,
}

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct WireChoice<'a> {
    pub(crate) index: Scalar<'a>,
    pub(crate) text: Scalar<'a>,
    pub(crate) delta: Option<WireMessage<'a>>,
    pub(crate) message: Option<WireMessage<'a>>,
    pub(crate) finish_reason: Scalar<'a>,
    pub(crate) token_ids: Length,
}

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct WireMessage<'a> {
    pub(crate) content: Scalar<'a>,
    pub(crate) refusal: Scalar<'a>,
    pub(crate) reasoning_content: Scalar<'a>,
    pub(crate) reasoning: Scalar<'a>,
    pub(crate) tool_calls: Option<Vec<WireToolCall<'a>>>,
    pub(crate) function_call: Option<WireFunction<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct WireToolCall<'a> {
    pub(crate) function: Option<WireFunction<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct WireFunction<'a> {
    pub(crate) name: Scalar<'a>,
    pub(crate) arguments: Scalar<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct WireUsage<'a> {
    pub(crate) prompt_tokens: Scalar<'a>,
    pub(crate) completion_tokens: Scalar<'a>,
    pub(crate) input_tokens: Scalar<'a>,
    pub(crate) output_tokens: Scalar<'a>,
    pub(crate) prompt_tokens_details: Option<TokenDetails<'a>>,
    pub(crate) input_tokens_details: Option<TokenDetails<'a>>,
    pub(crate) completion_tokens_details: Option<TokenDetails<'a>>,
    pub(crate) output_tokens_details: Option<TokenDetails<'a>>,
    pub(crate) reasoning_tokens: Scalar<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct TokenDetails<'a> {
    pub(crate) cached_tokens: Scalar<'a>,
    pub(crate) reasoning_tokens: Scalar<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct WireResponse<'a> {
    pub(crate) id: Scalar<'a>,
    pub(crate) status: Scalar<'a>,
    pub(crate) usage: Option<WireUsage<'a>>,
    pub(crate) error: Option<serde_json::Value>,
    pub(crate) incomplete_details: Option<IncompleteDetails<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct IncompleteDetails<'a> {
    pub(crate) reason: Scalar<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct OutputItem<'a> {
    #[serde(rename = "type")]
    pub(crate) kind: Scalar<'a>,
    pub(crate) content: Option<Vec<OutputContent<'a>>>,
    pub(crate) arguments: Scalar<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct OutputContent<'a> {
    pub(crate) text: Scalar<'a>,
}

#[derive(Debug, Default)]
pub(super) enum Scalar<'a> {
    #[default]
    Absent,
    Text(Cow<'a, str>),
    Count(u64),
}

impl<'a> Scalar<'a> {
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
