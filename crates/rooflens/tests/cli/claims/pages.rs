//! Pages: what is drawn first, and names as they are.

use super::*;

fn report(trace: &str, folder: &Path) -> (String, String) {
    let out = folder.join("run");
    let answer = run(&["analyze", trace, "-o", out.to_str().unwrap(), "--format", "json", "--quiet"]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let read = |name: &str| std::fs::read_to_string(out.join("report").join(name)).unwrap();
    (read("index.html"), read("report.md"))
}

fn next_on_screen(screen: &str) -> Vec<String> {
    let next = &screen[screen.rfind("\nNext ").unwrap()..];
    let mut steps: Vec<String> = Vec::new();
    for line in next.lines().skip(1) {
        let words = line.trim_start_matches("Next").trim();
        match words.split_once(". ") {
            Some((number, step)) if number.parse::<usize>().is_ok() => steps.push(step.to_owned()),
            _ if words.starts_with("Evidence") => break,
            _ => steps.last_mut().unwrap().push_str(&format!(" {words}")),
        }
    }
    steps
}

fn without_tags(html: &str) -> String {
    let text: String =
        html.split('<').map(|piece| piece.split_once('>').map_or(piece, |(_, text)| text)).collect();
    text.replace("&#39;", "'").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

#[test]
#[ignore = "needs the corpus"]
fn newcomer_15_the_page_has_the_screens_next_and_charts_before_prose() {
    let folder = tempfile::tempdir().unwrap();
    for trace in ["kineto/tracelens/b200/eager_trace.json.gz", "kineto/cpu_llama/llama8x512_nostack.json.gz"]
    {
        let path = corpus(trace);
        let inner = folder.path().join(Path::new(trace).file_name().unwrap());
        let (html, markdown) = report(&path, &inner);
        let steps = next_on_screen(&text(&["analyze", &path]));
        assert!(!steps.is_empty());
        let list = &html[html.find("What to look at next").unwrap()..];
        let list = &list[..list.find("</ol>").unwrap()];
        let items: Vec<String> = list.split("<li>").skip(1).map(without_tags).collect();
        let items: Vec<&str> = items.iter().map(|item| item.trim()).collect();
        assert_eq!(items, steps.iter().map(|step| step.replace('`', "")).collect::<Vec<_>>(), "{trace}");
        let list = &markdown[markdown.find("### What to look at next").unwrap()..];
        for step in &steps {
            assert!(list.contains(step.split(':').next().unwrap()), "{trace}: {step}");
        }
        // Advice, and the rules that were not judged, come after a chart and are closed.
        let chart = html.find("<svg").unwrap();
        let advice = html.find("<section id=\"advice\"").unwrap();
        assert!(chart < advice, "{trace}");
        let advice = &html[advice..];
        let advice = &advice[..advice.find("</section>").unwrap()];
        let opens = |at: usize| advice[..at].matches("<details>").count();
        let closes = |at: usize| advice[..at].matches("</details>").count();
        for prose in ["not evaluated</summary>", "Change: ", "Risk: "] {
            let at = advice.find(prose).unwrap_or_else(|| panic!("{trace}: no {prose:?}"));
            assert_eq!(opens(at), closes(at) + 1, "{trace}: {prose:?} stands open");
        }
    }
}

#[test]
#[ignore = "needs the corpus"]
fn newcomer_16_names_of_operators_keep_their_underscores() {
    let folder = tempfile::tempdir().unwrap();
    let (html, markdown) = report(&corpus("kineto/cpu_llama/llama8x512_nostack.json.gz"), folder.path());
    let name = "aten::_scaled_dot_product_flash_attention_for_cpu";
    assert!(without_tags(&html.replace("<wbr>", "")).contains(name));
    assert!(markdown.contains(&format!("`{name}`")));
    for page in [without_tags(&html), markdown] {
        assert!(!page.contains("scaled dot product"), "a name lost its underscores");
    }
}
