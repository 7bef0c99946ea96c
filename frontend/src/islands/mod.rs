//! What moves in the browser. Each island stands in a page that works without it.

mod copy;
mod fit_check;
mod theme;

#[cfg(feature = "ssr")]
pub(crate) use {copy::Copy, fit_check::FitCheck, theme::ThemeSwitch};
