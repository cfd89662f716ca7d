//! TLS between a coordinator and its workers, in which both show a certificate.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use super::error::ClusterError;
use super::link::Duplex;

/// Certificates of a coordinator or a worker, in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterTls {
    /// Who the other side's certificate must be from.
    pub authority: PathBuf,
    /// The own certificate, and those between it and the authority. A worker's is for its address or host name.
    pub certificate: PathBuf,
    /// The key of the own certificate.
    pub key: PathBuf,
}

impl ClusterTls {
    pub(super) fn client(&self) -> Result<Arc<ClientConfig>, ClusterError> {
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| ClusterError::certificate(&self.certificate, error))?
            .with_root_certificates(self.roots()?)
            .with_client_auth_cert(Self::read_certificates(&self.certificate)?, self.private_key()?)
            .map_err(|error| ClusterError::certificate(&self.certificate, error))?;
        Ok(Arc::new(config))
    }

    pub(super) fn server(&self) -> Result<Arc<ServerConfig>, ClusterError> {
        let provider = Arc::new(ring::default_provider());
        let roots = Arc::new(self.roots()?);
        let verifier = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider))
            .build()
            .map_err(|error| ClusterError::certificate(&self.authority, error))?;
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| ClusterError::certificate(&self.certificate, error))?
            .with_client_cert_verifier(verifier)
            .with_single_cert(Self::read_certificates(&self.certificate)?, self.private_key()?)
            .map_err(|error| ClusterError::certificate(&self.certificate, error))?;
        Ok(Arc::new(config))
    }

    fn roots(&self) -> Result<RootCertStore, ClusterError> {
        let mut roots = RootCertStore::empty();
        for certificate in Self::read_certificates(&self.authority)? {
            roots.add(certificate).map_err(|error| ClusterError::certificate(&self.authority, error))?;
        }
        Ok(roots)
    }

    fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, ClusterError> {
        let read = CertificateDer::pem_file_iter(path).and_then(|found| found.collect::<Result<Vec<_>, _>>());
        let certificates = read.map_err(|error| ClusterError::certificate(path, error))?;
        if certificates.is_empty() {
            return Err(ClusterError::certificate(path, "there is no certificate in it"));
        }
        Ok(certificates)
    }

    fn private_key(&self) -> Result<PrivateKeyDer<'static>, ClusterError> {
        PrivateKeyDer::from_pem_file(&self.key).map_err(|error| ClusterError::certificate(&self.key, error))
    }
}

pub(super) fn to_worker(
    socket: TcpStream,
    worker: &str,
    config: Option<&Arc<ClientConfig>>,
) -> Result<Box<dyn Duplex>, ClusterError> {
    let Some(config) = config else { return Ok(Box::new(socket)) };
    let host = worker.rsplit_once(':').map_or(worker, |(host, _)| host).trim_matches(['[', ']']);
    let name = ServerName::try_from(host.to_owned()).map_err(ClusterError::protocol)?;
    let connection = ClientConnection::new(Arc::clone(config), name).map_err(ClusterError::protocol)?;
    Ok(Box::new(StreamOwned::new(connection, socket)))
}

pub(super) fn to_coordinator(
    socket: TcpStream,
    config: Option<&Arc<ServerConfig>>,
) -> Result<Box<dyn Duplex>, ClusterError> {
    let Some(config) = config else { return Ok(Box::new(socket)) };
    let connection = ServerConnection::new(Arc::clone(config)).map_err(ClusterError::protocol)?;
    Ok(Box::new(StreamOwned::new(connection, socket)))
}
