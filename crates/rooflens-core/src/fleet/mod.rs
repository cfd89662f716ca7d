//! Many runs: a store of them, and questions to it.

mod adding;
mod answer;
mod checkout;
mod documents;
mod engine;
mod export;
mod judge;
mod query;
mod store;
mod writer;

/// Rows of an answer.
pub use self::answer::value as json_value;
pub use arrow_array::RecordBatch;
pub use rooflens_store::{DEFAULT_TENANT, is_day, tables};

pub use self::adding::{AddRunsRequest, add};
pub use self::answer::{AnswerColumn, AnswerHead, FirstRows, QueryCost, QueryDocument};
pub use self::checkout::{Checkout, checkout};
pub use self::documents::{
    FailedRun, QueriesDocument, StoreAddedDocument, StoreChangedDocument, StoreRemovedDocument,
    StoreRunsDocument, StoreVacuumedDocument, StoreVerifiedDocument,
};
pub use self::engine::{EngineLimits, has_engine};
pub use self::export::{ExportTarget, statements};
pub use self::query::{AnswerTaker, QueryRequest, QueryText, QueryWatch, query};
pub use self::store::{
    RetainRequest, characters_of_an_id, compact, find, remove, retain, runs, set, store_trend, tag, untag,
    vacuum, verify,
};
pub use self::writer::{AnswerFormat, AnswerWriter};
