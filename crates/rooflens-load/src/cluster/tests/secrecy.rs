//! TLS with certificates that were made for these tests and are good for a hundred years.

use std::path::Path;

use super::*;

fn tls(authority: &str, own: &str) -> ClusterTls {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cluster/tests/certificates");
    ClusterTls {
        authority: folder.join(format!("{authority}.pem")),
        certificate: folder.join(format!("{own}.pem")),
        key: folder.join(format!("{own}.key.pem")),
    }
}

fn run_with(tls: Option<ClusterTls>, addresses: &[String]) -> Result<u64, String> {
    let timeout = Duration::from_secs(5);
    let options = ClusterOptions { tls, connect_timeout: timeout, ..options() };
    let mut count = 0;
    let mut sink = |_: RequestRecord| count += 1;
    let outcome = run_on_workers(addresses, &job(300), &options, &mut sink, &Idle);
    outcome.map(|_| count).map_err(|error| error.to_string())
}

#[test]
fn both_sides_show_a_certificate() {
    with_workers_of(Some(&tls("authority", "worker")), &[&pretend, &pretend], |addresses| {
        assert_eq!(run_with(Some(tls("authority", "coordinator")), addresses), Ok(300));
        // From another authority; for another purpose; none; trusting another authority.
        for wrong in [
            Some(tls("authority", "intruder")),
            Some(tls("authority", "worker")),
            None,
            Some(tls("stranger", "coordinator")),
        ] {
            let refused = run_with(wrong.clone(), addresses).unwrap_err();
            assert!(refused.starts_with("worker 127.0.0.1"), "{wrong:?}: {refused}");
        }
        // A certificate is for an address.
        let renamed = addresses[0].replace("127.0.0.1", "localhost");
        assert!(run_with(Some(tls("authority", "coordinator")), &[renamed]).is_err());
        assert_eq!(run_with(Some(tls("authority", "coordinator")), addresses), Ok(300));
    });
}

#[test]
fn files_that_are_no_certificates_are_errors() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let good = tls("authority", "worker");
    let swapped = ClusterTls { key: good.certificate.clone(), ..good.clone() };
    let foreign = ClusterTls { key: tls("authority", "coordinator").key, ..good.clone() };
    let missing = ClusterTls { authority: "/nonexistent".into(), ..good };
    for tls in [swapped, foreign, missing] {
        let served = serve_jobs(&listener, &token(), Some(&tls), &AtomicBool::new(true));
        assert!(served.unwrap_err().to_string().starts_with("cannot use"), "{tls:?}");
        assert!(run_with(Some(tls), &["127.0.0.1:1".to_owned()]).unwrap_err().starts_with("cannot use"));
    }
}
