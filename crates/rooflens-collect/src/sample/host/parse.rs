//! What the files of `/proc` say. A line that is not as expected is passed over; a number that is not
//! there is `None`.
#![cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux has the files"))]

/// Sectors of `/proc/diskstats` are of this size whatever the disk's own are: Documentation/block/stat.rst.
const SECTOR: i64 = 512;
const KIB: i64 = 1024;

/// Processor time of the machine, in ticks since it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticks {
    pub(super) busy: i64,
    pub(super) all: i64,
}

/// The first line of `/proc/stat`. Waiting for a disk is idle; guests are counted in `user` already.
pub(super) fn cpu(text: &str) -> Option<Ticks> {
    let mut words = text.lines().next()?.split_ascii_whitespace();
    words.next().filter(|word| *word == "cpu")?;
    let mut ticks = [0_i64; 8];
    for tick in &mut ticks {
        *tick = words.next()?.parse().ok()?;
    }
    let [user, nice, system, idle, iowait, irq, softirq, steal] = ticks;
    let busy = user + nice + system + irq + softirq + steal;
    Some(Ticks { busy, all: busy + idle + iowait })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Memory {
    pub(super) used_bytes: Option<i64>,
    pub(super) total_bytes: Option<i64>,
    pub(super) swap_used_bytes: Option<i64>,
}

/// `/proc/meminfo`.
pub(super) fn memory(text: &str) -> Memory {
    let [mut total, mut available, mut swap, mut swap_free] = [None; 4];
    for line in text.lines() {
        let Some((key, rest)) = line.split_once(':') else { continue };
        let cell = match key {
            "MemTotal" => &mut total,
            "MemAvailable" => &mut available,
            "SwapTotal" => &mut swap,
            "SwapFree" => &mut swap_free,
            _ => continue,
        };
        let number: Option<i64> = rest.split_ascii_whitespace().next().and_then(|word| word.parse().ok());
        *cell = number.map(|kib| kib.saturating_mul(KIB));
    }
    let less = |all: Option<i64>, rest: Option<i64>| Some(all? - rest?);
    Memory { used_bytes: less(total, available), total_bytes: total, swap_used_bytes: less(swap, swap_free) }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Moved {
    pub(super) read: i64,
    pub(super) written: i64,
}

/// `/proc/diskstats`, summed over the disks that count.
pub(super) fn disks(text: &str, counts: impl Fn(&str) -> bool) -> Option<Moved> {
    let of = |line: &str| {
        let mut words = line.split_ascii_whitespace().skip(2);
        words.next().filter(|name| counts(name))?;
        let mut words = words.skip(2);
        let read: i64 = words.next()?.parse().ok()?;
        let written: i64 = words.nth(3)?.parse().ok()?;
        Some(Moved { read: read.saturating_mul(SECTOR), written: written.saturating_mul(SECTOR) })
    };
    sum(text.lines().filter_map(of))
}

/// `/proc/net/dev`, summed over the interfaces that count.
pub(super) fn networks(text: &str, counts: impl Fn(&str) -> bool) -> Option<Moved> {
    let of = |line: &str| {
        let (name, rest) = line.split_once(':')?;
        if !counts(name.trim()) {
            return None;
        }
        let mut words = rest.split_ascii_whitespace();
        let received = words.next()?.parse().ok()?;
        let sent = words.nth(7)?.parse().ok()?;
        Some(Moved { read: received, written: sent })
    };
    sum(text.lines().filter_map(of))
}

fn sum(moved: impl Iterator<Item = Moved>) -> Option<Moved> {
    moved.reduce(|sum, next| Moved {
        read: sum.read.saturating_add(next.read),
        written: sum.written.saturating_add(next.written),
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) parent: u32,
    /// Its own time and that of children it has waited for, in ticks.
    pub(super) ticks: i64,
    pub(super) resident_pages: i64,
}

/// `/proc/<pid>/stat`. The name stands in brackets and may hold anything, brackets and blanks too.
pub(super) fn process(text: &str) -> Option<Process> {
    let (_, rest) = text.rsplit_once(") ")?;
    let mut words = rest.split_ascii_whitespace();
    let parent = words.nth(1)?.parse().ok()?;
    let mut ticks = 0_i64;
    // utime, stime, cutime, cstime are fields 14 to 17, of which `rest` begins with 3.
    let mut times = words.skip(9);
    for _ in 0..4 {
        ticks = ticks.saturating_add(times.next()?.parse().ok()?);
    }
    let resident_pages = times.nth(6)?.parse().ok()?;
    Some(Process { parent, ticks, resident_pages })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors() {
        let text = "cpu  100 20 30 1000 50 5 5 10 7 0\ncpu0 1 2 3\nintr 9\n";
        assert_eq!(cpu(text), Some(Ticks { busy: 170, all: 1220 }));
        for odd in ["", "cpu", "cpu 1 2 3", "cpu a b c d e f g h", "cpu0 1 2 3 4 5 6 7 8"] {
            assert_eq!(cpu(odd), None, "{odd}");
        }
    }

    #[test]
    fn memory_without_what_can_be_taken_back() {
        let text =
            "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 400 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n";
        let expected =
            Memory { used_bytes: Some(600 * 1024), total_bytes: Some(1000 * 1024), swap_used_bytes: Some(0) };
        assert_eq!(memory(text), expected);
        assert_eq!(memory("MemTotal: x kB\nMemAvailable: 4 kB"), Memory::default());
    }

    #[test]
    fn disks_and_networks() {
        let text = " 259 0 nvme0n1 10 0 2000 5 20 0 4000 6 0 7 8\n 259 1 nvme0n1p1 9 0 1999 5 19 0 3999 6 0 7 8\n bad\n";
        let whole = |name: &str| name == "nvme0n1";
        assert_eq!(disks(text, whole), Some(Moved { read: 2000 * 512, written: 4000 * 512 }));
        assert_eq!(disks(text, |_| false), None);
        let text = "Inter-| Receive | Transmit\n face |bytes packets\n lo: 5 1 0 0 0 0 0 0 5 1 0\n eth0: 700 1 0 0 0 0 0 0 900 1 0\n";
        assert_eq!(networks(text, |name| name != "lo"), Some(Moved { read: 700, written: 900 }));
    }

    #[test]
    fn a_process_may_be_called_anything() {
        let text =
            "12 (a) b (c)) S 7 12 12 0 -1 0 1 2 3 4 100 50 20 5 20 0 1 0 999 123456 42 18446744073709551615";
        assert_eq!(process(text), Some(Process { parent: 7, ticks: 175, resident_pages: 42 }));
        assert_eq!(process("12 (cut) S 7 1"), None);
    }
}
