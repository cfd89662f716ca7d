//! Pages that are kept. One that many ask for at once is made once.

use std::sync::Arc;

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

use crate::hash::hex_of;
use crate::self_metrics::SelfMetrics;

#[derive(Debug, Clone)]
pub(crate) struct KeptPage {
    body: Bytes,
    etag: Arc<str>,
    status: StatusCode,
}

impl KeptPage {
    pub(crate) fn new(html: String) -> Self {
        KeptPage::with_status(StatusCode::OK, html)
    }

    pub(crate) fn with_status(status: StatusCode, html: String) -> Self {
        let etag = format!("\"{}\"", hex_of(html.as_bytes(), 12)).into();
        KeptPage { body: html.into(), etag, status }
    }

    /// The answer to a request; only that it is the same, where the asker has it.
    pub(crate) fn response(&self, headers: &HeaderMap) -> Response {
        let known = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
        let is_known = known.flat_map(|line| line.split(',')).any(|tag| {
            let tag = tag.trim();
            tag.strip_prefix("W/").unwrap_or(tag) == &*self.etag || tag == "*"
        });
        let always = [
            (header::ETAG, self.etag.to_string()),
            // Kept by the browser, yet asked for each time whether it is still so.
            (header::CACHE_CONTROL, "private, no-cache".to_owned()),
        ];
        if is_known && self.status == StatusCode::OK {
            return (StatusCode::NOT_MODIFIED, always).into_response();
        }
        let kind = [(header::CONTENT_TYPE, "text/html; charset=utf-8")];
        (self.status, always, kind, self.body.clone()).into_response()
    }
}

#[derive(Clone)]
struct BySize;

impl Weighter<String, KeptPage> for BySize {
    fn weight(&self, key: &String, page: &KeptPage) -> u64 {
        (key.len() + page.body.len() + 256) as u64
    }
}

pub(crate) struct PageCache {
    pages: Cache<String, KeptPage, BySize>,
}

impl PageCache {
    pub(crate) fn new(bytes: u64) -> Self {
        // A page larger than a shard is never kept, so there are few of them.
        let options =
            OptionsBuilder::new().estimated_items_capacity(1_000).weight_capacity(bytes).shards(2).build();
        let pages = match options {
            Ok(options) => Cache::with_options(
                options,
                BySize,
                DefaultHashBuilder::default(),
                DefaultLifecycle::default(),
            ),
            Err(_) => Cache::with_weighter(1_000, bytes, BySize),
        };
        PageCache { pages }
    }

    /// The page, made where it is not kept. What fails is not kept.
    pub(crate) async fn get_or_make<E>(
        &self,
        key: &str,
        metrics: &SelfMetrics,
        make: impl Future<Output = Result<KeptPage, E>>,
    ) -> Result<KeptPage, E> {
        match self.pages.get_value_or_guard_async(key).await {
            Ok(page) => {
                metrics.cache_hits.inc();
                Ok(page)
            }
            Err(place) => {
                metrics.cache_misses.inc();
                let page = make.await?;
                // A place that was given up meanwhile keeps nothing.
                drop(place.insert(page.clone()));
                metrics.cache_bytes.set(i64::try_from(self.pages.weight()).unwrap_or(i64::MAX));
                Ok(page)
            }
        }
    }
}
