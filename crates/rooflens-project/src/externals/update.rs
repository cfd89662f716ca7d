//! Moves sources to the newest commit of what they follow: a branch, a tag that was moved, the snapshot of
//! a hub's cache, a linked checkout.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::identifiers::{ObjectId, Revision, SourceName};
use super::lock::LockedSource;
use super::project::Externals;
use super::sync::chosen;
use super::{AddRequest, ExternalsError, SourceKind};

/// A source, and whether there is something newer.
#[derive(Debug, Serialize)]
pub struct UpdateRow {
    /// Its name.
    pub name: SourceName,
    /// How it is kept.
    pub kind: SourceKind,
    /// Its folder, from the project's root.
    pub place: String,
    /// What it follows.
    pub revision: Revision,
    /// The commit it is pinned at.
    pub from: ObjectId,
    /// The commit that its revision is now; null if it could not be determined.
    pub to: Option<ObjectId>,
    /// What is to be done, or was.
    pub state: UpdateState,
    /// What went wrong.
    pub error: Option<ExternalsError>,
}

/// What is to be done with a source, or was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UpdateState {
    /// It is the newest.
    Current,
    /// It follows a commit, which never moves.
    Fixed,
    /// There is a newer one.
    Behind,
    /// It was moved to the newer one.
    Updated,
    /// It could not be queried or moved; see `error`.
    Failed,
}

impl Externals {
    /// Asks what each source follows now; all sources where no names are given. Changes nothing. A source
    /// with local edits fails here already.
    ///
    /// # Errors
    /// When the lock cannot be read, or has no source of a name. What fails for one source stands in its
    /// row.
    pub fn newest(&self, names: &[String]) -> Result<Vec<UpdateRow>, ExternalsError> {
        self.refuse_links()?;
        let lock = self.lock()?;
        Ok(chosen(&lock, names)?.into_iter().map(|source| self.newest_of(source)).collect())
    }

    fn newest_of(&self, source: &LockedSource) -> UpdateRow {
        let pin = &source.pin;
        let found =
            if pin.revision.as_id().is_some() { Ok((UpdateState::Fixed, None)) } else { self.look(source) };
        let (state, to, error) = match found {
            Ok((state, to)) => (state, to, None),
            Err(error) => (UpdateState::Failed, None, Some(error)),
        };
        UpdateRow {
            name: pin.name.clone(),
            kind: pin.kind,
            place: pin.place(),
            revision: pin.revision.clone(),
            from: pin.commit.clone(),
            to,
            state,
            error,
        }
    }

    fn look(&self, source: &LockedSource) -> Result<(UpdateState, Option<ObjectId>), ExternalsError> {
        let pin = &source.pin;
        let newest = pin.kind.keeper().resolve(self, &pin.url, &pin.revision)?;
        if newest == pin.commit {
            return Ok((UpdateState::Current, Some(newest)));
        }
        self.refuse_loss_of(source)?;
        Ok((UpdateState::Behind, Some(newest)))
    }

    /// Moves every source that is behind to the commit that was found, and writes both commits into the
    /// lock. A source that fails does not keep the others from it.
    ///
    /// # Errors
    /// When the lock cannot be read.
    pub fn update(&self, rows: Vec<UpdateRow>) -> Result<Vec<UpdateRow>, ExternalsError> {
        let lock = self.lock()?;
        let moved = |mut row: UpdateRow| {
            let Some(source) = lock.sources.get(&row.name).filter(|_| row.state == UpdateState::Behind)
            else {
                return row;
            };
            let pin = &source.pin;
            let request = AddRequest {
                revision: Some(pin.revision.as_str().to_owned()),
                name: Some(pin.name.as_str().to_owned()),
                paths: pin.paths.iter().map(|path| path.as_str().to_owned()).collect(),
                ..AddRequest::new(pin.kind, pin.url.as_str())
            };
            match self.add_at(&request, row.to.clone()) {
                Ok(_) => row.state = UpdateState::Updated,
                Err(error) => {
                    row.state = UpdateState::Failed;
                    row.error = Some(error);
                }
            }
            row
        };
        Ok(rows.into_iter().map(moved).collect())
    }
}
