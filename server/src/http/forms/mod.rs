//! Forms of the pages: ordinary POST routes that work without JavaScript. Each calls the use-case of the API; on
//! success 303 to the object with a sentence, on refusal the page again with what was entered.

pub(super) mod account;
pub(super) mod grant;
pub(super) mod member;
pub(super) mod request;
pub(super) mod theme;

use std::collections::BTreeMap;

use app::{Ctx, Once};
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
    extract::{Visitor, fingerprint},
    pages::{self, Shown},
    problem::{Answer, Refusal},
    session,
};

/// Longest form, in bytes: the longest text in four-byte characters, percent-encoded, and room for the rest.
const MAX: usize = 64 * 1024;

/// Longest key of a form, in characters.
const KEY_MAX: usize = 64;

/// A form that was sent, and by whom.
pub(crate) struct Posted {
    pub(crate) visitor: Visitor,
    /// Path that it was sent to.
    pub(crate) path: String,
    values: BTreeMap<String, String>,
    once: Once,
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
        let path = parts.uri.path().to_owned();
        let once = once(&path, values.remove("key"), &values)?;
        Ok(Self { visitor, path, values, once, token })
    }
}

/// The form's key with what it stands for: all that was entered, so that the same click twice is known, and another
/// wish under an old key is refused.
fn once(path: &str, key: Option<String>, values: &BTreeMap<String, String>) -> Answer<Once> {
    let key = key.filter(|key| !key.is_empty());
    if key.as_ref().is_some_and(|key| key.len() > KEY_MAX || !key.bytes().all(|b| b.is_ascii_alphanumeric()))
    {
        return Err(Refusal::invalid(
            "key",
            format!("must be at most {KEY_MAX} letters and digits; load the page again"),
        ));
    }
    let entered = form_urlencoded::Serializer::new(String::new()).extend_pairs(values).finish();
    Ok(Once { key, fingerprint: fingerprint("POST", path, entered.as_bytes()) })
}

/// The same refusal in the words of a page, where nobody has heard of an Idempotency-Key. The page comes with a new
/// key, so that sending again does.
fn of_page(mut refusal: Refusal) -> Refusal {
    if refusal.problem.kind == "/problems/key-reused" {
        let problem = &mut refusal.problem;
        problem.title = "This form was sent before".to_owned();
        problem.detail =
            "What was sent then is done. Look at the values below; send them if this is something new."
                .to_owned();
        problem.fields.clear();
    }
    refusal
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
    /// Key and fingerprint: what this form makes is made once.
    pub(crate) fn once(&self) -> Once {
        self.once.clone()
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
            Err(refusal) => (Some(of_page(refusal).settle(&self.visitor.request_id)), None),
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
