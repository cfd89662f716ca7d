//! Looks for many words in a name at once.

use std::collections::HashMap;

/// The words of the catalog, found in one pass over a name.
///
/// A name is a few hundred bytes and the catalog has more than a thousand words: to search for one word
/// after the other would read each name a thousand times. Instead each word is filed under three of its
/// bytes, and each three bytes of a name are looked up.
#[derive(Debug, Default)]
pub(super) struct Patterns {
    words: Vec<Word>,
    numbers: HashMap<String, WordId>,
    starts: Vec<u16>,
    filed: Vec<u16>,
}

#[derive(Debug)]
struct Word {
    text: Box<[u8]>,
    fold: bool,
    at: usize,
}

/// A word in [`Patterns`].
pub(super) type WordId = usize;

/// The number of bytes under which a word is filed; shorter words cannot be found.
pub(super) const MIN_LENGTH: usize = 3;

/// The mark that makes letters' case not count.
pub(super) const FOLD: char = '~';

const BUCKET_BITS: u32 = 13;

/// The three bytes that end with `byte`, given those before it. Small and capital letters are the same
/// here.
fn roll(window: u32, byte: u8) -> u32 {
    (window << 8 | u32::from(byte | 0x20)) & 0xFF_FFFF
}

fn bucket(window: u32) -> usize {
    (window.wrapping_mul(0x9E37_79B1) >> (u32::BITS - BUCKET_BITS)) as usize
}

fn buckets(text: &[u8]) -> impl Iterator<Item = (usize, usize)> {
    let mut window = 0;
    let ends = text.iter().enumerate().map(move |(end, &byte)| {
        window = roll(window, byte);
        (end, bucket(window))
    });
    ends.skip(MIN_LENGTH - 1).map(|(end, place)| (end + 1 - MIN_LENGTH, place))
}

impl Patterns {
    pub(super) fn add(&mut self, word: &str) -> WordId {
        if let Some(&known) = self.numbers.get(word) {
            return known;
        }
        let (fold, text) = word.strip_prefix(FOLD).map_or((false, word), |rest| (true, rest));
        let number = self.words.len();
        self.words.push(Word { text: text.as_bytes().into(), fold, at: 0 });
        self.numbers.insert(word.to_owned(), number);
        number
    }

    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    pub(super) fn length(&self, word: WordId) -> usize {
        self.words.get(word).map_or(0, |word| word.text.len())
    }

    pub(super) fn index(&mut self) {
        let mut usage = vec![0u16; 1 << BUCKET_BITS];
        for word in &self.words {
            buckets(&word.text).for_each(|(_, place)| usage[place] += 1);
        }
        let mut filed = Vec::with_capacity(self.words.len());
        for (number, word) in self.words.iter_mut().enumerate() {
            if let Some((at, place)) = buckets(&word.text).min_by_key(|&(_, place)| usage[place]) {
                word.at = at;
                filed.push((place, number as u16));
            }
        }
        filed.sort_unstable();
        self.starts = vec![0; (1 << BUCKET_BITS) + 1];
        filed.iter().for_each(|&(place, _)| self.starts[place + 1] += 1);
        let mut sum = 0;
        for start in &mut self.starts {
            sum += *start;
            *start = sum;
        }
        self.filed = filed.into_iter().map(|(_, number)| number).collect();
    }

    /// Calls `found` with every occurrence of every word: its number and where it begins.
    pub(super) fn scan(&self, name: &str, mut found: impl FnMut(WordId, usize)) {
        let name = name.as_bytes();
        for (position, place) in buckets(name) {
            let filed = self.starts[place] as usize..self.starts[place + 1] as usize;
            for &number in &self.filed[filed] {
                let word = &self.words[number as usize];
                let Some(start) = position.checked_sub(word.at) else { continue };
                let Some(candidate) = name.get(start..start + word.text.len()) else { continue };
                let same = if word.fold {
                    candidate.eq_ignore_ascii_case(&word.text)
                } else {
                    candidate == &*word.text
                };
                if same {
                    found(number as usize, start);
                }
            }
        }
    }
}

/// The words found in a name.
#[derive(Debug)]
pub(super) struct Found {
    bits: Vec<u64>,
    leading: Vec<WordId>,
}

impl Found {
    pub(super) fn new(patterns: &Patterns) -> Self {
        Self { bits: vec![0; patterns.len().div_ceil(64)], leading: Vec::new() }
    }

    pub(super) fn insert(&mut self, word: WordId, leads: bool) {
        self.bits[word / 64] |= 1 << (word % 64);
        if leads {
            self.leading.push(word);
        }
    }

    pub(super) fn contains(&self, word: WordId) -> bool {
        self.bits[word / 64] >> (word % 64) & 1 == 1
    }

    pub(super) fn begins_with(&self, word: WordId) -> bool {
        self.leading.contains(&word)
    }
}
