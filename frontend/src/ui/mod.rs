//! The parts that pages are made of.

pub(crate) mod icon;

#[cfg(feature = "ssr")]
mod badge;
#[cfg(feature = "ssr")]
mod bar;
#[cfg(feature = "ssr")]
mod block;
#[cfg(feature = "ssr")]
mod form;
#[cfg(feature = "ssr")]
mod table;
#[cfg(feature = "ssr")]
mod time;

pub(crate) use icon::{Icon, icon};

#[cfg(feature = "ssr")]
pub(crate) use {
    badge::{Tone, badge, enforcement_badge, grant_badge, kind_mark, registration_badge, request_badge},
    bar::{Bar, Segment, bar, granted_bar, line_bar, promised_bar, quota_bar, slim_bar},
    block::{Level, alert, back_link, empty, facts, head, link_button, panel, section, two},
    form::{Choice, Form, Input, button, input, once, post_form, select, summary, textarea},
    table::{cell, encode, num, pager, table},
    time::{day, moment},
};
