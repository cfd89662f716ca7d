//! How processors choose a grid of crops for an image.

/// The grid (columns, rows) of `least` to `most` crops whose shape is nearest to the image's; of equally near
/// ones the largest that is not more than twice the image's area. `side` is the pixels of a crop.
///
/// As `find_closest_aspect_ratio` of InternVL, which DeepSeek-OCR and LFM2-VL took over.
pub(super) fn nearest_grid(width: u64, height: u64, side: u64, least: u64, most: u64) -> (u64, u64) {
    // Crops a side are few: the bound only keeps a wild config from taking long.
    let most = most.clamp(1, 1 << 10);
    let mut grids: Vec<(u64, u64)> = (1..=most)
        .flat_map(|columns| (1..=most / columns).map(move |rows| (columns, rows)))
        .filter(|(columns, rows)| columns * rows >= least)
        .collect();
    grids.sort_by_key(|(columns, rows)| columns * rows);
    let shape = width as f64 / height.max(1) as f64;
    let mut best = ((1, 1), f64::INFINITY);
    for (columns, rows) in grids {
        let apart = (shape - columns as f64 / rows as f64).abs();
        let roomy = u128::from(side * side) * u128::from(columns * rows);
        let is_larger = apart == best.1 && 2 * u128::from(width) * u128::from(height) > roomy;
        if apart < best.1 || is_larger {
            best = ((columns, rows), apart);
        }
    }
    best.0
}

/// The grid (columns, rows) of exactly `crops` crops whose shape is nearest to the image's; without an image
/// the squarest, lying.
pub(super) fn grid_of(crops: u64, size: Option<(u64, u64)>) -> (u64, u64) {
    let crops = crops.max(1);
    let (width, height) = size.unwrap_or((1, 1));
    // In the logarithm, so that lying and standing images are treated alike.
    let apart = |(columns, rows): (u64, u64)| {
        let shape = width as f64 / height.max(1) as f64;
        (columns as f64 / rows as f64 / shape).ln().abs()
    };
    (1..=crops)
        .filter(|rows| crops.is_multiple_of(*rows))
        .map(|rows| (crops / rows, rows))
        .filter(|(columns, rows)| size.is_some() || columns >= rows)
        .min_by(|a, b| apart(*a).total_cmp(&apart(*b)))
        .unwrap_or((crops, 1))
}

/// The next multiple of `factor`, half to even as Python rounds, at least one.
pub(super) fn to_multiple(pixels: u64, factor: u64) -> u64 {
    let factor = factor.max(1);
    let times = (pixels as f64 / factor as f64).round_ties_even() as u64;
    times.max(1) * factor
}
