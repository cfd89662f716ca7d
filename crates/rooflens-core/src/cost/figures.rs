//! Figures as files.

use std::path::Path;

use rooflens_report::cost::FigureFile;

use crate::error::Error;

/// Writes figures into a folder, which is made where there is none.
pub fn write(folder: &Path, figures: &[FigureFile]) -> Result<(), Error> {
    let unwritable = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::Unwritable { path, source }
    };
    std::fs::create_dir_all(folder).map_err(unwritable(folder))?;
    for figure in figures {
        let path = folder.join(&figure.file_name);
        std::fs::write(&path, &figure.svg).map_err(unwritable(&path))?;
    }
    Ok(())
}
