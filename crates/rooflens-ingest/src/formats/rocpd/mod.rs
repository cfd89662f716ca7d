//! rocpd: the SQLite file that rocprofv3 writes since ROCm 7, of schema version 3.
//!
//! The tables of a process have its id behind their names. They are read themselves: the views that the
//! file brings along are statements of whoever made it. What a file knows of users and machines, such as
//! the command and the environment of a process, is not read.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use rooflens_schema::tables::DeviceRow;
use rooflens_schema::{Interner, RankTables, Severity};
use rusqlite::Statement;

use super::rocm::{Call, Copy, Dispatch, RocmRows};
use crate::artefact::{Artefact, Probe};
use crate::error::IngestError;
use crate::reading::{Format, Reading, narrow};
use crate::sqlite::{self, Database, number, text};

/// Records of things that no table holds.
const UNREAD: &[(&str, &str)] = &[
    ("rocpd_memory_allocate", "allocations"),
    ("rocpd_pmc_event", "counters of kernels"),
    ("rocpd_sample", "samples and marks"),
];

pub(crate) const FORMAT: Format = Format {
    name: "rocpd",
    about: "rocprofv3 database (rocpd): _results.db, the default since ROCm 7",
    sniff,
    read,
};

fn sniff(probe: &Probe) -> bool {
    // The text of the schema stands on the first pages. An older tool also has tables `rocpd_…`, but
    // not these.
    let has = |word: &str| memchr::memmem::find(&probe.head, word.as_bytes()).is_some();
    probe.head.starts_with(sqlite::MAGIC)
        && ["rocpd_info_", "rocpd_kernel_dispatch", "rocpd_metadata"].into_iter().any(has)
}

fn read(from: Artefact, reading: &Reading<'_>) -> Result<RankTables, IngestError> {
    let database = Database::of(from, reading).map_err(|error| reading.fail(error.to_string()))?;
    let interner = Interner::default();
    let mut rows = RocmRows::new(&interner, reading);
    for (index, suffix) in database.suffixes("rocpd_string").iter().enumerate() {
        read_process(&database, suffix, index, &mut rows);
    }
    rows.tell();
    database.all_is_read();
    let RocmRows { tables, extent, records, .. } = rows;
    let Some(extent) = extent.0 else {
        return Err(reading.fail(match database.suffixes("rocpd_timestamp").is_empty() {
            true => "nothing was recorded in it",
            false => "its times are in rocpd_timestamp, a layout that is not supported yet",
        }));
    };
    Ok(reading.finish(tables, interner, records, extent))
}

/// Reads the process whose tables end with `suffix`, the `index`th of the file.
fn read_process(database: &Database<'_>, suffix: &str, index: usize, rows: &mut RocmRows<'_>) {
    let mut process = Process {
        database,
        suffix,
        index,
        strings: HashMap::new(),
        events: database.by_number(&format!("rocpd_event{suffix}"), &["stack_id", "category_id", "extdata"]),
    };
    database.each(&process.table("rocpd_string"), &["id", "string"], |row| {
        process.strings.extend(number(row, 0).zip(text(row, 1).map(str::to_owned)));
    });
    let agents = process.agents();
    process.kernels(&agents, rows);
    process.copies(&agents, rows);
    process.regions(rows);
    devices(&agents, rows);
    database.each(&format!("rocpd_metadata{suffix}"), &["tag", "value"], |row| {
        if let (Some("schema_version"), Some(version)) = (text(row, 0), text(row, 1)) {
            rows.tables.meta.properties.push(("rocpd_schema_version".to_owned(), version.to_owned()));
        }
    });
    for (table, what) in UNREAD {
        let count = database.count(&format!("{table}{suffix}"));
        if count > 0 {
            let message = format!("{what} ({table}) are not supported yet and were not read");
            database.reading.note(Severity::Info, &format!("unread_{table}"), count, message);
            rows.records += count;
        }
    }
}

struct Process<'a> {
    database: &'a Database<'a>,
    suffix: &'a str,
    index: usize,
    strings: HashMap<i64, String>,
    events: Option<Statement<'a>>,
}

struct Agent {
    number: i64,
    is_gpu: bool,
    name: String,
    architecture: Option<String>,
    units: Option<i64>,
}

type Agents = HashMap<i64, Agent>;

/// What is known of a record beyond its own table.
#[derive(Default)]
struct Event {
    correlation: Option<i64>,
    category: Option<i64>,
    message: Option<String>,
}

impl Process<'_> {
    fn table(&self, name: &str) -> String {
        format!("{name}{}", self.suffix)
    }

    fn kernels(&mut self, agents: &Agents, rows: &mut RocmRows<'_>) {
        let columns = ["id", "display_name", "kernel_name", "arch_vgpr_count"];
        let mut symbols: HashMap<i64, (String, Option<i64>)> = HashMap::new();
        self.database.each(&self.table("rocpd_info_kernel_symbol"), &columns, |row| {
            let name = text(row, 1).filter(|name| !name.is_empty()).or_else(|| text(row, 2));
            if let (Some(id), Some(name)) = (number(row, 0), name) {
                symbols.insert(id, (name.to_owned(), number(row, 3)));
            }
        });
        let columns = [
            "start",
            "end",
            "kernel_id",
            "agent_id",
            "queue_id",
            "event_id",
            "grid_size_x",
            "grid_size_y",
            "grid_size_z",
            "workgroup_size_x",
            "workgroup_size_y",
            "workgroup_size_z",
            "group_segment_size",
        ];
        self.database.each(&self.table("rocpd_kernel_dispatch"), &columns, |row| {
            let symbol = number(row, 2).and_then(|id| symbols.get(&id));
            rows.dispatch(&Dispatch {
                span: (number(row, 0), number(row, 1)),
                name: symbol.map(|(name, _)| name.as_str()),
                agent: agent_number(agents, number(row, 3)),
                queue: number(row, 4),
                correlation: self.event(number(row, 5)).correlation,
                grid_items: [6, 7, 8].map(|column| number(row, column)),
                workgroup: [9, 10, 11].map(|column| number(row, column)),
                registers: symbol.and_then(|(_, registers)| *registers),
                lds_bytes: number(row, 12),
            });
        });
    }

    fn copies(&mut self, agents: &Agents, rows: &mut RocmRows<'_>) {
        let columns =
            ["start", "end", "name_id", "src_agent_id", "dst_agent_id", "queue_id", "event_id", "size"];
        self.database.each(&self.table("rocpd_memory_copy"), &columns, |row| {
            let correlation = self.event(number(row, 6)).correlation;
            let direction = number(row, 2).and_then(|id| self.strings.get(&id));
            rows.copy(&Copy {
                span: (number(row, 0), number(row, 1)),
                direction: direction.map_or("unknown", String::as_str),
                from_agent: agent_number(agents, number(row, 3)),
                to_agent: agent_number(agents, number(row, 4)),
                // Copies by an engine have no queue.
                queue: number(row, 5).filter(|queue| *queue > 0),
                correlation,
                bytes: number(row, 7),
            });
        });
    }

    fn regions(&mut self, rows: &mut RocmRows<'_>) {
        let mut threads = HashMap::new();
        self.database.each(&self.table("rocpd_info_thread"), &["id", "tid"], |row| {
            threads.extend(number(row, 0).zip(number(row, 1)));
        });
        let columns = ["start", "end", "name_id", "tid", "event_id"];
        self.database.each(&self.table("rocpd_region"), &columns, |row| {
            let event = self.event(number(row, 4));
            let string = |id: Option<i64>| id.and_then(|id| self.strings.get(&id)).map(String::as_str);
            let thread = number(row, 3).map(|id| threads.get(&id).copied().unwrap_or(id));
            rows.call(&Call {
                span: (number(row, 0), number(row, 1)),
                domain: string(event.category).unwrap_or_default(),
                name: event.message.as_deref().or_else(|| string(number(row, 2))),
                thread,
                correlation: event.correlation,
            });
        });
    }

    /// `stack_id` is what rocprofv3 itself writes as the correlation of calls and kernels.
    fn event(&mut self, id: Option<i64>) -> Event {
        let (Some(id), Some(events)) = (id, &mut self.events) else { return Event::default() };
        let Ok(mut rows) = events.query([id]) else { return Event::default() };
        let Ok(Some(row)) = rows.next() else { return Event::default() };
        let category = number(row, 1);
        let named = category.and_then(|id| self.strings.get(&id)).is_some_and(|it| it.starts_with("MARKER_"));
        let message = text(row, 2).filter(|_| named).and_then(message);
        // Each process counts for itself; those of the first stay as they are.
        let own = |id: i64| ((self.index as i64) << 32) | (id & 0xffff_ffff);
        Event { correlation: number(row, 0).filter(|id| *id > 0).map(own), category, message }
    }

    fn agents(&self) -> Agents {
        let mut agents = Agents::new();
        let columns = ["id", "absolute_index", "type", "product_name", "name", "extdata"];
        self.database.each(&self.table("rocpd_info_agent"), &columns, |row| {
            let Some(id) = number(row, 0) else { return };
            let more = text(row, 5).and_then(|more| serde_json::from_str::<serde_json::Value>(more).ok());
            agents.insert(
                id,
                Agent {
                    number: number(row, 1).unwrap_or(id),
                    is_gpu: text(row, 2) == Some("GPU"),
                    name: text(row, 3).unwrap_or_default().to_owned(),
                    architecture: text(row, 4).map(str::to_owned),
                    units: more.and_then(|more| more.get("cu_count")?.as_i64()),
                },
            );
        });
        agents
    }
}

fn devices(agents: &Agents, rows: &mut RocmRows<'_>) {
    let tables = &mut rows.tables;
    let mut used: Vec<&Agent> = agents.values().filter(|agent| agent.is_gpu).collect();
    used.sort_by_key(|agent| agent.number);
    for agent in used {
        let device = narrow(agent.number);
        if tables.kernels.device.contains(&device) && !tables.devices.device.contains(&device) {
            tables.devices.push(DeviceRow {
                device,
                name: agent.name.clone(),
                memory_bytes: None.into(),
                units: agent.units.map(narrow).into(),
                architecture: agent.architecture.clone(),
            });
        }
    }
}

fn agent_number(agents: &Agents, id: Option<i64>) -> Option<i64> {
    id.map(|id| agents.get(&id).map_or(id, |agent| agent.number))
}

/// The text of a range: `{"message": "decode"}`.
fn message(more: &str) -> Option<String> {
    let more: serde_json::Value = serde_json::from_str(more).ok()?;
    more.get("message")?.as_str().map(str::to_owned)
}
