//! Real kernel names of all vendors.

use super::super::{ActivityHint, Dtype, KernelClass, describe};

/// A line a name: class | library | data type | short name | name, with `-` for what is not known.
const NAMES: &str = include_str!("names.txt");

fn row(name: &str) -> String {
    let info = describe(name, ActivityHint::Kernel);
    let dtype = info.dtype.map_or("-", Dtype::as_str);
    format!("{} | {} | {dtype} | {} | {name}", info.class, info.library.unwrap_or("-"), info.short_name)
}

#[test]
fn known_names_are_described_as_they_were_found_right() {
    let mut wrong = String::new();
    for line in NAMES.lines() {
        let name = line.splitn(5, " | ").nth(4).expect("a line of five columns");
        let now = row(name);
        if now != line {
            wrong.push_str(&format!("- {line}\n+ {now}\n"));
        }
    }
    assert!(wrong.is_empty(), "put the lines with + into names.txt if they are right:\n{wrong}");
}

#[test]
fn a_memory_operation_has_its_class_from_the_trace() {
    let copy = describe("Memcpy HtoD (Pageable -> Device)", ActivityHint::Memcpy);
    assert_eq!((copy.class, copy.library, copy.dtype), (KernelClass::Memcpy, None, None));
    assert_eq!(copy.short_name, "Memcpy HtoD (Pageable -> Device)");
    assert_eq!(describe("Memset (Device)", ActivityHint::Memset).class, KernelClass::Memset);
}

#[test]
fn an_unknown_name_is_other_and_no_guess() {
    for name in ["my_secret_kernel", "void my::thing<int>(float*)", ""] {
        let info = describe(name, ActivityHint::Kernel);
        assert_eq!((info.class, info.library), (KernelClass::Other, None), "{name}");
    }
    assert_eq!(describe("void my::thing<int>(float*)", ActivityHint::Kernel).short_name, "thing");
}
