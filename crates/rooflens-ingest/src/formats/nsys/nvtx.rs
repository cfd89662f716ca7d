//! NVTX: ranges that programs and frameworks name. Those of PyTorch's `emit_nvtx` are operators.

use std::collections::HashMap;
use std::rc::Rc;

use rooflens_schema::tables::{OpRow, PhaseRow, PhaseSource, RangeRow, RangeStyle};
use rooflens_schema::{NameId, Opt, Severity};
use rusqlite::Row;
use rusqlite::types::ValueRef;

use super::{Reader, process, thread};
use crate::sqlite::{number, text};

const PUSH_POP: i64 = 59;
const START_END: i64 = 60;
/// The same from text files that other tools wrote.
const TEXT_PUSH_POP: i64 = 70;
const TEXT_START_END: i64 = 71;
const MARK: i64 = 34;
const DOMAIN: i64 = 75;

const COLUMNS: [&str; 11] = [
    "eventType",
    "start",
    "end",
    "globalTid",
    "domainId",
    "text",
    "textId",
    "endGlobalTid",
    "uint64Value",
    // A payload that is what it looks like; one at most has a value.
    "int64Value|doubleValue|uint32Value|int32Value|floatValue|jsonText",
    "jsonTextId",
];
const UINT64: usize = 8;
const PLAIN_PAYLOAD: usize = 9;
const JSON_TEXT_ID: usize = 10;

impl Reader<'_> {
    pub(super) fn nvtx(&mut self) {
        let mut texts = Texts::default();
        self.tables.ranges.reserve(self.database.most("NVTX_EVENTS"));
        let (mut marks, mut open, mut waiting) = (0, Vec::new(), Vec::new());
        self.database.each("NVTX_EVENTS", &COLUMNS, |row| {
            let global = number(row, 3);
            let style = match number(row, 0) {
                Some(PUSH_POP | TEXT_PUSH_POP) => RangeStyle::PushPop,
                // Only where it differs is the thread that ended a range told.
                Some(START_END | TEXT_START_END) => match number(row, 7) {
                    Some(end) if Some(end) != global => RangeStyle::Across,
                    _ => RangeStyle::StartEnd,
                },
                Some(MARK) => {
                    marks += 1;
                    return;
                }
                Some(DOMAIN) => return self.domain(row, &mut texts.domains),
                _ => return,
            };
            let payload_id = self.payload(row).into();
            let (pid, tid) = (process(global), thread(global));
            let mut range =
                RangeRow { pid, tid, ts_ns: 0, dur_ns: 0, name_id: NameId::EMPTY, style, payload_id };
            let (start, end) = (number(row, 1), number(row, 2));
            let is_open = end.is_none() && start.is_some();
            match start {
                Some(start) if is_open => range.ts_ns = start,
                _ => {
                    let Some(span) = self.span(start, end) else { return };
                    (range.ts_ns, range.dur_ns) = span;
                }
            }
            match self.range_name(row, &mut texts) {
                Ok(name_id) if is_open => open.push(RangeRow { name_id, ..range }),
                Ok(name_id) => self.range(RangeRow { name_id, ..range }, &texts),
                Err(name) => waiting.push((name, is_open, range)),
            }
        });
        for (name, is_open, range) in waiting {
            let name_id = self.name_in_domain(&name.key, &name.own, &mut texts);
            let range = RangeRow { name_id, ..range };
            if is_open {
                open.push(range);
            } else {
                self.range(range, &texts);
            }
        }
        if !open.is_empty() {
            // They lasted until the recording ended.
            let message = "NVTX ranges were still open when the recording ended; they end with it here";
            self.database.reading.note(Severity::Info, "open_ranges", open.len() as i64, message);
            let last = self.extent.0.map(|(_, last)| last);
            for range in open {
                let start = Some(range.ts_ns);
                if let Some((ts_ns, dur_ns)) = self.span(start, last.max(start)) {
                    self.range(RangeRow { ts_ns, dur_ns, ..range }, &texts);
                }
            }
        }
        self.records += marks;
        let message = "NVTX marks have no duration and were not read";
        self.database.reading.note(Severity::Info, "unread_nvtx_marks", marks, message);
    }

    /// The text of a range, behind its domain; or what it will be made of, where the domain may still be
    /// told. What it means is noted the first time.
    fn range_name(&mut self, row: &Row<'_>, texts: &mut Texts) -> Result<NameId, Waiting> {
        let id = number(row, 6);
        // The domain that ranges are in by themselves has number 0 and no name.
        let Some(domain) = number(row, 4).filter(|domain| *domain != 0) else {
            let Some(id) = id else {
                return Ok(self.named(text(row, 5).unwrap_or_default(), &mut texts.meanings));
            };
            if let Some(name) = texts.registered.get(&id) {
                return Ok(*name);
            }
            let registered = self.strings.text(id);
            let own = registered.as_deref().or_else(|| text(row, 5)).unwrap_or_default();
            let name = self.named(own, &mut texts.meanings);
            texts.registered.insert(id, name);
            return Ok(name);
        };
        let key = (number(row, 3).unwrap_or(0) >> 24, domain);
        let registered = id.and_then(|id| self.strings.text(id));
        let own = registered.as_deref().or_else(|| text(row, 5)).unwrap_or_default();
        if !texts.domains.contains_key(&key) {
            return Err(Waiting { key, own: Rc::from(own) });
        }
        Ok(self.name_in_domain(&key, own, texts))
    }

    /// The name of a range in a domain; its own text where the domain has no name.
    fn name_in_domain(&mut self, key: &(i64, i64), own: &str, texts: &mut Texts) -> NameId {
        match texts.domains.get(key).filter(|domain| !domain.is_empty()) {
            None => self.named(own, &mut texts.meanings),
            Some(domain) => {
                texts.buffer.clear();
                texts.buffer.extend([domain, ":", own]);
                self.named(&texts.buffer, &mut texts.meanings)
            }
        }
    }

    fn named(&mut self, text: &str, meanings: &mut Vec<Option<Meaning>>) -> NameId {
        let name = self.strings.intern(text);
        if meanings.len() <= name.index() {
            meanings.resize(name.index() + 1, None);
        }
        if meanings[name.index()].is_none() {
            let operator = Operator::of(text);
            meanings[name.index()] = Some(operator.map_or(Meaning::Phase, |operator| Meaning::Operator {
                name_id: self.strings.intern(operator.name),
                shapes_id: operator.sizes.map(|sizes| self.strings.intern(&sizes)).into(),
                ext_id: operator.id.into(),
            }));
        }
        name
    }

    fn payload(&mut self, row: &Row<'_>) -> Option<NameId> {
        // SQLite has signed numbers alone.
        if let Some(value) = number(row, UINT64) {
            return Some(self.strings.intern(&value.cast_unsigned().to_string()));
        }
        match row.get_ref(PLAIN_PAYLOAD) {
            Ok(ValueRef::Integer(value)) => return Some(self.strings.intern(&value.to_string())),
            Ok(ValueRef::Real(value)) => return Some(self.strings.intern(&value.to_string())),
            Ok(ValueRef::Text(_)) => return text(row, PLAIN_PAYLOAD).map(|text| self.strings.intern(text)),
            _ => {}
        }
        let json = number(row, JSON_TEXT_ID).and_then(|id| self.strings.text(id))?;
        Some(self.strings.intern(&json))
    }

    fn range(&mut self, range: RangeRow, texts: &Texts) {
        let (tid, ts_ns, dur_ns, name_id) = (range.tid, range.ts_ns, range.dur_ns, range.name_id);
        self.tables.ranges.push(range);
        match texts.meanings.get(name_id.index()).copied().flatten() {
            Some(Meaning::Operator { name_id, shapes_id, ext_id }) => {
                self.tables.ops.push(OpRow { ext_id, shapes_id, ..OpRow::new(tid, ts_ns, dur_ns, name_id) });
            }
            _ => {
                let row = PhaseRow::new(PhaseSource::Annotation, ts_ns, dur_ns, name_id);
                self.tables.phases.push(PhaseRow { tid: Opt::some(tid), ..row });
            }
        }
    }

    fn domain(&mut self, row: &Row<'_>, domains: &mut Domains) {
        let name = text(row, 5).map(Rc::from);
        let name = name.or_else(|| number(row, 6).and_then(|id| self.strings.text(id)));
        if let (Some(id), Some(name)) = (number(row, 4), name) {
            domains.insert((number(row, 3).unwrap_or(0) >> 24, id), name);
        }
    }
}

struct Waiting {
    key: (i64, i64),
    own: Rc<str>,
}

type Domains = HashMap<(i64, i64), Rc<str>, foldhash::fast::RandomState>;

/// What is known of texts so far: many ranges have the same.
#[derive(Default)]
struct Texts {
    domains: Domains,
    /// Texts without a domain, by their number.
    registered: HashMap<i64, NameId, foldhash::fast::RandomState>,
    meanings: Vec<Option<Meaning>>,
    buffer: String,
}

#[derive(Clone, Copy)]
enum Meaning {
    Operator { name_id: NameId, shapes_id: Opt<NameId>, ext_id: Opt<i64> },
    Phase,
}

/// A range of `torch.autograd.profiler.emit_nvtx`: `aten::mul, seq = 46174, op_id = 993406, sizes = [[1, 2], []]`.
struct Operator<'a> {
    name: &'a str,
    id: Option<i64>,
    sizes: Option<String>,
}

impl<'a> Operator<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let (name, rest) = text.split_once(", ")?;
        let (facts, sizes) = match rest.split_once("sizes = ") {
            Some((facts, sizes)) => (facts, Some(sizes)),
            None => (rest, None),
        };
        let mut operator = Operator { name, id: None, sizes: None };
        let mut is_operator = sizes.is_some_and(|sizes| sizes.starts_with('['));
        for fact in facts.split(", ").filter(|fact| !fact.is_empty()) {
            match fact.split_once(" = ") {
                Some(("op_id", id)) => operator.id = Some(id.parse().ok()?),
                Some(("seq", _)) => {}
                _ => return None,
            }
            is_operator = true;
        }
        // What stands behind the sizes is of no use here: where the inputs come from.
        let sizes = sizes.map(|sizes| sizes.split(", input_op_ids").next().unwrap_or(sizes));
        operator.sizes = sizes.map(|sizes| sizes.chars().filter(|c| !c.is_whitespace()).collect());
        is_operator.then_some(operator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_of_emit_nvtx() {
        let of = |text| Operator::of(text).map(|it| (it.name, it.id, it.sizes));
        assert_eq!(of("aten::mul, seq = 46174, op_id = 993406"), Some(("aten::mul", Some(993_406), None)));
        assert_eq!(of("detach_, op_id = 5"), Some(("detach_", Some(5), None)));
        let sizes = Some("[[1,2],[]]".to_owned());
        assert_eq!(
            of("aten::mm, seq = 3, sizes = [[1, 2], []], input_op_ids = [(1,0)]"),
            Some(("aten::mm", None, sizes))
        );
        for range in ["decode, step 3", "rooflens.decode[3]", "a, b = c", "load, sizes = unknown"] {
            assert!(Operator::of(range).is_none(), "{range}");
        }
    }
}
