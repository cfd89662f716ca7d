//! Where a source comes from.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ExternalsError;
use crate::hub_cache;

/// The address of a source, checked: it is no option, runs no helper and holds no password.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct SourceUrl {
    text: String,
    transport: Transport,
}

/// How an address is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Transport {
    /// Over the network.
    Network,
    /// A repository of this machine.
    Local,
    /// A repository of the Hugging Face hub, copied from its cache.
    Hub(HubRepository),
}

/// A repository of the Hugging Face hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HubRepository {
    /// `models`, `datasets` or `spaces`.
    pub shelf: &'static str,
    /// `organisation/name`, or one word for the oldest models.
    pub id: String,
}

impl HubRepository {
    /// Its folder in a hub cache.
    pub fn folder(&self) -> String {
        hub_cache::repository_folder(self.shelf, &self.id)
    }
}

impl SourceUrl {
    /// Checks the address of a git repository.
    ///
    /// # Errors
    /// When git could take it for something else than an address, or it holds a password.
    pub fn git(url: &str) -> Result<Self, ExternalsError> {
        match git_transport(url) {
            Ok(transport) => Ok(Self { text: url.to_owned(), transport }),
            Err(problem) => Err(ExternalsError::BadUrl { url: without_password(url), problem }),
        }
    }

    /// Checks the address of a repository on the Hugging Face hub: `org/name`, `hf://datasets/org/name`
    /// or its page. It is kept as `hf://…`.
    ///
    /// # Errors
    /// When it is none.
    pub fn hub(url: &str) -> Result<Self, ExternalsError> {
        let repository = hub_repository(url).ok_or(ExternalsError::BadUrl {
            url: url.to_owned(),
            problem: "it is not a Hugging Face hub repository",
        })?;
        let shelf = match repository.shelf {
            "models" => String::new(),
            shelf => format!("{shelf}/"),
        };
        Ok(Self { text: format!("hf://{shelf}{}", repository.id), transport: Transport::Hub(repository) })
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The repository on the hub, where it is one.
    pub(super) fn hub_repository(&self) -> Option<&HubRepository> {
        match &self.transport {
            Transport::Hub(repository) => Some(repository),
            Transport::Network | Transport::Local => None,
        }
    }

    /// The protocols git may use for it, as `GIT_ALLOW_PROTOCOL` has them. A local repository is only
    /// ever read where the user named one: no redirect or submodule may lead to it.
    pub(super) fn protocols(&self) -> &'static str {
        match self.transport {
            Transport::Network => "https:http:ssh:git",
            Transport::Local => "file",
            Transport::Hub(_) => crate::git::NO_PROTOCOL,
        }
    }

    /// The last part, which names the source unless the user does.
    pub(super) fn default_name(&self) -> &str {
        let last = self.text.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or("");
        last.strip_suffix(".git").unwrap_or(last)
    }
}

fn git_transport(url: &str) -> Result<Transport, &'static str> {
    if url.is_empty() || url.trim() != url || url.contains(char::is_control) {
        return Err("it is empty, or has control characters or spaces around it");
    }
    if url.starts_with('-') {
        return Err("it starts with a dash, as options do");
    }
    if let Some((scheme, rest)) = url.split_once("://") {
        let authority = rest.split('/').next().unwrap_or("");
        let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        return match scheme {
            "https" | "http" if !user.is_empty() => {
                Err("it holds a user name, which would end up in the lock")
            }
            "ssh" if user.contains(':') => Err("it holds a password, which would end up in the lock"),
            "https" | "http" | "ssh" | "git" if host.is_empty() || host.starts_with('-') => {
                Err("it has no host")
            }
            "https" | "http" | "ssh" | "git" if user.starts_with('-') => Err("its user is an option"),
            "https" | "http" | "ssh" | "git" => Ok(Transport::Network),
            "file" if rest.starts_with('/') => Ok(Transport::Local),
            "file" => Err("file:// needs an absolute path"),
            _ => Err("its scheme is not one of https, http, ssh, git and file"),
        };
    }
    if url.starts_with('/') {
        return Ok(Transport::Local);
    }
    match url.split_once(':') {
        // `ext::sh -c …` would run a program.
        Some((_, path)) if path.starts_with(':') => Err("remote helpers are not started"),
        Some((host, path)) if !host.is_empty() && !host.contains('/') && !path.is_empty() => {
            let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
            if host.starts_with('-') { Err("it has no host") } else { Ok(Transport::Network) }
        }
        _ => Err("it is neither an address nor an absolute path"),
    }
}

/// The address as a message may show it.
fn without_password(url: &str) -> String {
    match (url.find("://"), url.rfind('@')) {
        (Some(scheme), Some(at)) if at > scheme => format!("{}://…{}", &url[..scheme], &url[at..]),
        _ => url.to_owned(),
    }
}

fn hub_repository(url: &str) -> Option<HubRepository> {
    let path = ["hf://", "https://huggingface.co/", "https://hf.co/"]
        .iter()
        .find_map(|prefix| url.strip_prefix(prefix))
        .unwrap_or(url);
    let parts: Vec<&str> = path.split('/').collect();
    let (shelf, id) = match parts.as_slice() {
        ["datasets", id @ ..] => ("datasets", id),
        ["spaces", id @ ..] => ("spaces", id),
        ["models", id @ ..] => ("models", id),
        id => ("models", id),
    };
    let allowed = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.');
    // The cache writes `/` as `--`, so that a name with `--` would be ambiguous; the hub has none.
    let is_part = |part: &&str| {
        !part.is_empty()
            && part.chars().all(allowed)
            && !part.starts_with(['-', '.'])
            && !part.contains("--")
            && !part.contains("..")
    };
    let is_id = matches!(id.len(), 1 | 2) && id.iter().all(is_part);
    is_id.then(|| HubRepository { shelf, id: id.join("/") })
}

impl fmt::Display for SourceUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

impl From<SourceUrl> for String {
    fn from(url: SourceUrl) -> Self {
        url.text
    }
}

/// An address as a lock has it: those of the hub begin with `hf://`.
impl TryFrom<String> for SourceUrl {
    type Error = ExternalsError;

    fn try_from(text: String) -> Result<Self, ExternalsError> {
        if text.starts_with("hf://") { Self::hub(&text) } else { Self::git(&text) }
    }
}
