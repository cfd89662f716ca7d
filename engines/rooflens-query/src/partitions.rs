//! Which days and tenants a query needs.
//!
//! The manifests of a day are read only if the day is needed. So filters on `day` and `tenant` are evaluated on the
//! names of all partitions first, as one batch with a row per partition.

use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, BooleanArray, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::catalog::Session;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Result, ScalarValue};
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, Volatility};
use rooflens_store::Partition;

/// The columns that are in the path of a file.
pub(crate) const COLUMNS: [&str; 2] = ["day", "tenant"];

/// Their fields. Plain text: windows and joins over dictionaries fail in some plans of DataFusion.
pub(crate) fn fields() -> Vec<FieldRef> {
    COLUMNS.iter().map(|name| Arc::new(Field::new(*name, DataType::Utf8, false))).collect()
}

pub(crate) fn values(partition: &Partition) -> Vec<ScalarValue> {
    vec![ScalarValue::from(partition.day.as_str()), ScalarValue::from(partition.tenant.as_str())]
}

/// Whether a filter can be decided by day and tenant alone. A subquery cannot: its value is not known yet.
pub(crate) fn decides(filter: &Expr) -> bool {
    let mut is_known = true;
    let visited = filter.apply(|expr| {
        is_known &= match expr {
            Expr::Column(column) => COLUMNS.contains(&column.name.as_str()),
            Expr::ScalarFunction(call) => call.func.signature().volatility == Volatility::Immutable,
            Expr::Literal(..)
            | Expr::Alias(_)
            | Expr::Not(_)
            | Expr::IsNotNull(_)
            | Expr::IsNull(_)
            | Expr::IsTrue(_)
            | Expr::IsFalse(_)
            | Expr::IsUnknown(_)
            | Expr::IsNotTrue(_)
            | Expr::IsNotFalse(_)
            | Expr::IsNotUnknown(_)
            | Expr::Cast(_)
            | Expr::TryCast(_)
            | Expr::BinaryExpr(_)
            | Expr::Between(_)
            | Expr::Like(_)
            | Expr::SimilarTo(_)
            | Expr::InList(_)
            | Expr::Case(_) => true,
            _ => false,
        };
        Ok(if is_known { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    });
    visited.is_ok() && is_known
}

pub(crate) fn needed(
    session: &dyn Session,
    partitions: &[Arc<Partition>],
    filters: &[Expr],
) -> Result<Vec<Arc<Partition>>> {
    let Some(filter) = conjunction(filters.iter().filter(|filter| decides(filter)).cloned()) else {
        return Ok(partitions.to_vec());
    };
    let fields: Vec<Field> = fields().iter().map(|field| field.as_ref().clone()).collect();
    let schema = DFSchema::from_unqualified_fields(fields.into(), Default::default())?;
    let days: StringArray = partitions.iter().map(|partition| Some(partition.day.as_str())).collect();
    let tenants: StringArray = partitions.iter().map(|partition| Some(partition.tenant.as_str())).collect();
    let batch = RecordBatch::try_new(Arc::clone(schema.inner()), vec![Arc::new(days), Arc::new(tenants)])?;
    let is_needed = session.create_physical_expr(unqualified(filter)?, &schema)?.evaluate(&batch)?;
    let is_needed = is_needed.into_array(partitions.len())?;
    let Some(is_needed) = is_needed.as_boolean_opt() else { return Ok(partitions.to_vec()) };
    let is_true = |is_needed: &BooleanArray, row| is_needed.is_valid(row) && is_needed.value(row);
    let kept = partitions.iter().enumerate().filter(|(row, _)| is_true(is_needed, *row));
    Ok(kept.map(|(_, partition)| Arc::clone(partition)).collect())
}

/// The filter without the names of tables, which the batch of partitions does not have.
fn unqualified(filter: Expr) -> Result<Expr> {
    let column = |expr| match expr {
        Expr::Column(column) => Transformed::yes(Expr::Column(Column::new_unqualified(column.name))),
        other => Transformed::no(other),
    };
    filter.transform(|expr| Ok(column(expr))).map(|transformed| transformed.data)
}
