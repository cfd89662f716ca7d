//! Folders of rocprof-compute (once Omniperf): the counters of single kernel launches, `pmc_perf.csv`, and what the
//! tool wrote beside them. Like reports of Nsight Compute they have no timeline to speak of.
//!
//! Numbers keep the names of their columns. Those of other files have the file before them: `sysinfo.max_sclk`,
//! `roofline.HBMBw` (in the tool's units, MHz and GB/s), `level_waves.SQ_ACCUM_PREV_HIRES`. What names a machine,
//! a user or a process (`sysinfo.csv` is full of it) is not taken.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rooflens_schema::{Notes, Severity, Stage};

use crate::csv::{CsvRow, rows};
use crate::error::IngestError;

/// The file that makes a folder one of this tool.
const COUNTERS: &str = "pmc_perf.csv";
/// Columns of `sysinfo.csv` that are taken: all are numbers of the device.
const DEVICE_COLUMNS: &[&str] =
    &["cu_per_gpu", "max_waves_per_cu", "max_sclk", "total_l2_chan", "lds_banks_per_cu", "hbm_bw", "num_xcd"];
/// No file of a folder is larger.
const LARGEST: u64 = 4 << 30;
const DEEPEST: usize = 8;

/// A launch and its counters.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RocprofLaunch {
    /// Full name.
    pub name: String,
    /// Workgroups.
    pub groups: Option<u64>,
    /// Work-items of a workgroup.
    pub items: Option<u64>,
    /// Numbers by name; `time_ns` from its two timestamps.
    pub numbers: BTreeMap<String, f64>,
    /// Name of the device, as `MI200`.
    pub device: Option<String>,
}

/// The folders of this tool at or below a path; a path of `pmc_perf.csv` is its folder.
pub fn folders(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    if path.is_dir() {
        search(path, 0, &mut found);
    } else if path.file_name().is_some_and(|name| name == COUNTERS) && is_counters(path) {
        found.push(path.parent().unwrap_or(Path::new(".")).to_owned());
    }
    found
}

fn search(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    if is_counters(&folder.join(COUNTERS)) {
        found.push(folder.to_owned());
        return;
    }
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut inner: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    inner.sort();
    for path in inner.iter().filter(|path| depth < DEEPEST && path.is_dir() && !path.is_symlink()) {
        search(path, depth + 1, found);
    }
}

/// By its first line, not by its name alone.
fn is_counters(path: &Path) -> bool {
    use std::io::Read;
    let mut head = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(4096).read_to_end(&mut head));
    let head = String::from_utf8_lossy(&head);
    let first = head.trim_start_matches('\u{feff}').lines().next().unwrap_or_default();
    read.is_ok() && first.contains("Dispatch_ID") && first.contains("GPU_ID")
}

/// The launches of a folder. A cell that is no number is missing; a row without a kernel is a note.
pub fn read(folder: &Path, notes: &Notes) -> Result<Vec<RocprofLaunch>, IngestError> {
    let path = folder.join(COUNTERS);
    let counters = text(&path).map_err(|source| IngestError::Io { path: path.clone(), source })?;
    let beside = |name: &str| text(&folder.join(name)).unwrap_or_default();
    let files = RocprofFiles {
        counters,
        system: beside("sysinfo.csv"),
        roofline: beside("roofline.csv"),
        level_waves: beside("SQ_LEVEL_WAVES.csv"),
    };
    let source = path.display().to_string();
    let launches = launches(&files, &source, notes);
    if launches.is_empty() {
        let why = "no row has a kernel".to_owned();
        return Err(IngestError::NoRecords { source_name: source, format: "rocprof-compute", why });
    }
    Ok(launches)
}

fn text(path: &Path) -> std::io::Result<String> {
    if std::fs::metadata(path)?.len() > LARGEST {
        return Err(std::io::Error::other("larger than any output of rocprof-compute"));
    }
    Ok(String::from_utf8_lossy(&std::fs::read(path)?).into_owned())
}

/// The texts of a folder; empty where a file is not there.
#[derive(Debug, Clone, Default)]
pub struct RocprofFiles {
    /// `pmc_perf.csv`.
    pub counters: String,
    /// `sysinfo.csv`.
    pub system: String,
    /// `roofline.csv`.
    pub roofline: String,
    /// `SQ_LEVEL_WAVES.csv`.
    pub level_waves: String,
}

/// The launches of the texts.
pub fn launches(files: &RocprofFiles, source: &str, notes: &Notes) -> Vec<RocprofLaunch> {
    let system = Table::of(&files.system);
    let mut common = BTreeMap::new();
    let mut device = None;
    if let Some(row) = system.rows.first() {
        for column in DEVICE_COLUMNS {
            common.extend(system.number(row, column).map(|value| (format!("sysinfo.{column}"), value)));
        }
        // gfx90a: a hexadecimal number.
        let arch = system.cell(row, "gpu_arch").and_then(|arch| arch.trim().strip_prefix("gfx"));
        let generation = arch.and_then(|arch| u32::from_str_radix(arch, 16).ok()).map(f64::from);
        common.extend(generation.map(|gfx| ("sysinfo.gfx".to_owned(), gfx)));
        // MI300X_A1 is a stepping of MI300X.
        let model = system.cell(row, "gpu_model").and_then(|model| model.split('_').next());
        device = model.filter(|model| !model.is_empty()).map(str::to_owned);
    }
    let roofline = Table::of(&files.roofline);
    for (at, column) in roofline.head.iter().enumerate() {
        // Devices of one machine were measured in turn: the highest is the device's.
        let measured = roofline.rows.iter().filter_map(|row| number(row.get(at)?));
        let highest = measured.filter(|value| *value > 0.0).max_by(f64::total_cmp);
        common.extend(highest.map(|value| (format!("roofline.{column}"), value)));
    }
    let mut waves: BTreeMap<String, [Option<f64>; 2]> = BTreeMap::new();
    let level = Table::of(&files.level_waves);
    for row in &level.rows {
        let Some(id) = level.cell(row, "Dispatch_ID") else { continue };
        let of = ["SQ_ACCUM_PREV_HIRES", "GRBM_GUI_ACTIVE"].map(|name| level.number(row, name));
        waves.insert(id.to_owned(), of);
    }
    let table = Table::of(&files.counters);
    let channels = channels(&table.head);
    let mut found = Vec::new();
    for (at, row) in table.rows.iter().enumerate() {
        let name = table.cell(row, "Kernel_Name").unwrap_or_default();
        if name.is_empty() || row.len() < table.head.len() {
            let message = format!("row {} of {COUNTERS} is truncated or has no kernel: skipped", at + 1);
            notes.add(Stage::Ingest, Severity::DataLoss, "damaged_event", source, message);
            continue;
        }
        let mut numbers = common.clone();
        for (at, column) in table.head.iter().enumerate() {
            if counts(column) {
                numbers
                    .extend(row.get(at).and_then(|cell| number(cell)).map(|value| (column.clone(), value)));
            }
        }
        for (counter, places) in &channels {
            let sum: Option<f64> = places.iter().map(|at| number(row.get(*at)?)).sum();
            let whole = format!("{counter}_sum");
            if let (Some(sum), false) = (sum, numbers.contains_key(&whole)) {
                numbers.insert(whole, sum);
            }
        }
        let stamp = |column| table.cell(row, column)?.trim().trim_end_matches(".0").parse::<i64>().ok();
        let begin_end = stamp("Start_Timestamp").zip(stamp("End_Timestamp"));
        let time = begin_end.and_then(|(begin, end)| end.checked_sub(begin)).filter(|time| *time > 0);
        numbers.extend(time.map(|time| ("time_ns".to_owned(), time as f64)));
        if let Some([accumulated, active]) = table.cell(row, "Dispatch_ID").and_then(|id| waves.get(id)) {
            let named = [("SQ_ACCUM_PREV_HIRES", accumulated), ("GRBM_GUI_ACTIVE", active)];
            numbers.extend(
                named
                    .into_iter()
                    .filter_map(|(name, value)| Some((format!("level_waves.{name}"), (*value)?))),
            );
        }
        let whole =
            |column| table.number(row, column).filter(|value| *value >= 1.0).map(|value| value as u64);
        let (all, items) = (whole("Grid_Size"), whole("Workgroup_Size"));
        found.push(RocprofLaunch {
            // The descriptor of the kernel's code is not the kernel.
            name: name
                .trim_end_matches(" [clone .kd]")
                .trim_end_matches(" (.kd)")
                .trim_end_matches(".kd")
                .to_owned(),
            groups: all.zip(items).map(|(all, items)| all.div_ceil(items)),
            items,
            numbers,
            device: device.clone(),
        });
    }
    found
}

/// Whether a column is a counter or a size: those of single channels are only summed.
fn counts(column: &str) -> bool {
    let counter = ["SQ", "TC", "GRBM_"].iter().any(|begin| column.starts_with(begin));
    (counter && !column.ends_with(']')) || matches!(column, "Arch_VGPR" | "Accum_VGPR")
}

/// Counters that stand channel by channel, `TCC_HIT[0]` …, and where.
fn channels(head: &[String]) -> BTreeMap<String, Vec<usize>> {
    let mut found: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, column) in head.iter().enumerate() {
        let counter = column.strip_suffix(']').and_then(|column| column.split_once('['));
        if let Some((counter, _)) = counter.filter(|(counter, _)| counter.starts_with("TCC_")) {
            found.entry(counter.to_owned()).or_default().push(at);
        }
    }
    found
}

struct Table {
    head: CsvRow,
    rows: Vec<CsvRow>,
}

impl Table {
    fn of(text: &str) -> Table {
        let mut rows = rows(text.trim_start_matches('\u{feff}')).into_iter();
        Table { head: rows.next().unwrap_or_default(), rows: rows.collect() }
    }

    /// Of the first column of a name: later ones, of later passes, have a number behind it.
    fn cell<'r>(&self, row: &'r CsvRow, column: &str) -> Option<&'r str> {
        row.get(self.head.iter().position(|head| head == column)?).map(String::as_str)
    }

    fn number(&self, row: &CsvRow, column: &str) -> Option<f64> {
        number(self.cell(row, column)?)
    }
}

/// No counter is negative.
fn number(cell: &str) -> Option<f64> {
    cell.trim().parse().ok().filter(|value: &f64| value.is_finite() && *value >= 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> RocprofFiles {
        RocprofFiles {
            counters: "Dispatch_ID,GPU_ID,Kernel_Name,Grid_Size,Workgroup_Size,pid,Arch_VGPR,SQ_WAVES,TCC_HIT[0],TCC_HIT[1],TCC_REQ[0],TCC_REQ_sum,Start_Timestamp,End_Timestamp\n\
                       0,2,\"copy(double*, int) [clone .kd]\",1000,256,77,8,16,3,4,1,9.0,1412702536508356,1412702536528996\n\
                       1,2,fill.kd,,256,77,8,,3,,1,9,5,4\n\
                       2,2,cut,1"
                .to_owned(),
            system: "hostname,gpu_model,gpu_arch,max_sclk,cu_per_gpu\nsecret,MI300X_A1,gfx942,2100,304\n".to_owned(),
            roofline: "device,HBMBw\n0,1388.5\n1,1390\n".to_owned(),
            level_waves: "Dispatch_ID,GRBM_GUI_ACTIVE,SQ_ACCUM_PREV_HIRES\n0,10,200\n".to_owned(),
        }
    }

    #[test]
    fn a_folder_is_launches_with_numbers() {
        let notes = Notes::default();
        let found = launches(&files(), "x", &notes);
        assert_eq!(found.len(), 2);
        let [copy, fill] = [&found[0], &found[1]];
        assert_eq!((copy.name.as_str(), fill.name.as_str()), ("copy(double*, int)", "fill"));
        // 1,000 items in groups of 256 are three whole ones and a part.
        assert_eq!((copy.groups, copy.items, fill.groups), (Some(4), Some(256), None));
        assert_eq!(copy.device.as_deref(), Some("MI300X"));
        let of = |launch: &RocprofLaunch, name: &str| launch.numbers.get(name).copied();
        assert_eq!(of(copy, "time_ns"), Some(20_640.0));
        assert_eq!(of(copy, "TCC_HIT_sum"), Some(7.0));
        // The tool's own sum is of another pass, and stands.
        assert_eq!(of(copy, "TCC_REQ_sum"), Some(9.0));
        assert_eq!(
            (of(copy, "sysinfo.gfx"), of(copy, "roofline.HBMBw")),
            (Some(f64::from(0x942)), Some(1390.0))
        );
        assert_eq!(of(copy, "level_waves.SQ_ACCUM_PREV_HIRES"), Some(200.0));
        assert_eq!(of(copy, "pid"), None);
        // What is not there is not 0.
        assert_eq!((of(fill, "SQ_WAVES"), of(fill, "TCC_HIT_sum"), of(fill, "time_ns")), (None, None, None));
        assert_eq!(notes.rows()[0].code, "damaged_event");
        assert!(!format!("{found:?}").contains("secret"));
    }

    #[test]
    fn text_that_is_no_table_has_no_launches() {
        for text in ["", "\"", "Kernel_Name", "Kernel_Name\n\n", "a,b\n1,2,3\n"] {
            let files = RocprofFiles {
                counters: text.to_owned(),
                system: text.to_owned(),
                ..RocprofFiles::default()
            };
            assert_eq!(launches(&files, "x", &Notes::default()), [], "{text:?}");
        }
    }
}
