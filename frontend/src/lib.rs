//! The portal. Pages are rendered on the server; a few islands move in the browser; every page works without
//! JavaScript.
//!
//! # For the HTTP layer
//!
//! - GET of each path of [`PAGES`]: fill a [`PageContext`] and answer with what [`render`] gives. Data comes from
//!   [`Backend`] before a view is built, so that the status is known and nothing is streamed or loaded later.
//! - POST routes, all `application/x-www-form-urlencoded` with `csrf`; on success 303 with a [`Flash`], on refusal
//!   [`render`] once more with the page's own path and [`FormState`] (values, problem, and `action`, the path that was
//!   posted to). Only the names below occur; forms marked * also send `key`, [`PageContext::key`] of the page that they
//!   stand on: sent again with the same values, the work is done once and the answer is the same:
//!
//! | POST | fields | success leads to | refusal renders |
//! |---|---|---|---|
//! | `/sign-in` | `login`, `password`, `next` (a local path) | `next` or `/` | `/sign-in` |
//! | `/sign-out` | | `/sign-in` | |
//! | `/setup` | `token`, `login`, `display`, `password` | `/` | `/setup` (the token is also read from the values) |
//! | `/theme` | `theme` (`system`, `light`, `dark`), `back` | `back` | |
//! | `/teams/{team}/requests/new` * | `do` (`check`, `submit`), `kind` (`new`, `change`, `extend`), `offering`, `grant`, `nodes`, `per_node`, `partition` (`yes` or absent), `until` (`2026-12-14`), `purpose` | the request | the same path; `check` too, with 200 and [`FormState::fit`] |
//! | `/teams/{team}/requests/{id}/approve` | `back` | `back` | `back` |
//! | `/teams/{team}/requests/{id}/deny` | `text`, `back` | `back` | `back` |
//! | `/teams/{team}/requests/{id}/withdraw` | | the request | the request |
//! | `/teams/{team}/requests/{id}/comment` * | `text` | the request | the request |
//! | `/teams/{team}/grants/{id}/give-back` * | `nodes`, `per_node` (what stays; both `0`: nothing) | the grant | the grant |
//! | `/teams/{team}/members` | `do` (`set`, `remove`), `login`, `role` (`viewer`, `member`, `lead`) | the same path | the same path |
//!
//! `back` is a path of ours: accept it only when it begins with one `/` and not with `//` or `/\`.
//!
//! # Static files
//!
//! `target/site/pkg` holds what [`Assets`] names: `app.css` (`npm run css`), `logo.svg` (from `assets/`), and what
//! wasm-bindgen makes of the wasm: `wasm-bindgen --target web --no-typescript --remove-name-section
//! --remove-producers-section --out-name gpuaas --out-dir target/site/pkg
//! target/wasm32-unknown-unknown/wasm/frontend.wasm`. Without `--remove-name-section` it is 50 kB larger on the wire.
//! A `Content-Security-Policy` that fits: `default-src 'self'; script-src 'nonce-…' 'strict-dynamic'
//! 'wasm-unsafe-eval'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'`.
//!
//! # Features
//!
//! `ssr` for the server, `hydrate` for the browser (`wasm32-unknown-unknown`, profile `wasm`), never both; `sample`
//! adds a backend with sample data for tests and for looking at pages.

#[cfg(feature = "ssr")]
mod backend;
#[cfg(feature = "ssr")]
mod context;
#[cfg(any(feature = "ssr", feature = "hydrate"))]
mod fit;
#[cfg(feature = "ssr")]
mod frame;
#[cfg(any(feature = "ssr", feature = "hydrate"))]
pub mod islands;
#[cfg(feature = "ssr")]
mod pages;
#[cfg(feature = "ssr")]
mod render;
#[cfg(feature = "ssr")]
mod routes;
#[cfg(all(feature = "ssr", feature = "sample"))]
pub mod sample;
#[cfg(any(feature = "ssr", feature = "hydrate"))]
mod text;
#[cfg(any(feature = "ssr", feature = "hydrate"))]
mod ui;

#[cfg(feature = "ssr")]
pub use {
    backend::{AuditFilter, Backend, Part, Read},
    context::{Answer, Assets, Flash, FlashKind, FormState, PageContext, Theme},
    render::{render, render_problem},
    routes::{Audience, PAGES, PageRoute},
};

/// Called once by the page's loader before it gives each island its function.
#[cfg(feature = "hydrate")]
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn hydrate() {
    leptos::mount::hydrate_islands();
}
