//! The migrations, embedded. Both folders have the same numbers, because one table names both files.

use sqlx::{
    SqlSafeStr,
    migrate::{Migration, MigrationType, Migrator},
};

/// Number, name, SQLite text, Postgres text.
const MIGRATIONS: [(i64, &str, &str, &str); 1] = [(
    1,
    "spine",
    include_str!("../../../migrations/sqlite/0001_spine.sql"),
    include_str!("../../../migrations/postgres/0001_spine.sql"),
)];

/// Which of the two databases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

/// All migrations in the texts of one database.
pub(crate) fn migrator(dialect: Dialect) -> Migrator {
    let all = MIGRATIONS.map(|(version, name, sqlite, postgres)| {
        let sql = match dialect {
            Dialect::Sqlite => sqlite,
            Dialect::Postgres => postgres,
        };
        Migration::new(version, name.into(), MigrationType::Simple, sql.into_sql_str(), false)
    });
    Migrator::with_migrations(all.into())
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, path::Path};

    use super::*;

    /// A file without a line in the table above would never run.
    #[test]
    fn every_migration_file_is_embedded_for_both_databases() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations");
        let files = |folder: &str| -> BTreeSet<String> {
            std::fs::read_dir(root.join(folder))
                .unwrap()
                .map(|f| f.unwrap().file_name().into_string().unwrap())
                .collect()
        };
        let embedded: BTreeSet<String> =
            MIGRATIONS.iter().map(|(version, name, ..)| format!("{version:04}_{name}.sql")).collect();
        assert_eq!(files("sqlite"), embedded);
        assert_eq!(files("postgres"), embedded);
    }

    /// Tables, columns and constraints must not drift apart: the files differ in blobs, collation and comments only.
    #[test]
    fn the_two_texts_of_a_migration_say_the_same() {
        let tidy = |text: &str| -> String {
            text.lines()
                .map(|line| line.split("--").next().unwrap_or_default())
                .flat_map(str::split_whitespace)
                .collect::<Vec<_>>()
                .join(" ")
                .replace(" COLLATE \"C\"", "")
                .replace("BYTEA", "BLOB")
        };
        for (version, _, sqlite, postgres) in MIGRATIONS {
            assert_eq!(tidy(sqlite), tidy(postgres), "migration {version}");
        }
    }
}
