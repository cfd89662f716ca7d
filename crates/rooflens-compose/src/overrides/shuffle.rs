//! Random order, the same as Python's `random.shuffle` gives after `random.seed(seed)`, so that a
//! shuffled sweep can be repeated, and repeated with Hydra.

const STATE: usize = 624;
const SHIFT: usize = 397;

/// The Mersenne Twister MT19937 (Matsumoto and Nishimura 1998), seeded as Python seeds it.
#[derive(Debug, Clone)]
pub(super) struct Generator {
    state: Vec<u32>,
    next: usize,
}

impl Generator {
    pub(super) fn new(seed: u64) -> Self {
        let mut generator = Self { state: vec![0; STATE], next: STATE };
        generator.seed_with(&seed_words(seed));
        generator
    }

    /// Puts the items into random order.
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let chosen = self.below(last + 1);
            items.swap(last, chosen);
        }
    }

    /// A number below `bound`, all equally likely.
    fn below(&mut self, bound: usize) -> usize {
        let bits = usize::BITS - bound.leading_zeros();
        loop {
            // Lists of more than 2^32 items do not exist here.
            let drawn = self.word() >> 32u32.saturating_sub(bits);
            if (drawn as usize) < bound {
                return drawn as usize;
            }
        }
    }

    fn seed_with(&mut self, key: &[u32]) {
        let mix = |before: u32| before ^ (before >> 30);
        self.state[0] = 19_650_218;
        for at in 1..STATE {
            self.state[at] = mix(self.state[at - 1]).wrapping_mul(1_812_433_253).wrapping_add(at as u32);
        }
        let mut at = 1;
        for step in 0..STATE {
            let position = step % key.len();
            self.state[at] = (self.state[at] ^ mix(self.state[at - 1]).wrapping_mul(1_664_525))
                .wrapping_add(key[position])
                .wrapping_add(position as u32);
            at = self.following(at);
        }
        for _ in 1..STATE {
            self.state[at] = (self.state[at] ^ mix(self.state[at - 1]).wrapping_mul(1_566_083_941))
                .wrapping_sub(at as u32);
            at = self.following(at);
        }
        self.state[0] = 0x8000_0000;
    }

    /// The position after `at`; the last is followed by the second, and carried to the first.
    fn following(&mut self, at: usize) -> usize {
        if at + 1 < STATE {
            return at + 1;
        }
        self.state[0] = self.state[STATE - 1];
        1
    }

    fn word(&mut self) -> u32 {
        if self.next == STATE {
            self.twist();
        }
        let mut word = self.state[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    fn twist(&mut self) {
        for at in 0..STATE {
            let joined = (self.state[at] & 0x8000_0000) | (self.state[(at + 1) % STATE] & 0x7fff_ffff);
            let odd = if joined & 1 == 1 { 0x9908_b0df } else { 0 };
            self.state[at] = self.state[(at + SHIFT) % STATE] ^ (joined >> 1) ^ odd;
        }
        self.next = 0;
    }
}

/// The seed in words of 32 bits, the lowest first, as many as it has.
fn seed_words(seed: u64) -> Vec<u32> {
    let (low, high) = (seed as u32, (seed >> 32) as u32);
    if high == 0 { vec![low] } else { vec![low, high] }
}
