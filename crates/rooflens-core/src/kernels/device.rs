//! The device of a report in the catalog: by the name that was given or that the report has, else by
//! compute capability and number of multiprocessors where only one device has them.

use rooflens_analyze::kernels::{CatalogDevice, DeviceHint};
use rooflens_cost::hardware::{Catalog, Device};
use rooflens_cost::precision::Dtype;

use crate::error::CostError;
use crate::error::Error;

/// What the catalog knows of the device; `None` where it does not know it. A name that was given and is
/// not known is an error.
pub(crate) fn known(wished: Option<&str>, hint: &DeviceHint) -> Result<Option<CatalogDevice>, Error> {
    let catalog = Catalog::embedded();
    if let Some(name) = wished {
        let device = catalog.find(name).map_err(|error| Error::Cost(CostError::Hardware(error)))?;
        return Ok(Some(known_of(device)));
    }
    let by_name = hint.name.as_deref().and_then(|name| catalog.find(name).ok());
    Ok(by_name.or_else(|| by_shape(catalog, hint)).map(known_of))
}

fn by_shape<'c>(catalog: &'c Catalog, hint: &DeviceHint) -> Option<&'c Device> {
    let (major, minor) = hint.capability?;
    let target = format!("sm_{major}{minor}");
    let count = hint.multiprocessors?;
    let mut fitting = catalog.devices().iter().filter(|device| {
        let units = device.compute_units.is_some_and(|units| f64::from(units) == count);
        units && device.arch.split_whitespace().any(|word| word.trim_end_matches('a') == target)
    });
    let only = fitting.next()?;
    fitting.next().is_none().then_some(only)
}

fn known_of(device: &Device) -> CatalogDevice {
    let rates = device.peaks.rates().iter().filter(|rate| rate.accumulate.is_none());
    CatalogDevice {
        name: device.name.clone(),
        bytes_per_s: device.bandwidth_bytes_per_s,
        flops_per_s: rates.map(|rate| (precision(rate.dtype), rate.flops_per_s)).collect(),
    }
}

/// The catalog has matrix rates: all but that of FP32 are of tensor cores.
fn precision(dtype: Dtype) -> String {
    match dtype {
        Dtype::Fp32 => dtype.as_str().to_owned(),
        dtype => format!("tensor_{}", dtype.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_without_a_name_is_found_by_its_shape() {
        let hint = DeviceHint { name: None, capability: Some((12, 0)), multiprocessors: Some(170.0) };
        let found = known(None, &hint).unwrap().unwrap();
        assert_eq!(found.name, "RTX 5090 32GB");
        assert!(found.flops_per_s.contains(&("tensor_bf16".to_owned(), 209.5e12)));
        let other = DeviceHint { multiprocessors: Some(171.0), ..hint };
        assert!(known(None, &other).unwrap().is_none());
        assert!(known(Some("no such device"), &other).is_err());
    }
}
