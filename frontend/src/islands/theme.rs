//! Light, dark, or as the system says.

use leptos::prelude::*;

use crate::{
    text as t,
    ui::{Icon, icon},
};

/// Three buttons that work as a form; with scripts the page changes at once and the cookie is written here.
#[island]
pub fn ThemeSwitch(
    /// `system`, `light` or `dark`.
    current: String,
    /// Token for the form.
    csrf: String,
    /// Where the form leads back to.
    back: String,
) -> impl IntoView {
    let chosen = RwSignal::new(current);
    let buttons: Vec<_> = t::THEMES
        .into_iter()
        .map(|(value, word)| {
            let mark = match value {
                "light" => Icon::Sun,
                "dark" => Icon::Moon,
                _ => Icon::System,
            };
            let choose = move |event: leptos::ev::MouseEvent| {
                event.prevent_default();
                chosen.set(value.to_owned());
                #[cfg(feature = "hydrate")]
                browser::apply(value);
            };
            view! {
                <button
                    class="btn btn-ghost btn-xs btn-square aria-pressed:bg-base-300"
                    type="submit"
                    name="theme"
                    value=value
                    title=word
                    aria-label=word
                    aria-pressed=move || if chosen.get() == value { "true" } else { "false" }
                    on:click=choose
                >
                    {icon(mark)}
                </button>
            }
        })
        .collect();
    view! {
        <form method="post" action="/theme" class="flex gap-0.5" aria-label=t::THEME>
            <input type="hidden" name="csrf" value=csrf />
            <input type="hidden" name="back" value=back />
            {buttons}
        </form>
    }
}

#[cfg(feature = "hydrate")]
mod browser {
    use leptos::prelude::document;
    use wasm_bindgen::JsCast as _;

    /// A year; the server reads the cookie when it renders the next page.
    const COOKIE: &str = "path=/; max-age=31536000; samesite=lax";

    pub(super) fn apply(theme: &'static str) {
        let page = document();
        let Some(root) = page.document_element() else { return };
        // Neither call can fail for these constants; if one did, the next page would still come as before.
        let _ = if theme == "system" {
            root.remove_attribute("data-theme")
        } else {
            root.set_attribute("data-theme", theme)
        };
        if let Some(page) = page.dyn_ref::<web_sys::HtmlDocument>() {
            let _ = page.set_cookie(&format!("theme={theme}; {COOKIE}"));
        }
    }
}
