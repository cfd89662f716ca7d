//! NVTX: ranges that programs and frameworks name. Those of PyTorch's `emit_nvtx` are operators.

use std::collections::HashMap;
use std::rc::Rc;

use rooflens_schema::tables::{OpRow, PhaseRow, PhaseSource};
use rooflens_schema::{Opt, Severity};

use super::{Reader, thread};
use crate::sqlite::{number, text};

const PUSH_POP: i64 = 59;
const START_END: i64 = 60;
const MARK: i64 = 34;
const DOMAIN: i64 = 75;

const COLUMNS: [&str; 7] = ["eventType", "start", "end", "globalTid", "domainId", "text", "textId"];

impl Reader<'_> {
    /// Reads the ranges.
    pub(super) fn nvtx(&mut self) {
        let domains = self.domains();
        let (mut marks, mut open) = (0, Vec::new());
        self.database.each("NVTX_EVENTS", &COLUMNS, |row| {
            let kind = number(row, 0);
            match kind {
                Some(PUSH_POP | START_END) => {}
                Some(MARK) => {
                    marks += 1;
                    return;
                }
                _ => return,
            }
            let looked_up;
            let name = match text(row, 5) {
                Some(name) => name,
                None => {
                    looked_up = number(row, 6).and_then(|id| self.strings.text(id));
                    looked_up.as_deref().unwrap_or_default()
                }
            };
            let domain = number(row, 4).and_then(|id| domains.get(&id));
            let full = match domain {
                Some(domain) if !domain.is_empty() => &format!("{domain}:{name}"),
                _ => name,
            };
            let tid = thread(number(row, 3));
            if number(row, 2).is_none() && number(row, 1).is_some() {
                open.push((number(row, 1), tid, full.to_owned()));
                return;
            }
            let Some((ts_ns, dur_ns)) = self.span(number(row, 1), number(row, 2)) else { return };
            self.range(full, tid, ts_ns, dur_ns);
        });
        if !open.is_empty() {
            // They lasted until the recording ended.
            let message = "NVTX ranges were still open when the recording ended; they end with it here";
            self.database.tell(Severity::Info, "open_ranges", open.len() as i64, message.to_owned());
            let last = self.extent.map(|(_, last)| last);
            for (start, tid, name) in open {
                let end = last.max(start);
                if let Some((ts_ns, dur_ns)) = self.span(start, end) {
                    self.range(&name, tid, ts_ns, dur_ns);
                }
            }
        }
        if marks > 0 {
            self.records += marks;
            let message = "NVTX marks have no length and were not read".to_owned();
            self.database.tell(Severity::Info, "unread_nvtx_marks", marks, message);
        }
    }

    fn range(&mut self, name: &str, tid: i64, ts_ns: i64, dur_ns: i64) {
        match Operator::of(name) {
            Some(operator) => {
                let name_id = self.strings.intern(operator.name);
                let shapes_id = operator.sizes.map(|sizes| self.strings.intern(&sizes)).into();
                let ext_id = operator.id.into();
                self.tables.ops.push(OpRow { ext_id, shapes_id, ..OpRow::new(tid, ts_ns, dur_ns, name_id) });
            }
            None => {
                let name_id = self.strings.intern(name);
                let row = PhaseRow::new(PhaseSource::Annotation, ts_ns, dur_ns, name_id);
                self.tables.phases.push(PhaseRow { tid: Opt::some(tid), ..row });
            }
        }
    }

    /// Domains by their number; the first has no name.
    fn domains(&mut self) -> HashMap<i64, Rc<str>> {
        let mut domains = HashMap::new();
        let are_domains = Some(("eventType", DOMAIN));
        self.database.each_of("NVTX_EVENTS", &["domainId", "text", "textId"], are_domains, |row| {
            let name = text(row, 1).map(Rc::from);
            let name = name.or_else(|| number(row, 2).and_then(|id| self.strings.text(id)));
            if let (Some(id), Some(name)) = (number(row, 0), name) {
                domains.insert(id, name);
            }
        });
        domains
    }
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
