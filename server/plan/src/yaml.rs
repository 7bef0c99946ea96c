//! YAML for Kubernetes objects.
//!
//! Readers of Kubernetes YAML follow a mix of YAML 1.1 and 1.2: `1_000`, `0o17`, `1e3`, `on` and `y` are not strings
//! for all of them. So a string stands without quotes only if no reader can take it for anything else, and the output
//! depends on nothing but the value.

use serde_json::{Map, Value};

/// Longest string that stays on the line of its key; a longer one becomes a block, so that a diff shows it readable.
const LINE: usize = 100;

/// Keys that come first, in this order, in the top level of an object.
const FIRST: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// One document, without separator: the keys of [`FIRST`] in front, all others sorted.
pub(crate) fn document(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(map) if !map.is_empty() => entries(&mut out, top_level(map), 0, false),
        other => {
            scalar(&mut out, other, 0);
        }
    }
    out
}

fn top_level(map: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let rank = |key: &str| FIRST.iter().position(|first| *first == key).unwrap_or(FIRST.len());
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_by_key(|(key, _)| (rank(key), key.as_str()));
    entries
}

fn by_key(map: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_by_key(|(key, _)| key.as_str());
    entries
}

/// Writes the entries of a mapping; the first one continues the line of a list's dash if `behind_dash`.
fn entries(out: &mut String, entries: Vec<(&String, &Value)>, indent: usize, behind_dash: bool) {
    for (position, (key, value)) in entries.into_iter().enumerate() {
        if position > 0 || !behind_dash {
            pad(out, indent);
        }
        string(out, key);
        out.push(':');
        match value {
            Value::Object(map) if !map.is_empty() => {
                out.push('\n');
                self::entries(out, by_key(map), indent + 2, false);
            }
            Value::Array(items) if !items.is_empty() => {
                out.push('\n');
                list(out, items, indent);
            }
            other => {
                out.push(' ');
                scalar(out, other, indent + 2);
            }
        }
    }
}

fn list(out: &mut String, items: &[Value], indent: usize) {
    for item in items {
        pad(out, indent);
        out.push('-');
        match item {
            Value::Object(map) if !map.is_empty() => {
                out.push(' ');
                entries(out, by_key(map), indent + 2, true);
            }
            Value::Array(inner) if !inner.is_empty() => {
                out.push('\n');
                list(out, inner, indent + 2);
            }
            other => {
                out.push(' ');
                scalar(out, other, indent + 2);
            }
        }
    }
}

/// Writes anything that has no entries of its own, with the end of its line.
fn scalar(out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::String(text) if is_block(text) => block(out, text, indent),
        Value::String(text) => string(out, text),
        // Empty collections, numbers, booleans and null are the same in JSON and YAML.
        other => out.push_str(&other.to_string()),
    }
    if !out.ends_with('\n') {
        out.push('\n');
    }
}

fn string(out: &mut String, text: &str) {
    if is_plain(text) {
        out.push_str(text);
    } else {
        // A JSON string is a YAML string in double quotes.
        out.push_str(&Value::from(text).to_string());
    }
}

/// Whether a block can hold the text exactly: no white space that a reader could take for indentation or strip, and
/// only characters that need no escape.
fn is_block(text: &str) -> bool {
    let lines = text.strip_suffix('\n').unwrap_or(text);
    (text.chars().count() > LINE || lines.contains('\n'))
        && !lines.is_empty()
        && !text.starts_with([' ', '\n', '\t'])
        && !lines.ends_with('\n')
        && text.chars().all(|char| char == '\n' || (char.is_ascii() && !char.is_ascii_control()))
}

fn block(out: &mut String, text: &str, indent: usize) {
    let (head, lines) = match text.strip_suffix('\n') {
        Some(lines) => ("|\n", lines),
        None => ("|-\n", text),
    };
    out.push_str(head);
    for line in lines.split('\n') {
        if !line.is_empty() {
            pad(out, indent);
            out.push_str(line);
        }
        out.push('\n');
    }
}

/// Whether every YAML reader takes the bare text for this string: it begins with a letter, so it is no number and no
/// date, has no character of the grammar, and is none of the words that stand for booleans and null.
fn is_plain(text: &str) -> bool {
    const WORDS: [&str; 11] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"];
    let bytes = text.as_bytes();
    let safe = |(position, byte): (usize, &u8)| match byte {
        b':' => bytes.get(position + 1).is_some_and(u8::is_ascii_alphanumeric),
        byte => byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'/'),
    };
    bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && bytes.iter().enumerate().all(safe)
        && !WORDS.contains(&text.to_ascii_lowercase().as_str())
}

fn pad(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_string_that_a_reader_could_mistake_is_in_quotes() {
        for text in [
            "",
            " ",
            "y",
            "No",
            "ON",
            "null",
            "~",
            "true",
            "8",
            "1_000",
            "0x1F",
            "0o17",
            "1e3",
            "1.5",
            ".inf",
            "190:20:30",
            "2026-11-30",
            "-",
            "- a",
            "a: b",
            "a #b",
            "#a",
            "&a",
            "*a",
            "!a",
            "a:",
            "{a}",
            "[a]",
            "'a'",
            "\"a\"",
            "%a",
            "@a",
            "`a",
            "a, b",
            "a\tb",
            "8Gi",
            "e\u{301}",
            "a\u{7f}",
            "?",
            "=",
            "<<",
        ] {
            let written = document(&json!({"k": text}));
            assert!(written.starts_with("k: \""), "{text:?} became {written:?}");
        }
        for text in ["a", "requests.nvidia.com/gpu", "system:authenticated", "IPC_LOCK", "v1"] {
            assert_eq!(document(&json!({"k": text})), format!("k: {text}\n"));
        }
    }

    #[test]
    fn everything_reads_back_as_it_was() {
        let long = "x == 'a' ? \"b\" : r'[ \\n]*' ".repeat(9);
        let value = json!({
            "apiVersion": "v1", "z": [], "a": {}, "m": [[1, [2]], [], {"b": [{"c": null, "a": true}], "a": -1.5}],
            "block": "one\n  two\n\nthree", "kept": "one\ntwo\n", "odd": ["\n", " a\nb", "a\n\n", "a\r\nb", "\u{e9}\nb"],
            "long": long, "no": "no", "8": "8", "": "",
        });
        let read: Value = serde_yaml_ng::from_str(&document(&value)).unwrap();
        assert_eq!(read, value);
    }
}
