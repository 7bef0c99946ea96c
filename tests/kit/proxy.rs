//! An API server that fails on request: a proxy in front of a real one.

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, combinators::UnsyncBoxBody};
use hyper::body::{Bytes, Incoming};
use hyper_util::rt::TokioIo;
use kube::Client;
use kube::client::Body;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::cluster::Kubeconfig;
use crate::error::{Doing, Error, Result};
use crate::pki;

/// What happens to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It is answered with this status and is not passed on.
    Status(u16),
    /// 429 with `Retry-After` in seconds; not passed on.
    TooMany {
        /// What the header says.
        retry_after: u32,
    },
    /// The connection breaks before the request is passed on.
    DropRequest,
    /// The request is passed on and done; the connection breaks before the answer.
    DropAnswer,
    /// It is passed on after this time.
    Delay(Duration),
}

/// Which requests get a fault.
#[derive(Debug, Clone)]
pub struct Rule {
    /// This method only; any without it.
    pub method: Option<Method>,
    /// Path with query; `*` stands for any text. `/api/v1/namespaces/*/resourcequotas*` is an example.
    pub path: String,
    /// So many requests, then the rule is used up; without it for ever.
    pub times: Option<u32>,
    /// What happens to them.
    pub fault: Fault,
}

impl Rule {
    fn matches(&self, method: &Method, path: &str) -> bool {
        self.times != Some(0)
            && self.method.as_ref().is_none_or(|wanted| wanted == method)
            && matches_pattern(&self.path, path)
    }
}

/// A request that came by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Its method.
    pub method: Method,
    /// Its path with query.
    pub path: String,
    /// What was done to it; nothing for one that was passed on as it was.
    pub fault: Option<Fault>,
}

/// The proxy. It speaks plain HTTP on loopback, and to the API server with the identity that it was given. Dropping
/// it closes all connections.
#[derive(Debug)]
pub struct FaultyApi {
    state: Arc<State>,
    url: String,
    _accepting: JoinSet<()>,
}

#[derive(Debug, Default)]
struct State {
    rules: Mutex<Vec<Rule>>,
    seen: Mutex<Vec<Seen>>,
}

type AnswerBody = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

impl FaultyApi {
    /// Starts the proxy before the API server of `upstream`. Without rules it passes everything on, watches included.
    ///
    /// # Errors
    /// When no port can be had or the kubeconfig cannot be used.
    pub async fn start(upstream: &Kubeconfig) -> Result<Self> {
        let parsed = kube::config::Kubeconfig::from_yaml(&upstream.text)?;
        let options = kube::config::KubeConfigOptions::default();
        let mut config = kube::Config::from_custom_kubeconfig(parsed, &options).await?;
        // Repeating is the business of the client under test.
        config.default_retry = false;
        let client = Client::try_from(config)?;

        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.doing("listen on", Path::new("loopback"))?;
        let address = listener.local_addr().doing("listen on", Path::new("loopback"))?;
        let state = Arc::new(State::default());
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(listener, Arc::clone(&state), client));
        Ok(Self { state, url: format!("http://{address}"), _accepting: accepting })
    }

    /// Adds a rule. The first that matches a request wins.
    pub fn add(&self, rule: Rule) {
        lock(&self.state.rules).push(rule);
    }

    /// Lets all requests with this method and path fail so many times.
    pub fn fail(&self, method: Method, path: &str, times: u32, fault: Fault) {
        self.add(Rule { method: Some(method), path: path.to_owned(), times: Some(times), fault });
    }

    /// Takes all rules away.
    pub fn heal(&self) {
        lock(&self.state.rules).clear();
    }

    /// All requests so far, in the order in which they came.
    #[must_use]
    pub fn seen(&self) -> Vec<Seen> {
        lock(&self.state.seen).clone()
    }

    /// The text of a kubeconfig that leads here.
    ///
    /// # Errors
    /// Never in practice: the text is made from fixed parts.
    pub fn kubeconfig(&self) -> Result<String> {
        pki::kubeconfig_text(&json!({ "server": self.url }), "through-the-proxy", &json!({}))
    }
}

async fn accept(listener: TcpListener, state: Arc<State>, client: Client) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        connections.spawn(serve(stream, Arc::clone(&state), client.clone()));
    }
}

async fn serve(stream: TcpStream, state: Arc<State>, client: Client) {
    let service = hyper::service::service_fn(|request| answer(Arc::clone(&state), client.clone(), request));
    // An error here is a connection that broke, by a rule or by the client: nothing more can be said to it.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

/// An error makes hyper close the connection without an answer.
async fn answer(
    state: Arc<State>,
    client: Client,
    request: Request<Incoming>,
) -> std::result::Result<Response<AnswerBody>, Error> {
    let fault = state.judge(&request);
    match fault {
        Some(Fault::Status(code)) => return Ok(refusal(code, None)),
        Some(Fault::TooMany { retry_after }) => return Ok(refusal(429, Some(retry_after))),
        Some(Fault::DropRequest) => return Err(broken()),
        Some(Fault::Delay(time)) => tokio::time::sleep(time).await,
        Some(Fault::DropAnswer) | None => {}
    }
    let (mut head, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| broken())?.to_bytes();
    // The client under test must not speak with its own address or login upstream.
    head.headers.remove(http::header::HOST);
    head.headers.remove(http::header::AUTHORIZATION);
    let passed_on = client.send(Request::from_parts(head, Body::from(body.to_vec()))).await;
    if fault == Some(Fault::DropAnswer) {
        return Err(broken());
    }
    match passed_on {
        Ok(response) => Ok(response.map(|body| UnsyncBoxBody::new(body.map_err(Into::into)))),
        Err(_) => Ok(refusal(502, None)),
    }
}

impl State {
    /// Notes the request and uses up one turn of the rule that it falls under.
    fn judge(&self, request: &Request<Incoming>) -> Option<Fault> {
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let mut rules = lock(&self.rules);
        let rule = rules.iter_mut().find(|rule| rule.matches(request.method(), path));
        let fault = rule.map(|rule| {
            rule.times = rule.times.map(|left| left.saturating_sub(1));
            rule.fault
        });
        lock(&self.seen).push(Seen { method: request.method().clone(), path: path.to_owned(), fault });
        fault
    }
}

fn broken() -> Error {
    Error::Setup("the connection breaks".to_owned())
}

/// A refusal as the API server writes it.
fn refusal(code: u16, retry_after: Option<u32>) -> Response<AnswerBody> {
    let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let text = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": format!("the test kit answers {code}"),
        "reason": status.canonical_reason().unwrap_or_default().replace(' ', ""),
        "code": code,
    });
    let body = Full::new(Bytes::from(text.to_string())).map_err(|never: Infallible| match never {});
    let mut response = Response::new(UnsyncBoxBody::new(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
    if let Some(seconds) = retry_after {
        headers.insert(http::header::RETRY_AFTER, seconds.into());
    }
    response
}

/// Does `text` fit `pattern`, in which `*` stands for any text?
fn matches_pattern(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Values are replaced whole, so a panic elsewhere leaves them usable.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, text, fits) in [
            ("*", "/api", true),
            ("/api", "/api", true),
            ("/api", "/api/v1", false),
            ("/api/*/pods", "/api/v1/namespaces/a/pods", true),
            ("/api/*/pods", "/api/v1/pods/p", false),
            ("*resourcequotas*", "/api/v1/namespaces/a/resourcequotas/q?force=true", true),
            ("*a*b", "ab", true),
            ("a*a", "a", false),
        ] {
            assert_eq!(matches_pattern(pattern, text), fits, "{pattern} on {text}");
        }
    }

    #[test]
    fn a_rule_is_used_up() {
        let mut rule =
            Rule { method: Some(Method::GET), path: "*".into(), times: Some(1), fault: Fault::DropRequest };
        assert!(rule.matches(&Method::GET, "/x") && !rule.matches(&Method::PUT, "/x"));
        rule.times = Some(0);
        assert!(!rule.matches(&Method::GET, "/x"));
        assert_eq!(refusal(429, Some(3)).headers()["retry-after"], "3");
    }
}
