use rooflens_schema::Opt;
use rooflens_schema::tables::MetricSamples;

use crate::testing::{fixture, read, read_whole};

fn samples(text: &str) -> MetricSamples {
    read_whole(text.as_bytes()).0.metric_samples
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
    let text = [page(1), page(4), "nv_inference_count{model=\"a".to_owned()].concat();
    let (tables, codes) = read_whole(text.as_bytes());
    let rows = &tables.metric_samples;
    assert_eq!(rows.snapshot, [0, 0, 0, 1, 1, 1]);
    assert_eq!(rows.value, [Some(1.0), Some(5.0), None, Some(4.0), Some(5.0), None]);
    assert_eq!(rows.device[2].get(), Some(0));
    assert!(rows.unix_ns.iter().all(|time| time.get().is_none()));
    assert_eq!(codes, ["damaged_event 1", "unread_metric 2"]);
    assert!(!format!("{tables:?}").contains("secret"));
}

#[test]
fn times_stand_before_a_page_or_behind_its_values() {
    let text = "# time 100.5\nDCGM_FI_DEV_SM_CLOCK{gpu=\"3\",GPU_I_ID=\"2\",Hostname=\"secret\"} 1980\n\
                # time 110.5\nDCGM_FI_DEV_GPU_TEMP{gpu=\"3\"} 60\n";
    let rows = samples(text);
    assert_eq!(rows.unix_ns, [100_500_000_000, 110_500_000_000].map(Opt::some));
    assert_eq!(
        (rows.device[0].get(), rows.instance[0].get(), rows.instance[1].get()),
        (Some(3), Some(2), None)
    );
    let text = "nv_inference_count{model=\"a\"} 1 1000\nnv_inference_count{model=\"a\"} 2 3500\n";
    assert_eq!(samples(text).unix_ns, [1_000_000_000, 3_500_000_000].map(Opt::some));
}

#[test]
fn other_text_is_not_ours() {
    for text in ["nv_inference_count", "I read DCGM_FI_DEV_GPU_TEMP today", "my_vllm:num_requests 3\n"] {
        assert!(read(text.as_bytes()).0.is_err(), "{text}");
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
        let (tables, codes) = read_whole(text.as_bytes());
        assert_eq!(tables.metric_samples.value, [Some(3.0)], "{line}");
        let found = tables.metric_samples.model_id[0].get().map(|id| tables.names.get(id));
        assert_eq!(found, model, "{line}");
        assert_eq!(codes, ["unread_metric 2"], "{line}");
    }
}

#[test]
fn the_samples_of_each_server_are_read() {
    for (file, rows, pages) in [
        ("vllm.txt", 22, 2),
        ("sglang.txt", 10, 1),
        ("tensorrt_llm.txt", 8, 1),
        ("tgi.txt", 9, 1),
        ("llamacpp.txt", 7, 1),
    ] {
        let text = std::fs::read_to_string(fixture("metrics").join(file)).unwrap();
        let samples = samples(&text);
        assert_eq!((samples.len(), samples.snapshot.iter().max()), (rows, Some(&(pages - 1))), "{file}");
    }
}
