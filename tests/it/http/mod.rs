//! The real router over a real database.

mod accounts;
mod bad_input;
mod openapi;
mod pages;
pub(crate) mod portal;
mod race;
