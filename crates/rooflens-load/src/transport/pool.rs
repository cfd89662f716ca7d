//! Connections that wait for their next request.

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use super::connect::{Connector, Http1, Http2, OpenedConnection};
use super::timed::Stamps;
use crate::record::RequestError;

/// Requests that share an HTTP/2 connection, as servers allow by default.
const STREAMS_PER_CONNECTION: usize = 100;

pub(crate) struct Pool {
    connector: Connector,
    /// The one used last comes first again: it is the least likely to have been closed by the server.
    idle: RefCell<Vec<Http1>>,
    shared: RefCell<Vec<Http2>>,
    opening: tokio::sync::Mutex<()>,
}

pub(crate) struct Leased {
    pub(crate) connection: OpenedConnection,
    pub(crate) is_new: bool,
}

impl Pool {
    pub(crate) fn new(connector: Connector) -> Self {
        Pool {
            connector,
            idle: RefCell::default(),
            shared: RefCell::default(),
            opening: tokio::sync::Mutex::default(),
        }
    }

    pub(crate) async fn idle(&self) -> Option<Leased> {
        {
            let mut shared = self.shared.borrow_mut();
            shared.retain(|connection| !connection.sender.is_closed());
            let free = shared.iter().find(|connection| connection.active.get() < STREAMS_PER_CONNECTION);
            if let Some(connection) = free {
                return Some(Leased {
                    connection: OpenedConnection::Http2(connection.clone()),
                    is_new: false,
                });
            }
        }
        loop {
            let mut connection = self.idle.borrow_mut().pop()?;
            let is_over =
                poll_fn(|context| Poll::Ready(connection.connection.as_mut().poll(context).is_ready())).await;
            if !is_over && !connection.sender.is_closed() {
                return Some(Leased { connection: OpenedConnection::Http1(connection), is_new: false });
            }
        }
    }

    pub(crate) async fn open(&self) -> Result<Leased, RequestError> {
        if !self.connector.is_http2() {
            return Ok(Leased { connection: self.connector.open().await?, is_new: true });
        }
        // One at a time: requests that come together share the connection that the first of them opens.
        let _turn = self.opening.lock().await;
        if let Some(leased) = self.idle().await {
            return Ok(leased);
        }
        let connection = self.connector.open().await?;
        if let OpenedConnection::Http2(connection) = &connection {
            self.shared.borrow_mut().push(connection.clone());
        }
        Ok(Leased { connection, is_new: true })
    }

    pub(crate) fn forget(&self, stamps: &Rc<Stamps>) {
        self.shared.borrow_mut().retain(|connection| !Rc::ptr_eq(&connection.stamps, stamps));
    }

    pub(crate) fn give_back(&self, connection: Http1) {
        if !connection.sender.is_closed() {
            self.idle.borrow_mut().push(connection);
        }
    }
}
