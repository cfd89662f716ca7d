use super::*;

const DETAILS: &str = concat!(
    "==PROF== Connected to process 7\n",
    r#""ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","#,
    r#""Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value","Rule Name","#,
    r#""Rule Type","Rule Description","Estimated Speedup Type","Estimated Speedup""#,
    "\n",
    r#""0","7","secret","host","void a<1, ""x"">(int)","1","7","(128, 1, 1)","(4, 2, 1)","0","9.0","S","Duration","us","1.50","#,
    "\n",
    r#""0","7","secret","host","void a<1, ""x"">(int)","1","7","(128, 1, 1)","(4, 2, 1)","0","9.0","S","Elapsed Cycles","cycle","13,485","#,
    "\n",
    r#""0","7","secret","host","void a<1, ""x"">(int)","1","7","(128, 1, 1)","(4, 2, 1)","0","9.0","S","dram__bytes_read.sum","Kbyte","32.77","#,
    "\n",
    r#""0","7","secret","host","void a<1, ""x"">(int)","1","7","(128, 1, 1)","(4, 2, 1)","0","9.0","S","flop_count_hp.sum","","n/a","#,
    "\n",
    r#""0","7","secret","host","void a<1, ""x"">(int)","1","7","(128, 1, 1)","(4, 2, 1)","0","9.0","S","odd","furlong","3","#,
    "\n",
    r#""0","7","secret","host","void a<1, ""x"">(int)","1","7","(128, 1, 1)","(4, 2, 1)","0","9.0","S","","","","R","OPT","more, blocks","global","12.5""#,
    "\n",
    r#""0","7","secret","host","void a<1, ""x"">(int)","1","7","(128, 1, 1)","(4, 2, 1)","0","9.0","S","","","","R","INF","see","","""#,
    "\n",
);

#[test]
fn details_are_base_units_under_metric_names() {
    let notes = Notes::default();
    assert!(is_csv(DETAILS.as_bytes()));
    let launches = read(DETAILS.as_bytes(), "d", &notes);
    assert_eq!(launches.len(), 1);
    let launch = &launches[0].1;
    assert_eq!(launch.name, r#"void a<1, "x">(int)"#);
    assert_eq!((launch.grid, launch.block), (Some([4, 2, 1]), Some([128, 1, 1])));
    assert_eq!(launch.number("gpu__time_duration.sum"), Some(1500.0));
    assert_eq!(launch.number("gpc__cycles_elapsed.max"), Some(13485.0));
    assert_eq!(launch.number("dram__bytes_read.sum"), Some(32770.0));
    assert_eq!(launch.number("device__attribute_compute_capability_major"), Some(9.0));
    assert!(!launch.metrics.contains_key("flop_count_hp.sum"), "n/a is nothing, not 0");
    assert_eq!((launch.number("odd"), launch.text("odd")), (None, Some("3 furlong")));
    assert_eq!(notes.rows()[0].code, "unknown_unit");
    let rule = &launch.rules[0];
    assert_eq!((launch.rules.len(), rule.messages.len()), (1, 2));
    assert_eq!(rule.speedup, Some(Speedup { is_global: true, percent: 12.5 }));
    assert!(!format!("{launch:?}").contains("secret"));
}

#[test]
fn raw_has_its_units_in_the_second_row() {
    let raw = "\"ID\",\"Process ID\",\"Kernel Name\",\"Grid Size\",\"CC\",\"dram__bytes.sum\",\"device__attribute_display_name\"\n\
               \"\",\"\",\"\",\"\",\"\",\"Mbyte\",\"\"\n\
               \"0\",\"1\",\"k\",\"(1, 1, 1)\",\"8.6\",\"2.5\",\"NVIDIA A10G\"\n\
               \"1\",\"1\",\"k\",\"(2, 1, 1)\",\"8.6\",\"3\"\n";
    let notes = Notes::default();
    let launches = read(raw.as_bytes(), "r", &notes);
    assert_eq!(launches.len(), 2);
    assert_eq!(launches[0].1.number("dram__bytes.sum"), Some(2_500_000.0));
    assert_eq!(launches[0].1.text("device__attribute_display_name"), Some("NVIDIA A10G"));
    assert_eq!(launches[1].1.number("dram__bytes.sum"), Some(3_000_000.0));
    assert!(notes.rows().is_empty());
}

#[test]
fn every_cut_is_read_as_far_as_it_goes() {
    for cut in (0..DETAILS.len()).filter(|cut| DETAILS.is_char_boundary(*cut)) {
        let launches = read(&DETAILS.as_bytes()[..cut], "cut", &Notes::default());
        assert!(launches.len() <= 2, "a cut name may make a second launch, never more");
    }
    assert!(read(b"\"ID\",\"Kernel Name\"\n", "none", &Notes::default()).is_empty());
    assert!(!is_csv(b"Time (%),Total Time (ns)\n") && !is_csv(b""));
}
