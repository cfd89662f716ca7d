//! The activities of a step, in the order in which the host asks for them.

use anyhow::{Result, bail};

use super::names::Names;
use super::scenario::{Scenario, Step};
use super::truth::{Planted, Work};
use crate::random::Random;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Item {
    pub(crate) what: Planted,
    pub(crate) name: &'static str,
    pub(crate) dur_ns: i64,
    pub(crate) layer: Option<u64>,
}

/// The copy that brings tokens to the device.
pub(crate) const TO_DEVICE: &str = "Memcpy HtoD (Pinned -> Device)";
/// The copy that brings tokens back.
pub(crate) const TO_HOST: &str = "Memcpy DtoH (Device -> Pinned)";

/// The kernels of a class of the static model: how many there are in a step, the kind of work, the name.
fn doers(class: &str, scenario: &Scenario, names: &Names) -> Result<Option<(u64, Work, &'static str)>> {
    let layers = scenario.layers;
    Ok(Some(match class {
        "embed" => (1, Work::Lookups, names.lookup),
        "lm_head" => (1, Work::Products, names.gemm),
        "norm" => (2 * layers + 1, Work::Norms, names.norm),
        "attn.qkv" | "attn.o" | "mlp" => (layers, Work::Products, names.gemm),
        "moe.router" | "moe.routed" => (layers, Work::Products, names.moe),
        "attn.core" => (layers, Work::Attention, names.attention),
        class if class.starts_with("comm.") => return Ok(None),
        class => bail!("no kernels are planted for {class}"),
    }))
}

pub(crate) struct StepWork<'a> {
    scenario: &'a Scenario,
    names: &'a Names,
    step: &'a Step,
    items: Vec<Item>,
}

impl<'a> StepWork<'a> {
    pub(crate) fn items(
        scenario: &'a Scenario,
        names: &'a Names,
        step: &'a Step,
        random: &mut Random,
    ) -> Result<Vec<Item>> {
        for (class, _) in &step.floors {
            doers(class, scenario, names)?;
        }
        let mut work = StepWork { scenario, names, step, items: Vec::new() };
        work.copy(TO_DEVICE, random);
        work.needed("embed", None)?;
        for layer in 0..scenario.layers {
            let at = Some(layer);
            work.needed("norm", at)?;
            work.needed("attn.qkv", at)?;
            work.unneeded(at, random);
            work.lost(Work::Attention, names.rope, at, random);
            work.lost(Work::Attention, names.cache, at, random);
            work.needed("attn.core", at)?;
            work.needed("attn.o", at)?;
            work.communication(at, random);
            work.needed("norm", at)?;
            if scenario.has_experts {
                work.needed("moe.router", at)?;
                work.needed("moe.routed", at)?;
            } else {
                work.needed("mlp", at)?;
            }
            work.unneeded(at, random);
            work.communication(at, random);
        }
        work.needed("norm", None)?;
        work.needed("lm_head", None)?;
        work.lost(Work::Others, names.sampling, None, random);
        work.copy(TO_HOST, random);
        Ok(work.items)
    }

    fn push(&mut self, what: Planted, name: &'static str, dur_ns: i64, layer: Option<u64>) {
        self.items.push(Item { what, name, dur_ns, layer });
    }

    /// A kernel that takes its part of a class' floor, and as much more as is planted.
    fn needed(&mut self, class: &str, layer: Option<u64>) -> Result<()> {
        let floor = self.step.floors.iter().find(|(known, _)| *known == class);
        let (Some((_, floor)), Some((count, work, name))) = (floor, doers(class, self.scenario, self.names)?)
        else {
            return Ok(());
        };
        let above = self.scenario.inefficiency.iter().find(|(of, _)| *of == work).map_or(0.0, |of| of.1);
        let dur_ns = (floor / count as f64 * (1.0 + above)).ceil() as i64;
        self.push(Planted::Needed(work), name, dur_ns.max(1), layer);
        Ok(())
    }

    /// A kernel that a model needs and whose floor is nothing: all of it is inefficiency.
    fn lost(&mut self, work: Work, name: &'static str, layer: Option<u64>, random: &mut Random) {
        let dur_ns = random.between(800, 4_000);
        self.push(Planted::Needed(work), name, dur_ns, layer);
    }

    fn unneeded(&mut self, layer: Option<u64>, random: &mut Random) {
        while random.happens(self.scenario.habits.unneeded) {
            let name = *random.pick(self.names.unneeded);
            let dur_ns = random.between(1_000, 30_000);
            self.push(Planted::Unneeded, name, dur_ns, layer);
        }
    }

    fn communication(&mut self, layer: Option<u64>, random: &mut Random) {
        if self.scenario.ranks > 1 {
            let dur_ns = random.between(5_000, 80_000);
            self.push(Planted::Communication, self.names.communication, dur_ns, layer);
        }
    }

    fn copy(&mut self, name: &'static str, random: &mut Random) {
        let dur_ns = random.between(900, 40_000);
        self.push(Planted::Copies, name, dur_ns, None);
    }
}
