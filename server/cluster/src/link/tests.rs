use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Request as HttpRequest, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::*;

type Script = Arc<dyn Fn(u32, &Seen) -> Response + Send + Sync>;

/// One request as it came.
#[derive(Debug, Clone)]
struct Seen {
    method: Method,
    target: String,
    content_type: String,
    body: Value,
}

#[derive(Clone)]
struct Server {
    script: Script,
    seen: Arc<Mutex<Vec<Seen>>>,
}

async fn serve(State(server): State<Server>, request: HttpRequest) -> Response {
    let (parts, body) = request.into_parts();
    let body: Bytes = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let seen = Seen {
        method: parts.method,
        target: parts.uri.to_string(),
        content_type: parts.headers[header::CONTENT_TYPE].to_str().unwrap().to_owned(),
        body: serde_json::from_slice(&body).unwrap_or_default(),
    };
    let number = {
        let mut all = server.seen.lock().unwrap();
        all.push(seen.clone());
        u32::try_from(all.len()).unwrap()
    };
    (server.script)(number, &seen)
}

/// A link to an API server that answers by a script: number of the request, from 1, and the request.
fn link(
    options: LinkOptions,
    script: impl Fn(u32, &Seen) -> Response + Send + Sync + 'static,
) -> (Link, Arc<Mutex<Vec<Seen>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let server = Server { script: Arc::new(script), seen: seen.clone() };
    let router = Router::new().fallback(serve).with_state(server);
    (Link::over(kube::Client::new(router, "default"), options), seen)
}

fn answer(status: u16, body: &Value) -> Response {
    (StatusCode::from_u16(status).unwrap(), body.to_string()).into_response()
}

fn stored() -> Response {
    answer(200, &json!({"metadata": {"resourceVersion": "7", "uid": "u"}}))
}

fn failure(status: u16, reason: &str, message: &str) -> Value {
    json!({"kind": "Status", "status": "Failure", "code": status, "reason": reason, "message": message})
}

fn conflict(field: &str, manager: &str) -> Response {
    let mut status = failure(409, "Conflict", "Apply failed with 1 conflict");
    status["details"] = json!({"causes": [{
        "reason": "FieldManagerConflict", "message": format!("conflict with \"{manager}\" using v1"), "field": field,
    }]});
    answer(409, &status)
}

fn quota() -> Manifest {
    Manifest::from_json(json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "gpuaas", "namespace": "vision"},
        "spec": {"hard": {"requests.nvidia.com/gpu": "8"}},
    }))
    .unwrap()
}

fn quick() -> LinkOptions {
    LinkOptions { deadline: Duration::from_secs(2), attempt: Duration::from_millis(300), concurrency: 2 }
}

#[tokio::test]
async fn an_apply_is_one_strict_request_of_our_manager() {
    let (link, seen) =
        link(quick(), |_, _| answer(201, &json!({"metadata": {"resourceVersion": "7", "uid": "u"}})));
    let applied = link.apply(&quota()).await.unwrap();
    assert_eq!((applied.resource_version.as_str(), applied.uid.as_str(), applied.created), ("7", "u", true));
    link.apply_forced(&quota()).await.unwrap();
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 2);
    assert_eq!(
        seen[0].target,
        "/api/v1/namespaces/vision/resourcequotas/gpuaas?fieldManager=gpuaas&fieldValidation=Strict"
    );
    assert_eq!(
        (&seen[0].method, seen[0].content_type.as_str()),
        (&Method::PATCH, "application/apply-patch+yaml")
    );
    assert_eq!(seen[0].body, quota().body);
    assert!(seen[1].target.ends_with("&force=true"));
}

#[tokio::test]
async fn case_37_a_conflict_names_field_and_manager_and_nothing_is_forced() {
    let (link, seen) = link(quick(), |_, seen| match seen.method {
        Method::PATCH => conflict(".spec.hard.requests.nvidia.com/gpu", "kubectl-edit"),
        _ => answer(200, &json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": "Helm"}}})),
    });
    let refused = link.apply_owned(&quota()).await.unwrap_err();
    assert!(!refused.is_transient());
    let text = refused.to_string();
    assert!(text.contains(".spec.hard.requests.nvidia.com/gpu (set by kubectl-edit)"), "{text}");
    assert!(seen.lock().unwrap().iter().all(|seen| !seen.target.contains("force")));
}

#[tokio::test]
async fn case_37_what_says_that_it_is_ours_is_taken_over_but_not_from_argo_cd() {
    let ours = json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": "gpuaas"}}});
    let script = move |manager: &'static str| {
        let ours = ours.clone();
        move |_, seen: &Seen| match seen.method {
            Method::PATCH if seen.target.contains("force=true") => stored(),
            Method::PATCH => conflict(".spec.hard.cpu", manager),
            _ => answer(200, &ours),
        }
    };
    let (link_one, _) = link(quick(), script("kubectl-edit"));
    link_one.apply_owned(&quota()).await.unwrap();
    let (link_two, seen) = link(quick(), script("argocd-controller"));
    assert!(matches!(link_two.apply_owned(&quota()).await, Err(ClusterError::Conflict { .. })));
    assert_eq!(seen.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn busy_answers_are_tried_again_as_the_server_asks() {
    for status in [429, 503, 504] {
        let (link, seen) = link(quick(), move |number, _| {
            if number < 3 { answer(status, &failure(status, "TooManyRequests", "later")) } else { stored() }
        });
        link.apply(&quota()).await.unwrap();
        assert_eq!(seen.lock().unwrap().len(), 3, "{status}");
    }
    let (link, _) = link(quick(), |number, _| {
        if number > 1 {
            return stored();
        }
        let mut response = answer(429, &failure(429, "TooManyRequests", "later"));
        response.headers_mut().insert(header::RETRY_AFTER, "1".parse().unwrap());
        response
    });
    let begin = Instant::now();
    link.apply(&quota()).await.unwrap();
    assert!(begin.elapsed() >= Duration::from_secs(1));
}

#[tokio::test]
async fn patience_ends_at_the_deadline_with_the_servers_text() {
    let (link_busy, _) =
        link(quick(), |_, _| answer(503, &failure(503, "ServiceUnavailable", "etcd has no leader")));
    let begin = Instant::now();
    let error = link_busy.apply(&quota()).await.unwrap_err();
    assert!(begin.elapsed() < Duration::from_secs(3));
    assert!(error.is_transient() && error.to_string().contains("etcd has no leader"), "{error}");

    let (link_refused, seen) =
        link(quick(), |_, _| answer(422, &failure(422, "Invalid", "spec.hard: unknown field")));
    let error = link_refused.apply(&quota()).await.unwrap_err();
    assert!(!error.is_transient());
    assert_eq!(error.to_string(), "the API server refused it (422 Invalid): spec.hard: unknown field");
    assert_eq!(seen.lock().unwrap().len(), 1, "a no is a no");

    let (link_broken, seen) =
        link(quick(), |_, _| answer(500, &failure(500, "InternalError", "webhook down")));
    let error = link_broken.apply(&quota()).await.unwrap_err();
    assert_eq!(seen.lock().unwrap().len(), 3, "an internal error gets three tries");
    assert!(error.to_string().contains("webhook down"));
}

#[tokio::test]
async fn lack_of_rights_gets_a_moment_because_a_fresh_server_knows_no_roles() {
    let text = "resourcequotas \"gpuaas\" is forbidden: User \"system:serviceaccount:gpuaas-system:gpuaas-emitter\" cannot patch resource \"resourcequotas\" in API group \"\" in the namespace \"vision\"";
    let (link_fresh, _) =
        link(
            quick(),
            move |number, _| {
                if number < 3 { answer(403, &failure(403, "Forbidden", text)) } else { stored() }
            },
        );
    link_fresh.apply(&quota()).await.unwrap();
    let (link_poor, seen) = link(quick(), move |_, _| answer(403, &failure(403, "Forbidden", text)));
    let error = link_poor.apply(&quota()).await.unwrap_err();
    assert!(error.is_transient() && error.to_string().contains("cannot patch resource"), "{error}");
    assert!(seen.lock().unwrap().len() <= 7);
    let (link_policy, seen) = link(quick(), |_, _| {
        answer(403, &failure(403, "Forbidden", "ValidatingAdmissionPolicy 'x' denied request"))
    });
    assert!(!link_policy.apply(&quota()).await.unwrap_err().is_transient());
    assert_eq!(seen.lock().unwrap().len(), 1);
}

/// A client whose connections break as often as wanted before an answer comes.
fn broken(times: u32) -> (Link, Arc<AtomicU32>) {
    let count = Arc::new(AtomicU32::new(0));
    let tries = count.clone();
    let service = tower::service_fn(move |_: Request<Body>| {
        let number = tries.fetch_add(1, Ordering::Relaxed);
        async move {
            if number < times {
                return Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset));
            }
            Ok(stored())
        }
    });
    (Link::over(kube::Client::new(service, "default"), quick()), count)
}

#[tokio::test]
async fn lost_connections_are_tried_again() {
    let (link, count) = broken(2);
    link.apply(&quota()).await.unwrap();
    assert_eq!(count.load(Ordering::Relaxed), 3);
    let (link, _) = broken(u32::MAX);
    let error = link.apply(&quota()).await.unwrap_err();
    assert!(matches!(error, ClusterError::Unreachable { .. }), "{error}");
    assert!(error.is_transient() && error.to_string().contains("connection reset"), "{error}");
}

#[tokio::test]
async fn a_server_that_never_answers_does_not_hold_us() {
    let service =
        tower::service_fn(|_: Request<Body>| std::future::pending::<Result<Response, std::io::Error>>());
    let link = Link::over(kube::Client::new(service, "default"), quick());
    let begin = Instant::now();
    let error = link.apply(&quota()).await.unwrap_err();
    assert!(begin.elapsed() < Duration::from_secs(3));
    assert!(matches!(error, ClusterError::Deadline { .. }), "{error}");
}

#[tokio::test]
async fn never_more_requests_at_a_time_than_allowed() {
    let (now, most): (Arc<AtomicU32>, Arc<AtomicU32>) = Default::default();
    let (running, peak) = (now.clone(), most.clone());
    let service = tower::service_fn(move |_: Request<Body>| {
        let (running, peak) = (running.clone(), peak.clone());
        async move {
            peak.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(10)).await;
            running.fetch_sub(1, Ordering::SeqCst);
            Ok::<_, std::io::Error>(stored())
        }
    });
    let link = Link::over(kube::Client::new(service, "default"), quick());
    let manifest = quota();
    let all = futures::future::join_all((0..20).map(|_| link.apply(&manifest))).await;
    assert!(all.iter().all(Result::is_ok));
    assert_eq!(most.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn get_delete_and_dry_run() {
    let (link, seen) = link(quick(), |_, seen| match seen.method {
        Method::POST => answer(403, &failure(403, "Forbidden", "exceeded quota: gpuaas")),
        _ => answer(404, &failure(404, "NotFound", "not there")),
    });
    assert_eq!(link.get(&quota().key()).await.unwrap(), None);
    link.delete(&quota().key(), "u").await.unwrap();
    let text = link.would_refuse(&quota()).await.unwrap();
    assert_eq!(text.as_deref(), Some("exceeded quota: gpuaas"));
    let seen = seen.lock().unwrap();
    assert_eq!(seen[1].body["preconditions"]["uid"], "u");
    assert!(seen[2].target.contains("dryRun=All"));
}
