//! The watched processes: what they take, and who they are.

use std::fs;

use super::parse;
use super::proc_file::ProcFile;
use crate::sample::watched::Watched;

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Taken {
    pub(super) ticks: i64,
    pub(super) resident_pages: i64,
}

#[derive(Default)]
pub(super) struct Tree {
    files: Vec<(u32, ProcFile)>,
}

impl Tree {
    /// Looks at every process of the machine once, and keeps the root and its descendants.
    pub(super) fn look_up(&mut self, watched: &Watched) {
        let Some(root) = watched.root() else { return self.files.clear() };
        let parents = parents();
        let mut found = vec![root];
        let mut at = 0;
        while let Some(&parent) = found.get(at) {
            let children = parents.iter().filter(|(pid, of)| *of == parent && !found.contains(pid));
            let children: Vec<u32> = children.map(|(pid, _)| *pid).collect();
            found.extend(children);
            at += 1;
        }
        self.files.retain(|(pid, _)| found.contains(pid));
        for &pid in &found {
            if !self.files.iter().any(|(known, _)| *known == pid) {
                // One that has ended since is not there any more.
                self.files.extend(ProcFile::open(format!("/proc/{pid}/stat")).ok().map(|file| (pid, file)));
            }
        }
        watched.with_pids(|pids| *pids = found);
    }

    /// What those that still run take together; `None` where none does.
    pub(super) fn taken(&mut self) -> Option<Taken> {
        let of = |file: &mut ProcFile| file.read().ok().and_then(parse::process);
        let all = self.files.iter_mut().filter_map(|(_, file)| of(file));
        all.map(|process| Taken { ticks: process.ticks, resident_pages: process.resident_pages }).reduce(
            |sum, next| Taken {
                ticks: sum.ticks.saturating_add(next.ticks),
                resident_pages: sum.resident_pages.saturating_add(next.resident_pages),
            },
        )
    }
}

fn parents() -> Vec<(u32, u32)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let parent = |pid: u32| {
        let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
        Some((pid, parse::process(&String::from_utf8_lossy(&text))?.parent))
    };
    pids.filter_map(parent).collect()
}
