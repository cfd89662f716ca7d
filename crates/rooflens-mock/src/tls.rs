//! A certificate authority of its own, and a certificate for this machine.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::PrivatePkcs8KeyDer;

pub(crate) struct MadeIdentity {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) authority_pem: String,
}

pub(crate) fn make_identity(
    expired: bool,
    http2: bool,
) -> Result<MadeIdentity, Box<dyn std::error::Error + Send + Sync>> {
    let mut authority = CertificateParams::new(Vec::new())?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.distinguished_name.push(DnType::CommonName, "rooflens-mock authority");
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;

    let mut server = CertificateParams::new(vec!["localhost".to_owned(), "127.0.0.1".to_owned()])?;
    if expired {
        server.not_before = date_time_ymd(2000, 1, 1);
        server.not_after = date_time_ymd(2001, 1, 1);
    }
    let key = KeyPair::generate()?;
    let certificate = server.signed_by(&key, &authority)?;

    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
        )?;
    config.alpn_protocols = vec![if http2 { b"h2".to_vec() } else { b"http/1.1".to_vec() }];
    Ok(MadeIdentity { config: Arc::new(config), authority_pem: authority.pem() })
}
