//! A connection that carries messages: a byte that says whether it is sealed, the length, the code if it is sealed, and
//! the message as JSON.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::error::ClusterError;
use super::token::{CODE_BYTES, NONCE_BYTES, Sealer, SharedToken, nonce};
use super::wire::{Message, VERSION};

/// Longest message of someone who has not shown the token.
const MAX_FIRST_BYTES: usize = 4 << 10;
const MAX_BYTES: usize = 256 << 20;
const HEADER_BYTES: usize = 5;
const PLAIN: u8 = 0;
const SEALED: u8 = 1;
/// Whoever does not take bytes for this long is gone.
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);

pub(super) trait Duplex: Read + Write + Send {}

impl<S: Read + Write + Send> Duplex for S {}

pub(super) struct Link {
    stream: Box<dyn Duplex>,
    socket: TcpStream,
    received: Vec<u8>,
    taken: usize,
    sealers: Option<(Sealer, Sealer)>,
    max_bytes: usize,
}

impl Link {
    pub(super) fn new(stream: Box<dyn Duplex>, socket: TcpStream) -> Result<Self, ClusterError> {
        socket.set_nodelay(true)?;
        socket.set_write_timeout(Some(WRITE_TIMEOUT))?;
        let (received, max_bytes) = (Vec::new(), MAX_FIRST_BYTES);
        Ok(Link { stream, socket, received, taken: 0, sealers: None, max_bytes })
    }

    pub(super) fn join_worker(&mut self, token: &SharedToken, timeout: Duration) -> Result<(), ClusterError> {
        let theirs = self.their_nonce(timeout)?;
        let own = nonce()?;
        self.send(&Message::Hello { version: VERSION, nonce: own.to_vec() })?;
        let keys = token.keys(&theirs, &own);
        self.sealers = Some((Sealer::new(keys.to_worker), Sealer::new(keys.to_coordinator)));
        self.send(&Message::Authenticate)?;
        match self.expect(timeout)? {
            Message::Authenticated => {
                self.max_bytes = MAX_BYTES;
                Ok(())
            }
            other => Err(unexpected(&other)),
        }
    }

    pub(super) fn join_coordinator(
        &mut self,
        token: &SharedToken,
        timeout: Duration,
    ) -> Result<(), ClusterError> {
        let own = nonce()?;
        self.send(&Message::Hello { version: VERSION, nonce: own.to_vec() })?;
        let theirs = self.their_nonce(timeout)?;
        let keys = token.keys(&own, &theirs);
        self.sealers = Some((Sealer::new(keys.to_coordinator), Sealer::new(keys.to_worker)));
        match self.expect(timeout)? {
            Message::Authenticate => {
                self.max_bytes = MAX_BYTES;
                self.send(&Message::Authenticated)
            }
            other => Err(unexpected(&other)),
        }
    }

    fn their_nonce(&mut self, timeout: Duration) -> Result<Vec<u8>, ClusterError> {
        match self.expect(timeout)? {
            Message::Hello { version: VERSION, nonce } if nonce.len() == NONCE_BYTES => Ok(nonce),
            Message::Hello { version, .. } => {
                Err(ClusterError::protocol(format!("its version is {version}, here it is {VERSION}")))
            }
            other => Err(unexpected(&other)),
        }
    }

    /// Tells someone who could not show the token, who therefore cannot read a sealed message, why it ends here.
    pub(super) fn refuse(&mut self, reason: &str) -> Result<(), ClusterError> {
        self.sealers = None;
        self.send(&Message::Refused { reason: reason.to_owned() })
    }

    pub(super) fn send(&mut self, message: &Message) -> Result<(), ClusterError> {
        let payload = serde_json::to_vec(message).map_err(ClusterError::protocol)?;
        let length = u32::try_from(payload.len()).ok().filter(|length| *length as usize <= MAX_BYTES);
        let length = length.ok_or_else(|| ClusterError::protocol("a message is too long"))?;
        let mut frame = Vec::with_capacity(HEADER_BYTES + CODE_BYTES + payload.len());
        frame.push(if self.sealers.is_some() { SEALED } else { PLAIN });
        frame.extend(length.to_be_bytes());
        if let Some((sending, _)) = &mut self.sealers {
            frame.extend(sending.code(&payload).as_ref());
        }
        frame.extend(payload);
        self.stream.write_all(&frame)?;
        Ok(self.stream.flush()?)
    }

    pub(super) fn expect(&mut self, timeout: Duration) -> Result<Message, ClusterError> {
        match self.receive(timeout)? {
            Some(Message::Refused { reason }) => Err(ClusterError(format!("refused: {reason}"))),
            Some(message) => Ok(message),
            None => Err(ClusterError::silent(timeout)),
        }
    }

    pub(super) fn receive(&mut self, timeout: Duration) -> Result<Option<Message>, ClusterError> {
        let deadline = Instant::now() + timeout;
        loop {
            if let Some(message) = self.take_message()? {
                return Ok(Some(message));
            }
            // A timeout of 0 would be none.
            let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
            self.socket.set_read_timeout(Some(left))?;
            if !self.read_more()? && Instant::now() >= deadline {
                return Ok(None);
            }
        }
    }

    fn read_more(&mut self) -> Result<bool, ClusterError> {
        let mut chunk = [0; 1 << 16];
        match self.stream.read(&mut chunk) {
            Ok(0) => Err(ClusterError::closed()),
            Ok(count) => {
                self.received.drain(..std::mem::take(&mut self.taken));
                self.received.extend_from_slice(&chunk[..count]);
                Ok(true)
            }
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => Ok(false),
                _ => Err(error.into()),
            },
        }
    }

    fn take_message(&mut self) -> Result<Option<Message>, ClusterError> {
        let bytes = &self.received[self.taken..];
        let Some((header, rest)) = bytes.split_first_chunk::<HEADER_BYTES>() else { return Ok(None) };
        let [kind, length @ ..] = *header;
        let length = u32::from_be_bytes(length) as usize;
        let code_bytes = match kind {
            PLAIN => 0,
            SEALED => CODE_BYTES,
            _ => return Err(ClusterError::protocol("it does not begin as a message")),
        };
        if length > self.max_bytes {
            return Err(ClusterError::protocol(format!("a message of {length} bytes is too long")));
        }
        let Some(body) = rest.get(..code_bytes + length) else { return Ok(None) };
        let (code, payload) = body.split_at(code_bytes);
        if let Some((_, receiving)) = self.sealers.as_mut().filter(|_| kind == SEALED) {
            receiving.check(payload, code)?;
        }
        let message = serde_json::from_slice(payload).map_err(ClusterError::protocol)?;
        let is_sealed = kind == SEALED && self.sealers.is_some();
        let may_be_plain = match &message {
            Message::Hello { .. } => self.sealers.is_none(),
            // Before the worker has shown the token it can only refuse; after that nobody else may.
            Message::Refused { .. } => self.max_bytes == MAX_FIRST_BYTES,
            _ => false,
        };
        if !is_sealed && !may_be_plain {
            return Err(ClusterError::wrong_code());
        }
        self.taken += HEADER_BYTES + code_bytes + length;
        Ok(Some(message))
    }
}

pub(super) fn unexpected(message: &Message) -> ClusterError {
    let text = format!("{message:?}");
    ClusterError::protocol(format!("{} was not expected", text.split([' ', '{']).next().unwrap_or_default()))
}
