//! Where the shapes that families share stand in checkpoints that name their modules otherwise.

use crate::units::Unit;

/// Gives parts that stand at the first of a pair the second as their place.
#[must_use]
pub(crate) fn renamed(mut units: Vec<Unit>, names: &[(&str, &'static str)]) -> Vec<Unit> {
    let new = |old: &str| names.iter().find(|(from, _)| *from == old).map(|(_, to)| *to);
    for unit in &mut units {
        match unit {
            Unit::Linear(linear) => {
                if let Some(name) = linear.module.and_then(new) {
                    linear.module = Some(name);
                }
            }
            Unit::Experts(experts) => {
                if let Some(name) = new(experts.module) {
                    experts.module = name;
                }
            }
            _ => {}
        }
    }
    units
}
