//! A new project, and from where it is found.

use super::*;

fn answer(folder: &Path, line: &str) -> Answer {
    let words: Vec<&str> = line.split(' ').collect();
    Answer::of(rooflens_in(folder, &words).output().unwrap())
}

#[test]
fn every_question_about_a_new_project_is_answered_at_once() {
    let folder = Folder::new();
    text(&["init", &folder.text("x")]);
    let project = folder.path("x");
    let none = "bootstrap.yaml names no models or datasets from elsewhere: nothing to";
    for with_git in [false, true] {
        if with_git {
            git(&project, &["init", "--quiet"]);
        }
        let before = tree(&project);
        for (line, said) in [
            ("assets status", format!("{none} link\n")),
            ("assets link", format!("{none} link\n")),
            ("assets link --dry-run", format!("{none} link\n")),
            ("assets verify", format!("{none} verify\n")),
            ("externals status", "third_party/externals.lock lists no reference sources\n".to_owned()),
            ("externals sync", "third_party/externals.lock lists no reference sources\n".to_owned()),
            ("externals status --staged", String::new()),
        ] {
            assert_eq!(answer(&project, line).fine(), said, "{line}");
            let json = answer(&project, &format!("{line} --format json")).json();
            assert_eq!(json["schema"]["version"], "1.0", "{line}");
        }
        assert_eq!(tree(&project), before);
    }
}

#[test]
fn a_project_is_found_from_within_and_by_its_name() {
    let folder = Folder::new();
    text(&["init", &folder.text("x")]);
    let deep = folder.path("x/conf/model");
    answer(&deep, "assets status").fine();
    answer(&deep, "externals status").fine();
    assert!(
        answer(&deep, "config groups")
            .fine()
            .contains("model: deepseek_ocr, llama3_70b, qwen2_5_7b, tiny-random")
    );
    let origins = answer(&deep, "config show --origins").fine();
    assert!(origins.contains("# ../../conf/config.yaml:"), "{origins}");
    answer(folder.0.path(), "assets status --project x").fine();
    answer(folder.0.path(), "externals status --project x").fine();

    for line in ["assets status", "externals status", "assets subset starter x"] {
        let lost = answer(folder.0.path(), line);
        assert_eq!((lost.code, lost.stdout.as_str()), (2, ""), "{line}");
        assert!(lost.stderr.starts_with("error: neither this folder nor a parent folder is a project\n"));
        assert!(lost.hint().contains("rooflens init") && lost.hint().contains("--project DIR"));
    }
    answer(folder.0.path(), "assets status --project y").fails(2, "y is not a folder");
}
