//! The committed description of the API is what the router says.

use std::path::Path;

use server::{
    cli::openapi_text,
    http::{Surface, openapi, routes},
};

use super::portal::Portal;

#[test]
fn the_committed_description_is_true() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/openapi.json");
    if std::env::var_os("UPDATE_OPENAPI").is_some_and(|v| v == "1") {
        std::fs::write(&path, openapi_text()).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == openapi_text(),
        "server/openapi.json is not what the router says; write it again with UPDATE_OPENAPI=1 and look at the difference"
    );
}

#[test]
fn the_description_is_openapi_31_and_every_reference_leads_somewhere() {
    let document = serde_json::to_value(openapi()).unwrap();
    assert_eq!(document["openapi"], "3.1.0");
    let text = document.to_string();
    for reference in text.split("\"$ref\":\"#/components/schemas/").skip(1) {
        let name = reference.split('"').next().unwrap();
        assert!(
            document["components"]["schemas"].get(name).is_some(),
            "{name} is referred to, but not there"
        );
    }
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            assert!(
                operation["summary"].is_string() || operation["description"].is_string(),
                "{method} {path} has no words"
            );
            assert!(operation["responses"]["4XX"].is_object(), "{method} {path} does not tell its refusals");
        }
    }
}

#[tokio::test]
async fn it_is_served_and_every_route_below_api_is_in_it() {
    let portal = Portal::new().await;
    let served = portal.nobody().get("/api/v1/openapi.json").await;
    assert_eq!(served.json(), serde_json::to_value(openapi()).unwrap());
    let described = served.json();
    for route in routes().iter().filter(|r| r.surface == Surface::Api) {
        assert!(described["paths"][&route.path][route.method.to_lowercase()].is_object(), "{route:?}");
    }
}
