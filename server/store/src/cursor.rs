//! Keyset cursors: a page begins behind the last key of the page before, so that rows which come or go meanwhile
//! are neither repeated nor make others skipped.

use std::{fmt, str::FromStr};

/// Rows of a page at most.
const LIMIT_MAX: u32 = 200;

/// Where the next page begins. Opaque to clients: text goes out and comes back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cursor(String);

impl Cursor {
    pub(crate) fn behind(key: String) -> Self {
        Self(key)
    }
    pub(crate) fn key(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(&self.0))
    }
}

/// The text is not a cursor that a page gave.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("is not a cursor; pass `next` of the page before, unchanged")]
pub struct CursorError;

impl FromStr for Cursor {
    type Err = CursorError;
    fn from_str(text: &str) -> Result<Self, CursorError> {
        let bytes = hex::decode(text).map_err(|_| CursorError)?;
        let key = String::from_utf8(bytes).map_err(|_| CursorError)?;
        // Postgres refuses NUL in text, and no key has one.
        if key.is_empty() || key.contains('\0') { Err(CursorError) } else { Ok(Self(key)) }
    }
}

/// Which page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Paging {
    /// Where it begins; none: at the start.
    pub after: Option<Cursor>,
    /// Rows at most; 1 to 200, other values are taken as the nearest of these.
    pub limit: u32,
}

impl Default for Paging {
    /// The first fifty rows.
    fn default() -> Self {
        Self { after: None, limit: 50 }
    }
}

impl Paging {
    pub(crate) fn rows(&self) -> u32 {
        self.limit.clamp(1, LIMIT_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_survives_its_text() {
        let cursor = Cursor::behind("Команда/1".to_owned());
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
    }

    #[test]
    fn what_no_page_gave_is_refused() {
        for bad in ["", "x", "abc", "ff", "00", "6100", "' OR 1=1"] {
            assert_eq!(bad.parse::<Cursor>(), Err(CursorError), "{bad}");
        }
    }

    #[test]
    fn limits_are_kept() {
        for (asked, rows) in [(0, 1), (1, 1), (200, 200), (201, 200), (u32::MAX, 200)] {
            assert_eq!(Paging { after: None, limit: asked }.rows(), rows);
        }
    }
}
