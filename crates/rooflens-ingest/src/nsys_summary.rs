//! The table of kernels that `nsys stats --report cuda_gpu_kern_sum --format csv` prints.

use crate::csv::{CsvRow, rows};
use crate::error::IngestError;
use crate::ncu::csv::unit;

/// A kernel of the table; times in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct NsysKernelRow {
    /// Full name.
    pub name: String,
    /// How often it ran.
    pub count: u64,
    /// Sum of durations.
    pub total_ns: f64,
    /// Mean.
    pub mean_ns: f64,
    /// Median.
    pub median_ns: f64,
    /// Shortest.
    pub min_ns: f64,
    /// Longest.
    pub max_ns: f64,
    /// Standard deviation of the sample.
    pub stddev_ns: f64,
}

/// Whether a file is such a table.
pub fn is_summary(bytes: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(1 << 16)]);
    head.lines()
        .any(|line| line.contains("Total Time (") && line.contains("Instances") && line.contains("Name"))
}

/// The rows of the table. A row without its numbers ends the reading with an error: a sum that lacks a
/// kernel would give every other a wrong share.
pub fn read(bytes: &[u8], source: &str) -> Result<Vec<NsysKernelRow>, IngestError> {
    let fail = |why: String| IngestError::NoRecords { source_name: source.to_owned(), format: "nsys", why };
    let rows = rows(&String::from_utf8_lossy(bytes));
    let at_head = |row: &CsvRow| row.iter().any(|cell| cell.starts_with("Total Time ("));
    let Some(start) = rows.iter().position(at_head) else {
        return Err(fail("it has no column \"Total Time (ns)\"".to_owned()));
    };
    let head = &rows[start];
    let name = head.iter().position(|cell| cell == "Name");
    let count = head.iter().position(|cell| cell == "Instances");
    let time = |title: &str| {
        let at = head
            .iter()
            .position(|cell| cell.strip_prefix(title).is_some_and(|rest| rest.starts_with(" (")))?;
        let (_, unit) = head[at].split_once(" (")?;
        Some((at, unit::scale(unit.strip_suffix(')')?)?))
    };
    let columns = || {
        Some([time("Total Time")?, time("Avg")?, time("Med")?, time("Min")?, time("Max")?, time("StdDev")?])
    };
    let (Some(name), Some(count), Some(times)) = (name, count, columns()) else {
        return Err(fail("columns of the table are missing".to_owned()));
    };
    let row = |row: &CsvRow| {
        let number = |at: usize| unit::number(row.get(at)?);
        let mut found = [0.0; 6];
        for (place, (at, scale)) in found.iter_mut().zip(times) {
            *place = number(at)? * scale;
        }
        let [total_ns, mean_ns, median_ns, min_ns, max_ns, stddev_ns] = found;
        let count = number(count).filter(|count| *count >= 1.0)? as u64;
        Some(NsysKernelRow {
            name: row.get(name)?.clone(),
            count,
            total_ns,
            mean_ns,
            median_ns,
            min_ns,
            max_ns,
            stddev_ns,
        })
    };
    let body = rows[start + 1..].iter();
    let found: Option<Vec<NsysKernelRow>> = body.map(row).collect();
    match found {
        Some(found) if !found.is_empty() => Ok(found),
        Some(_) => Err(fail("the table is empty".to_owned())),
        None => Err(fail("a row of the table is damaged or truncated".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n";

    #[test]
    fn a_table_is_read() {
        let text =
            format!("\n{HEAD}34.4,61602133,16448,3745.3,3744.0,2080,5728,417.2,\"void a<int, 7>(T13)\"\n");
        assert!(is_summary(text.as_bytes()));
        let rows = read(text.as_bytes(), "t").unwrap();
        assert_eq!(
            (rows[0].name.as_str(), rows[0].count, rows[0].total_ns),
            ("void a<int, 7>(T13)", 16448, 61_602_133.0)
        );
        let micro = text.replace("(ns)", "(us)");
        assert_eq!(read(micro.as_bytes(), "t").unwrap()[0].min_ns, 2_080_000.0);
    }

    #[test]
    fn a_damaged_table_is_an_error() {
        for text in ["", "a,b\n", HEAD, &format!("{HEAD}34.4,616\n"), &format!("{HEAD}1,x,1,1,1,1,1,1,k\n")] {
            assert!(read(text.as_bytes(), "t").is_err(), "{text}");
        }
    }
}
