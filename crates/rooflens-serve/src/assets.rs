//! Style sheet and scripts, at addresses that change with their content, so that browsers may keep them for ever.

use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use rooflens_report::{AssetUse, PAGE_ASSETS, PageAsset};
use std::sync::LazyLock;

use crate::hash::hex_of;

/// Files of the server's own pages, beside those of every report.
const OWN: &[PageAsset] = &[
    PageAsset::new("serve.css", AssetUse::Style, include_str!("assets/serve.css")),
    PageAsset::new("serve.js", AssetUse::Script, include_str!("assets/serve.js")),
];

struct ServedAsset {
    name: String,
    asset: PageAsset,
}

static SERVED: LazyLock<Vec<ServedAsset>> = LazyLock::new(|| {
    let served = |asset: &PageAsset| {
        let hash = hex_of(asset.text.as_bytes(), 8);
        let (stem, extension) = asset.name.split_once('.').unwrap_or((asset.name, "txt"));
        ServedAsset { name: format!("{stem}-{hash}.{extension}"), asset: *asset }
    };
    PAGE_ASSETS.iter().chain(OWN).map(served).collect()
});

pub(crate) static ADDRESSES: LazyLock<Vec<(AssetUse, String)>> = LazyLock::new(|| {
    SERVED.iter().map(|served| (served.asset.use_as, format!("/assets/{}", served.name))).collect()
});

pub(crate) async fn get(Path(name): Path<String>) -> Response {
    let Some(served) = SERVED.iter().find(|served| served.name == name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let headers = [
        (header::CONTENT_TYPE, format!("{}; charset=utf-8", served.asset.media_type())),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable".to_owned()),
    ];
    (headers, served.asset.text).into_response()
}
