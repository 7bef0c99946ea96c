//! What moves in the browser. Each island stands in a page that works without it.

#![expect(
    missing_docs,
    reason = "the island macro writes a public type without a comment beside each island"
)]

pub mod copy;
pub mod fit_check;
pub mod theme;

#[cfg(feature = "ssr")]
pub(crate) use {copy::Copy, fit_check::FitCheck, theme::ThemeSwitch};
