//! Connections and transactions.

use std::{
    ops::{Deref, DerefMut},
    time::Duration,
};

use sqlx::{
    Any, AnyConnection, AnyPool, Transaction,
    any::{AnyPoolOptions, install_default_drivers},
    pool::PoolConnection,
};

use crate::{
    error::Result,
    schema::{Dialect, migrator},
};

/// A connection: what every function of this crate takes first. [`Tx`] and [`Read`] lend one.
pub type Conn = AnyConnection;

/// Connections that each of the two pools of Postgres may open, and the reading pool of SQLite.
const CONNECTIONS: u32 = 10;
/// How long a caller waits for a connection before it is told that the database is too busy.
const PATIENCE: Duration = Duration::from_secs(30);

/// `synchronous = NORMAL` with a write-ahead log loses no consistency at a crash of the machine, at worst the last
/// commits; a crash of the process loses nothing.
const SQLITE_WRITER: &str = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; \
     PRAGMA busy_timeout = 10000; PRAGMA foreign_keys = ON";
const SQLITE_READER: &str = "PRAGMA busy_timeout = 10000; PRAGMA query_only = ON";
const POSTGRES_READER: &str = "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY";

/// The database. Cheap to clone.
///
/// Reading connections refuse writes. SQLite has one writer at a time anyway, so its writing pool has one
/// connection: who waits, waits in a fair queue of ours and not in a polling lock. Hence a task must not begin a
/// second transaction while it holds one.
#[derive(Clone, Debug)]
pub struct Store {
    dialect: Dialect,
    writers: AnyPool,
    readers: AnyPool,
}

impl Store {
    /// Opens `sqlite:<path>?mode=rwc` or `postgres://…` and brings the schema up to date.
    ///
    /// # Errors
    /// When the URL is of another kind, the database does not answer, or a migration fails.
    pub async fn open(url: &str) -> Result<Self> {
        install_default_drivers();
        let dialect = dialect(url)?;
        let (writer, reader, connections) = match dialect {
            Dialect::Sqlite => (SQLITE_WRITER, SQLITE_READER, 1),
            Dialect::Postgres => ("", POSTGRES_READER, CONNECTIONS),
        };
        let writers = pool(url, connections, writer).await?;
        migrator(dialect).run(&writers).await?;
        let readers = pool(url, CONNECTIONS, reader).await?;
        Ok(Self { dialect, writers, readers })
    }

    /// Begins a transaction that may write.
    ///
    /// # Errors
    /// When no connection is free in time, or the database does not answer.
    pub async fn begin(&self) -> Result<Tx> {
        // A transaction that turns from reading to writing cannot wait for another writer in SQLite.
        let tx = match self.dialect {
            Dialect::Sqlite => self.writers.begin_with("BEGIN IMMEDIATE").await?,
            Dialect::Postgres => self.writers.begin().await?,
        };
        Ok(Tx(tx))
    }

    /// A connection for reading. Each statement sees what is committed at its time.
    ///
    /// # Errors
    /// When no connection is free in time, or the database does not answer.
    pub async fn read(&self) -> Result<Read> {
        Ok(Read(self.readers.acquire().await?))
    }
}

fn dialect(url: &str) -> Result<Dialect> {
    let refuse = |why: &str| Err(sqlx::Error::Configuration(why.into()).into());
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        Ok(Dialect::Postgres)
    } else if url.contains(":memory:") || url.contains("mode=memory") {
        refuse(
            "a SQLite database in memory has no second connection; give a file: `sqlite:gpuaas.db?mode=rwc`",
        )
    } else if url.starts_with("sqlite:") {
        Ok(Dialect::Sqlite)
    } else {
        refuse("the database URL must begin with `sqlite:` or `postgres://`")
    }
}

async fn pool(url: &str, connections: u32, set_up: &'static str) -> Result<AnyPool> {
    let options = AnyPoolOptions::new().max_connections(connections).acquire_timeout(PATIENCE).after_connect(
        move |conn, _| {
            Box::pin(async move {
                if !set_up.is_empty() {
                    sqlx::raw_sql(set_up).execute(conn).await?;
                }
                Ok(())
            })
        },
    );
    Ok(options.connect(url).await?)
}

/// A transaction. Dropped without [`Tx::commit`], it leaves nothing.
#[derive(Debug)]
pub struct Tx(Transaction<'static, Any>);

impl Tx {
    /// Makes everything true at once.
    ///
    /// # Errors
    /// When the database fails; then nothing was written.
    pub async fn commit(self) -> Result<()> {
        Ok(self.0.commit().await?)
    }
}

impl Deref for Tx {
    type Target = Conn;
    fn deref(&self) -> &Conn {
        &self.0
    }
}

impl DerefMut for Tx {
    fn deref_mut(&mut self) -> &mut Conn {
        &mut self.0
    }
}

/// A connection for reading; it refuses writes.
#[derive(Debug)]
pub struct Read(PoolConnection<Any>);

impl Deref for Read {
    type Target = Conn;
    fn deref(&self) -> &Conn {
        &self.0
    }
}

impl DerefMut for Read {
    fn deref_mut(&mut self) -> &mut Conn {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use sqlx::Row;

    use super::*;
    use crate::StoreError;

    async fn open_in(dir: &tempfile::TempDir) -> Store {
        Store::open(&format!("sqlite:{}?mode=rwc", dir.path().join("gpuaas.db").display())).await.unwrap()
    }

    async fn pragma(conn: &mut Conn, sql: &'static str) -> i64 {
        sqlx::query(sql).fetch_one(conn).await.unwrap().get(0)
    }

    #[tokio::test]
    async fn urls_that_cannot_work_are_refused_with_the_reason() {
        for (url, why) in [
            ("sqlite::memory:", "no second connection"),
            ("sqlite:x.db?mode=memory", "no second connection"),
            ("mysql://root@localhost/x", "must begin with"),
            ("", "must begin with"),
        ] {
            let StoreError::Database(error) = Store::open(url).await.unwrap_err() else { panic!("{url}") };
            assert!(error.to_string().contains(why), "{url}: {error}");
        }
    }

    #[tokio::test]
    async fn sqlite_runs_with_the_settings_that_the_store_relies_on() {
        let dir = tempfile::tempdir().unwrap();
        let store = open_in(&dir).await;
        let mut tx = store.begin().await.unwrap();
        assert_eq!(pragma(&mut tx, "PRAGMA foreign_keys").await, 1);
        assert_eq!(pragma(&mut tx, "PRAGMA synchronous").await, 1);
        let mode = sqlx::query("PRAGMA journal_mode").fetch_one(&mut *tx).await.unwrap();
        assert_eq!(mode.get::<String, _>(0), "wal");
        let mut read = store.read().await.unwrap();
        assert_eq!(pragma(&mut read, "PRAGMA query_only").await, 1);
    }

    /// Reads go on while a transaction is open, and do not see it.
    #[tokio::test]
    async fn a_writer_does_not_stop_readers() {
        let dir = tempfile::tempdir().unwrap();
        let store = open_in(&dir).await;
        let mut tx = store.begin().await.unwrap();
        sqlx::query("INSERT INTO setup_links (hash, expires_at) VALUES ('x', 1)")
            .execute(&mut *tx)
            .await
            .unwrap();
        let mut read = store.read().await.unwrap();
        assert_eq!(pragma(&mut read, "SELECT COUNT(*) FROM setup_links").await, 0);
        tx.commit().await.unwrap();
        assert_eq!(pragma(&mut read, "SELECT COUNT(*) FROM setup_links").await, 1);
    }
}
