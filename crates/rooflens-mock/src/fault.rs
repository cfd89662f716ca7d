//! Misbehaviour of a share of the requests.

use std::str::FromStr;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlantedFault {
    Reset,
    Close,
    Refuse429,
    Error500,
    Hang,
    Stall,
    Drip,
    /// A page of HTML with status 200.
    WrongType,
    Cut,
    ErrorEvent,
    /// HTTP/2: the server sends GOAWAY; streams in progress are completed.
    Goaway,
    /// HTTP/2: the connection ends in the middle of the answer, with all its streams.
    GoawayClose,
}

const FAULTS: [(PlantedFault, &str); 12] = [
    (PlantedFault::Reset, "reset"),
    (PlantedFault::Close, "close"),
    (PlantedFault::Refuse429, "refuse429"),
    (PlantedFault::Error500, "error500"),
    (PlantedFault::Hang, "hang"),
    (PlantedFault::Stall, "stall"),
    (PlantedFault::Drip, "drip"),
    (PlantedFault::WrongType, "wrong_type"),
    (PlantedFault::Cut, "cut"),
    (PlantedFault::ErrorEvent, "error_event"),
    (PlantedFault::Goaway, "goaway"),
    (PlantedFault::GoawayClose, "goaway_close"),
];

impl PlantedFault {
    pub(crate) fn name(self) -> &'static str {
        FAULTS[self as usize].1
    }

    pub(crate) fn is_midway(self) -> bool {
        use PlantedFault::{Cut, ErrorEvent, GoawayClose, Reset, Stall};
        matches!(self, Reset | Cut | ErrorEvent | Stall | GoawayClose)
    }
}

/// A fault and the share of requests it befalls, `KIND:SHARE`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FaultShare {
    pub(crate) fault: PlantedFault,
    /// How many of all requests, 0 to 1.
    pub(crate) share: f64,
}

impl FromStr for FaultShare {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, share) = text.split_once(':').ok_or("expected KIND:SHARE, as reset:0.1")?;
        let (fault, _) = FAULTS.into_iter().find(|(_, name)| *name == kind).ok_or_else(|| {
            let known: Vec<_> = FAULTS.iter().map(|(_, name)| *name).collect();
            format!("unknown kind {kind:?}; known: {}", known.join(", "))
        })?;
        match share.parse() {
            Ok(share) if (0.0..=1.0).contains(&share) => Ok(FaultShare { fault, share }),
            _ => Err(format!("a share is a number from 0 to 1, not {share:?}")),
        }
    }
}

pub(crate) fn drawn(faults: &[FaultShare], number: f64) -> Option<PlantedFault> {
    let mut upto = 0.0;
    for fault in faults {
        upto += fault.share;
        if number < upto {
            return Some(fault.fault);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_divide_the_unit_interval() {
        let faults: Vec<FaultShare> = ["reset:0.25", "hang:0.5"].map(|text| text.parse().unwrap()).into();
        let of = |number| drawn(&faults, number);
        assert_eq!([of(0.0), of(0.24)], [Some(PlantedFault::Reset); 2]);
        assert_eq!([of(0.25), of(0.7499)], [Some(PlantedFault::Hang); 2]);
        assert_eq!([of(0.75), of(0.99)], [None; 2]);
        assert_eq!(drawn(&["cut:1".parse().unwrap()], 0.999_999), Some(PlantedFault::Cut));
    }

    #[test]
    fn what_is_no_share_is_refused() {
        for text in ["reset", "reset:", "reset:2", "reset:-0.1", "reset:NaN", "melt:0.5", ":", ""] {
            assert!(text.parse::<FaultShare>().is_err(), "{text}");
        }
        for (fault, name) in FAULTS {
            assert_eq!(fault.name(), name);
            let text = format!("{name}:0.5");
            assert_eq!(text.parse(), Ok(FaultShare { fault, share: 0.5 }));
        }
    }
}
