//! Answers: their text, event by event, and the body that sends it on time.

mod body;
mod events;
mod responses;
mod words;

pub use body::{AnswerBody, AnswerSetup, ServingSlot};
pub use events::{AnswerApi, AnswerPlan, UsageWish};
