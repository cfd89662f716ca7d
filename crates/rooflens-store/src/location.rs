//! A store's address, and what opens it.

use std::sync::Arc;

use bytes::Bytes;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload};
use url::Url;

use crate::cloud::{Cloud, shown};
use crate::error::StoreError;
use crate::layout::{FORMAT, MARK};

/// A store: a folder, or a prefix of a bucket. Opening one touches neither network nor disk.
#[derive(Clone)]
pub struct Store {
    objects: Arc<dyn ObjectStore>,
    base: Url,
    root: Path,
    url: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Created {
    /// It is there now, and was not before.
    Now,
    /// Somebody else was first.
    Before,
}

impl Store {
    /// Opens the store at a path, or at `s3://bucket/prefix`, `gs://…` or `az://container/prefix`. Credentials come
    /// from where the provider's own tools take them: the environment, profiles, the machine's role. They may not
    /// stand in the address.
    pub fn open(address: &str) -> Result<Store, StoreError> {
        let bad = |why: &str| StoreError::Address { url: shown(address), why: why.to_owned() };
        let Some((scheme, _)) = address.split_once("://") else {
            return Store::in_folder(address);
        };
        let parsed = Url::parse(address).map_err(|error| bad(&error.to_string()))?;
        if parsed.scheme() == "file" {
            let path = parsed.to_file_path().map_err(|()| bad("it names no folder of this machine"))?;
            return Store::in_folder(&path.to_string_lossy());
        }
        if !parsed.username().is_empty() || parsed.password().is_some() || parsed.query().is_some() {
            return Err(bad(
                "credentials and options do not belong in the address; set them as the provider's \
                            own tools take them, as AWS_ACCESS_KEY_ID or AWS_PROFILE",
            ));
        }
        let cloud = Cloud::of(scheme).ok_or_else(|| bad("a store is a folder, s3://, gs:// or az://"))?;
        let objects = cloud.bucket(address)?;
        let root = Path::from_url_path(parsed.path()).map_err(|error| bad(&error.to_string()))?;
        let mut base = parsed.clone();
        base.set_path("/");
        let url = address.trim_end_matches('/').to_owned();
        Ok(Store { objects, base, root, url })
    }

    fn in_folder(folder: &str) -> Result<Store, StoreError> {
        let bad = |why: String| StoreError::Address { url: folder.to_owned(), why };
        let absolute = std::path::absolute(folder).map_err(|error| bad(error.to_string()))?;
        let root = Path::from_absolute_path(&absolute).map_err(|error| bad(error.to_string()))?;
        let base = Url::parse("file:///").map_err(|error| bad(error.to_string()))?;
        Ok(Store { objects: Arc::new(LocalFileSystem::new()), base, root, url: folder.to_owned() })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The bucket, or the file system, that it lies in.
    #[must_use]
    pub fn object_store(&self) -> Arc<dyn ObjectStore> {
        Arc::clone(&self.objects)
    }

    /// The address of [`Store::object_store`], to register it at an engine.
    #[must_use]
    pub fn object_store_url(&self) -> &Url {
        &self.base
    }

    /// The place of an object whose path is relative to the store, below [`Store::object_store`].
    pub(crate) fn place(&self, relative: &str) -> Path {
        relative.split('/').fold(self.root.clone(), Path::join)
    }

    /// The whole address of an object, as engines take it.
    #[must_use]
    pub fn address(&self, relative: &str) -> String {
        format!("{}{}", self.base, self.place(relative))
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) async fn exists(&self) -> Result<bool, StoreError> {
        self.is_there(&self.place(MARK)).await
    }

    pub(crate) async fn is_there(&self, path: &Path) -> Result<bool, StoreError> {
        match self.objects.head(path).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(StoreError::access("read", path, &error)),
        }
    }

    /// Marks the place as a store, where it is none yet.
    pub(crate) async fn mark(&self) -> Result<(), StoreError> {
        if self.exists().await? {
            return Ok(());
        }
        let text = format!("{{\"rooflens_store\":{FORMAT}}}\n");
        self.create(&self.place(MARK), Bytes::from(text)).await.map(drop)
    }

    /// Writes an object where there may be none yet: of many who try, one succeeds.
    pub(crate) async fn create(&self, path: &Path, bytes: Bytes) -> Result<Created, StoreError> {
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        match self.objects.put_opts(path, PutPayload::from(bytes), options).await {
            Ok(_) => Ok(Created::Now),
            Err(object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. }) => {
                Ok(Created::Before)
            }
            Err(error) => Err(StoreError::access("write", path, &error)),
        }
    }

    /// The content of an object.
    pub async fn read(&self, path: &Path) -> Result<Bytes, StoreError> {
        let failed = |error| StoreError::access("read", path, &error);
        self.objects.get(path).await.map_err(failed)?.bytes().await.map_err(failed)
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // An object store prints its settings, credentials among them.
        f.debug_struct("Store").field("url", &self.url).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_in_an_address_are_refused_and_not_repeated() {
        for address in ["s3://KEY:SECRET@bucket/x", "s3://bucket/x?token=SECRET", "az://SECRET@c/x"] {
            let error = Store::open(address).expect_err(address).to_string();
            assert!(!error.contains("SECRET"), "{error}");
        }
    }

    #[test]
    fn addresses_of_files_are_those_that_engines_take() {
        let store = Store::open("/data/store").expect("a folder");
        assert_eq!(store.address("tenant=a/x.parquet"), "file:///data/store/tenant=a/x.parquet");
        assert!(Store::open("ftp://x/y").is_err());
    }
}
