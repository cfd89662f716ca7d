//! What the pages show.

use rooflens_core::run_index::tag;

use crate::common::{Site, wait_for};
use crate::runs_made::{HOSTILE, row_run, store, trace_run};

fn many(root: &std::path::Path) {
    for number in 0..60 {
        let (model, tpot) = if number % 2 == 0 { ("Qwen3-8B", 10e6) } else { ("gpt-oss-20b", 20e6) };
        let slower = if number >= 30 { 1.5 } else { 1.0 };
        row_run(
            &root.join(format!("nightly/{number:02}")),
            model,
            slower * tpot + f64::from(number * 7919 % 13),
            number.into(),
        );
    }
}

#[test]
fn runs_are_searched_narrowed_ordered_and_paged() {
    let site = Site::new(many);
    let first = site.get("/");
    assert_eq!(first.status, 200);
    assert!(first.body.contains("60 runs in root."), "{}", first.body);
    // The newest is first, and a page has 50.
    assert!(first.body.find("nightly/59").unwrap() < first.body.find("nightly/58").unwrap());
    assert!(!first.body.contains("nightly/09<") && first.body.contains("Page 1 of 2"));
    assert!(site.get("/?page=2").body.contains("nightly/09<"));
    // More than there are is the last.
    assert!(site.get("/?page=999").body.contains("nightly/09<"));
    assert!(first.body.contains("Qwen3-8B (30)"));
    let narrowed = site.get("/?model=gpt-oss-20b").body;
    assert!(narrowed.contains("30 of 60 runs") && !narrowed.contains("nightly/58<"));
    assert!(site.get("/?q=GPT+nightly/31").body.contains("1 of 60 runs"));
    assert!(site.get("/?q=nothing+like+it").body.contains("No run matches"));
    let fast = site.get("/?sort=tpot_p50_ns").body;
    assert!(fast.find("nightly/00<").unwrap() < fast.find("nightly/02<").unwrap());
    let slow = site.get("/?sort=-tpot_p50_ns").body;
    assert!(slow.find("nightly/45<").unwrap() < slow.find("nightly/59<").unwrap());
    // What is not known is left out, and no error.
    assert_eq!(site.get("/?sort=nothing&page=x&what=%ff").status, 200);
}

#[test]
fn each_tag_is_a_choice_of_its_own() {
    let site = Site::new(|root| {
        for (number, name) in ["a", "b", "c"].into_iter().enumerate() {
            row_run(&root.join(name), "Qwen3-8B", 1e7, number as i64);
        }
        let add = |names: &[&str], word: &str| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            tag(root, &names, word).unwrap();
        };
        add(&["a", "b"], "nightly");
        add(&["a"], "baseline");
    });
    let all = site.get("/").body;
    assert!(all.contains("nightly (2)") && all.contains("baseline (1)"), "{all}");
    let nightly = site.get("/?label=nightly").body;
    assert!(nightly.contains("2 of 3 runs") && !nightly.contains(">c</a>"), "{nightly}");
}

#[test]
fn one_run_has_its_report_and_is_kept() {
    let site = Site::new(|root| {
        trace_run(&root.join("one"), "ourkernel");
        row_run(&root.join("bare"), "Qwen3-8B", 1e7, 0);
    });
    let address = site.run_address("one");
    let page = site.get(&address);
    assert_eq!(page.status, 200);
    assert!(page.body.contains("ourkernel") && page.body.contains("<section id=\"verdict\""));
    let etag = page.header("etag").unwrap().to_owned();
    assert_eq!(page.header("cache-control"), Some("private, no-cache"));
    let same = site.ask("GET", &address, &[("If-None-Match", &format!("\"x\", {etag}"))], "");
    assert_eq!((same.status, same.body.as_str()), (304, ""));
    let head = site.ask("HEAD", &address, &[], "");
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    assert!(site.get("/metrics").body.contains("rooflens_serve_cache_hits_total 2"));
    let bare = site.get(&site.run_address("bare"));
    assert!(bare.body.contains("Time per output token after the first") && bare.body.contains("10.00 ms"));
    assert_eq!(site.get("/runs/0000000000000000").status, 404);
}

#[test]
fn a_new_run_appears_and_an_old_one_goes() {
    let site = Site::new(|root| row_run(&root.join("old"), "a", 1e6, 0));
    row_run(&site.root().join("new"), "b", 1e6, 1);
    site.run_address("new");
    std::fs::remove_dir_all(site.root().join("old")).unwrap();
    wait_for("the end of the old run", || (!site.get("/").body.contains("\">old</a>")).then_some(()));
}

#[test]
fn two_runs_are_compared_and_a_trend_is_found() {
    let site = Site::new(|root| {
        trace_run(&root.join("a"), "before_kernel");
        trace_run(&root.join("b"), "after_kernel");
        many(root);
    });
    let id = |name: &str| site.run_address(name).trim_start_matches("/runs/").to_owned();
    let (a, b) = (id("a"), id("b"));
    let page = site.get(&format!("/compare?run={a}&run={b}"));
    assert_eq!(page.status, 200, "{}", page.body);
    assert!(page.body.contains("<section id=\"comparison\"") && page.body.contains("make it the baseline"));
    // Charts before tables.
    let (picture, table) = (page.body.find("Where the time went"), page.body.find("<table"));
    assert!(picture.is_some() && picture < table, "{picture:?} {table:?}");
    assert_eq!(site.get(&format!("/compare?run={a}")).status, 400);
    assert_eq!(site.get(&format!("/compare?run={a}&run=/etc")).status, 404);
    let trend = site.get("/trend?metric=tpot_p50_ns&model=Qwen3-8B").body;
    assert!(trend.contains("TPOT p50: changed once in 30 runs, at nightly/30"), "{trend}");
    let mixed = site.get("/trend?metric=tpot_p50_ns").body;
    assert!(mixed.contains("These runs have 2 values of model"), "{mixed}");
    assert_eq!(site.get("/trend?metric=%3Cscript%3E").status, 200);
}

#[test]
fn a_store_has_its_rows_and_says_what_queries_need() {
    let runs = tempfile::tempdir().unwrap();
    row_run(&runs.path().join("one"), "Qwen3-8B", 1e7, 0);
    let mut address = std::path::PathBuf::new();
    let site = Site::with(
        |root| {
            address = root.join("store");
            store(&address, &[&runs.path().join("one")]);
        },
        |settings| settings.source.push_str("/store"),
    );
    let list = site.get("/").body;
    assert!(list.contains("Qwen3-8B") && !list.contains("<img"), "{list}");
    let begin = list.find("href=\"/runs/").unwrap() + 6;
    let page = site.get(&list[begin..begin + 22]);
    assert!(
        page.status == 200 && page.body.contains("Row of the table runs") && page.body.contains("10.00 ms")
    );
    assert!(!page.body.contains(HOSTILE));
    for path in ["/queries", "/queries/top-kernels", "/sql"] {
        assert_eq!(site.get(path).status, 200, "{path}");
    }
    assert_eq!(site.get("/queries/nothing").status, 404);
    // A run that is added is seen.
    row_run(&runs.path().join("two"), "gpt-oss-20b", 1e7, 1);
    store(&address, &[&runs.path().join("two")]);
    wait_for("the second run", || site.get("/").body.contains("gpt-oss-20b").then_some(()));
}

#[test]
fn a_folder_says_that_queries_need_a_store() {
    let site = Site::new(|_| {});
    assert!(site.get("/").body.contains("There are no runs here yet"));
    assert!(site.get("/sql").body.contains("Queries need a store"));
    assert!(site.post("/sql", "sql=SELECT+1").body.contains("Queries need a store"));
}

#[test]
fn assets_are_kept_for_ever_and_pages_have_no_script_inside() {
    let site = Site::new(|root| trace_run(&root.join("one"), "kernel"));
    let mut seen = 0;
    for path in
        ["/".to_owned(), site.run_address("one"), "/trend".to_owned(), "/sql".to_owned(), "/live".to_owned()]
    {
        let page = site.get(&path);
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'; script-src 'self';"), "{policy}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "same-origin"),
            ("cross-origin-opener-policy", "same-origin-allow-popups"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(page.header(name), Some(value), "{path}");
        }
        for script in page.body.split("<script").skip(1) {
            let (tag, rest) = script.split_once('>').unwrap();
            let is_data = tag.contains("application/json");
            assert!(
                is_data || (tag.contains(" src=\"/assets/") && rest.starts_with("</script>")),
                "{path}: {tag}"
            );
        }
        assert!(!page.body.contains(" onclick=") && !page.body.contains("javascript:"));
        for asset in page.body.split("\"/assets/").skip(1) {
            let name = asset.split('"').next().unwrap();
            let answer = site.get(&format!("/assets/{name}"));
            assert_eq!(answer.status, 200, "{name}");
            assert_eq!(answer.header("cache-control"), Some("public, max-age=31536000, immutable"));
            seen += 1;
        }
    }
    assert!(seen >= 25, "{seen}");
    assert_eq!(site.get("/assets/style.css").status, 404);
}

#[test]
fn it_tells_of_itself_in_open_metrics() {
    let site = Site::new(|root| row_run(&root.join("one"), "a", 1e6, 0));
    site.get("/");
    site.get("/nowhere/at/all");
    let metrics = site.get("/metrics");
    assert_eq!(
        metrics.header("content-type"),
        Some("application/openmetrics-text; version=1.0.0; charset=utf-8")
    );
    for line in [
        "rooflens_serve_requests_total{route=\"/\",status=\"200\"} 1",
        "rooflens_serve_requests_total{route=\"other\",status=\"404\"} 1",
        "rooflens_serve_request_duration_seconds_count{route=\"/\"} 1",
        "rooflens_serve_runs 1",
        "rooflens_serve_live_subscribers 0",
    ] {
        assert!(metrics.body.lines().any(|found| found == line), "{line}\n{}", metrics.body);
    }
    assert!(metrics.body.ends_with("# EOF\n"));
    // Connections that have ended may take a moment to be counted as such.
    wait_for("the end of the others", || {
        site.get("/metrics").body.contains("rooflens_serve_open_connections 1\n").then_some(())
    });
}
