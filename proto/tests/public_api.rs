//! The public interface holds no type of another crate than `bytes`: whoever embeds this crate
//! shall not depend on the versions of what it is made of.

use std::fs;
use std::path::Path;

/// The dependencies, as they are named in code, without `bytes` and our own derive.
const OTHERS: [&str; 7] = [
    "nom", "crc32c", "flate2", "lz4_flex", "smallvec", "snap", "zstd",
];

fn sources(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else {
            let text = fs::read_to_string(&path).expect("text");
            // Tests stand at the end of a file.
            let code = text
                .split("#[cfg(test)]\nmod tests")
                .next()
                .unwrap_or_default();
            found.push((path.display().to_string(), code.to_owned()));
        }
    }
}

fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
}

/// What this file calls by a short name and another crate made.
fn imported(code: &str) -> Vec<&str> {
    let uses = code.split(';').map(str::trim_start);
    let foreign = uses
        .filter_map(|part| part.rsplit_once("use ").map(|(_, path)| path))
        .filter(|path| {
            let root = path.trim_start_matches(':').split("::").next();
            root.is_some_and(|root| OTHERS.contains(&root))
        });
    foreign
        .flat_map(names)
        .filter(|name| name.starts_with(char::is_uppercase))
        .collect()
}

/// Heads of items, up to their body: those marked public, and what is implemented for them.
fn heads(code: &str) -> impl Iterator<Item = String> {
    let lines: Vec<&str> = code.lines().map(str::trim).collect();
    let starts = |line: &str| {
        line.starts_with("pub ") || line.starts_with("impl ") || line.starts_with("impl<")
    };
    let at: Vec<usize> = (0..lines.len()).filter(|at| starts(lines[*at])).collect();
    at.into_iter().map(move |at| {
        let mut head = String::new();
        for line in &lines[at..] {
            head.push_str(line.split('{').next().unwrap_or_default());
            head.push(' ');
            if line.contains(['{', ';']) || line.ends_with(',') && !head.contains('(') {
                break;
            }
        }
        head
    })
}

/// Whether a head belongs to something that nobody outside can name.
fn is_private(path: &str, head: &str) -> bool {
    path.ends_with("parse.rs") && head.contains("Slip")
}

#[test]
fn no_type_of_another_crate_is_public() {
    let mut files = Vec::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    sources(&source, &mut files);
    let mut seen = 0;
    for (path, code) in &files {
        let imported = imported(code);
        for head in heads(code).filter(|head| !is_private(path, head)) {
            seen += 1;
            let foreign =
                names(&head).find(|name| OTHERS.contains(name) || imported.contains(name));
            // Our own constants and modules are called as the codecs are.
            let path_of = foreign.is_some_and(|name| {
                imported.contains(&name) || head.contains(&format!("{name}::"))
            });
            assert!(!path_of, "{path}: {foreign:?} in {head}");
        }
    }
    assert!(seen > 1_000, "only {seen} heads");
}

#[test]
fn the_list_of_dependencies_is_whole() {
    let manifest = include_str!("../Cargo.toml");
    let after = manifest.split("[dependencies]").nth(1).expect("a section");
    let lines = after.split("\n[").next().unwrap_or_default().lines();
    let names = lines
        .filter_map(|line| line.split([' ', '.', '=']).next())
        .filter(|name| !name.is_empty() && !matches!(*name, "bytes" | "ackord-proto-derive"));
    let mut names: Vec<_> = names.map(|name| name.replace('-', "_")).collect();
    names.sort();
    let mut others = OTHERS.map(str::to_owned);
    others.sort();
    assert_eq!(names, others);
}
