use super::*;

fn read(text: &str, notes: &Notes) -> Result<RankTables, IngestError> {
    crate::read(Artefact::from_bytes("metrics.txt", text.as_bytes())?, notes)
}

#[test]
fn pages_end_where_a_series_stands_again() {
    let page = |count: u32| {
        format!(
            "# HELP nv_inference_count Number of inferences\n# TYPE nv_inference_count counter\n\
             nv_inference_count{{model=\"a\",version=\"1\"}} {count}\n\
             nv_inference_count{{model=\"b\",version=\"1\"}} 5\n\
             nv_gpu_power_usage{{gpu_uuid=\"GPU-secret\"}} NaN\nother_metric 4\n"
        )
    };
    let notes = Notes::default();
    let tables =
        read(&[page(1), page(4), "nv_inference_count{model=\"a".to_owned()].concat(), &notes).unwrap();
    let rows = &tables.metric_samples;
    assert_eq!(rows.snapshot, [0, 0, 0, 1, 1, 1]);
    assert_eq!(rows.value, [Some(1.0), Some(5.0), None, Some(4.0), Some(5.0), None]);
    assert_eq!(rows.device[2].get(), Some(0));
    assert!(rows.unix_ns.iter().all(|time| time.get().is_none()));
    let codes: Vec<String> = notes.rows().iter().map(|note| note.code.clone()).collect();
    assert!(
        codes.contains(&"damaged_event".to_owned()) && codes.contains(&"unread_metric".to_owned()),
        "{codes:?}"
    );
    assert!(!format!("{tables:?}").contains("secret"));
}

#[test]
fn times_stand_before_a_page_or_behind_its_values() {
    let notes = Notes::default();
    let text = "# time 100.5\nDCGM_FI_DEV_SM_CLOCK{gpu=\"3\",GPU_I_ID=\"2\",Hostname=\"secret\"} 1980\n\
                # time 110.5\nDCGM_FI_DEV_GPU_TEMP{gpu=\"3\"} 60\n";
    let rows = read(text, &notes).unwrap().metric_samples;
    assert_eq!(
        rows.unix_ns.iter().map(|time| time.get()).collect::<Vec<_>>(),
        [Some(100_500_000_000), Some(110_500_000_000)]
    );
    assert_eq!(
        (rows.device[0].get(), rows.instance[0].get(), rows.instance[1].get()),
        (Some(3), Some(2), None)
    );
    let text = "nv_inference_count{model=\"a\"} 1 1000\nnv_inference_count{model=\"a\"} 2 3500\n";
    let rows = read(text, &notes).unwrap().metric_samples;
    assert_eq!(
        rows.unix_ns.iter().map(|time| time.get()).collect::<Vec<_>>(),
        [Some(1_000_000_000), Some(3_500_000_000)]
    );
}

#[test]
fn other_text_is_not_ours() {
    for text in ["nv_inference_count", "I read DCGM_FI_DEV_GPU_TEMP today", "my_vllm:num_requests 3\n"] {
        assert!(read(text, &Notes::default()).is_err(), "{text}");
    }
}

#[test]
fn pages_of_engines_are_read_without_buckets() {
    let pages = [
        ("vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 3.0", Some("m")),
        ("sglang:num_running_reqs{model_name=\"m\",tp_rank=\"0\"} 3.0", Some("m")),
        ("trtllm_num_requests_running{engine_type=\"trtllm\",model_name=\"m\"} 3.0", Some("m")),
        ("tgi_batch_current_size 3", None),
        ("llamacpp:requests_processing 3", None),
    ];
    for (line, model) in pages {
        let text = format!("# HELP a b\n{line}\nvllm:x_seconds_bucket{{le=\"0.1\"}} 1\npython_info 1\n");
        let notes = Notes::default();
        let tables = read(&text, &notes).unwrap();
        assert_eq!(tables.metric_samples.value, [Some(3.0)], "{line}");
        let found = tables.metric_samples.model_id[0].get().map(|id| tables.names.get(id));
        assert_eq!(found, model, "{line}");
        assert_eq!(notes.rows().iter().map(|note| note.count).collect::<Vec<_>>(), [2], "{line}");
    }
}

#[test]
fn the_samples_of_each_server_are_read() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/metrics");
    for (file, rows, pages) in [
        ("vllm.txt", 22, 2),
        ("sglang.txt", 10, 1),
        ("tensorrt_llm.txt", 8, 1),
        ("tgi.txt", 9, 1),
        ("llamacpp.txt", 7, 1),
    ] {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        let samples = read(&text, &Notes::default()).unwrap().metric_samples;
        assert_eq!((samples.len(), samples.snapshot.iter().max()), (rows, Some(&(pages - 1))), "{file}");
    }
}
