//! All the devices, found by name.

use super::device::Device;
use super::{HardwareError, file, files};
use crate::near;
use std::collections::BTreeMap;
use std::sync::OnceLock;

const NEAR: usize = 5;

/// The devices that are known, found by name.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    devices: Vec<Device>,
    keys: BTreeMap<String, usize>,
}

impl Catalog {
    /// The devices Rooflens comes with.
    pub fn embedded() -> &'static Catalog {
        static EMBEDDED: OnceLock<Catalog> = OnceLock::new();
        EMBEDDED.get_or_init(|| {
            let mut catalog = Catalog::default();
            for (file, text) in files::FILES {
                // A file that cannot be read is left out; a test makes sure that all can be.
                if let Ok(device) = file::read(file, text) {
                    let names = own_keys(&device);
                    let index = catalog.push(device);
                    for key in names.into_keys() {
                        catalog.keys.entry(key).or_insert(index);
                    }
                }
            }
            catalog
        })
    }

    /// The devices Rooflens comes with and the user's own, given as file names and texts.
    ///
    /// A device of the user's takes the place of the embedded one with the same name, whose aliases
    /// then lead to it; an alias of the user's goes before an embedded one.
    ///
    /// # Errors
    ///
    /// When a text does not describe a device, or two of them claim one name.
    pub fn with<F: AsRef<str>, T: AsRef<str>>(
        extra: impl IntoIterator<Item = (F, T)>,
    ) -> Result<Catalog, HardwareError> {
        let mut catalog = Self::embedded().clone();
        let mut taken: BTreeMap<String, usize> = BTreeMap::new();
        for (file, text) in extra {
            let file = file.as_ref();
            let device = file::read(file, text.as_ref())?;
            let names = own_keys(&device);
            for (key, name) in &names {
                if key.is_empty() {
                    let problem = format!("`{name}` is not a name: it has neither letter nor digit");
                    return Err(HardwareError::Unusable { file: file.to_owned(), problem });
                }
                if let Some(&other) = taken.get(key) {
                    let problem = format!("`{name}` already names {}", catalog.devices[other].name);
                    return Err(HardwareError::Unusable { file: file.to_owned(), problem });
                }
            }
            let index = match catalog.named_like(&device) {
                Some(same) => {
                    catalog.devices[same] = device;
                    same
                }
                None => catalog.push(device),
            };
            for (key, _) in names {
                taken.insert(key.clone(), index);
                catalog.keys.insert(key, index);
            }
        }
        Ok(catalog)
    }

    /// All the devices, in the order of their files' names, the user's last.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// The device of this name, alias or PCI id. Case, blanks, dashes, underscores and the vendor's
    /// name in front do not count; everything else does.
    ///
    /// ```
    /// use rooflens_cost::hardware::Catalog;
    /// use rooflens_cost::precision::Dtype;
    ///
    /// let catalog = Catalog::embedded();
    /// let h100 = catalog.find("NVIDIA H100 80GB HBM3")?;
    /// assert_eq!(h100.name, "H100 SXM5 80GB");
    /// assert_eq!(h100.peak_flops(Dtype::Bf16), Some(989.4e12));
    /// assert_eq!(catalog.find("h100-sxm")?, catalog.find("10de:2330")?);
    /// # Ok::<(), rooflens_cost::hardware::HardwareError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When no device has this name: [`HardwareError::Unknown`], with the nearest names.
    pub fn find(&self, name: &str) -> Result<&Device, HardwareError> {
        let key = near::key(name);
        match self.keys.get(&key) {
            Some(&index) => Ok(&self.devices[index]),
            None => Err(HardwareError::Unknown { name: name.to_owned(), near: self.near(&key) }),
        }
    }

    fn push(&mut self, device: Device) -> usize {
        self.devices.push(device);
        self.devices.len() - 1
    }

    fn named_like(&self, device: &Device) -> Option<usize> {
        let wanted = bare_key(device, &device.name);
        self.devices.iter().position(|known| bare_key(known, &known.name) == wanted)
    }

    /// The devices with a name or alias most like `wanted`, the likest first.
    fn near(&self, wanted: &str) -> Vec<String> {
        let mut best: BTreeMap<usize, f64> = BTreeMap::new();
        for (key, &index) in &self.keys {
            if let Some(score) = near::likeness(wanted, key) {
                let entry = best.entry(index).or_insert(score);
                *entry = entry.max(score);
            }
        }
        let mut scored: Vec<(usize, f64)> = best.into_iter().collect();
        scored.sort_by(|a, b| b.1.total_cmp(&a.1));
        scored.into_iter().take(NEAR).map(|(index, _)| self.devices[index].name.clone()).collect()
    }
}

/// The keys of a device and the names they are made of: each name with the vendor's in front and
/// without it, so that looking up stays exact (`AMD H100` finds nothing).
pub(super) fn own_keys(device: &Device) -> BTreeMap<String, String> {
    let vendor = near::key(&device.vendor);
    let mut keys = BTreeMap::new();
    for name in std::iter::once(&device.name).chain(&device.aliases) {
        let bare = bare_key(device, name);
        if !bare.is_empty() {
            keys.insert(format!("{vendor}{bare}"), name.clone());
        }
        keys.insert(bare, name.clone());
    }
    for id in &device.pci_ids {
        keys.insert(near::key(id), id.clone());
    }
    keys
}

fn bare_key(device: &Device, name: &str) -> String {
    let key = near::key(name);
    match key.strip_prefix(&near::key(&device.vendor)) {
        Some(bare) if !bare.is_empty() => bare.to_owned(),
        _ => key,
    }
}
