//! The suite calls every function that the store offers.

use std::{collections::BTreeSet, fs, path::Path};

fn sources(folder: &Path) -> Vec<(String, String)> {
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files
        .filter(|path| path.extension().is_some_and(|e| e == "rs"))
        .map(|path| {
            (path.file_stem().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(&path).unwrap())
        })
        .collect()
}

/// `module::function` of each public function that takes a connection.
fn offered(root: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (module, text) in sources(&root.join("../server/store/src")) {
        for line in text.lines() {
            let Some(rest) = line.strip_prefix("pub async fn ") else { continue };
            let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            names.insert(format!("{module}::{name}"));
        }
    }
    names
}

#[test]
fn every_function_of_the_store_is_called_on_both_databases() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let offered = offered(root);
    assert!(offered.len() > 90, "the sources are not where this test looks: {offered:?}");
    let suite: String = sources(&root.join("it/store")).into_iter().map(|(_, text)| text).collect();
    let missing: Vec<_> = offered.iter().filter(|name| !suite.contains(&format!("{name}("))).collect();
    assert!(missing.is_empty(), "call these in tests/it/store: {missing:?}");
}
