//! Extractors: each proves or parses one thing, and refuses with a problem document.

mod ask;
mod body;
mod filter;
mod key;
mod visitor;

pub(crate) use body::{Body, Incoming, fingerprint};
pub(crate) use filter::{After, Filter, Limit, paging};
pub(crate) use key::{At, IfMatch, IfMatchHeader, OnceHeader};
pub(crate) use visitor::{SignedIn, Visitor};
