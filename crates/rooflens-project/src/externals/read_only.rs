//! Takes the right to write from the files of a source. Folders keep theirs, so that git and `rm`
//! still work; it is a reminder, not a lock.

use std::fs;
use std::path::Path;

use super::ExternalsError;

/// Marks every plain file below a folder, git's own left out, links not followed.
pub(super) fn mark(folder: &Path) -> Result<(), ExternalsError> {
    visit(folder, &mut |path, metadata| {
        let mut permissions = metadata.permissions();
        if !permissions.readonly() {
            permissions.set_readonly(true);
            fs::set_permissions(path, permissions).map_err(ExternalsError::io(path))?;
        }
        Ok(())
    })
}

/// Whether every plain file below a folder is marked.
pub(super) fn is_marked(folder: &Path) -> Result<bool, ExternalsError> {
    let mut all = true;
    visit(folder, &mut |_, metadata| {
        all &= metadata.permissions().readonly();
        Ok(())
    })?;
    Ok(all)
}

type Visitor<'a> = &'a mut dyn FnMut(&Path, &fs::Metadata) -> Result<(), ExternalsError>;

fn visit(folder: &Path, visitor: Visitor<'_>) -> Result<(), ExternalsError> {
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).map_err(ExternalsError::io(&folder))? {
            let entry = entry.map_err(ExternalsError::io(&folder))?;
            let path = entry.path();
            let metadata = entry.metadata().map_err(ExternalsError::io(&path))?;
            if entry.file_name() == ".git" {
                continue;
            }
            if metadata.is_dir() {
                open.push(path);
            } else if metadata.is_file() {
                visitor(&path, &metadata)?;
            }
        }
    }
    Ok(())
}
