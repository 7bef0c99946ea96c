//! What the server hands in with each page, and what it gets back.

use std::{collections::BTreeMap, sync::Arc};

use domain::{
    Timestamp,
    api::{FitAnswer, Problem},
    ledger::{Decision, Dimension, Shortfall},
    people::Actor,
};

use crate::backend::Backend;

/// Everything that a page is rendered from.
#[derive(Clone)]
pub struct PageContext {
    /// Where data comes from.
    pub backend: Arc<dyn Backend>,
    /// Who is signed in; none: only pages for everyone are rendered, others answer with [`Answer::SignIn`].
    pub actor: Option<Actor>,
    /// Path of the page, percent-decoded, without query: `/teams/vision`.
    pub path: String,
    /// Query parameters, decoded. The last one of a name wins.
    pub query: BTreeMap<String, String>,
    /// Nonce of the `Content-Security-Policy` of this answer; it stands on every script.
    pub nonce: String,
    /// Token that each form sends back as `csrf` and islands as `X-CSRF-Token`.
    pub csrf: String,
    /// New for each page that is rendered. A form that makes something sends it as `key`: sent twice with the same
    /// values, it is done once.
    pub key: String,
    /// What happened just before, for example after a 303.
    pub flash: Option<Flash>,
    /// From the `theme` cookie.
    pub theme: Theme,
    /// What was entered before, where a page is rendered as the answer to a POST.
    pub form: FormState,
    /// Now.
    pub now: Timestamp,
    /// Where static files are.
    pub assets: Assets,
    /// Id of the HTTP request, shown on problem pages.
    pub request_id: String,
}

impl PageContext {
    /// A query parameter that is not empty.
    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        self.query.get(name).map(String::as_str).filter(|text| !text.is_empty())
    }
}

/// The answer to a page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// A whole document, `text/html; charset=utf-8`.
    Html {
        /// HTTP status: 200, the problem's status, or that of the refused form.
        status: u16,
        /// The document.
        body: String,
    },
    /// The page needs an account: answer 303 to this place.
    SignIn {
        /// `/sign-in?next=…`.
        location: String,
    },
}

/// What a form that was refused, or only checked, knows. The default is that of a GET.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FormState {
    /// Path that the form was posted to. A page may hold several forms; this one shows the values and the errors.
    pub action: String,
    /// Values by name of the input, without `csrf`, `key` and passwords.
    pub values: BTreeMap<String, String>,
    /// Why it was refused; its `status` becomes the status of the answer.
    pub problem: Option<Problem>,
    /// Answer of the button "Check" on the request form.
    pub fit: Option<FitAnswer>,
}

impl FormState {
    /// The value of an input of the form with this action.
    pub(crate) fn value(&self, action: &str, name: &str) -> Option<&str> {
        if self.action == action { self.values.get(name).map(String::as_str) } else { None }
    }
    /// The problem of the form with this action.
    pub(crate) fn problem(&self, action: &str) -> Option<&Problem> {
        if self.action == action { self.problem.as_ref() } else { None }
    }
    /// What is wrong with an input: `per_node` finds the error of `ask.shape.per_node`, and `until` that of a lease
    /// which is too long, whether the form was sent or only checked.
    pub(crate) fn error(&self, action: &str, name: &str) -> Option<&str> {
        if self.action != action {
            return None;
        }
        let mut fields = self.problem.iter().flat_map(|problem| &problem.fields);
        let wrong = fields.find(|error| error.field.rsplit('.').next() == Some(name));
        wrong.map(|error| error.message.as_str()).or_else(|| {
            let short = self.shortfalls().find(|short| field_of(short.dimension) == Some(name));
            short.map(|short| short.detail.as_str())
        })
    }
    /// Reasons why it does not fit, of the refusal or of the check.
    fn shortfalls(&self) -> impl Iterator<Item = &Shortfall> {
        let refused = self.problem.iter().flat_map(|problem| &problem.shortfalls);
        let checked = self.fit.iter().flat_map(|fit| match &fit.decision {
            Decision::Short { shortfalls } => shortfalls.as_slice(),
            Decision::Fits { .. } => &[],
        });
        refused.chain(checked)
    }
}

/// The one input that a limit is about; none where it is about several together.
fn field_of(dimension: Dimension) -> Option<&'static str> {
    match dimension {
        Dimension::Lease => Some("until"),
        Dimension::Partition => Some("partition"),
        Dimension::Capacity | Dimension::Shape => None,
    }
}

/// A short message on top of the page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flash {
    /// How it looks.
    pub kind: FlashKind,
    /// One sentence.
    pub text: String,
}

/// What a flash message says about the act.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlashKind {
    /// It was done.
    Done,
    /// It was not done, or not fully.
    Failed,
}

/// Light or dark.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Theme {
    /// As the system says.
    #[default]
    System,
    /// Light.
    Light,
    /// Dark.
    Dark,
}

impl Theme {
    /// Reads the value of the `theme` cookie or of the form field; anything unknown is the system's.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match text {
            "light" => Self::Light,
            "dark" => Self::Dark,
            _ => Self::System,
        }
    }
    /// Value of the cookie.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

/// Paths of static files, with their hashes where the server gives them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Assets {
    /// Style sheet.
    pub css: String,
    /// ES module that wasm-bindgen wrote (`--target web`).
    pub js: String,
    /// Its wasm file.
    pub wasm: String,
    /// The logo, `assets/logo.svg`.
    pub logo: String,
}

impl Default for Assets {
    fn default() -> Self {
        Self {
            css: "/pkg/app.css".to_owned(),
            js: "/pkg/gpuaas.js".to_owned(),
            wasm: "/pkg/gpuaas_bg.wasm".to_owned(),
            logo: "/pkg/logo.svg".to_owned(),
        }
    }
}
