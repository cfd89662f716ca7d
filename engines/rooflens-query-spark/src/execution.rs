//! One plan on the server: the stream of its responses, resumed where the connection breaks.
//!
//! The protocol lets a server end a stream at any time (Spark does after two minutes or a gigabyte); only
//! `ResultComplete` is the end. Until then the client attaches again after the last response that it has.

use std::pin::Pin;
use std::time::{Duration, Instant};

use rooflens_engine_protocol::{Fault, Kind};
use spark_connect_proto as proto;
use tonic::{Response, Status, Streaming};
use uuid::Uuid;

use crate::connection::{Connection, SILENCE, client_type};
use crate::stall::StallWatch;
use crate::status::{failure, is_transient, is_unknown_operation};

/// How long to try again after the connection broke. A server that was killed is reported after this.
const RETRY_FOR: Duration = Duration::from_secs(6);
/// A stream that lasted this long was sound, even where it brought nothing: what follows is a new loss. Longer than
/// a try to connect takes.
const SOUND: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

type Responses = Streaming<proto::ExecutePlanResponse>;
type Opening = Pin<Box<dyn Future<Output = Result<Response<Responses>, Status>> + Send>>;

enum Stream {
    /// Called, without a first response: the future must be kept, as dropping it ends the call.
    Opening(Opening),
    Open(Box<Responses>),
    Complete,
}

/// A loss of connection that is not yet made good by a response.
struct Loss {
    since: Instant,
    pause: Duration,
}

pub(crate) struct Execution<'a> {
    connection: &'a mut Connection,
    request: proto::ExecutePlanRequest,
    stream: Stream,
    opened: Instant,
    last_response_id: Option<String>,
    loss: Option<Loss>,
    stall: StallWatch,
}

impl<'a> Execution<'a> {
    pub(crate) fn start(connection: &'a mut Connection, plan: proto::Plan) -> Self {
        use proto::execute_plan_request::{RequestOption, request_option};
        let reattach =
            request_option::RequestOption::ReattachOptions(proto::ReattachOptions { reattachable: true });
        let request = proto::ExecutePlanRequest {
            session_id: connection.session_id.clone(),
            client_observed_server_side_session_id: connection.server_session_id.clone(),
            user_context: connection.user(),
            operation_id: Some(Uuid::new_v4().to_string()),
            plan: Some(plan),
            client_type: client_type(),
            request_options: vec![RequestOption { request_option: Some(reattach) }],
            tags: Vec::new(),
        };
        let stream = execute(connection, &request);
        let stall = StallWatch::default();
        Self {
            connection,
            request,
            stream,
            opened: Instant::now(),
            last_response_id: None,
            loss: None,
            stall,
        }
    }

    /// The next response, or `None` when all have come.
    pub(crate) async fn next(&mut self) -> Result<Option<proto::ExecutePlanResponse>, Fault> {
        loop {
            let step = match &mut self.stream {
                Stream::Complete => return Ok(None),
                Stream::Opening(opening) => match tokio::time::timeout(SILENCE, opening).await {
                    Ok(Ok(response)) => {
                        self.stream = Stream::Open(Box::new(response.into_inner()));
                        continue;
                    }
                    Ok(Err(status)) => Ok(Err(status)),
                    Err(silence) => Err(silence),
                },
                Stream::Open(stream) => tokio::time::timeout(SILENCE, stream.message()).await,
            };
            match step {
                Ok(Ok(Some(response))) => {
                    self.accept(&response);
                    return Ok(Some(response));
                }
                // The server ended the stream, but not the answer.
                Ok(Ok(None)) => self.resume("the server ended the stream").await?,
                Ok(Err(status)) if is_unknown_operation(&status) && self.last_response_id.is_none() => {
                    // The call was lost before the server saw it.
                    self.pause("the server does not know the query").await?;
                    self.stream = execute(self.connection, &self.request);
                }
                Ok(Err(status)) if is_transient(&status) => self.resume(status.message()).await?,
                Ok(Err(status)) => return Err(failure(&status, &self.connection.address)),
                Err(_) => self.silent().await?,
            }
        }
    }

    fn accept(&mut self, response: &proto::ExecutePlanResponse) {
        use proto::execute_plan_response::ResponseType;
        self.loss = None;
        self.last_response_id = Some(response.response_id.clone());
        match &response.response_type {
            Some(ResponseType::ResultComplete(_)) => self.stream = Stream::Complete,
            Some(ResponseType::ExecutionProgress(progress)) => self.stall.progressed(progress),
            _ => self.stall.answered(),
        }
    }

    /// Nothing came for a while: is the server there, and does the query get on?
    async fn silent(&mut self) -> Result<(), Fault> {
        if self.connection.is_alive().await {
            return self.stall.check();
        }
        // Perhaps only the connection is dead, as after a NAT gateway dropped it.
        // A server that hangs may still accept one, so it must also answer.
        self.connection.reconnect().await?;
        if !self.connection.is_alive().await {
            return Err(self.lost("it stopped answering"));
        }
        self.resume("it stopped answering").await
    }

    async fn resume(&mut self, reason: &str) -> Result<(), Fault> {
        self.pause(reason).await?;
        let request = proto::ReattachExecuteRequest {
            session_id: self.request.session_id.clone(),
            client_observed_server_side_session_id: self
                .request
                .client_observed_server_side_session_id
                .clone(),
            user_context: self.request.user_context.clone(),
            operation_id: self.request.operation_id.clone().unwrap_or_default(),
            client_type: client_type(),
            last_response_id: self.last_response_id.clone(),
        };
        let mut stub = self.connection.stub.clone();
        self.stream = Stream::Opening(Box::pin(async move { stub.reattach_execute(request).await }));
        Ok(())
    }

    fn lost(&self, reason: &str) -> Fault {
        let address = &self.connection.address;
        let message = format!("the connection to {address} was lost while the query ran: {reason}");
        Fault::new(Kind::Engine, message).hint("check that the server still runs, then run the query again")
    }

    /// Waits before another try, longer each time; fails when that has gone on for too long.
    async fn pause(&mut self, reason: &str) -> Result<(), Fault> {
        if self.opened.elapsed() > SOUND {
            self.loss = None;
        }
        let loss = self.loss.get_or_insert_with(|| Loss { since: Instant::now(), pause: FIRST_PAUSE });
        if loss.since.elapsed() + loss.pause > RETRY_FOR {
            return Err(self.lost(reason));
        }
        tokio::time::sleep(loss.pause).await;
        loss.pause = (loss.pause * 2).min(LONGEST_PAUSE);
        self.opened = Instant::now();
        Ok(())
    }
}

fn execute(connection: &Connection, request: &proto::ExecutePlanRequest) -> Stream {
    let (mut stub, request) = (connection.stub.clone(), request.clone());
    Stream::Opening(Box::pin(async move { stub.execute_plan(request).await }))
}
