//! Misbehaviour of a share of the requests.

use std::str::FromStr;

/// What goes wrong with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlantedFault {
    /// The connection is reset in the middle of the answer.
    Reset,
    /// The connection ends before any byte of the answer.
    Close,
    /// Status 429 with `Retry-After`.
    Refuse429,
    /// Status 500.
    Error500,
    /// No answer, ever.
    Hang,
    /// The answer stops in its middle, and the connection stays.
    Stall,
    /// One byte per second.
    Drip,
    /// A page of HTML with status 200.
    WrongType,
    /// The stream ends in its middle as if it were complete.
    Cut,
    /// An error as an event in the middle of the stream.
    ErrorEvent,
    /// HTTP/2: the server sends GOAWAY; streams in progress are completed.
    Goaway,
    /// HTTP/2: the connection ends in the middle of the answer, with all its streams.
    GoawayClose,
}

impl PlantedFault {
    /// All of them.
    pub const ALL: [PlantedFault; 12] = [
        PlantedFault::Reset,
        PlantedFault::Close,
        PlantedFault::Refuse429,
        PlantedFault::Error500,
        PlantedFault::Hang,
        PlantedFault::Stall,
        PlantedFault::Drip,
        PlantedFault::WrongType,
        PlantedFault::Cut,
        PlantedFault::ErrorEvent,
        PlantedFault::Goaway,
        PlantedFault::GoawayClose,
    ];

    /// Its name on the command line and in the log.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            PlantedFault::Reset => "reset",
            PlantedFault::Close => "close",
            PlantedFault::Refuse429 => "refuse429",
            PlantedFault::Error500 => "error500",
            PlantedFault::Hang => "hang",
            PlantedFault::Stall => "stall",
            PlantedFault::Drip => "drip",
            PlantedFault::WrongType => "wrong_type",
            PlantedFault::Cut => "cut",
            PlantedFault::ErrorEvent => "error_event",
            PlantedFault::Goaway => "goaway",
            PlantedFault::GoawayClose => "goaway_close",
        }
    }

    /// Whether the answer begins as any other and goes wrong halfway.
    #[must_use]
    pub(crate) fn is_midway(self) -> bool {
        use PlantedFault::{Cut, ErrorEvent, GoawayClose, Reset, Stall};
        matches!(self, Reset | Cut | ErrorEvent | Stall | GoawayClose)
    }
}

/// A fault and the share of requests it befalls, `KIND:SHARE`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FaultShare {
    /// What.
    pub(crate) fault: PlantedFault,
    /// How many of all requests, 0 to 1.
    pub(crate) share: f64,
}

impl FromStr for FaultShare {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, share) = text.split_once(':').ok_or("expected KIND:SHARE, as reset:0.1")?;
        let fault = PlantedFault::ALL.into_iter().find(|fault| fault.name() == kind).ok_or_else(|| {
            let known: Vec<_> = PlantedFault::ALL.iter().map(|fault| fault.name()).collect();
            format!("unknown kind {kind:?}; known: {}", known.join(", "))
        })?;
        match share.parse() {
            Ok(share) if (0.0..=1.0).contains(&share) => Ok(FaultShare { fault, share }),
            _ => Err(format!("a share is a number from 0 to 1, not {share:?}")),
        }
    }
}

/// Which fault befalls a request that drew this number of [0, 1).
#[must_use]
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
        for fault in PlantedFault::ALL {
            let text = format!("{}:0.5", fault.name());
            assert_eq!(text.parse(), Ok(FaultShare { fault, share: 0.5 }));
        }
    }
}
