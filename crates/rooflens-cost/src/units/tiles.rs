//! What tiles of fixed size add: matrix units work on whole tiles.
//!
//! Rows are padded to the tiles that GEMM libraries choose from (16, 32, 64, then 128), attention to
//! blocks of 128 queries by 128 keys, as FlashAttention 2 and 3 use for head widths up to 128.

const BLOCK: u128 = 128;

pub(super) fn rows(rows: u128) -> u128 {
    match rows {
        0 => 0,
        1..=16 => 16,
        17..=32 => 32,
        33..=64 => 64,
        _ => rows.next_multiple_of(128),
    }
}

/// Pairs of `queries` queries in `group` heads with keys that all of them see, padded.
pub(super) fn rectangle(queries: u64, keys: u64, group: u64) -> u128 {
    rows(u128::from(queries) * u128::from(group)) * u128::from(keys).next_multiple_of(BLOCK)
}

/// Query-key pairs of one sequence and key head, padded: `group` query heads share the key head and,
/// where there are few queries, the tile's rows. `kept` is the most keys that a query may see.
pub(super) fn pairs(new: u64, past: u64, group: u64, kept: Option<u64>, causal: bool) -> u128 {
    let (new, past, group) = (u128::from(new), u128::from(past), u128::from(group));
    if new == 0 {
        return 0;
    }
    let keys = past + new;
    if new * group <= BLOCK {
        let seen = kept.map_or(keys, |kept| keys.min(u128::from(kept)));
        return rows(new * group) * seen.next_multiple_of(BLOCK);
    }
    let queries = new.div_ceil(BLOCK);
    let last = keys.div_ceil(BLOCK);
    let blocks = if causal {
        // The block of queries b sees ⌈past / 128⌉ + b + 1 blocks of keys, the last as many as there are.
        (queries - 1) * past.div_ceil(BLOCK) + queries * (queries - 1) / 2 + last
    } else {
        queries * last
    };
    let blocks = match kept {
        // A block of queries under a window touches the window and its own width, at any alignment.
        Some(kept) => blocks.min(queries * ((u128::from(kept) + BLOCK - 1).div_ceil(BLOCK) + 1)),
        None => blocks,
    };
    blocks * BLOCK * BLOCK * group
}
