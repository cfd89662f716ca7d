//! One model or dataset of the file.

use std::path::{Path, PathBuf};

use rooflens_compose::value::Node;

use super::checksums;
use super::fields::{Document, Fields, refuse, text_of};
use super::{Asset, AssetKind, AssetSource, Extraction};
use crate::assets::archive::Limits;
use crate::assets::error::{AssetError, AssetFault};
use crate::assets::project::{plain_name, plain_path};
use crate::assets::required::Pattern;
use crate::assets::roots::StorageRoot;

const KEYS: &[&str] = &["name", "target", "source", "required", "sha256", "extract"];

/// The folder of a dataset that its link is.
const SOURCE_DATA: &str = "source-data";

pub(super) fn read(
    document: &Document<'_>,
    node: &Node,
    kind: AssetKind,
    index: usize,
) -> Result<Asset, AssetError> {
    let within = format!("{}[{index}]", kind.plural());
    let fields = Fields::of(document, node, &within, KEYS)?;
    let name = fields.needed_text("name")?;
    plain_name(name).map_err(|problem| fields.refuse("name", problem))?;
    let base = base_of(kind, name);
    let target = match fields.text("target")? {
        Some(text) => {
            let target = plain_path(text).map_err(|problem| fields.refuse("target", problem))?;
            check_target(&fields, "target", &target, kind, &base)?;
            target
        }
        None if kind == AssetKind::Model => base.join(name),
        None => base.clone(),
    };
    Ok(Asset {
        name: name.to_owned(),
        kind,
        target,
        source: read_source(&fields)?,
        required: read_required(&fields)?,
        sha256: checksums::read(&fields)?,
        extract: read_extractions(&fields, kind, name)?,
        origin: node.origin.clone(),
    })
}

/// What a target must lie below; that of a dataset may be this folder itself.
fn base_of(kind: AssetKind, name: &str) -> PathBuf {
    match kind {
        AssetKind::Model => PathBuf::from(kind.plural()),
        AssetKind::Dataset => Path::new(kind.plural()).join(name).join(SOURCE_DATA),
    }
}

fn check_target(
    fields: &Fields<'_>,
    key: &str,
    target: &Path,
    kind: AssetKind,
    base: &Path,
) -> Result<(), AssetError> {
    let is_base = target == base;
    if target.starts_with(base) && !(is_base && kind == AssetKind::Model) {
        return Ok(());
    }
    let allowed = format!("{}/", base.display());
    let fault = AssetFault::TargetPlace { target: target.to_owned(), allowed };
    Err(match fields.get(key) {
        Some(node) => AssetError::at(fault, &node.origin, fields.document.text),
        None => AssetError::new(fault),
    })
}

fn read_source(fields: &Fields<'_>) -> Result<AssetSource, AssetError> {
    let node = fields.get("source").ok_or_else(|| fields.missing("source"))?;
    let known = &["root", "path", "hub", "revision"];
    let source = Fields::of(fields.document, node, &fields.name_of("source"), known)?;
    let Some(hub) = source.text("hub")? else {
        if source.get("revision").is_some() {
            return Err(source.refuse("revision", "is only allowed with 'hub'"));
        }
        let name = source.needed_text("root")?;
        let name = name.strip_prefix('$').unwrap_or(name);
        let root = StorageRoot::named(name).ok_or_else(|| {
            let refusal = source
                .refuse("root", "is not a root; expected HF_SNAPSHOTS_ROOT, MODELS_ROOT or DATASETS_ROOT");
            refusal.suggest(name, StorageRoot::VARIABLES.iter().copied())
        })?;
        let path = source.needed_text("path")?;
        let path = plain_path(path).map_err(|problem| source.refuse("path", problem))?;
        return Ok(AssetSource::Path { root, path });
    };
    for key in ["root", "path"] {
        if source.get(key).is_some() {
            return Err(source.refuse(key, "is not allowed with 'hub'"));
        }
    }
    if !is_repository_id(hub) {
        return Err(source.refuse("hub", "is not a repository id; those are like 'organisation/name'"));
    }
    let revision = source.text("revision")?.unwrap_or("main");
    plain_path(revision).map_err(|problem| source.refuse("revision", problem))?;
    Ok(AssetSource::Hub { repository: hub.to_owned(), revision: revision.to_owned() })
}

/// The hub's own rule: letters, digits, `-`, `_` and `.`, no `--` or `..`, at most one `/`.
fn is_repository_id(text: &str) -> bool {
    let is_name = |part: &str| {
        !part.is_empty()
            && part.chars().all(|char| char.is_ascii_alphanumeric() || "-_.".contains(char))
            && !part.starts_with(['-', '.'])
            && !part.ends_with(['-', '.'])
    };
    let parts: Vec<&str> = text.split('/').collect();
    parts.len() <= 2 && parts.into_iter().all(is_name) && !text.contains("--") && !text.contains("..")
}

fn read_required(fields: &Fields<'_>) -> Result<Vec<String>, AssetError> {
    let mut patterns = Vec::new();
    for (index, node) in fields.list("required")?.iter().enumerate() {
        let within = format!("{}[{index}]", fields.name_of("required"));
        let text = text_of(fields.document, node, &within)?;
        Pattern::new(text).map_err(|problem| refuse(fields.document, node, &within, problem))?;
        patterns.push(text.to_owned());
    }
    Ok(patterns)
}

fn read_extractions(fields: &Fields<'_>, kind: AssetKind, name: &str) -> Result<Vec<Extraction>, AssetError> {
    let base = match kind {
        AssetKind::Model => PathBuf::from(kind.plural()),
        AssetKind::Dataset => Path::new(kind.plural()).join(name),
    };
    let known = &["archive", "into", "max_bytes", "max_entries", "max_ratio"];
    let mut extractions = Vec::new();
    for (index, node) in fields.list("extract")?.iter().enumerate() {
        let within = format!("{}[{index}]", fields.name_of("extract"));
        let item = Fields::of(fields.document, node, &within, known)?;
        let archive = item.needed_text("archive")?;
        let archive = plain_path(archive).map_err(|problem| item.refuse("archive", problem))?;
        let into = item.needed_text("into")?;
        let into = plain_path(into).map_err(|problem| item.refuse("into", problem))?;
        // The folder of the kind or of the dataset itself has other things in it.
        check_target(&item, "into", &into, AssetKind::Model, &base)?;
        let default = Limits::default();
        let limits = Limits {
            max_bytes: item.whole("max_bytes")?.unwrap_or(default.max_bytes),
            max_entries: item.whole("max_entries")?.unwrap_or(default.max_entries),
            max_ratio: item.whole("max_ratio")?.unwrap_or(default.max_ratio),
        };
        extractions.push(Extraction { archive, into, limits });
    }
    Ok(extractions)
}
