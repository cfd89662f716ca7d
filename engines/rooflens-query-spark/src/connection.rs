//! One session on a Spark Connect server.

use std::time::Duration;

use proto::analyze_plan_request::Analyze;
use proto::analyze_plan_response::Result as Analyzed;
use proto::spark_connect_service_client::SparkConnectServiceClient;
use rooflens_engine_protocol::{Fault, Kind};
use spark_connect_proto as proto;
use tonic::metadata::{Ascii, MetadataKey, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};
use tonic::{Request, Status};
use uuid::Uuid;

use crate::address::Address;
use crate::session_settings::{OPTIONAL, REQUIRED};
use crate::status::{failure, is_transient, unreachable};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// After this long without a response the server is asked whether it is there.
pub(crate) const SILENCE: Duration = Duration::from_secs(5);
/// The first call makes the server build a session, which takes seconds on a cold one.
const SETTINGS_TIMEOUT: Duration = Duration::from_secs(30);
/// Longer than a pause of the server's garbage collector.
const LIFE_SIGN_TIMEOUT: Duration = Duration::from_secs(10);
/// Pings as PySpark sends them; servers before Spark 4.3 cut off who pings much more often.
const PING_INTERVAL: Duration = Duration::from_secs(60);
const PING_TIMEOUT: Duration = Duration::from_secs(20);
/// As PySpark's; servers send batches of 4 MiB.
const MESSAGE_BYTES: usize = 128 * 1024 * 1024;

/// The stub of the protocol, with headers on every call.
pub(crate) type Stub = SparkConnectServiceClient<InterceptedService<Channel, Headers>>;

#[derive(Debug, Clone)]
pub(crate) struct Headers(Vec<(MetadataKey<Ascii>, MetadataValue<Ascii>)>);

impl Headers {
    fn of(address: &Address) -> Result<Self, Fault> {
        let invalid = |what: &str| Fault::new(Kind::Engine, format!("{what} cannot be sent as a header"));
        let mut headers = Vec::new();
        for (key, value) in &address.headers {
            let what = "a parameter of the server's address";
            let name = MetadataKey::from_bytes(key.as_bytes()).map_err(|_| invalid(what))?;
            headers.push((name, value.parse().map_err(|_| invalid(what))?));
        }
        if let Some(token) = &address.token {
            let mut value: MetadataValue<Ascii> =
                format!("Bearer {token}").parse().map_err(|_| invalid("the token"))?;
            value.set_sensitive(true);
            headers.push((MetadataKey::from_static("authorization"), value));
        }
        Ok(Self(headers))
    }
}

impl Interceptor for Headers {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        for (name, value) in &self.0 {
            request.metadata_mut().insert(name.clone(), value.clone());
        }
        Ok(request)
    }
}

/// A session of its own on a server. Clones share the connection.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    /// Where the server is.
    pub(crate) address: Address,
    pub(crate) stub: Stub,
    pub(crate) session_id: String,
    pub(crate) server_session_id: Option<String>,
}

impl Connection {
    pub(crate) async fn open(address: Address) -> Result<Self, Fault> {
        let stub = stub_of(&address).await?;
        let session_id = Uuid::new_v4().to_string();
        let mut connection = Self { address, stub, session_id, server_session_id: None };
        connection.set(&REQUIRED, false).await?;
        connection.set(&OPTIONAL, true).await?;
        Ok(connection)
    }

    pub(crate) async fn reconnect(&mut self) -> Result<(), Fault> {
        self.stub = stub_of(&self.address).await?;
        Ok(())
    }

    pub(crate) fn user(&self) -> Option<proto::UserContext> {
        Some(proto::UserContext { user_id: self.address.user_id.clone(), ..Default::default() })
    }

    /// Changes settings of the session; where `silent`, a server may refuse.
    pub(crate) async fn set(&mut self, settings: &[(&str, &str)], silent: bool) -> Result<(), Fault> {
        let pairs = settings
            .iter()
            .map(|(key, value)| proto::KeyValue { key: (*key).to_owned(), value: Some((*value).to_owned()) })
            .collect();
        let set = proto::config_request::Set { pairs, silent: Some(silent) };
        let operation = proto::config_request::Operation {
            op_type: Some(proto::config_request::operation::OpType::Set(set)),
        };
        let request = proto::ConfigRequest {
            session_id: self.session_id.clone(),
            client_observed_server_side_session_id: self.server_session_id.clone(),
            user_context: self.user(),
            operation: Some(operation),
            client_type: client_type(),
        };
        let call = self.stub.config(request);
        match tokio::time::timeout(SETTINGS_TIMEOUT, call).await {
            Ok(Ok(response)) => {
                self.server_session_id = Some(response.into_inner().server_side_session_id);
                Ok(())
            }
            Ok(Err(status)) => Err(failure(&status, &self.address)),
            Err(_) => Err(unreachable(&self.address, "it accepts connections but did not answer in 30 s")),
        }
    }

    /// Asks something of a plan, for as long as the server gives signs of life.
    pub(crate) async fn analyze(&mut self, analyze: Analyze) -> Result<Option<Analyzed>, Fault> {
        let mut other = self.clone();
        let mut call = std::pin::pin!(self.call_analyze(analyze));
        loop {
            match tokio::time::timeout(SILENCE, &mut call).await {
                Ok(Ok(result)) => return Ok(result),
                Ok(Err(status)) => return Err(failure(&status, &other.address)),
                Err(_) if other.is_alive().await => {}
                Err(_) => return Err(unreachable(&other.address, "it stopped answering")),
            }
        }
    }

    async fn call_analyze(&mut self, analyze: Analyze) -> Result<Option<Analyzed>, Status> {
        let request = proto::AnalyzePlanRequest {
            session_id: self.session_id.clone(),
            client_observed_server_side_session_id: self.server_session_id.clone(),
            user_context: self.user(),
            client_type: client_type(),
            analyze: Some(analyze),
        };
        Ok(self.stub.analyze_plan(request).await?.into_inner().result)
    }

    pub(crate) async fn is_alive(&mut self) -> bool {
        let call =
            self.call_analyze(Analyze::SparkVersion(proto::analyze_plan_request::SparkVersion::default()));
        match tokio::time::timeout(LIFE_SIGN_TIMEOUT, call).await {
            Ok(Ok(_)) => true,
            Ok(Err(status)) => !is_transient(&status),
            Err(_) => false,
        }
    }

    /// Cancels everything that the session runs and drops its views; gives up after a while.
    pub(crate) async fn close(mut self, patience: Duration) {
        let interrupt = proto::InterruptRequest {
            session_id: self.session_id.clone(),
            user_context: self.user(),
            client_type: client_type(),
            interrupt_type: proto::interrupt_request::InterruptType::All.into(),
            ..Default::default()
        };
        let release = proto::ReleaseSessionRequest {
            session_id: self.session_id.clone(),
            user_context: self.user(),
            client_type: client_type(),
            ..Default::default()
        };
        let calls = async {
            // The second call does what the first does too, but waits for queries to end.
            let _ = self.stub.interrupt(interrupt).await;
            let _ = self.stub.release_session(release).await;
        };
        let _ = tokio::time::timeout(patience, calls).await;
    }
}

pub(crate) fn client_type() -> Option<String> {
    Some(concat!("rooflens/", env!("CARGO_PKG_VERSION")).to_owned())
}

async fn stub_of(address: &Address) -> Result<Stub, Fault> {
    let headers = Headers::of(address)?;
    let scheme = if address.tls { "https" } else { "http" };
    let mut endpoint = Endpoint::from_shared(format!("{scheme}://{}:{}", address.host, address.port))
        .map_err(|error| unreachable(address, &error.to_string()))?
        .connect_timeout(CONNECT_TIMEOUT)
        .http2_keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT)
        .keep_alive_while_idle(true)
        .tcp_nodelay(true);
    if address.tls {
        let tls = ClientTlsConfig::new().with_native_roots();
        endpoint = endpoint.tls_config(tls).map_err(|error| unreachable(address, &causes(&error)))?;
    }
    // Finding the host and the TLS handshake are not in the connect timeout.
    let channel = match tokio::time::timeout(CONNECT_TIMEOUT, endpoint.connect()).await {
        Ok(Ok(channel)) => channel,
        Ok(Err(error)) => return Err(unreachable(address, &causes(&error))),
        Err(_) => return Err(unreachable(address, "no connection within 5 s")),
    };
    Ok(SparkConnectServiceClient::with_interceptor(channel, headers)
        .max_decoding_message_size(MESSAGE_BYTES)
        .max_encoding_message_size(MESSAGE_BYTES))
}

/// The innermost cause: outer ones say "transport error" only.
fn causes(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
