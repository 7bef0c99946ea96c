//! Static files of the pages: read once at start, served with the encodings that lie beside them.
//!
//! `gpuaas.js` may lie as `gpuaas.<hash>.js`; then pages link the hashed name and browsers keep it for a year. A
//! name without a hash is checked with its `ETag` each time.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use axum::{
    body::Bytes,
    extract::{Path as Key, State},
    response::{IntoResponse, Response},
};
use frontend::Assets;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use sha2::{Digest as _, Sha256};

use super::{
    Web,
    problem::{Answer, Refusal},
};

/// One static file.
struct File {
    bytes: Bytes,
    brotli: Option<Bytes>,
    kind: &'static str,
    tag: String,
    /// Its name changes with its content.
    hashed: bool,
}

/// All static files.
#[derive(Default)]
pub struct Site {
    files: BTreeMap<String, File>,
}

impl Site {
    /// Reads `folder/pkg`, as the build of the pages wrote it. A folder that is not there gives an empty site: the
    /// pages work without style and script, and the log says so.
    ///
    /// # Errors
    /// When a file is there but cannot be read.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let root = folder.join("pkg");
        let mut files = BTreeMap::new();
        for path in walk(&root)? {
            let Some(name) = path.strip_prefix(&root).ok().and_then(Path::to_str).map(str::to_owned) else {
                continue;
            };
            let Some(kind) = kind(&name) else { continue };
            let bytes = std::fs::read(&path)?;
            let brotli = match std::fs::read(format!("{}.br", path.display())) {
                Ok(bytes) => Some(Bytes::from(bytes)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => return Err(error),
            };
            let digest = hex::encode(Sha256::digest(&bytes));
            let tag = format!("\"{}\"", digest.chars().take(32).collect::<String>());
            let hashed = plain_name(&name) != name;
            files.insert(name, File { bytes: bytes.into(), brotli, kind, tag, hashed });
        }
        Ok(Self { files })
    }

    /// Are there files at all?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Paths for pages, with hashes where the build gave them.
    pub(crate) fn links(&self) -> Assets {
        let plain = Assets::default();
        let link = |path: String| {
            let wanted = path.trim_start_matches("/pkg/");
            let found = self.files.keys().find(|name| plain_name(name) == wanted);
            found.map_or(path.clone(), |name| format!("/pkg/{name}"))
        };
        Assets { css: link(plain.css), js: link(plain.js), wasm: link(plain.wasm), logo: link(plain.logo) }
    }
}

fn walk(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = vec![];
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.extend(walk(&entry.path())?);
        } else {
            found.push(entry.path());
        }
    }
    Ok(found)
}

fn kind(name: &str) -> Option<&'static str> {
    Some(match name.rsplit('.').next()? {
        "css" => "text/css; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "wasm" => "application/wasm",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => return None,
    })
}

/// `app.0123abcd.css` is `app.css`: a part of at least eight hexadecimal digits before the ending is a hash.
fn plain_name(name: &str) -> String {
    let parts: Vec<&str> = name.split('.').collect();
    let is_hash = |part: &str| part.len() >= 8 && part.bytes().all(|b| b.is_ascii_hexdigit());
    match parts.as_slice() {
        [stem @ .., hash, ending] if !stem.is_empty() && is_hash(hash) => {
            format!("{}.{ending}", stem.join("."))
        }
        _ => name.to_owned(),
    }
}

/// `/pkg/…`.
pub(crate) async fn file(
    State(web): State<Web>,
    Key(name): Key<String>,
    headers: HeaderMap,
) -> Answer<Response> {
    let file = web.site.files.get(&name).ok_or_else(|| Refusal::not_found(&format!("/pkg/{name}")))?;
    Ok(serve(file, &headers))
}

/// Browsers ask for it unasked; ours is the logo.
pub(crate) async fn favicon(State(web): State<Web>, headers: HeaderMap) -> Answer<Response> {
    let file = web.site.files.get("logo.svg").ok_or_else(|| Refusal::not_found("/favicon.ico"))?;
    Ok(serve(file, &headers))
}

fn serve(file: &File, asked: &HeaderMap) -> Response {
    let text = |name| asked.get(name).and_then(|v: &HeaderValue| v.to_str().ok()).unwrap_or_default();
    let known =
        text(header::IF_NONE_MATCH).split(',').any(|tag| tag.trim().trim_start_matches("W/") == file.tag);
    let takes_brotli = text(header::ACCEPT_ENCODING)
        .split(',')
        .any(|c| c.split(';').next().unwrap_or_default().trim() == "br");
    let (body, encoding) = match &file.brotli {
        Some(brotli) if takes_brotli => (brotli, Some("br")),
        _ => (&file.bytes, None),
    };
    let mut response =
        if known { StatusCode::NOT_MODIFIED.into_response() } else { body.clone().into_response() };
    let headers = response.headers_mut();
    let age = if file.hashed { "public, max-age=31536000, immutable" } else { "public, no-cache" };
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(file.kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(age));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if let Ok(tag) = HeaderValue::from_str(&file.tag) {
        headers.insert(header::ETAG, tag);
    }
    if let Some(encoding) = encoding.filter(|_| !known) {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_seen() {
        assert_eq!(plain_name("app.0123abcd.css"), "app.css");
        assert_eq!(plain_name("gpuaas_bg.wasm"), "gpuaas_bg.wasm");
        assert_eq!(plain_name("app.css"), "app.css");
        assert_eq!(plain_name("deadbeef.css"), "deadbeef.css");
    }

    #[test]
    fn a_hashed_file_is_linked_and_kept_for_a_year() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("pkg")).unwrap();
        std::fs::write(folder.path().join("pkg/app.0123abcd.css"), "a{}").unwrap();
        std::fs::write(folder.path().join("pkg/app.0123abcd.css.br"), "packed").unwrap();
        let site = Site::read(folder.path()).unwrap();
        assert_eq!(site.links().css, "/pkg/app.0123abcd.css");
        assert_eq!(site.links().js, "/pkg/gpuaas.js");
        let mut asked = HeaderMap::new();
        asked.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip, br"));
        let response = serve(&site.files["app.0123abcd.css"], &asked);
        assert_eq!(response.headers()[header::CONTENT_ENCODING], "br");
        assert!(response.headers()[header::CACHE_CONTROL].to_str().unwrap().contains("immutable"));
        asked.insert(header::IF_NONE_MATCH, response.headers()[header::ETAG].clone());
        assert_eq!(serve(&site.files["app.0123abcd.css"], &asked).status(), StatusCode::NOT_MODIFIED);
    }
}
