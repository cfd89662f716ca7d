//! Who keeps a bucket, and what opens it.

use std::sync::Arc;

use object_store::ObjectStore;

use crate::error::StoreError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cloud {
    Amazon,
    Azure,
    Google,
}

impl Cloud {
    pub(crate) fn of(scheme: &str) -> Option<Self> {
        match scheme {
            "s3" | "s3a" => Some(Cloud::Amazon),
            "az" | "abfs" | "abfss" => Some(Cloud::Azure),
            "gs" => Some(Cloud::Google),
            _ => None,
        }
    }

    #[cfg(feature = "clouds")]
    pub(crate) fn bucket(self, address: &str) -> Result<Arc<dyn ObjectStore>, StoreError> {
        use std::time::Duration;

        use object_store::RetryConfig;
        use object_store::aws::AmazonS3Builder;
        use object_store::azure::MicrosoftAzureBuilder;
        use object_store::gcp::GoogleCloudStorageBuilder;

        // Long enough for a busy server, short enough for a person who waits.
        let patience =
            RetryConfig { max_retries: 5, retry_timeout: Duration::from_secs(30), ..RetryConfig::default() };
        let opened: object_store::Result<Arc<dyn ObjectStore>> = match self {
            Cloud::Amazon => {
                let bucket = AmazonS3Builder::from_env().with_url(address).with_retry(patience).build();
                bucket.map(|bucket| Arc::new(bucket) as _)
            }
            Cloud::Azure => {
                let bucket = MicrosoftAzureBuilder::from_env().with_url(address).with_retry(patience).build();
                bucket.map(|bucket| Arc::new(bucket) as _)
            }
            Cloud::Google => {
                let bucket =
                    GoogleCloudStorageBuilder::from_env().with_url(address).with_retry(patience).build();
                bucket.map(|bucket| Arc::new(bucket) as _)
            }
        };
        opened.map_err(|error| StoreError::Address { url: shown(address), why: error.to_string() })
    }

    /// There is none in this build.
    #[cfg(not(feature = "clouds"))]
    pub(crate) fn bucket(self, address: &str) -> Result<Arc<dyn ObjectStore>, StoreError> {
        Err(StoreError::NoClouds { url: shown(address) })
    }
}

/// An address without what may be secret in it.
pub(crate) fn shown(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}/{path}")
}
