//! Where operators and layers stand, in words.

use crate::encoder::EncoderPart;
use crate::model::Model;
use crate::tally::OperatorPlace;

/// A part of the encoder, by its number.
pub(super) fn encoder_part(model: &Model, number: usize) -> Option<&EncoderPart> {
    model.encoder.as_ref().and_then(|encoder| encoder.parts.get(number))
}

/// Where an operator stands, in words.
pub(super) fn place_name(model: &Model, place: OperatorPlace) -> String {
    match place {
        OperatorPlace::Vision(stage) => {
            let stages = model.vision.as_ref().map(|tower| &tower.stages);
            stages.and_then(|stages| stages.get(stage)).map_or("vision", |stage| stage.name).to_owned()
        }
        OperatorPlace::Encoder(number) => encoder_part(model, number).map_or_else(String::new, |part| {
            if part.at.is_empty() {
                part.name.to_owned()
            } else {
                format!("{} {}", part.name, ranges(&part.at))
            }
        }),
        OperatorPlace::Before => "embedding".to_owned(),
        OperatorPlace::Kind(kind) => model.kinds.get(kind).map_or_else(String::new, |kind| ranges(&kind.at)),
        OperatorPlace::Draft(number) => format!("draft {number}"),
        OperatorPlace::After => "head".to_owned(),
    }
}

/// Numbers in order as ranges: `0-2, 5`, or every so many: `3-47 by 4`.
#[must_use]
pub(crate) fn ranges(numbers: &[u32]) -> String {
    if let [first, second, .., last] = numbers {
        let by = second - first;
        if by > 1 && numbers.windows(2).all(|pair| pair[1] - pair[0] == by) {
            return format!("{first}-{last} by {by}");
        }
    }
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match parts.last_mut() {
            Some((_, end)) if *end + 1 == number => *end = number,
            _ => parts.push((number, number)),
        }
    }
    let part = |(start, end): &(u32, u32)| match start == end {
        true => start.to_string(),
        false => format!("{start}-{end}"),
    };
    let shown: Vec<String> = parts.iter().take(12).map(part).collect();
    let more =
        if parts.len() > 12 { format!(", … to {}", parts[parts.len() - 1].1) } else { String::new() };
    shown.join(", ") + &more
}

#[cfg(test)]
mod tests {
    use super::ranges;

    #[test]
    fn numbers_as_ranges() {
        assert_eq!(ranges(&[0, 1, 2, 5]), "0-2, 5");
        assert_eq!(ranges(&[3, 7, 11]), "3-11 by 4");
        assert_eq!(ranges(&[4]), "4");
        assert_eq!(ranges(&[]), "");
    }
}
