//! What went wrong, in words for the person who wrote the query.

use std::error::Error;
use std::sync::Arc;

use datafusion::arrow::error::ArrowError;
use datafusion::common::{DataFusionError, SchemaError};
use datafusion::parquet::errors::ParquetError;
use rooflens_engine_protocol::{Fault, Kind};
use rooflens_store::StoreError;

use crate::names;

/// What DataFusion says, without the prefixes that name its modules.
pub(crate) fn of_datafusion(error: &DataFusionError) -> Fault {
    if let Some(error) = find::<StoreError>(error) {
        return of_store(error);
    }
    if let Some(error) = find::<object_store::Error>(error) {
        return of_object_store("the store", error);
    }
    if let Some(why) = parquet(error) {
        return Fault::new(Kind::Store, format!("cannot read a Parquet file of the store: {why}"));
    }
    match innermost(error) {
        DataFusionError::ResourcesExhausted(message) => of_memory(message),
        DataFusionError::SchemaError(error, _) => of_schema(error),
        DataFusionError::SQL(error, _) => {
            let message = error.to_string();
            let message = message.strip_prefix("sql parser error: ").unwrap_or(&message);
            Fault::new(Kind::Sql, format!("the SQL cannot be parsed: {message}"))
        }
        DataFusionError::NotImplemented(message) => {
            Fault::new(Kind::Sql, format!("not supported by DataFusion: {}", first_line(message)))
        }
        DataFusionError::Plan(message)
        | DataFusionError::Execution(message)
        | DataFusionError::Configuration(message) => of_message(message),
        DataFusionError::ArrowError(error, _) => {
            let message = error.to_string();
            Fault::new(Kind::Sql, first_line(without_prefix(&message)))
        }
        other => Fault::new(Kind::Engine, first_line(without_prefix(&other.strip_backtrace()))),
    }
}

pub(crate) fn of_store(error: &StoreError) -> Fault {
    let fault = Fault::new(Kind::Store, error.to_string());
    match error {
        StoreError::Absent { .. } => fault.hint("check the address of the store"),
        _ => fault,
    }
}

/// An object store's last cause, without addresses: a URL may be signed.
pub(crate) fn of_object_store(path: &str, error: &object_store::Error) -> Fault {
    let (path, why) = match error {
        object_store::Error::NotFound { path, .. } => (path.as_str(), "it does not exist".to_owned()),
        object_store::Error::PermissionDenied { path, .. }
        | object_store::Error::Unauthenticated { path, .. } => {
            (path.as_str(), "access was denied".to_owned())
        }
        error => {
            let mut last: &dyn Error = error;
            while let Some(source) = last.source() {
                last = source;
            }
            (path, without_addresses(&first_line(&last.to_string())))
        }
    };
    Fault::new(Kind::Store, format!("cannot read {}: {why}", within_store(path)))
}

/// Whether it is a Parquet file that could not be read, without saying which.
pub(crate) fn is_of_unnamed_file(error: &DataFusionError) -> bool {
    parquet(error).is_some() && find::<object_store::Error>(error).is_none()
}

fn find<'e, T: Error + 'static>(error: &'e DataFusionError) -> Option<&'e T> {
    let mut next: Option<&'e (dyn Error + 'static)> = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<T>() {
            return Some(found);
        }
        next = match error.downcast_ref::<DataFusionError>() {
            // These variants keep a box whose content is not always among the causes.
            Some(DataFusionError::ArrowError(inner, _)) => Some(inner.as_ref()),
            Some(DataFusionError::ParquetError(inner)) => Some(inner.as_ref()),
            Some(DataFusionError::ObjectStore(inner)) => Some(inner.as_ref()),
            Some(DataFusionError::Shared(inner)) => Some(inner.as_ref()),
            Some(DataFusionError::Collection(inner)) => {
                inner.first().map(|first| first as &(dyn Error + 'static))
            }
            _ => match error.downcast_ref::<Arc<DataFusionError>>() {
                Some(inner) => Some(inner.as_ref()),
                None => error.source(),
            },
        };
    }
    None
}

/// The last DataFusion error in the chain; of several, the first.
fn innermost(error: &DataFusionError) -> &DataFusionError {
    match error.find_root() {
        DataFusionError::Collection(errors) if !errors.is_empty() => innermost(&errors[0]),
        DataFusionError::Shared(inner) => innermost(inner),
        DataFusionError::Diagnostic(_, inner) | DataFusionError::Context(_, inner) => innermost(inner),
        root => root,
    }
}

fn of_memory(message: &str) -> Fault {
    if message.contains("disk space") {
        let fault = Fault::new(Kind::Memory, "the query needs more disk space than a query may spill");
        return fault.hint("give it more memory with --memory, or ask for fewer days");
    }
    let fault = Fault::new(
        Kind::Memory,
        format!("the query does not fit into its memory limit: {}", first_line(message)),
    );
    fault
        .hint("give it more memory with --memory, ask for fewer days, or ask a roll-up where it reads events")
}

fn of_schema(error: &SchemaError) -> Fault {
    match error {
        SchemaError::FieldNotFound { field, valid_fields } => {
            let fault = Fault::new(Kind::Sql, format!("there is no column '{}'", field.flat_name()));
            let is_of_table = |relation: &Option<_>| field.relation.is_none() || *relation == field.relation;
            let near = valid_fields.iter().filter(|valid| is_of_table(&valid.relation));
            let names = near.map(|valid| valid.name.as_str());
            Fault { hint: names::hint(&field.name, "columns", names), ..fault }
        }
        SchemaError::AmbiguousReference { field } => {
            let fault =
                Fault::new(Kind::Sql, format!("the column '{}' is in more than one table", field.name));
            fault.hint(format!("write the table in front, as in runs.{}", field.name))
        }
        other => Fault::new(Kind::Sql, other.to_string()),
    }
}

/// A message of planning or execution; what follows `Did you mean` is the hint.
fn of_message(message: &str) -> Fault {
    let message = without_prefix(message);
    match message.split_once("Did you mean") {
        Some((fact, rest)) => {
            let fact = fact.trim().trim_end_matches('.');
            Fault::new(Kind::Sql, fact).hint(format!("did you mean {}", first_line(rest)))
        }
        None => Fault::new(Kind::Sql, first_line(message)),
    }
}

fn without_addresses(line: &str) -> String {
    let is_address = |word: &str| word.contains("://") || word.contains("Signature=");
    let words = line.split(' ').map(|word| if is_address(word) { "…" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

/// A path as it is in the store: below the tenant's folder names never depend on where the store is.
pub(crate) fn within_store(path: &str) -> &str {
    path.find("tenant=").map_or(path, |start| &path[start..])
}

/// What is wrong with a Parquet file, where that is the cause. Some readers return it as an error of Arrow.
fn parquet(error: &DataFusionError) -> Option<String> {
    let message = match (find::<ParquetError>(error), find::<ArrowError>(error)) {
        (Some(error), _) => error.to_string(),
        (None, Some(ArrowError::ParquetError(message))) => message.clone(),
        _ => return None,
    };
    let message = first_line(&message);
    // "Failed to fetch metadata for file PATH: …" is the one message that names the file.
    Some(match message.split_once("metadata for file ") {
        Some((_, rest)) => within_store(rest).to_owned(),
        None => without_prefix(&message).to_owned(),
    })
}

fn first_line(text: &str) -> String {
    text.trim().lines().next().unwrap_or_default().trim().to_owned()
}

/// Drops the words that DataFusion and Arrow put in front of a message.
pub(crate) fn without_prefix(mut message: &str) -> &str {
    const PREFIXES: [&str; 16] = [
        "DataFusion error: ",
        "Error during planning: ",
        "Execution error: ",
        "Schema error: ",
        "Arrow error: ",
        "Parquet error: ",
        "External error: ",
        "Cast error: ",
        "Parquet argument error: ",
        "Parser error: ",
        "External: ",
        "Optimizer rule failed: ",
        "Compute error: ",
        "Invalid argument error: ",
        "Internal error: ",
        "type_coercion\ncaused by\n",
    ];
    while let Some(rest) = PREFIXES.iter().find_map(|prefix| message.strip_prefix(prefix)) {
        message = rest;
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_library_are_dropped() {
        let error = DataFusionError::Plan("Invalid function 'sqr'.\nDid you mean 'sqrt'?".to_owned());
        let fault = of_datafusion(&error.context("type_coercion"));
        assert_eq!(fault, Fault::new(Kind::Sql, "Invalid function 'sqr'").hint("did you mean 'sqrt'?"));
    }

    #[test]
    fn a_lack_of_memory_is_found_below_other_errors() {
        let error = DataFusionError::ResourcesExhausted("Failed to allocate 5 bytes".to_owned());
        let error = DataFusionError::Shared(Arc::new(error.context("sorting")));
        let fault = of_datafusion(&error);
        assert_eq!(fault.kind, Kind::Memory);
        assert!(fault.message.ends_with("limit: Failed to allocate 5 bytes"), "{fault:?}");
    }

    #[test]
    fn errors_of_the_store_keep_their_kind() {
        let absent = StoreError::Absent { url: "/x".to_owned() };
        let fault = of_datafusion(&DataFusionError::External(Box::new(absent)).context("scan"));
        assert_eq!(fault.kind, Kind::Store);
        assert_eq!(fault.message, "there is no store at /x");
    }
}
