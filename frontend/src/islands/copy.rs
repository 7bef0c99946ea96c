//! Copies the text of an element.

use leptos::prelude::*;

use crate::{
    text as t,
    ui::{Icon, icon},
};

/// A button that copies the text of the element with the id `target`; hidden until scripts run.
#[island]
pub fn Copy(
    /// Id of the element.
    target: String,
) -> impl IntoView {
    let copied = RwSignal::new(false);
    let copy = move |_| {
        #[cfg(feature = "hydrate")]
        browser::copy(&target, copied);
        #[cfg(not(feature = "hydrate"))]
        let _ = &target;
    };
    view! {
        <button type="button" class="btn btn-xs needs-script" on:click=copy>
            {icon(Icon::Copy)}
            <span aria-live="polite">{move || if copied.get() { t::COPIED } else { t::COPY }}</span>
        </button>
    }
}

#[cfg(feature = "hydrate")]
mod browser {
    use leptos::{prelude::*, task::spawn_local};
    use wasm_bindgen_futures::JsFuture;

    /// Copies, and says so for two seconds.
    pub(super) fn copy(target: &str, copied: RwSignal<bool>) {
        let Some(text) = document().get_element_by_id(target).and_then(|e| e.text_content()) else { return };
        let done = window().navigator().clipboard().write_text(&text);
        spawn_local(async move {
            if JsFuture::from(done).await.is_ok() {
                copied.set(true);
                gloo_timers::future::TimeoutFuture::new(2000).await;
                copied.set(false);
            }
        });
    }
}
