//! What is said of a text that is no YAML: the place, the fact, and what to do about it.

use rooflens_compose::yaml;

/// Text, place and fact, hint.
const REFUSED: &[(&str, &str, &str)] = &[
    (
        "a: 1\nfoo\nb: 2\n",
        "2:1: not valid YAML: expected a key, but it has no ':'",
        "a string continued from the line before must be indented further; a key and its ': ' must be on one \
         line",
    ),
    (
        "a: b: c\n",
        "1:5: not valid YAML: no key is allowed before this ':'",
        "quote a string that contains ': ', and put a mapping on its own lines",
    ),
    (
        "a: - b\n",
        "1:4: not valid YAML: a list cannot begin here",
        "put the '- ' on a line of its own, or the value in quotes",
    ),
    (
        "a: ? b\n",
        "1:4: not valid YAML: a key cannot begin here",
        "put the '? ' on a line of its own, or the value in quotes",
    ),
    ("a: @x\n", "1:4: not valid YAML: '@' cannot begin a value", "put the value in quotes"),
    ("a: %x\n", "1:4: not valid YAML: '%' cannot begin a value", "put the value in quotes"),
    (
        "a:\tb\n",
        "1:3: not valid YAML: a tab is only allowed in quotes, block scalars and comments",
        "use spaces",
    ),
    (
        "\ta: 1\n",
        "1:1: not valid YAML: a tab is only allowed in quotes, block scalars and comments",
        "use spaces",
    ),
    ("a: 'x\nb: 2\n", "1:4: not valid YAML: the quote ' that opens here is never closed", ""),
    (
        "a: \"x\\q\"\n",
        "1:7: not valid YAML: '\\q' is not a valid escape",
        "write '\\\\' for a backslash, or use single quotes, which have no escapes",
    ),
    ("a: \"\\x4g\"\n", "1:7: not valid YAML: an escape: expected two hexadecimal digits, found 'g'", ""),
    (
        "a: \"\\ud83d\\ude00\"\n",
        "1:7: not valid YAML: the escape's code D83D is not a character",
        "write a character beyond U+FFFF as one \\U and eight digits",
    ),
    ("a: [1, 2\nb: 3\n", "2:2: not valid YAML: in the '[' of line 1: expected ',' or ']', found ':'", ""),
    ("a: [1, 2\n", "1:4: not valid YAML: the '[' that opens here is never closed", ""),
    ("a: {b: 1\n", "1:4: not valid YAML: the '{' that opens here is never closed", ""),
    ("a: [1}\n", "1:6: not valid YAML: in the '[' of line 1: expected ',' or ']', found '}'", ""),
    ("a: ]\n", "1:4: not valid YAML: expected a value, found ']'", ""),
    (
        "a:\n  b: 1\n c: 2\n",
        "3:2: not valid YAML: in the mapping of line 1: expected a key, found the beginning of a mapping",
        "all keys of a mapping must begin in the same column",
    ),
    (
        "- a\nb: 1\n",
        "2:1: not valid YAML: in the list of line 1: expected '-', found a key",
        "all items of a list must have their '-' in the same column",
    ),
    (
        "a:\n  - b\n  c: 1\n",
        "3:3: not valid YAML: in the list of line 2: expected '-', found a key",
        "all items of a list must have their '-' in the same column",
    ),
    ("%YAML 1.1\na: 1\n", "2:1: not valid YAML: after '%' lines comes '---', not a string", ""),
    ("%YAML 2.0\n---\na: 1\n", "1:1: not valid YAML: YAML of a version other than 1", ""),
    ("...\n", "1:1: not valid YAML: the text begins with the end of a document, '...'", ""),
    (
        "'a' 'b'\n",
        "1:5: not valid YAML: the document's value has ended, but here is a string",
        "quotes and brackets must enclose the whole value: quote all of it",
    ),
    (
        "[1] 2\n",
        "1:5: not valid YAML: the document's value has ended, but here is a string",
        "quotes and brackets must enclose the whole value: quote all of it",
    ),
    (
        "a: |x\n  b\n",
        "1:5: not valid YAML: the first line of a block scalar: expected '+', '-', an indentation of 1 to 9 or \
         the end of the line, found 'x'",
        "",
    ),
    (
        "a: |0\n  b\n",
        "1:5: not valid YAML: the first line of a block scalar: expected an indentation of 1 to 9, found \
         '0'",
        "",
    ),
    ("a: *x\n", "1:4: no anchor '&x' is defined before this alias", ""),
    (
        "a: *\n",
        "1:5: not valid YAML: an alias: expected a letter, a digit, '-' or '_', found the end of the line",
        "quote a string that begins with '*'",
    ),
    (
        "a: &é b\n",
        "1:5: not valid YAML: an anchor: expected a letter, a digit, '-' or '_', found 'é'",
        "quote a string that begins with '&'",
    ),
    (
        "a: [!!str, b]\n",
        "1:5: the tag '!!str,' has no meaning in a config",
        "a space ends a tag, in brackets too",
    ),
    ("a: !e!x b\n", "1:4: not valid YAML: no %TAG line defines the '!e!' of this tag", ""),
    (
        "a: \"x\n---\ny\"\n",
        "2:1: not valid YAML: the quotes that open in line 1 are not closed before this end of the document",
        "",
    ),
    (
        "- - a\n - b\n",
        "2:2: not valid YAML: in the list of line 1: expected '-', found the beginning of a list",
        "all items of a list must have their '-' in the same column",
    ),
    ("a: [b, - c]\n", "1:8: not valid YAML: expected a value, found the '-' of a list item", ""),
    ("{a: 1, , b: 2}\n", "1:8: not valid YAML: expected a value, found ','", ""),
    ("a: 1\n---\nb: 2\n", "2:1: a second document begins here; a config is one document", ""),
    (
        "a: 'b' c\n",
        "1:8: not valid YAML: in the mapping of line 1: expected a key, found a string",
        "quotes and brackets must enclose the whole value: quote all of it",
    ),
    (
        "k: [a]b\n",
        "1:7: not valid YAML: in the mapping of line 1: expected a key, found a string",
        "quotes and brackets must enclose the whole value: quote all of it",
    ),
    (
        "key: value\n  more: 1\n",
        "2:7: not valid YAML: no key is allowed before this ':'",
        "quote a string that contains ': ', and put a mapping on its own lines",
    ),
    ("a: !<x b\n", "1:7: not valid YAML: a tag: expected '>', found a space", ""),
    ("a: [|]\n", "1:5: not valid YAML: '|' cannot begin a value", "put the value in quotes"),
    (
        "x: {a: b, c: [d, e}\n",
        "1:19: not valid YAML: in the '[' of line 1: expected ',' or ']', found '}'",
        "",
    ),
];

#[test]
fn refusals_say_where_and_why() {
    for (text, expected, hint) in REFUSED {
        let error = yaml::load(text, "in".into()).unwrap_err();
        assert_eq!(error.to_string(), format!("in:{expected}"), "{text:?}");
        assert_eq!(error.hint().unwrap_or(""), *hint, "{text:?}");
        let line = usize::try_from(error.line).unwrap();
        assert_eq!(error.excerpt, text.split('\n').nth(line - 1).unwrap(), "{text:?}");
    }
}

#[test]
fn lines_are_those_of_yaml() {
    let error =
        yaml::load("a: 1\r\nb: 2\rc: 3\u{85}d: 4\u{2028}e: é\u{feff} : : 5", "in".into()).unwrap_err();
    assert_eq!((error.line, error.column), (5, 6));
    assert_eq!(error.excerpt, "e: é\u{feff} : : 5");
}
