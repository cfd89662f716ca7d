//! What is known of the call behind a communication kernel.

use rooflens_schema::{NameId, RankTables};

use super::traffic::{Algorithm, element_bytes};
use crate::by_name::{ByName, FastMap};

/// What calls have in common; names are positions in a list of strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Call {
    pub(crate) name: u32,
    pub(crate) dtype: Option<u32>,
    pub(crate) group_size: Option<i32>,
    pub(crate) bytes: Option<i64>,
    pub(crate) algorithm: Option<Algorithm>,
}

pub(crate) struct Calls<'a> {
    tables: &'a RankTables,
    texts: &'a mut ByName<()>,
    details: Vec<(i64, i64, usize)>,
    dim_rows: Vec<u32>,
    kernels: FastMap<NameId, Kernel>,
}

#[derive(Clone, Copy)]
struct Kernel {
    short_name: u32,
    algorithm: Option<Algorithm>,
}

impl<'a> Calls<'a> {
    pub(crate) fn new(tables: &'a RankTables, texts: &'a mut ByName<()>) -> Self {
        let collectives = &tables.collectives;
        let with_corr = (0..collectives.len())
            .filter_map(|row| Some((collectives.corr_id[row].get()?, collectives.ts_ns[row], row)));
        let mut details: Vec<_> = with_corr.collect();
        details.sort_unstable();
        let dim_rows = tables.kernel_dim_rows();
        Calls { tables, texts, details, dim_rows, kernels: FastMap::default() }
    }

    pub(crate) fn of(&mut self, row: usize) -> (Call, Option<u32>) {
        let id = self.tables.kernels.kernel_id[row];
        let kernel = match self.kernels.get(&id) {
            Some(kernel) => *kernel,
            None => {
                let kernel = self.kernel(id);
                self.kernels.insert(id, kernel);
                kernel
            }
        };
        let algorithm = kernel.algorithm;
        let Some(row) = self.detail(row) else {
            let name = kernel.short_name;
            return (Call { name, dtype: None, group_size: None, bytes: None, algorithm }, None);
        };
        let collectives = &self.tables.collectives;
        let dtype = collectives.dtype_id[row].get();
        let elements = collectives.in_elements[row].get().max(collectives.out_elements[row].get());
        let size = dtype.and_then(|dtype| element_bytes(self.tables.names.get(dtype)));
        let group = collectives.group_id[row].get();
        let call = Call {
            name: self.slot(collectives.collective_id[row]),
            dtype: dtype.map(|id| self.slot(id)),
            group_size: collectives.group_size[row].get(),
            bytes: elements.zip(size).and_then(|(elements, size)| elements.checked_mul(size)),
            algorithm,
        };
        (call, group.map(|id| self.slot(id)))
    }

    fn slot(&mut self, id: NameId) -> u32 {
        self.texts.slot(self.tables.names.get(id))
    }

    fn kernel(&mut self, id: NameId) -> Kernel {
        let name = self.tables.names.get(id);
        let row = self.dim_rows.get(id.index()).map_or(usize::MAX, |&row| row as usize);
        let short_name = self.tables.kernel_dim.short_name.get(row).map_or(name, String::as_str);
        Kernel { short_name: self.texts.slot(short_name), algorithm: Algorithm::of(name) }
    }

    fn detail(&self, kernel: usize) -> Option<usize> {
        let kernels = &self.tables.kernels;
        let (corr, ts_ns) = (kernels.corr_id[kernel].get()?, kernels.ts_ns[kernel]);
        let exact = self.details.partition_point(|row| (row.0, row.1) < (corr, ts_ns));
        let found = self.details.get(exact).filter(|row| (row.0, row.1) == (corr, ts_ns));
        let first = self.details.partition_point(|row| row.0 < corr);
        let found = found.or_else(|| self.details.get(first).filter(|row| row.0 == corr));
        found.map(|row| row.2)
    }
}
