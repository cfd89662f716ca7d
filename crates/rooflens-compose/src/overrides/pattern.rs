//! Shell patterns as Python's `fnmatch` reads them: `*`, `?`, `[a-z]`, `[!a-z]`.

/// A piece of a pattern.
enum Piece {
    Star,
    Any,
    Literal(char),
    Set { ranges: Vec<(char, char)>, negated: bool },
}

/// Whether a name fits a pattern, capitals and small letters told apart.
pub(super) fn fits(name: &str, pattern: &str) -> bool {
    let pieces = pieces(pattern);
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut piece) = (0, 0);
    // After a mismatch the last star takes one more character: no other way back is needed.
    let mut retry: Option<(usize, usize)> = None;
    while at < name.len() {
        match pieces.get(piece) {
            Some(Piece::Star) => {
                piece += 1;
                retry = Some((at, piece));
                continue;
            }
            Some(single) if single.fits(name[at]) => {
                at += 1;
                piece += 1;
                continue;
            }
            _ => {}
        }
        let Some((taken, after)) = retry else {
            return false;
        };
        at = taken + 1;
        piece = after;
        retry = Some((at, after));
    }
    pieces[piece..].iter().all(|piece| matches!(piece, Piece::Star))
}

impl Piece {
    fn fits(&self, char: char) -> bool {
        match self {
            Piece::Star | Piece::Any => true,
            Piece::Literal(literal) => *literal == char,
            Piece::Set { ranges, negated } => {
                ranges.iter().any(|(first, last)| (*first..=*last).contains(&char)) != *negated
            }
        }
    }
}

fn pieces(pattern: &str) -> Vec<Piece> {
    let pattern: Vec<char> = pattern.chars().collect();
    let last_close = pattern.iter().rposition(|char| *char == ']').unwrap_or(0);
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < pattern.len() {
        let char = pattern[at];
        at += 1;
        pieces.push(match char {
            '*' => Piece::Star,
            '?' => Piece::Any,
            '[' if at < last_close => match set_end(&pattern, at) {
                Some(end) => {
                    let inside = &pattern[at..end];
                    at = end + 1;
                    set(inside)
                }
                None => Piece::Literal('['),
            },
            literal => Piece::Literal(literal),
        });
    }
    pieces
}

/// Where the set that begins at `at` closes: a bracket that comes first, or after `!`, is part of it.
fn set_end(pattern: &[char], at: usize) -> Option<usize> {
    let mut from = at;
    for member in ['!', ']'] {
        if pattern.get(from) == Some(&member) {
            from += 1;
        }
    }
    pattern.get(from..)?.iter().position(|char| *char == ']').map(|length| from + length)
}

fn set(inside: &[char]) -> Piece {
    let negated = inside.first() == Some(&'!');
    let ranges = ranges(inside, usize::from(negated));
    Piece::Set { ranges, negated }
}

/// The ranges of a set. Hyphens are taken from the left; one at either end stands for itself, and
/// a range whose ends are the wrong way round is none.
fn ranges(inside: &[char], start: usize) -> Vec<(char, char)> {
    let mut chunks: Vec<Vec<char>> = Vec::new();
    let mut begin = start;
    let mut search = start + 1;
    while let Some(found) = inside.get(search..).and_then(|rest| rest.iter().position(|c| *c == '-')) {
        let hyphen = search + found;
        chunks.push(inside[begin..hyphen].to_vec());
        begin = hyphen + 1;
        search = hyphen + 3;
    }
    let tail = &inside[begin..];
    if let (true, Some(last)) = (tail.is_empty(), chunks.last_mut()) {
        last.push('-');
    } else {
        chunks.push(tail.to_vec());
    }
    for at in (1..chunks.len()).rev() {
        let wrong = match (chunks[at - 1].last(), chunks[at].first()) {
            (Some(first), Some(last)) => first > last,
            _ => false,
        };
        if wrong {
            let after = chunks.remove(at);
            chunks[at - 1].pop();
            chunks[at - 1].extend(&after[1..]);
        }
    }
    ranges_of_chunks(&chunks)
}

/// Between two chunks stands a hyphen that makes a range of the characters on its sides.
fn ranges_of_chunks(chunks: &[Vec<char>]) -> Vec<(char, char)> {
    let mut ranges = Vec::new();
    for (index, chunk) in chunks.iter().enumerate() {
        let opens = index + 1 < chunks.len();
        let skip = usize::from(index > 0);
        let single = chunk.len().saturating_sub(usize::from(opens)).max(skip);
        ranges.extend(chunk.get(skip..single).unwrap_or(&[]).iter().map(|char| (*char, *char)));
        if let (true, Some(first), Some(last)) =
            (opens, chunk.last(), chunks.get(index + 1).and_then(|next| next.first()))
        {
            ranges.push((*first, *last));
        }
    }
    ranges
}
