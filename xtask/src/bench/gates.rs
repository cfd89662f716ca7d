//! What Rooflens promises of its speed, memory and disk, as ratios.

use super::Measured;

/// Wall time over that of the bare pass, its parsing alone, at most.
const MAX_OVER_BARE: f64 = 0.6;
/// HTA's wall time over ours, at least.
const MIN_HTA_OVER: f64 = 40.0;
/// Private memory over the size of the file, at most.
const MAX_MEMORY_OVER_FILE: f64 = 0.5;
/// Wall time at ten times the size over that at the smaller size, at most.
const MAX_AT_TEN_TIMES: f64 = 11.0;
/// Bytes of Parquet per event without Python frames, at most.
const MAX_BYTES_PER_EVENT: f64 = 8.0;

/// The gates that do not hold, in words.
pub(crate) fn broken(all: &[Measured]) -> Vec<String> {
    let mut broken = Vec::new();
    let mut at_most = |name: &str, what: &str, value: f64, limit: f64| {
        if value > limit {
            broken.push(format!("{name}: {what} is {value:.2}, {limit} at most"));
        }
    };
    for one in all {
        at_most(&one.name, "wall time over a bare pass", one.over_bare(), MAX_OVER_BARE);
        at_most(&one.name, "private memory over file size", one.memory_over_file(), MAX_MEMORY_OVER_FILE);
        at_most(&one.name, "bytes of Parquet an event", one.bytes_per_event(), MAX_BYTES_PER_EVENT);
        if let Some(ratio) = one.hta_over() {
            at_most(&one.name, "our wall time over HTA's", 1.0 / ratio, 1.0 / MIN_HTA_OVER);
        }
    }
    for (small, large) in ten_times(all) {
        let ratio = large.rooflens.wall_s / small.rooflens.wall_s;
        at_most(&large.name, "wall time over that at a tenth of the size", ratio, MAX_AT_TEN_TIMES);
    }
    broken
}

/// Pairs of traces of which one is about ten times the other and made from the same.
pub(crate) fn ten_times(all: &[Measured]) -> impl Iterator<Item = (&Measured, &Measured)> {
    let kind = |one: &Measured| one.name.split('_').next().map(str::to_owned);
    all.iter().flat_map(move |small| {
        let large = all.iter().filter(move |large| {
            kind(large) == kind(small) && (9.0..11.0).contains(&(large.bytes as f64 / small.bytes as f64))
        });
        large.map(move |large| (small, large))
    })
}

impl Measured {
    /// Against parsing alone, the stricter bar: our time has the reading in it, the bar's has not.
    pub(crate) fn over_bare(&self) -> f64 {
        self.rooflens.wall_s / self.pass.parse_s
    }
    pub(crate) fn over_bare_with_reading(&self) -> f64 {
        self.rooflens.wall_s / self.bare.wall_s
    }
    pub(crate) fn hta_over(&self) -> Option<f64> {
        self.hta.as_ref().map(|hta| hta.wall_s / self.rooflens.wall_s)
    }
    pub(crate) fn memory_over_file(&self) -> f64 {
        self.rooflens.private_bytes as f64 / self.bytes as f64
    }
    pub(crate) fn bytes_per_event(&self) -> f64 {
        self.tables.0 as f64 / self.pass.events as f64
    }
}

#[cfg(test)]
mod tests {
    use super::super::bare::Pass;
    use super::super::child::Taken;
    use super::*;

    fn measured(name: &str, bytes: u64, wall_s: f64) -> Measured {
        let rooflens = Taken { wall_s, cpu_s: wall_s, private_bytes: bytes / 4, stdout: String::new() };
        let hta = Some(Taken { wall_s: wall_s * 50.0, ..Taken::default() });
        let bare = Taken { wall_s: wall_s * 2.0, ..Taken::default() };
        let pass = Pass { events: 1000, parse_s: wall_s * 2.0, ..Pass::default() };
        Measured { name: name.to_owned(), bytes, rooflens, bare, pass, hta, tables: (7000, 9000) }
    }

    #[test]
    fn gates_hold_or_say_why() {
        let fine = [measured("a_1.json", 100, 1.0), measured("a_10.json", 1000, 10.0)];
        assert_eq!(broken(&fine), [""; 0]);
        let mut slow = measured("a_10.json", 1000, 12.0);
        slow.pass.parse_s = 12.0;
        slow.hta = Some(Taken { wall_s: 12.0, ..Taken::default() });
        let why = broken(&[measured("a_1.json", 100, 1.0), slow]);
        assert_eq!(why.len(), 3, "{why:?}");
    }
}
