//! The admission policies on a real API server: every rule by examples that must pass and examples that must not.
//! The corpus lies in `tenant_policy/*.yaml`; `fixtures.yaml` there says what the cases stand on.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise, and says where")]

use std::collections::BTreeMap;
use std::time::Duration;

use http::{Method, Request};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use plan::labels::TENANT;
use plan::policy::probe;
use plan::policy::tenant::TenantPolicySpec;
use serde::Deserialize;
use serde_json::{Value, json};

macro_rules! corpus {
    ($($name:literal),* $(,)?) => { [$(($name, include_str!(concat!("tenant_policy/", $name, ".yaml")))),*] };
}

const CORPUS: [(&str, &str); 18] = corpus![
    "rule-01-resources",
    "rule-02-pools",
    "rule-03-amounts",
    "rule-04-zero",
    "rule-05-networks",
    "rule-06-annotations",
    "rule-07-tolerations",
    "rule-08-environment",
    "rule-09-host",
    "rule-10-classes",
    "rule-11-updates",
    "rule-12-claims",
    "rule-13-side-doors",
    "rule-14-baseline",
    "rule-15-templates",
    "rule-16-services",
    "guards",
    "kind",
];

/// Kinds of the corpus that gpuaas itself does not write.
const OTHER_KINDS: [(&str, &str); 8] = [
    ("CronJob", "cronjobs"),
    ("DaemonSet", "daemonsets"),
    ("Deployment", "deployments"),
    ("PriorityClass", "priorityclasses"),
    ("Role", "roles"),
    ("RuntimeClass", "runtimeclasses"),
    ("Service", "services"),
    ("StatefulSet", "statefulsets"),
];

const USUAL_NAMESPACE: &str = "corpus-vision";
const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

/// What stands before the first case.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fixtures {
    cluster: Vec<Value>,
    namespaces: BTreeMap<String, NamespaceFixture>,
    within: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NamespaceFixture {
    level: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    policy: Option<TenantPolicySpec>,
}

/// One request, or a pod and a change of it, and what the API server must answer.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Case {
    case: String,
    #[serde(rename = "in")]
    namespace: Option<String>,
    #[serde(rename = "as")]
    user: Option<String>,
    #[serde(default = "dry")]
    dry_run: bool,
    labels: Option<Value>,
    annotations: Option<Value>,
    /// Spec of a pod; containers get names `c0`, `c1`, …, init containers `i0`, …
    pod: Option<Value>,
    /// Kind of a workload around the pod.
    template: Option<String>,
    /// Anything else.
    object: Option<Value>,
    #[serde(default)]
    apply: bool,
    #[serde(default)]
    delete: bool,
    /// Change of the pod, which is really made before.
    update: Option<Value>,
    subresource: Option<String>,
    /// Body of a binding of the pod.
    binding: Option<Value>,
    /// List of the pod's spec that the change adds to and does not replace: the API server lets none be taken away.
    keep: Option<String>,
    /// Whether everything is taken out of the namespace's `TenantPolicy` between pod and change.
    #[serde(default)]
    narrow: bool,
    /// Whether the pod is deleted before the change; a finalizer keeps it.
    #[serde(default)]
    going_away: bool,
    expect: Expect,
}

fn dry() -> bool {
    true
}

#[derive(Deserialize, PartialEq, Debug)]
#[serde(rename_all = "lowercase")]
enum Expect {
    Admitted,
    Refused(String),
    Warned(Vec<String>),
}

/// What the API server said.
struct Answer {
    status: u16,
    body: Value,
    warnings: Vec<String>,
}

impl Answer {
    fn succeeded(&self) -> bool {
        (200..300).contains(&self.status)
    }

    fn text(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }

    /// Why the answer is not the expected one.
    fn fault(&self, expected: &Expect) -> Option<String> {
        let holds = match expected {
            Expect::Admitted => self.succeeded() && self.warnings.is_empty(),
            Expect::Refused(text) => [400, 403, 422].contains(&self.status) && self.text().contains(text),
            Expect::Warned(texts) => {
                self.succeeded()
                    && texts.len() == self.warnings.len()
                    && texts.iter().all(|text| self.warnings.iter().any(|warning| warning.contains(text)))
            }
        };
        (!holds).then(|| {
            format!(
                "expected {expected:?}, got {} {} with warnings {:?}",
                self.status,
                self.text(),
                self.warnings
            )
        })
    }
}

/// The API server as one user sees it.
struct Api {
    client: Client,
    user: Option<String>,
}

impl Api {
    fn new(client: &Client, user: Option<&str>) -> Self {
        Self { client: client.clone(), user: user.map(str::to_owned) }
    }

    async fn call(&self, method: Method, path: &str, content: &str, body: Option<&Value>) -> Answer {
        let mut request = Request::builder().method(method).uri(path).header("content-type", content);
        if let Some(user) = &self.user {
            request =
                request.header("impersonate-user", user).header("impersonate-group", "system:authenticated");
        }
        let body = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        let response = self.client.send(request.body(Body::from(body)).unwrap()).await.unwrap();
        let status = response.status().as_u16();
        let warnings = response
            .headers()
            .get_all("warning")
            .iter()
            .map(|warning| warning.to_str().unwrap().to_owned())
            .filter(|warning| warning.contains("gpuaas-"))
            .collect();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        let body = serde_json::from_slice(&bytes)
            .unwrap_or_else(|_| json!({"message": String::from_utf8_lossy(&bytes)}));
        Answer { status, body, warnings }
    }

    async fn create(&self, object: &Value, dry_run: bool) -> Answer {
        let query = if dry_run { "?dryRun=All&fieldValidation=Strict" } else { "?fieldValidation=Strict" };
        self.call(Method::POST, &format!("{}{query}", collection(object)), "application/json", Some(object))
            .await
    }

    async fn apply(&self, object: &Value, dry_run: bool) -> Answer {
        let dry_run = if dry_run { "&dryRun=All" } else { "" };
        let path = format!("{}?fieldManager=corpus&force=true&fieldValidation=Strict{dry_run}", path(object));
        self.call(Method::PATCH, &path, APPLY, Some(object)).await
    }

    async fn delete(&self, object: &Value, dry_run: bool) -> Answer {
        let query = if dry_run { "?dryRun=All" } else { "?gracePeriodSeconds=0" };
        self.call(Method::DELETE, &format!("{}{query}", path(object)), "application/json", None).await
    }

    /// Applies what a test needs.
    async fn set_up(&self, object: &Value) {
        let answer = self.apply(object, false).await;
        assert!(answer.succeeded(), "{}: {} {}", path(object), answer.status, answer.text());
    }
}

fn collection(object: &Value) -> String {
    let (version, kind) = (object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
    let plural = plan::manifest::known_kind(version, kind).map_or_else(
        |_| OTHER_KINDS.iter().find(|(other, _)| *other == kind).unwrap().1,
        |known| known.plural,
    );
    let root = if version.contains('/') { "apis" } else { "api" };
    match object["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("/{root}/{version}/namespaces/{namespace}/{plural}"),
        None => format!("/{root}/{version}/{plural}"),
    }
}

fn path(object: &Value) -> String {
    format!("{}/{}", collection(object), object["metadata"]["name"].as_str().unwrap())
}

/// YAML as JSON first: only so an enum may be written as a map with one key.
fn read<T: serde::de::DeserializeOwned>(name: &str, text: &str) -> T {
    let value: Value = serde_yaml_ng::from_str(text).unwrap();
    serde_json::from_value(value).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn cases() -> Vec<(&'static str, Case)> {
    CORPUS
        .iter()
        .flat_map(|(name, text)| read::<Vec<Case>>(name, text).into_iter().map(move |case| (*name, case)))
        .collect()
}

/// Waits until the answer to a request that is sent again and again is the right one.
async fn until(what: &str, seconds: u64, mut right: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !right().await {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let done = tokio::time::timeout(Duration::from_secs(seconds), waiting).await;
    assert!(done.is_ok(), "{what}: not within {seconds} s");
}

/// Applies the static objects and waits until the policies act.
async fn register(admin: &Api) {
    for manifest in plan::registration::objects() {
        admin.set_up(&manifest.body).await;
        if manifest.kind == "CustomResourceDefinition" {
            until("the kind is established", 10, async || {
                let answer = admin.call(Method::GET, &path(&manifest.body), "application/json", None).await;
                let conditions = answer.body["status"]["conditions"].as_array().cloned().unwrap_or_default();
                conditions.iter().any(|one| one["type"] == "Established" && one["status"] == "True")
            })
            .await;
        }
    }
    for manifest in probe::probe_namespace().unwrap() {
        admin.set_up(&manifest.body).await;
    }
    for refusal in [probe::refused_pod().unwrap(), probe::refused_claim().unwrap()] {
        // A new kind of parameter is found up to 30 seconds later.
        until(refusal.text, 45, async || {
            admin.create(&refusal.object.body, true).await.text().contains(refusal.text)
        })
        .await;
    }
}

async fn set_up_fixtures(admin: &Api) {
    let fixtures: Fixtures = read("fixtures", include_str!("tenant_policy/fixtures.yaml"));
    for object in &fixtures.cluster {
        admin.set_up(object).await;
    }
    for (name, NamespaceFixture { level, labels, policy }) in &fixtures.namespaces {
        let mut labels = labels.clone();
        labels.insert(TENANT.to_owned(), name.clone());
        labels.insert("pod-security.kubernetes.io/enforce".to_owned(), level.clone());
        let metadata = json!({"name": name, "labels": labels});
        admin.set_up(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})).await;
        if let Some(policy) = policy {
            admin.set_up(&policy.manifest(name, name).unwrap().body).await;
        }
        let plain = pod("plain", name, None, None, &json!({}));
        until(&format!("{name} takes part in admission"), 20, async || {
            let answer = admin.create(&plain, true).await;
            if policy.is_some() { answer.succeeded() } else { answer.text().contains("no params found") }
        })
        .await;
    }
    for object in &fixtures.within {
        admin.set_up(object).await;
    }
}

fn pod_spec(spec: &Value) -> Value {
    let mut spec = spec.clone();
    if spec["containers"].is_null() {
        spec["containers"] = json!([{}]);
    }
    for (list, prefix) in [("containers", "c"), ("initContainers", "i")] {
        for (position, container) in spec[list].as_array_mut().into_iter().flatten().enumerate() {
            container["name"] = json!(format!("{prefix}{position}"));
            container["image"] = json!("none");
        }
        if spec[list].is_null() {
            spec.as_object_mut().unwrap().remove(list);
        }
    }
    spec
}

fn pod(
    name: &str,
    namespace: &str,
    labels: Option<&Value>,
    annotations: Option<&Value>,
    spec: &Value,
) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": labels, "annotations": annotations},
        "spec": pod_spec(spec),
    })
}

fn workload(kind: &str, pod: &Value) -> Value {
    let mut template = json!({
        "metadata": {"labels": {"app": "corpus"}, "annotations": pod["metadata"]["annotations"]}, "spec": pod["spec"],
    });
    if kind.ends_with("Job") {
        template["spec"]["restartPolicy"] = json!("Never");
    }
    let selector = json!({"matchLabels": {"app": "corpus"}});
    let (version, spec) = match kind {
        "Job" => ("batch/v1", json!({"template": template})),
        "CronJob" => {
            ("batch/v1", json!({"schedule": "0 0 * * *", "jobTemplate": {"spec": {"template": template}}}))
        }
        "StatefulSet" => {
            ("apps/v1", json!({"serviceName": "corpus", "selector": selector, "template": template}))
        }
        _ => ("apps/v1", json!({"selector": selector, "template": template})),
    };
    let metadata = json!({"name": pod["metadata"]["name"], "namespace": pod["metadata"]["namespace"]});
    json!({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec})
}

/// The object of a case, with the name and namespace that it does not say itself.
fn named(object: &Value, name: &str, namespace: &str) -> Value {
    let mut object = object.clone();
    if object["metadata"]["name"].is_null() {
        object["metadata"]["name"] = json!(name);
    }
    if object["metadata"]["namespace"].is_null() && object["kind"] != "Namespace" {
        object["metadata"]["namespace"] = json!(namespace);
    }
    object
}

async fn change(admin: &Api, user: &Api, case: &Case, pod: &Value) -> Answer {
    let mut pod = pod.clone();
    if case.going_away {
        pod["metadata"]["finalizers"] = json!(["gpuaas.io/corpus"]);
    }
    let pod = &pod;
    let created = admin.create(pod, false).await;
    assert!(created.succeeded(), "{}: the pod itself: {}", case.case, created.text());
    if case.narrow {
        narrow(admin, pod).await;
    }
    if case.going_away {
        admin.delete(pod, false).await;
    }
    let answer = if let Some(binding) = &case.binding {
        let mut binding = binding.clone();
        binding["apiVersion"] = json!("v1");
        binding["kind"] = json!("Binding");
        binding["metadata"]["name"] = pod["metadata"]["name"].clone();
        let path = format!("{}/binding?dryRun=All", path(pod));
        user.call(Method::POST, &path, "application/json", Some(&binding)).await
    } else {
        let mut update = case.update.clone().unwrap();
        if let Some(list) = &case.keep {
            let mut items = created.body["spec"][list].as_array().cloned().unwrap_or_default();
            items.extend(update["spec"][list].as_array().cloned().unwrap());
            update["spec"][list] = json!(items);
        }
        let (suffix, content) = match case.subresource.as_deref() {
            Some("status") => ("/status".to_owned(), MERGE),
            Some(other) => (format!("/{other}"), STRATEGIC),
            None => (String::new(), MERGE),
        };
        let path = format!("{}{suffix}?dryRun=All", path(pod));
        user.call(Method::PATCH, &path, content, Some(&update)).await
    };
    admin.delete(pod, false).await;
    if case.going_away {
        let free = json!({"metadata": {"finalizers": null}});
        admin.call(Method::PATCH, &path(pod), MERGE, Some(&free)).await;
    }
    answer
}

/// Empties the namespace's `TenantPolicy` and waits until the same pod would be refused.
async fn narrow(admin: &Api, pod: &Value) {
    let namespace = pod["metadata"]["namespace"].as_str().unwrap();
    admin.set_up(&TenantPolicySpec::default().manifest(namespace, namespace).unwrap().body).await;
    let mut next = pod.clone();
    next["metadata"]["name"] = json!("next");
    until("the narrowed list acts", 5, async || admin.create(&next, true).await.status == 403).await;
}

async fn answer(client: &Client, case: &Case, name: &str) -> Answer {
    let (admin, user) = (Api::new(client, None), Api::new(client, case.user.as_deref()));
    let namespace = case.namespace.as_deref().unwrap_or(USUAL_NAMESPACE);
    if let Some(object) = &case.object {
        let object = named(object, name, namespace);
        return match (case.apply, case.delete) {
            (true, _) => user.apply(&object, case.dry_run).await,
            (_, true) => user.delete(&object, case.dry_run).await,
            _ => user.create(&object, case.dry_run).await,
        };
    }
    let spec = case.pod.as_ref().unwrap();
    let pod = pod(name, namespace, case.labels.as_ref(), case.annotations.as_ref(), spec);
    if case.update.is_some() || case.binding.is_some() {
        return change(&admin, &user, case, &pod).await;
    }
    let object = match &case.template {
        Some(kind) => workload(kind, &pod),
        None => pod,
    };
    let answer = user.create(&object, case.dry_run).await;
    if !case.dry_run && answer.succeeded() {
        admin.delete(&object, false).await;
    }
    answer
}

#[test]
fn the_corpus_has_both_outcomes_of_every_rule() {
    let cases = cases();
    assert!(cases.len() >= 80);
    for (name, _) in CORPUS {
        let of = |admitted: bool| {
            cases
                .iter()
                .filter(|(file, case)| *file == name && (case.expect == Expect::Admitted) == admitted)
                .count()
        };
        assert!(of(true) > 0 && of(false) > 0, "{name} needs a case that passes and one that does not");
    }
}

#[tokio::test]
async fn every_case_of_the_corpus_is_answered_as_it_says() {
    let cluster = kit::cluster::Cluster::shared().await.unwrap();
    let admin = Api::new(&cluster.client().await.unwrap(), None);
    register(&admin).await;
    set_up_fixtures(&admin).await;
    let mut faults = Vec::new();
    for (position, (file, case)) in cases().iter().enumerate() {
        let answer = answer(&admin.client, case, &format!("case-{position}")).await;
        if let Some(fault) = answer.fault(&case.expect) {
            faults.push(format!("{file}: {}: {fault}", case.case));
        }
    }
    assert!(faults.is_empty(), "{} cases:\n{}", faults.len(), faults.join("\n"));
}

#[tokio::test]
async fn no_policy_has_a_warning_of_the_type_checker() {
    let cluster = kit::cluster::Cluster::shared().await.unwrap();
    let admin = Api::new(&cluster.client().await.unwrap(), None);
    register(&admin).await;
    for manifest in plan::registration::objects() {
        if manifest.kind != "ValidatingAdmissionPolicy" {
            continue;
        }
        let mut status = Value::Null;
        until(&format!("{} is checked", manifest.name), 30, async || {
            let live = admin.call(Method::GET, &path(&manifest.body), "application/json", None).await.body;
            status = live["status"].clone();
            status["observedGeneration"] == live["metadata"]["generation"]
                && !status["typeChecking"].is_null()
        })
        .await;
        assert_eq!(status["typeChecking"], json!({}), "{}", manifest.name);
    }
}
