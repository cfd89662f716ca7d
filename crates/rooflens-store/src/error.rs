//! What can go wrong.

use std::path::PathBuf;

use rooflens_schema::SchemaError;

/// Why a store could not be read or written. No message holds credentials: what object stores say is reduced to its
/// last cause.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The address is none that can be opened.
    #[error("cannot open the store {url}: {why}")]
    Address {
        /// As it was given, without what may be secret.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// The address is that of a bucket, and this build was made without the feature `clouds`.
    #[error("cannot open the store {url}: this build reads and writes no buckets")]
    NoClouds {
        /// As it was given, without what may be secret.
        url: String,
    },
    /// There is no store there.
    #[error("there is no store at {url}")]
    Absent {
        /// Where it was looked for.
        url: String,
    },
    /// The object store refused or could not be reached.
    #[error("cannot {action} {path} in the store: {why}")]
    Access {
        /// What was tried.
        action: &'static str,
        /// Which object.
        path: String,
        /// What the object store says.
        why: String,
    },
    /// A manifest cannot be read.
    #[error("the manifest {path} is damaged: {why}")]
    Manifest {
        /// Which one.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// A Parquet file cannot be read or written.
    #[error("cannot {action} the table {path}: {why}")]
    Table {
        /// What was tried.
        action: &'static str,
        /// Which file.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// What is to be added is no run, or not a whole one.
    #[error("{} cannot be added: {why}", path.display())]
    NotAddable {
        /// What was given.
        path: PathBuf,
        /// What it lacks.
        why: String,
    },
    /// The tables of a run cannot be read.
    #[error(transparent)]
    Run(#[from] SchemaError),
    /// The run is there already, with other rows.
    #[error("run {run} is in the store already, with other content")]
    Differs {
        /// Its id.
        run: String,
    },
    /// The run is there already, under another day.
    #[error("run {run} is in the store already, under {day}")]
    Elsewhere {
        /// Its id.
        run: String,
        /// The day that it is filed under.
        day: String,
    },
    /// Somebody asked to stop.
    #[error("stopped")]
    Stopped,
    /// The run was removed for good, or its time was over.
    #[error("run {run} was removed from the store, or dropped when its time was over")]
    Removed {
        /// Its id.
        run: String,
    },
    /// No such run, or more than one.
    #[error("{why}")]
    NoSuchRun {
        /// What was looked for and what there is.
        why: String,
    },
    /// A value that is not allowed, as a tenant or a day.
    #[error("{why}")]
    Value {
        /// What is allowed.
        why: String,
    },
    /// Somebody else published a state of the day first.
    #[error("another process changed {day} of tenant {tenant} meanwhile")]
    Raced {
        /// Whose day.
        tenant: String,
        /// Which day.
        day: String,
    },
    /// A file on this machine.
    #[error("cannot write {}: {source}", path.display())]
    Scratch {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl StoreError {
    pub(crate) fn access(
        action: &'static str,
        path: impl std::fmt::Display,
        error: &object_store::Error,
    ) -> Self {
        StoreError::Access { action, path: path.to_string(), why: reason(error) }
    }

    pub(crate) fn table(
        action: &'static str,
        path: impl std::fmt::Display,
        why: impl std::fmt::Display,
    ) -> Self {
        StoreError::Table { action, path: path.to_string(), why: why.to_string() }
    }
}

/// The last cause, in one line, without addresses: a URL may be signed.
fn reason(error: &object_store::Error) -> String {
    match error {
        object_store::Error::NotFound { .. } => return "it does not exist".to_owned(),
        object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. } => {
            return "access was denied".to_owned();
        }
        _ => {}
    }
    let mut last: &dyn std::error::Error = error;
    while let Some(source) = last.source() {
        last = source;
    }
    without_addresses(last.to_string().lines().next().unwrap_or_default())
}

fn without_addresses(line: &str) -> String {
    let is_address = |word: &&str| word.contains("://") || word.contains("Signature=");
    let words = line.split(' ').map(|word| if is_address(&word) { "…" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::without_addresses;

    #[test]
    fn signed_addresses_are_not_repeated() {
        let line = "error sending request for url (https://b.example/x?X-Amz-Signature=abc) after 3 tries";
        assert_eq!(without_addresses(line), "error sending request for url … after 3 tries");
    }
}
