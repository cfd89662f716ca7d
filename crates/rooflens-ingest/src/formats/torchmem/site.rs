//! Where in the program an allocation comes from: the innermost frame that is the user's own.

use std::collections::HashMap;

use rooflens_schema::{Interner, NameId};

use crate::pickle::{Id, Pickle};

/// Names of places in the program.
pub(crate) struct Sites<'p> {
    pickle: &'p Pickle,
    interner: &'p Interner,
    /// Many allocations share a stack.
    known: HashMap<Id, NameId, foldhash::fast::RandomState>,
}

impl<'p> Sites<'p> {
    pub(crate) fn new(pickle: &'p Pickle, interner: &'p Interner) -> Self {
        Sites { pickle, interner, known: HashMap::default() }
    }

    /// The place of an event or block, by its `frames`, which begin with the innermost.
    pub(crate) fn of(&mut self, event: Id) -> NameId {
        let Some(frames) = self.pickle.get(event, "frames") else { return self.unknown() };
        if let Some(name) = self.known.get(&frames) {
            return *name;
        }
        let of_kind = |wanted: Kind| {
            let mut items = self.pickle.items(frames).iter().copied();
            items.find(|frame| kind(self.pickle.text(*frame, "filename").unwrap_or_default()) <= wanted)
        };
        let found = of_kind(Kind::User).or_else(|| of_kind(Kind::Library)).or_else(|| of_kind(Kind::Native));
        let name = found.map_or_else(|| self.unknown(), |frame| self.interner.intern(&self.label(frame)));
        self.known.insert(frames, name);
        name
    }

    fn unknown(&self) -> NameId {
        self.interner.intern("(no stack was recorded)")
    }

    /// `file.py(line): function`. Folders may tell who somebody is: only the file's own name is kept.
    fn label(&self, frame: Id) -> String {
        let function = self.pickle.text(frame, "name").unwrap_or("?");
        let file = self.pickle.text(frame, "filename").unwrap_or_default();
        let file = file.rsplit(['/', '\\']).next().unwrap_or_default();
        match self.pickle.number(frame, "line") {
            _ if file.is_empty() || file == "??" => function.to_owned(),
            Some(line) => format!("{file}({line}): {function}"),
            None => format!("{file}: {function}"),
        }
    }
}

/// Whose code a file is, the best first.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    User,
    Library,
    Native,
}

fn kind(file: &str) -> Kind {
    // `<stdin>` and `<string>` are Python too.
    if !file.ends_with(".py") && !file.starts_with('<') {
        return Kind::Native;
    }
    let of_library = |folder: &str| {
        // What Inductor writes is as much the library's as what calls it.
        matches!(folder, "site-packages" | "dist-packages" | "torch")
            || folder.starts_with("python3.")
            || folder.starts_with("torchinductor")
    };
    if file.split(['/', '\\']).any(of_library) { Kind::Library } else { Kind::User }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whose_code() {
        for (file, whose) in [
            ("/srv/a/train.py", Kind::User),
            (r"D:\work\model.py", Kind::User),
            ("<stdin>", Kind::User),
            ("/usr/lib/python3.11/contextlib.py", Kind::Library),
            (r"D:\.venv\Lib\site-packages\torch\nn\modules\module.py", Kind::Library),
            ("/tmp/torchinductor_a/hw/chwq7.py", Kind::Library),
            ("memory_snapshot.cpp", Kind::Native),
            ("??", Kind::Native),
            ("", Kind::Native),
        ] {
            assert_eq!(kind(file), whose, "{file}");
        }
    }
}
