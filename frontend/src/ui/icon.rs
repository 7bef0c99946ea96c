//! Our own icons: 16 units wide, drawn with the colour of the text around them. A word always stands beside one, so
//! they are hidden from screen readers.

use leptos::prelude::*;

/// A drawing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(
    not(feature = "ssr"),
    expect(dead_code, reason = "the browser draws only the icons of the islands")
)]
pub(crate) enum Icon {
    Check,
    Dots,
    Up,
    Down,
    Cross,
    Clock,
    Warn,
    Arrow,
    Copy,
    Whole,
    Slices,
    Shared,
    Home,
    Grid,
    Gauge,
    List,
    Sheets,
    People,
    Inbox,
    Server,
    Book,
    Plus,
    Menu,
    System,
    Sun,
    Moon,
}

impl Icon {
    fn path(self) -> &'static str {
        match self {
            Self::Check => "M3 8.5l3.2 3.2L13 4.8",
            Self::Dots => "M8 2.5a5.5 5.5 0 1 1-5.5 5.5M8 5v3l2 1.5",
            Self::Up => "M8 13V3.5M4 7l4-4 4 4",
            Self::Down => "M8 3v9.5M4 9l4 4 4-4",
            Self::Cross => "M4 4l8 8M12 4l-8 8",
            Self::Clock => "M8 2.2a5.8 5.8 0 1 1 0 11.6A5.8 5.8 0 0 1 8 2.2M8 4.8V8l2.2 1.6",
            Self::Warn => "M8 2.5L14 13.2H2zM8 6.5v3.2M8 11.4v.2",
            Self::Arrow => "M3 8h9.5M9 4.3L12.7 8 9 11.7",
            Self::Copy => "M5.5 5.5h7.7v7.7H5.5zM10.5 5.5V2.8H2.8v7.7h2.7",
            Self::Whole => "M3 3h10v10H3zM6 6h4v4H6z",
            Self::Slices => "M3 3h10v10H3zM3 6.3h10M3 9.7h10",
            Self::Shared => {
                "M8 2.5a5.5 5.5 0 1 1 0 11a5.5 5.5 0 0 1 0-11M8 2.5v11M8 5.2h4.6M8 8h5.4M8 10.8h4.6"
            }
            Self::Home => "M2.5 7.5L8 2.8l5.5 4.7M4 6.5v6.7h8V6.5",
            Self::Grid => "M2.8 2.8h4v4h-4zM9.2 2.8h4v4h-4zM2.8 9.2h4v4h-4zM9.2 9.2h4v4h-4z",
            Self::Gauge => "M2.5 11.5a5.7 5.7 0 1 1 11 0M8 10.5l2.6-4",
            Self::List => "M2.8 4h.2M5.8 4h7.5M2.8 8h.2M5.8 8h7.5M2.8 12h.2M5.8 12h7.5",
            Self::Sheets => "M4 2.5h5.5L12.5 5.5v8H4zM9.3 2.8v3h3M6.2 8.5h4M6.2 11h4",
            Self::People => {
                "M6 3a2.2 2.2 0 1 1 0 4.4A2.2 2.2 0 0 1 6 3M2 13c.2-2.6 1.8-4 4-4s3.8 1.4 4 4M10.8 3.2a2.2 2.2 0 0 1 0 4.1M12 9.3c1.3.6 2 1.9 2.1 3.7"
            }
            Self::Inbox => {
                "M2.5 9l1.8-5.8h7.4L13.5 9v4h-11zM2.5 9h3.3c.3 1.3 1.1 1.9 2.2 1.9s1.9-.6 2.2-1.9h3.3"
            }
            Self::Server => "M2.8 3h10.4v4.2H2.8zM2.8 8.8h10.4V13H2.8zM5 5.1h.2M5 10.9h.2",
            Self::Book => "M3 3h4.2l.8.8.8-.8H13v9.5H8.8L8 13.3l-.8-.8H3zM8 3.8v9.5",
            Self::Plus => "M8 3v10M3 8h10",
            Self::Menu => "M2.5 4h11M2.5 8h11M2.5 12h11",
            Self::System => "M2.5 3h11v7.5h-11zM5.5 13.2h5M8 10.5v2.7",
            Self::Sun => {
                "M8 5.2a2.8 2.8 0 1 1 0 5.6a2.8 2.8 0 0 1 0-5.6M8 1.5v1.3M8 13.2v1.3M1.5 8h1.3M13.2 8h1.3M3.4 3.4l.9.9M11.7 11.7l.9.9M3.4 12.6l.9-.9M11.7 4.3l.9-.9"
            }
            Self::Moon => "M13 9.7A5.6 5.6 0 0 1 6.3 3a5.3 5.3 0 1 0 6.7 6.7z",
        }
    }
}

/// Draws it.
pub(crate) fn icon(which: Icon) -> AnyView {
    view! {
        <svg
            class="size-4 shrink-0"
            viewBox="0 0 16 16"
            fill="none"
            stroke="currentColor"
            stroke-width="1.5"
            stroke-linecap="round"
            stroke-linejoin="round"
            aria-hidden="true"
        >
            <path d=which.path()></path>
        </svg>
    }
    .into_any()
}
