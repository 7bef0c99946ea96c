//! Asks the public API whether the request form's values fit, while they are typed.

use std::collections::BTreeMap;

use domain::api::FitAnswer;
use leptos::prelude::*;

use crate::{fit::fit_answer, text as t};

/// What stands in the panel.
#[derive(Clone, PartialEq, Debug)]
enum Shown {
    /// Nothing was asked yet.
    Hint,
    /// What one device is called, and the answer.
    Answer(String, FitAnswer),
    /// What is wrong, in words.
    #[cfg_attr(
        not(feature = "hydrate"),
        expect(dead_code, reason = "only the browser asks, so only there a question can fail")
    )]
    Wrong(String),
}

/// The panel beside the request form. Without scripts it shows the answer of the button "Check".
#[island]
pub fn FitCheck(
    /// Id of the block that the form stands in.
    form: String,
    /// `/api/v1/teams/{team}/fit`.
    action: String,
    /// Token of the session.
    csrf: String,
    /// What one device of each offering is called.
    units: BTreeMap<String, String>,
    /// Offering of the answer below.
    offering: String,
    /// Answer that the server has already.
    answer: Option<FitAnswer>,
) -> impl IntoView {
    let unit = units.get(&offering).cloned().unwrap_or(offering);
    let shown = RwSignal::new(answer.map_or(Shown::Hint, |answer| Shown::Answer(unit, answer)));
    #[cfg(feature = "hydrate")]
    {
        browser::watch(&form, action, csrf, units, shown);
        // Props of an island arrive owned; this one is only read.
        drop(form);
    }
    #[cfg(not(feature = "hydrate"))]
    let _ = (form, action, csrf, units);
    view! {
        <div aria-live="polite">
            {move || match shown.get() {
                Shown::Hint => view! { <p class="quiet text-[0.9375rem]">{t::FIT_HINT}</p> }.into_any(),
                Shown::Answer(unit, answer) => fit_answer(&unit, &answer),
                Shown::Wrong(text) => view! { <p class="text-[0.9375rem] text-error">{text}</p> }.into_any(),
            }}
        </div>
    }
}

#[cfg(feature = "hydrate")]
mod browser {
    use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

    use domain::{
        api::{FitAnswer, Problem},
        request::Ask,
        shape::Shape,
    };
    use gloo_net::http::Request;
    use gloo_timers::callback::Timeout;
    use leptos::{prelude::*, task::spawn_local};
    use wasm_bindgen::{JsCast as _, closure::Closure};
    use web_sys::{FormData, HtmlFormElement};

    use super::{Shown, t};

    /// Typing pauses this long before the question is sent.
    const PAUSE_MS: u32 = 250;

    struct Watch {
        form: HtmlFormElement,
        action: String,
        csrf: String,
        units: BTreeMap<String, String>,
        shown: RwSignal<Shown>,
        /// The question that waits for the pause; a new one drops it.
        waiting: RefCell<Option<Timeout>>,
        /// Number of the last question: a late answer to an older one is thrown away.
        last: RefCell<u32>,
    }

    pub(super) fn watch(
        block: &str,
        action: String,
        csrf: String,
        units: BTreeMap<String, String>,
        shown: RwSignal<Shown>,
    ) {
        let Some(form) = find(block) else { return };
        let watch = Rc::new(Watch {
            form,
            action,
            csrf,
            units,
            shown,
            waiting: RefCell::new(None),
            last: RefCell::new(0),
        });
        let form = watch.form.clone();
        let typed = Closure::<dyn Fn()>::new({
            let watch = Rc::clone(&watch);
            move || {
                let asks = Rc::clone(&watch);
                *watch.waiting.borrow_mut() = Some(Timeout::new(PAUSE_MS, move || ask(asks)));
            }
        });
        // The form lives as long as the page, and so does the listener.
        if form.add_event_listener_with_callback("input", typed.as_ref().unchecked_ref()).is_ok() {
            typed.forget();
        }
        ask(watch);
    }

    fn find(block: &str) -> Option<HtmlFormElement> {
        document().get_element_by_id(block)?.query_selector("form").ok()??.dyn_into().ok()
    }

    fn ask(watch: Rc<Watch>) {
        let Some((offering, question)) = read(&watch.form) else { return };
        let number = {
            let mut last = watch.last.borrow_mut();
            *last += 1;
            *last
        };
        spawn_local(async move {
            let unit = watch.units.get(&offering).cloned().unwrap_or(offering);
            let shown = send(&watch.action, &watch.csrf, &question)
                .await
                .map_or_else(Shown::Wrong, |answer| Shown::Answer(unit, answer));
            if *watch.last.borrow() == number {
                watch.shown.set(shown);
            }
        });
    }

    async fn send(action: &str, csrf: &str, question: &Ask) -> Result<FitAnswer, String> {
        let offline = |_| t::FIT_OFFLINE.to_owned();
        let response = Request::post(action)
            .header("X-CSRF-Token", csrf)
            .json(question)
            .map_err(offline)?
            .send()
            .await
            .map_err(offline)?;
        if response.ok() {
            return response.json().await.map_err(offline);
        }
        // The detail names the fields too.
        let problem: Problem = response.json().await.map_err(offline)?;
        Err(t::sentence(&problem.detail))
    }

    /// The values of the form as a question; none while something is missing or is no number.
    fn read(form: &HtmlFormElement) -> Option<(String, Ask)> {
        let data = FormData::new_with_form(form).ok()?;
        let text = |name: &str| data.get(name).as_string().filter(|text| !text.is_empty());
        let number = |name: &str| text(name)?.parse::<u32>().ok();
        let offering = text("offering")?;
        let shape = || Some(Shape { nodes: number("nodes")?, per_node: number("per_node")? });
        let until = || text("until")?.parse().ok();
        let ask = match text("kind")?.as_str() {
            "new" => Ask::New {
                offering: offering.parse().ok()?,
                shape: shape()?,
                partition: text("partition").is_some(),
                until: until()?,
            },
            "change" => Ask::Change { grant: text("grant")?.parse().ok()?, shape: shape()? },
            _ => Ask::Extend { grant: text("grant")?.parse().ok()?, until: until()? },
        };
        Some((offering, ask))
    }
}
