//! Linux.

use std::path::Path;

use rooflens_schema::tables::{CounterRow, CounterSource, Counters};
use rooflens_schema::{Notes, Opt};

use super::parse::{self, Ticks};
use super::proc_file::ProcFile;
use super::tree::Tree;
use crate::sample::source::{Lack, Missing, Moment, Ration, Reason, Source, Subject};
use crate::sample::watched::Watched;

const SECOND_NS: i64 = 1_000_000_000;
/// Memory, disks and networks are asked no more often.
const SLOW_NS: i64 = 100_000_000;
/// Who the watched processes are is looked up no more often.
const LOOK_UP_NS: i64 = SECOND_NS;

pub(super) struct HostSource {
    name: String,
    tick_ns: i64,
    page_bytes: i64,
    processors: ProcFile,
    before: Option<Ticks>,
    processors_turn: Ration,
    memory: Option<ProcFile>,
    memory_turn: Ration,
    disks: Option<(ProcFile, Vec<String>)>,
    networks: Option<(ProcFile, Vec<String>)>,
    moved_turn: Ration,
    watched: Watched,
    tree: Tree,
    tree_turn: Ration,
    look_up_turn: Ration,
}

impl HostSource {
    pub(super) fn open(watched: &Watched) -> Result<Self, Missing> {
        let processors = ProcFile::open("/proc/stat").map_err(|error| Missing {
            lack: Lack::System,
            fact: format!("/proc/stat cannot be read: {error}"),
            hint: "mount -t proc proc /proc".into(),
        })?;
        let ticks = i64::try_from(rustix::param::clock_ticks_per_second()).unwrap_or(100).max(1);
        let disks = with_hardware("/sys/block", |_| false);
        let networks = with_hardware("/sys/class/net", |name| name != "lo");
        let named = |path: &str, names: Vec<String>| Some((ProcFile::open(path).ok()?, names));
        Ok(HostSource {
            name: name(),
            tick_ns: SECOND_NS / ticks,
            page_bytes: i64::try_from(rustix::param::page_size()).unwrap_or(4096),
            processors,
            before: None,
            processors_turn: Ration::new(0),
            memory: ProcFile::open("/proc/meminfo").ok(),
            memory_turn: Ration::new(SLOW_NS),
            disks: named("/proc/diskstats", disks),
            networks: named("/proc/net/dev", networks),
            moved_turn: Ration::new(SLOW_NS),
            watched: watched.clone(),
            tree: Tree::default(),
            tree_turn: Ration::new(SLOW_NS),
            look_up_turn: Ration::new(LOOK_UP_NS),
        })
    }

    fn processors(&mut self, moment: &Moment, row: &mut CounterRow) {
        let file = &mut self.processors;
        let now = self.processors_turn.ask(moment, || file.read_head().ok().and_then(parse::cpu));
        let Some(now) = now else { return };
        row.cpu_busy_ns = Opt::some(now.busy.saturating_mul(self.tick_ns));
        let since = self.before.map(|before| (now.busy - before.busy, now.all - before.all));
        // Between two ticks nothing can be said; the next sample then tells of both intervals.
        let Some((busy, all)) = since.filter(|(_, all)| *all > 0) else {
            self.before = self.before.or(Some(now));
            return;
        };
        row.cpu_busy_pct = Some((100.0 * busy as f64 / all as f64).clamp(0.0, 100.0));
        self.before = Some(now);
    }

    fn memory(&mut self, moment: &Moment, row: &mut CounterRow) {
        let Some(file) = &mut self.memory else { return };
        let told = self.memory_turn.ask(moment, || file.read().ok().map(parse::memory)).unwrap_or_default();
        row.mem_used_bytes = told.used_bytes.into();
        row.mem_total_bytes = told.total_bytes.into();
        row.swap_used_bytes = told.swap_used_bytes.into();
    }

    fn moved(&mut self, moment: &Moment, row: &mut CounterRow) {
        let (disks, networks) = (&mut self.disks, &mut self.networks);
        let _ = self.moved_turn.ask(moment, || {
            let counts = |names: &[String], name: &str| names.iter().any(|known| known == name);
            if let Some((file, names)) = disks {
                let moved = file.read().ok().and_then(|text| parse::disks(text, |name| counts(names, name)));
                row.disk_read_bytes = moved.map(|moved| moved.read).into();
                row.disk_write_bytes = moved.map(|moved| moved.written).into();
            }
            if let Some((file, names)) = networks {
                let moved =
                    file.read().ok().and_then(|text| parse::networks(text, |name| counts(names, name)));
                row.net_rx_bytes = moved.map(|moved| moved.read).into();
                row.net_tx_bytes = moved.map(|moved| moved.written).into();
            }
            Some(())
        });
    }

    fn watched(&mut self, moment: &Moment, row: &mut CounterRow) {
        if self.watched.root().is_none() {
            return;
        }
        let (tree, watched) = (&mut self.tree, &self.watched);
        let _ = self.look_up_turn.ask(moment, || {
            tree.look_up(watched);
            Some(())
        });
        if let Some(taken) = self.tree_turn.ask(moment, || tree.taken()) {
            row.watched_cpu_ns = Opt::some(taken.ticks.saturating_mul(self.tick_ns));
            row.watched_mem_bytes = Opt::some(taken.resident_pages.saturating_mul(self.page_bytes));
        }
    }
}

impl Source for HostSource {
    fn name(&self) -> &'static str {
        "host"
    }

    fn about(&self) -> String {
        let version = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        format!("Linux {}", version.trim())
    }

    fn subjects(&self) -> Vec<Subject> {
        let source = CounterSource::Host.as_str().into();
        vec![Subject { source, device: None, name: self.name.clone(), uuid: None }]
    }

    fn sample(&mut self, moment: &Moment, rows: &mut Counters, _: &Notes) {
        let mut row = moment.begin(CounterSource::Host, None);
        self.processors(moment, &mut row);
        self.memory(moment, &mut row);
        self.moved(moment, &mut row);
        self.watched(moment, &mut row);
        moment.end(row, rows);
    }

    fn reasons(&self) -> Vec<Reason> {
        let reason = |column: &'static str, reason: &str| Reason {
            device: None,
            column: column.into(),
            reason: reason.to_owned(),
        };
        let mut reasons = Vec::new();
        if self.disks.as_ref().is_none_or(|(_, names)| names.is_empty()) {
            reasons.push(reason("disk_read_bytes", "no disk found"));
        }
        if self.networks.as_ref().is_none_or(|(_, names)| names.is_empty()) {
            reasons.push(reason("net_rx_bytes", "no network found"));
        }
        if self.watched.root().is_none() {
            reasons.push(reason("watched_cpu_ns", "no process was given"));
        }
        reasons
    }
}

/// The names in a folder of `/sys` that stand for hardware; where none does, as in a container, all that
/// may stand in. Partitions and what lies on top of a disk would count the same bytes twice.
fn with_hardware(folder: &str, may_stand_in: impl Fn(&str) -> bool) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let real = |name: &&String| Path::new(folder).join(name).join("device").exists();
    let hardware: Vec<String> = names.iter().filter(real).cloned().collect();
    if hardware.is_empty() { names.into_iter().filter(|name| may_stand_in(name)).collect() } else { hardware }
}

fn name() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let count = std::thread::available_parallelism().map_or(0, usize::from);
    let model = model.map_or("host", |(_, name)| name.trim());
    if count > 0 { format!("{model}, {count} processors") } else { model.to_owned() }
}
