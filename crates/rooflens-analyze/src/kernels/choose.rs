//! Which launches to profile. A profiler that takes names × launch numbers gives every kernel every number:
//! few numbers that are typical of many kernels cost the fewest launches.

use std::collections::BTreeMap;

/// A kernel to choose launches of.
#[derive(Debug, Clone, Default)]
pub struct Candidate {
    /// How often it ran.
    pub launches: u64,
    /// Numbers of typical launches, from 0; none where they are not known.
    pub typical: Vec<u64>,
}

/// The launches that were chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chosen {
    /// Launch numbers, from 0, ascending.
    pub numbers: Vec<u64>,
    /// Launches that this profiles.
    pub launches: u64,
    /// Those of them that are typical of their kernel.
    pub typical: u64,
    /// Kernels without a typical launch among them.
    pub without: usize,
}

/// Numbers such that each kernel has at least `wanted` typical launches, or all that it has. Where nothing is
/// known of a kernel's launches, the first ones are taken.
pub fn choose(kernels: &[Candidate], wanted: u64) -> Chosen {
    let first: Vec<u64> = (0..wanted).collect();
    let of = |kernel: &'_ Candidate| -> Vec<u64> {
        if kernel.typical.is_empty() { first.clone() } else { kernel.typical.clone() }
    };
    let offered: Vec<Vec<u64>> = kernels.iter().map(of).collect();
    let mut open: Vec<u64> = offered.iter().map(|numbers| wanted.min(numbers.len() as u64)).collect();
    let mut numbers: Vec<u64> = Vec::new();
    loop {
        let mut gain: BTreeMap<u64, usize> = BTreeMap::new();
        for (offered, _) in offered.iter().zip(&open).filter(|(_, open)| **open > 0) {
            for number in offered.iter().filter(|number| !numbers.contains(number)) {
                *gain.entry(*number).or_default() += 1;
            }
        }
        // Of equals the earliest: less of the workload has to run before.
        let Some((best, _)) = gain.iter().max_by(|a, b| a.1.cmp(b.1).then(b.0.cmp(a.0))) else { break };
        for (offered, open) in offered.iter().zip(&mut open) {
            *open = open.saturating_sub(u64::from(offered.contains(best)));
        }
        numbers.push(*best);
    }
    numbers.sort_unstable();
    let count =
        |kernel: &Candidate| numbers.iter().filter(|number| **number < kernel.launches).count() as u64;
    let typical =
        |kernel: &Candidate| numbers.iter().filter(|number| kernel.typical.contains(number)).count() as u64;
    Chosen {
        launches: kernels.iter().map(count).sum(),
        typical: kernels.iter().map(typical).sum(),
        without: kernels.iter().filter(|kernel| typical(kernel) == 0).count(),
        numbers,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(launches: u64, typical: &[u64]) -> Candidate {
        Candidate { launches, typical: typical.to_vec() }
    }

    #[test]
    fn one_number_that_is_typical_of_all_is_enough() {
        let kernels = [kernel(100, &[7, 3, 40]), kernel(50, &[9, 40]), kernel(41, &[40, 1])];
        let chosen = choose(&kernels, 1);
        assert_eq!(chosen, Chosen { numbers: vec![40], launches: 3, typical: 3, without: 0 });
    }

    #[test]
    fn every_kernel_gets_its_own_where_they_share_none() {
        // 5 of the first, 2 of the second; the second ran 3 times, so 5 is none of its launches.
        let chosen = choose(&[kernel(9, &[5]), kernel(3, &[2])], 3);
        assert_eq!(chosen, Chosen { numbers: vec![2, 5], launches: 3, typical: 2, without: 0 });
    }

    #[test]
    fn without_a_timeline_the_first_launches() {
        let chosen = choose(&[kernel(9, &[]), kernel(1, &[])], 2);
        assert_eq!(chosen, Chosen { numbers: vec![0, 1], launches: 3, typical: 0, without: 2 });
        assert_eq!(choose(&[], 2), Chosen::default());
        assert_eq!(choose(&[kernel(3, &[1])], 0).numbers, Vec::<u64>::new());
    }
}
