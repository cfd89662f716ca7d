//! Answers: their text, event by event, and the body that sends it on time.

mod body;
mod events;
mod responses;

pub(crate) use body::{AnswerBody, AnswerSetup, ServingSlot};
pub(crate) use events::{AnswerApi, AnswerPlan, UsageWish};
