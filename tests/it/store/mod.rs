//! The store on both databases: every public function, and what the rest of gpuaas relies on.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise, and says where")]

/// Runs each test on a fresh SQLite file and on a fresh Postgres database.
macro_rules! on_both {
    ($($test:ident),* $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $test() {
                super::$test(crate::store::support::Db::sqlite().await).await;
            })*
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $test() {
                super::$test(crate::store::support::Db::postgres().await).await;
            })*
        }
    };
}

mod balances;
mod coverage;
mod fleet;
mod pages;
mod people;
mod race;
mod support;
mod transactions;
mod wishes;
mod work;
