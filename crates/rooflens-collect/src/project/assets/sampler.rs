//! Draws samples: which files, in which order, the same forever.
//!
//! Every `metadata.yaml` has the name of this generator, [`GENERATOR`]. It is specified here so that anyone can
//! reproduce it in any language. A changed step needs a new name.
//!
//! All numbers are unsigned, of 64 bits, and wrap around.
//!
//! 1. `next(state)` is SplitMix64 (Steele, Lea, Flood 2014): `state += 0x9e3779b97f4a7c15`;
//!    `z = state`; `z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9`;
//!    `z = (z ^ (z >> 27)) * 0x94d049bb133111eb`; the result is `z ^ (z >> 31)`.
//! 2. Epoch `e`, from 0, has a generator of its own, so that an epoch does not depend on the length
//!    of those before. Its state is the first number of a generator with the state
//!    `f ^ e`, where `f` is the first number of a generator with the state `seed`.
//! 3. `below(n)` draws numbers until one is less than `2^64 - (2^64 mod n)`; the result is that
//!    number modulo `n`. So every result is equally likely.
//! 4. With shuffling, an epoch is a forward Fisher-Yates shuffle: for `i` from 0, the item at `i` is
//!    swapped with the one at `i + below(count - i)`, as long as `i` is less than both the samples
//!    of an epoch and `count - 1`. So a smaller sample of one seed is the beginning of a larger one.
//! 5. Without shuffling, every epoch has the items in their order.

pub(super) const GENERATOR: &str = "splitmix64-fisher-yates-1";

struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn of_epoch(seed: u64, epoch: u64) -> Self {
        let first = Self(seed).next();
        Self(Self(first ^ epoch).next())
    }

    fn below(&mut self, bound: u64) -> u64 {
        // 2^64 mod bound, without a number of 65 bits.
        let excess = (u64::MAX % bound + 1) % bound;
        let last = u64::MAX - excess;
        loop {
            let drawn = self.next();
            if drawn <= last {
                return drawn % bound;
            }
        }
    }
}

pub(super) fn epoch_indices(
    count: usize,
    samples: usize,
    shuffle: bool,
    seed: u64,
    epoch: u64,
) -> Vec<usize> {
    let samples = samples.min(count);
    let mut indices: Vec<usize> = (0..count).collect();
    if shuffle {
        let mut generator = SplitMix64::of_epoch(seed, epoch);
        for index in 0..samples.min(count.saturating_sub(1)) {
            let left = u64::try_from(count - index).unwrap_or(u64::MAX);
            let step = usize::try_from(generator.below(left)).unwrap_or(0);
            indices.swap(index, index + step);
        }
    }
    indices.truncate(samples);
    indices
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published numbers of the reference implementation for this seed.
    #[test]
    fn splitmix64_gives_the_published_numbers() {
        let mut generator = SplitMix64(1_234_567);
        let numbers: Vec<u64> = (0..5).map(|_| generator.next()).collect();
        let published = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(numbers, published);
    }
    /// Numbers from the description above, written anew in Python.
    #[test]
    fn samples_never_change() {
        let shuffled = |count, samples, seed, epoch| epoch_indices(count, samples, true, seed, epoch);
        assert_eq!(shuffled(10, 10, 0, 0), [3, 6, 1, 8, 7, 5, 0, 9, 2, 4]);
        assert_eq!(shuffled(10, 10, 0, 1), [2, 4, 6, 3, 9, 0, 1, 7, 8, 5]);
        assert_eq!(shuffled(10, 4, 0, 0), [3, 6, 1, 8]);
        assert_eq!(shuffled(10, 10, 42, 0), [0, 1, 5, 7, 3, 4, 9, 2, 6, 8]);
        assert_eq!(shuffled(10, 10, u64::MAX, 7), [1, 7, 2, 8, 3, 4, 5, 0, 9, 6]);
        assert_eq!(shuffled(1000, 8, 42, 3), [81, 7, 206, 856, 431, 496, 311, 480]);
        assert_eq!(shuffled(1, 1, 5, 0), [0]);
        assert_eq!(shuffled(0, 0, 5, 0), [0usize; 0]);
        assert_eq!(epoch_indices(10, 3, false, 9, 2), [0, 1, 2]);
        let all = shuffled(100_000, 100_000, 7, 0);
        assert_eq!(all[..3], [33_336, 81_167, 83_403]);
        let mixed: usize = all.iter().enumerate().map(|(index, value)| index * value).sum();
        assert_eq!(mixed, 250_259_190_225_554);
    }

    /// Bounds at which half of the numbers are refused, and none. From the same Python.
    #[test]
    fn numbers_that_would_favour_some_are_refused() {
        let three = |bound| {
            let mut generator = SplitMix64(1);
            [(); 3].map(|()| generator.below(bound))
        };
        assert_eq!(
            three(1 << 63),
            [1_227_844_342_346_046_657, 4_533_873_174_211_652_711, 8_688_467_253_428_114_782]
        );
        assert_eq!(
            three((1 << 63) + 1),
            [8_196_980_753_821_780_235, 8_195_237_237_126_968_761, 5_266_705_631_892_356_520]
        );
    }

    #[test]
    fn an_epoch_is_a_permutation_and_a_smaller_one_its_beginning() {
        for seed in 0..50 {
            let all = epoch_indices(97, 97, true, seed, 1);
            let mut sorted = all.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..97));
            for samples in [0, 1, 50, 96] {
                assert_eq!(epoch_indices(97, samples, true, seed, 1), all[..samples]);
            }
        }
    }

    #[test]
    fn every_place_is_equally_likely() {
        let mut counts = [0u32; 6];
        for seed in 0..60_000 {
            counts[epoch_indices(6, 1, true, seed, 0)[0]] += 1;
        }
        // 10,000 each; the standard deviation is 91.
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 400), "{counts:?}");
    }
}
