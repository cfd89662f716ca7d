//! Samples as CSV: every column, or those of the `nvml.csv` that others write.

use std::io::{self, Write};

use rooflens_schema::tables::{CounterRow, CounterSource, Counters};

use crate::sample::field;

/// Which columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Columns {
    /// Every column of the table `counters`, as it is there.
    All,
    /// Those of `nvml.csv`, in its units, of devices only; after them `device`, for machines with several.
    Nvml,
}

/// The columns of `nvml.csv`; `ts` is in seconds since 1970.
pub(crate) const NVML: &[&str] = &[
    "ts",
    "gpu_util_pct",
    "mem_util_pct",
    "sm_clock_MHz",
    "mem_clock_MHz",
    "power_W",
    "temp_C",
    "mem_used_MiB",
    "mem_total_MiB",
    "device",
];

const MIB: f64 = 1_048_576.0;

/// Writes samples as lines.
pub struct CsvWriter<W> {
    columns: Columns,
    base_unix_ns: i64,
    line: String,
    out: W,
}

impl<W: Write> CsvWriter<W> {
    /// Writes the names of the columns. `base_unix_ns` is what the rows' times are counted from.
    pub fn new(columns: Columns, base_unix_ns: i64, mut out: W) -> io::Result<Self> {
        let names: Vec<&str> = match columns {
            Columns::All => field::ALL.iter().map(|field| field.name).collect(),
            Columns::Nvml => NVML.to_vec(),
        };
        writeln!(out, "{}", names.join(","))?;
        Ok(CsvWriter { columns, base_unix_ns, line: String::new(), out })
    }

    /// Writes rows, and tells how many. What is not known is an empty cell.
    pub fn write(&mut self, rows: &Counters) -> io::Result<usize> {
        let mut written = 0;
        for row in (0..rows.len()).filter_map(|i| rows.row(i)) {
            self.line.clear();
            match self.columns {
                Columns::All => self.whole(&row),
                Columns::Nvml if row.source == CounterSource::Device => self.nvml(&row),
                Columns::Nvml => continue,
            }
            self.line.pop();
            self.line.push('\n');
            self.out.write_all(self.line.as_bytes())?;
            written += 1;
        }
        self.out.flush()?;
        Ok(written)
    }

    #[cfg(test)]
    pub(crate) fn into_inner(self) -> W {
        self.out
    }

    fn whole(&mut self, row: &CounterRow) {
        for field in field::ALL {
            self.cell((field.of)(row));
        }
    }

    fn nvml(&mut self, row: &CounterRow) {
        let unix_ns = row.ts_ns.saturating_add(self.base_unix_ns);
        self.cell(format_args!("{}.{:06}", unix_ns / 1_000_000_000, unix_ns % 1_000_000_000 / 1_000));
        for whole in [row.gpu_util_pct, row.mem_util_pct, row.sm_clock_mhz, row.mem_clock_mhz] {
            self.known(whole.get());
        }
        self.known(row.power_mw.get().map(|power| power as f64 / 1e3));
        self.known(row.temperature_c.get());
        for bytes in [row.mem_used_bytes, row.mem_total_bytes] {
            self.known(bytes.get().map(|bytes| bytes as f64 / MIB));
        }
        self.known(row.device.get());
    }

    fn known(&mut self, value: Option<impl std::fmt::Display>) {
        match value {
            Some(value) => self.cell(value),
            None => self.cell(""),
        }
    }

    fn cell(&mut self, value: impl std::fmt::Display) {
        use std::fmt::Write as _;
        // Writing to a string cannot fail.
        let _ = write!(self.line, "{value},");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rooflens_schema::Opt;

    fn sample() -> Counters {
        let mut rows = Counters::default();
        rows.push(CounterRow::new(500_000_000, 0, CounterSource::Host, None));
        let mut row = CounterRow::new(1_250_000_000, 0, CounterSource::Device, Some(1));
        row.gpu_util_pct = Opt::some(97);
        row.power_mw = Opt::some(301_500);
        row.mem_used_bytes = Opt::some(1536 * 1024);
        row.mem_total_bytes = Opt::some(80 << 30);
        rows.push(row);
        rows
    }

    fn text(columns: Columns, base_unix_ns: i64) -> String {
        let mut csv = CsvWriter::new(columns, base_unix_ns, Vec::new()).unwrap();
        csv.write(&sample()).unwrap();
        String::from_utf8(csv.into_inner()).unwrap()
    }

    #[test]
    fn the_columns_that_others_write() {
        let expected = "ts,gpu_util_pct,mem_util_pct,sm_clock_MHz,mem_clock_MHz,power_W,temp_C,mem_used_MiB,mem_total_MiB,device\n\
                        1700000001.250000,97,,,,301.5,,1.5,81920,1\n";
        assert_eq!(text(Columns::Nvml, 1_700_000_000_000_000_000), expected);
    }

    #[test]
    fn every_column() {
        let text = text(Columns::All, 0);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[1].starts_with("500000000,0,0,host,,none,"), "{text}");
        assert!(lines[2].starts_with("1250000000,0,0,device,1,none,97,,"), "{text}");
        let cells = |line: &str| line.split(',').count();
        assert!(lines.iter().all(|line| cells(line) == field::ALL.len()), "{text}");
    }
}
