//! A page of a list with optional filters. The statement is put together from literals, so that each combination of
//! filters can use its index; values are bound.

use domain::api::Page;
use sqlx::{AssertSqlSafe, Row, any::AnyRow};

use crate::{
    cursor::{Cursor, Paging},
    error::Result,
    store::Conn,
};

/// Which way a list runs along its key.
#[derive(Clone, Copy)]
pub(crate) enum Order {
    Up,
    /// Newest first, where the key is a ULID.
    Down,
}

/// A list under construction.
pub(crate) struct Select {
    sql: String,
    values: Vec<String>,
}

impl Select {
    /// `head` is the statement up to its conditions.
    pub(crate) fn new(head: &'static str) -> Self {
        Self { sql: head.to_owned(), values: Vec::new() }
    }

    /// Adds `column = value`, where there is a value.
    pub(crate) fn equals(self, column: &'static str, value: Option<impl Into<String>>) -> Self {
        match value {
            Some(value) => self.condition(column, "=", "", value.into()),
            None => self,
        }
    }

    /// Adds "the column contains the text", where there is one; the column holds lower case.
    pub(crate) fn contains(self, column: &'static str, text: Option<&str>) -> Self {
        match text {
            Some(text) => self.condition(column, "LIKE", r" ESCAPE '\'", pattern(text)),
            None => self,
        }
    }

    fn condition(
        mut self,
        column: &'static str,
        operator: &'static str,
        tail: &'static str,
        value: String,
    ) -> Self {
        let word = if self.values.is_empty() { "WHERE" } else { "AND" };
        self.values.push(value);
        let number = self.values.len();
        self.sql.push_str(&format!(" {word} {column} {operator} ${number}{tail}"));
        self
    }

    /// Fetches a page in the order of `key`, a unique column that the head selects.
    pub(crate) async fn page<T>(
        mut self,
        conn: &mut Conn,
        key: &'static str,
        order: Order,
        paging: &Paging,
        read: fn(&AnyRow) -> Result<T>,
    ) -> Result<Page<T>> {
        let (operator, word) = match order {
            Order::Up => (">", "ASC"),
            Order::Down => ("<", "DESC"),
        };
        if let Some(after) = &paging.after {
            self = self.condition(key, operator, "", after.key().to_owned());
        }
        let rows = paging.rows();
        let number = self.values.len() + 1;
        self.sql.push_str(&format!(" ORDER BY {key} {word} LIMIT ${number}"));
        let mut query = sqlx::query(AssertSqlSafe(self.sql));
        for value in self.values {
            query = query.bind(value);
        }
        // One more than asked for: is there a next page?
        let mut found = query.bind(i64::from(rows) + 1).fetch_all(&mut *conn).await?;
        let keep = usize::try_from(rows).unwrap_or(usize::MAX);
        let more = found.len() > keep;
        found.truncate(keep);
        let next = match found.last() {
            Some(last) if more => Some(Cursor::behind(last.try_get(key)?).to_string()),
            Some(_) | None => None,
        };
        Ok(Page { items: found.iter().map(read).collect::<Result<_>>()?, next })
    }
}

/// The text as a pattern of `LIKE … ESCAPE '\'` that matches it anywhere.
fn pattern(text: &str) -> String {
    let mut pattern = String::from("%");
    for c in text.trim().to_lowercase().chars().filter(|c| *c != '\0') {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern.push('%');
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_of_patterns_are_plain_text() {
        assert_eq!(pattern(" 100%_A\\ "), r"%100\%\_a\\%");
    }
}
