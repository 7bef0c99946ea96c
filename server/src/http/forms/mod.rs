//! Forms of the pages: ordinary POST routes that work without JavaScript. Each calls the use-case of the API; on
//! success 303 to the object with a sentence, on refusal the page again with what was entered.

pub(super) mod account;
pub(super) mod grant;
pub(super) mod member;
pub(super) mod request;
pub(super) mod theme;

use std::collections::BTreeMap;

use app::Ctx;
use axum::{
    body::to_bytes,
    extract::{FromRequest, FromRequestParts as _, Request},
    response::{IntoResponse, Response},
};
use domain::api::FitAnswer;
use frontend::FormState;
use http::{StatusCode, header};

use super::{
    Web, csrf,
    extract::Visitor,
    pages::{self, Shown},
    problem::{Answer, Refusal},
    session,
};

/// Longest form, in bytes: the longest text in four-byte characters, percent-encoded, and room for the rest.
const MAX: usize = 64 * 1024;

/// A form that was sent, and by whom.
pub(crate) struct Posted {
    pub(crate) visitor: Visitor,
    /// Path that it was sent to.
    pub(crate) path: String,
    values: BTreeMap<String, String>,
    token: Answer<()>,
}

impl FromRequest<Web> for Posted {
    type Rejection = Refusal;
    async fn from_request(request: Request, web: &Web) -> Answer<Self> {
        let (mut parts, body) = request.into_parts();
        let visitor = Visitor::from_request_parts(&mut parts, web).await?;
        let kind = parts.headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
        if !kind.starts_with("application/x-www-form-urlencoded") {
            let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            return Err(Refusal::new(status, "media-type", "Not a form", "send the form as a browser does"));
        }
        let bytes = to_bytes(body, MAX).await.map_err(|_| {
            let detail = format!("a form has at most {MAX} bytes");
            Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", "Form too large", detail)
        })?;
        let mut values: BTreeMap<String, String> = form_urlencoded::parse(&bytes).into_owned().collect();
        let given = values.remove("csrf").unwrap_or_default();
        let token = match session::token(&visitor.session).await? {
            Some(token) if csrf::matches(&given, &token) => Ok(()),
            _ => Err(csrf::wrong_token()),
        };
        Ok(Self { visitor, path: parts.uri.path().to_owned(), values, token })
    }
}

/// What a form led to.
pub(crate) enum Outcome {
    /// Done: go there, and say this.
    Done {
        /// A path of ours.
        location: String,
        /// One sentence.
        said: String,
    },
    /// Checked only.
    Checked(Box<FitAnswer>),
}

impl Posted {
    /// A field; empty where it is missing.
    pub(crate) fn value(&self, name: &str) -> &str {
        self.values.get(name).map_or("", |text| text.trim())
    }
    /// A field exactly as it was typed.
    pub(crate) fn raw(&self, name: &str) -> &str {
        self.values.get(name).map_or("", String::as_str)
    }
    /// Where `back` leads.
    pub(crate) fn back(&self) -> String {
        pages::local_path(self.value("back")).to_owned()
    }
    /// Who sent it; nobody is sent to sign in.
    pub(crate) fn signed_in(&self) -> Result<Ctx, Box<Response>> {
        match &self.visitor.actor {
            Some(actor) => Ok(Ctx { actor: actor.clone() }),
            None => Err(Box::new(pages::see_other("/sign-in"))),
        }
    }
    /// Was it sent by a page of this session?
    pub(crate) fn genuine(&self) -> Answer<()> {
        self.token.clone()
    }

    /// The answer: 303 with a sentence, or the page at `page` again with what was entered and why not.
    pub(crate) async fn answer(self, web: &Web, page: String, outcome: Answer<Outcome>) -> Response {
        let (problem, fit) = match outcome {
            Ok(Outcome::Done { location, said }) => {
                return match session::set_flash(&self.visitor.session, false, &said).await {
                    Ok(()) => pages::see_other(&location),
                    Err(refusal) => refusal.into_response(),
                };
            }
            Ok(Outcome::Checked(fit)) => (None, Some(*fit)),
            Err(refusal) => (Some(refusal.settle(&self.visitor.request_id)), None),
        };
        let mut values = self.values;
        values.remove("password");
        let (path, query) = split(&page);
        let form = FormState { action: self.path, values, problem, fit };
        pages::render(web, &self.visitor, Shown { path, query, form }).await
    }
}

/// A page that a form stands on, with its query.
fn split(page: &str) -> (String, BTreeMap<String, String>) {
    let (path, query) = page.split_once('?').unwrap_or((page, ""));
    (path.to_owned(), form_urlencoded::parse(query.as_bytes()).into_owned().collect())
}
