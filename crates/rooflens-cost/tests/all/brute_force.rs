//! Closed formulas against brute force: pairs of a mask walked one by one, experts drawn token by token.

use rooflens_cost::routing::Routing;
use rooflens_cost::step::{Mask, Step};

use crate::made::Chance;

#[test]
fn pairs_are_those_of_a_walk() {
    let mut chance = Chance::new(15);
    for _ in 0..3000 {
        let (past, new, media) =
            (chance.of_any_size(0, 90), chance.of_any_size(1, 60), chance.between(0, 30));
        let size = chance.of_any_size(1, 70);
        let step = Step { media, ..Step::prefill(chance.between(1, 4), new, past) };
        for mask in
            [Mask::All, Mask::Causal, Mask::Window(size), Mask::Chunk(size), Mask::TopK(size), Mask::Cross]
        {
            let sees = |query: u64, key: u64| match mask {
                Mask::All => true,
                Mask::Causal => key <= query,
                Mask::Window(width) => key <= query && query - key < width,
                Mask::Chunk(size) => key <= query && key / size == query / size,
                // Which are chosen does not matter: the first will do.
                Mask::TopK(keys) => key <= query && key < keys,
                Mask::Cross => false,
            };
            let of_query = |query: u64| match mask {
                Mask::Cross => media,
                _ => (0..past + new).filter(|key| sees(query, *key)).count() as u64,
            };
            let walked: u64 = (past..past + new).map(of_query).sum();
            assert_eq!(mask.pairs(&step), u128::from(step.sequences * walked), "{mask:?} {step:?}");
            // What is read of the past is what some new token sees of it; chosen keys may all differ.
            let read =
                (0..past).filter(|key| (past..past + new).any(|query| sees(query, *key))).count() as u64;
            match mask {
                Mask::Cross => assert_eq!(mask.read(&step), media),
                Mask::TopK(keys) => assert_eq!(mask.read(&step), past.min(keys * new)),
                _ => assert_eq!(mask.read(&step), read, "{mask:?} {step:?}"),
            }
            assert!(mask.pairs_counted(&step) >= mask.pairs(&step), "{mask:?} {step:?}");
        }
    }
}

/// Shares of `popularity` that add up to `top_k` with none above 1, found by halving the scale.
fn chances(popularity: &[f64], top_k: u64) -> Vec<f64> {
    let scaled = |scale: f64| popularity.iter().map(move |share| (share * scale).min(1.0));
    let (mut low, mut high) = (0.0, 1e12);
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if scaled(middle).sum::<f64>() < top_k as f64 { low = middle } else { high = middle }
    }
    scaled(high).collect()
}

/// Tokens that draw their experts: each an evenly spaced comb of `top_k` teeth, shifted by chance, over the
/// experts' chances, which gives every expert its chance and never one twice.
fn drawn(chances: &[f64], tokens: u64, chance: &mut Chance) -> f64 {
    let mut touched = vec![false; chances.len()];
    for _ in 0..tokens {
        let (mut tooth, mut sum) = (chance.share(), 0.0);
        for (expert, share) in chances.iter().enumerate() {
            sum += share;
            if tooth < sum {
                touched[expert] = true;
                tooth += 1.0;
            }
        }
    }
    touched.iter().filter(|touched| **touched).count() as f64
}

#[test]
fn touched_experts_are_those_of_a_draw() {
    let mut chance = Chance::new(16);
    for (experts, top_k, alpha) in
        [(128_u32, 8, 0.0), (128, 8, 1.2), (256, 8, 0.7), (64, 6, 2.0), (8, 2, 0.5), (60, 4, 1.0)]
    {
        let popularity: Vec<f64> = (1..=experts).map(|rank| f64::from(rank).powf(-alpha)).collect();
        let chances = chances(&popularity, top_k);
        let experts = u64::from(experts);
        for tokens in [1, 4, 16, 64, 300] {
            let rounds = 40_000 / tokens + 200;
            let mean = (0..rounds).map(|_| drawn(&chances, tokens, &mut chance)).sum::<f64>() / rounds as f64;
            for routing in [Routing::PowerLaw { alpha }, Routing::Histogram { visits: popularity.clone() }] {
                let expected = routing.touched(experts, top_k, tokens.into()).expected;
                assert!(
                    (mean / expected - 1.0).abs() < 0.01,
                    "{routing:?}, {tokens} tokens: {mean} drawn, {expected}"
                );
            }
            if alpha == 0.0 {
                let uniform = Routing::Uniform.touched(experts, top_k, tokens.into()).expected;
                assert!((mean / uniform - 1.0).abs() < 0.01, "{tokens} tokens: {mean} drawn, {uniform}");
            }
        }
    }
}
