//! Describes every kernel name: class, library, data type, short name.

use rooflens_schema::tables::{ActivityKind, KernelDim, KernelDimRow};
use rooflens_schema::{RankTables, stable_id};

use crate::kernel_catalog::{ActivityHint, describe as describe_name};

pub(super) fn describe(tables: &mut RankTables) {
    let mut kinds = vec![None; tables.names.len()];
    for (name, kind) in tables.kernels.kernel_id.iter().zip(&tables.kernels.kind) {
        kinds[name.index()].get_or_insert(*kind);
    }
    let mut rows: Vec<KernelDimRow> = Vec::new();
    for (id, name) in tables.names.iter() {
        let Some(kind) = kinds[id.index()] else { continue };
        let info = describe_name(
            name,
            match kind {
                ActivityKind::Kernel => ActivityHint::Kernel,
                ActivityKind::Memcpy => ActivityHint::Memcpy,
                ActivityKind::Memset => ActivityHint::Memset,
            },
        );
        rows.push(KernelDimRow {
            kernel_id: stable_id(name),
            name: name.to_owned(),
            short_name: info.short_name,
            class: info.class.as_str().to_owned(),
            library: info.library.map(|library| library.to_string()),
            dtype: info.dtype.map(|dtype| dtype.to_string()),
        });
    }
    // Name ids are given in the order threads meet them; the table's order must not depend on that.
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    tables.kernel_dim = KernelDim::default();
    rows.into_iter().for_each(|row| tables.kernel_dim.push(row));
}
